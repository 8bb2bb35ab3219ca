/* SPDX-License-Identifier: MIT */
/* JSON for people. The text is laid out token by token and never read into numbers, so large ones keep every digit. */
import { h } from "./dom.js";

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/y;
const MOST = 200000; // characters that are laid out; more is shown as it is

/** The tokens of a text; null if it is not made of JSON's tokens. */
function tokens(text) {
    const list = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
        const found = TOKEN.exec(text);
        if (!found) return null;
        if (!/^\s/.test(found[0])) list.push(found[0]);
    }
    return list;
}

function isJson(text) {
    try {
        JSON.parse(text);
        return true;
    } catch {
        return false;
    }
}

/** Lines with two blanks for each level; the text itself if it is not JSON. */
export function pretty(text) {
    const list = text.length <= MOST && isJson(text) ? tokens(text) : null;
    if (!list) return text;
    let out = "",
        depth = 0;
    const line = () => `\n${"  ".repeat(depth)}`;
    list.forEach((token, n) => {
        const next = list[n + 1];
        if (token === "{" || token === "[") {
            depth++;
            out += token + (next === "}" || next === "]" ? "" : line());
        } else if (token === "}" || token === "]") {
            depth--;
            out += (list[n - 1] === "{" || list[n - 1] === "[" ? "" : line()) + token;
        } else if (token === ",") out += `,${line()}`;
        else out += token === ":" ? ": " : token;
    });
    return out;
}

const kind = (token, next) =>
    /^"/.test(token)
        ? next === ":"
            ? "name"
            : "text"
        : /^[-\d]/.test(token)
          ? "number"
          : /^[tfn]/.test(token)
            ? "word"
            : null;

/** The laid-out text with colours. */
export function show(text) {
    const laid = pretty(text);
    if (laid.length > MOST || !isJson(text)) return h("pre", { class: "code", tabindex: "0" }, laid);
    const pieces = laid.match(/\s+|"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/g) ?? [];
    return h(
        "pre",
        { class: "code", tabindex: "0" },
        pieces.map((piece, n) => {
            const colour = kind(piece, pieces[n + 1]);
            return colour ? h("span", { class: `json-${colour}` }, piece) : piece;
        }),
    );
}
