/* SPDX-License-Identifier: MIT */
/* Pieces that several screens share. */
import { get } from "./api.js";
import { h } from "./dom.js";
import { ago, bytes, moment, number, span } from "./format.js";

/** Each state with the word that people say for it, in the order of a job's life. */
export const STATES = [
    { name: "waiting", word: "waiting", hint: "for other jobs" },
    { name: "scheduled", word: "scheduled", hint: "for a later time" },
    { name: "ready", word: "ready", hint: "for a worker" },
    { name: "leased", word: "running", hint: "at a worker" },
    { name: "done", word: "done", hint: "and still kept" },
    { name: "dead", word: "dead", hint: "attempts used up" },
    { name: "cancelled", word: "cancelled", hint: "and still kept" },
    { name: "expired", word: "expired", hint: "not in time" },
];
const WORDS = Object.fromEntries(STATES.map(({ name, word }) => [name, word]));
export const ENDED = new Set(["done", "dead", "cancelled", "expired"]);
export const word = (state) => WORDS[state] ?? state;

/** A state as a dot and a word, so that colour is never all there is. */
export const chip = (state) => h("span", { class: `chip ${state}` }, h("i", { class: "dot" }), word(state));

/** A moment that reads "in 5m", with the exact one behind it. */
export const when = (ms, now) =>
    ms === null || ms === undefined
        ? h("span", { class: "muted" }, "–")
        : h("time", { datetime: new Date(ms).toISOString(), title: moment(ms) }, ago(ms, now));

/** The heading of a screen, with its buttons. */
export const head = (title, { lead, actions, up } = {}) =>
    h(
        "div",
        { class: "head" },
        h(
            "div",
            { class: "head-words" },
            up,
            h("h1", { tabindex: "-1" }, title),
            lead && h("p", { class: "lead" }, lead),
        ),
        actions && h("div", { class: "actions" }, actions),
    );

export const up = (to, words) => h("p", { class: "up" }, h("a", { href: to }, `‹ ${words}`));

/** A part of a page under a heading of its own. */
export const section = (title, { note, actions, id } = {}, ...body) =>
    h(
        "section",
        { class: "part", id },
        h(
            "div",
            { class: "part-head" },
            h("h2", null, title),
            note && h("p", { class: "note" }, note),
            actions && h("div", { class: "actions" }, actions),
        ),
        body,
    );

export const empty = (words, more) =>
    h("div", { class: "nothing" }, h("p", null, words), more && h("p", { class: "muted" }, more));

/** A button that disappears where the role does not allow its verb. */
export const act = (page, verb, label, run, kind = "") =>
    page.may(verb) ? h("button", { class: kind, onclick: run }, label) : null;

/** Names with their values, side by side. */
export const facts = (rows) =>
    h(
        "dl",
        { class: "facts" },
        rows
            .filter(Boolean)
            .map(([name, value, hint]) => h("div", null, h("dt", null, name), h("dd", { title: hint }, value ?? "–"))),
    );

/** Properties of a box that scrolls sideways: the keyboard must reach it, because its content may have nothing to focus. */
export const scrolls = (label) => ({ class: "scroll", tabindex: "0", role: "group", "aria-label": label });

export const nothing = () => h("span", { class: "muted" }, "–");

/** A part of a whole as a bar, with words beside it. */
export function meter(label, part, whole, form = bytes) {
    const share = whole > 0 ? Math.min(1, part / whole) : 0;
    return h(
        "div",
        { class: "meter" },
        h("span", null, label),
        h(
            "div",
            {
                class: "track",
                role: "meter",
                "aria-label": label,
                "aria-valuemin": 0,
                "aria-valuemax": whole || 1,
                "aria-valuenow": Math.min(part, whole || 1),
            },
            h("div", {
                class: share > 0.9 ? "fill bad" : "fill",
                style: { width: `${Math.max(share * 100, part > 0 ? 0.6 : 0)}%` },
            }),
        ),
        h("span", { class: "num" }, whole > 0 ? `${form(part)} of ${form(whole)}` : form(part)),
    );
}

/** How pending jobs of a queue divide by state. */
export function share(row) {
    const parts = ["leased", "ready", "scheduled", "waiting"]
        .map((state) => [state, row[state]])
        .filter(([, n]) => n > 0);
    const total = parts.reduce((sum, [, n]) => sum + n, 0);
    const label = parts.length
        ? parts.map(([state, n]) => `${number(n)} ${word(state)}`).join(", ")
        : "no pending jobs";
    return h(
        "div",
        { class: "share", role: "img", "aria-label": label, title: label },
        parts.map(([state, n]) => h("i", { class: `bg-${state}`, style: { "flex-grow": Math.max(n / total, 0.02) } })),
    );
}

/** Quantiles of lateness, run time and waiting, from any map that has them. */
export const quantiles = (row) =>
    h(
        "table",
        { class: "grid small" },
        h(
            "thead",
            null,
            h(
                "tr",
                null,
                h("th", null, h("span", { class: "hidden" }, "Figure")),
                ["median", "99 of 100", "most"].map((w) => h("th", { class: "num" }, w)),
            ),
        ),
        h(
            "tbody",
            null,
            [
                ["lateness", "Late"],
                ["runtime", "Run time"],
                ["wait", "Workers wait"],
            ].map(([name, label]) =>
                h(
                    "tr",
                    null,
                    h("th", { scope: "row" }, label),
                    ["p50", "p99", "max"].map((q) => h("td", { class: "num" }, span(row[`${name}_${q}_ms`]))),
                ),
            ),
        ),
    );

/** The tenant of a row, where it is worth a word. */
export const owner = (page, tenant) =>
    page.tenant === "*" && tenant !== "default" ? h("span", { class: "owner" }, tenant) : null;

/** The tenants that have a queue of this name, `default` first. LIST of a queue is of one tenant. */
export async function ownersOf(page, queue) {
    if (page.tenant !== "*") return [page.tenant];
    if (!page.may("QUEUES")) return ["default"];
    const { queues } = await get(["queues"], { tenant: "*" }, page.signal);
    const owners = queues.filter((q) => q.queue === queue).map((q) => q.tenant);
    return owners.length ? owners.sort((a, b) => (b === "default") - (a === "default")) : ["default"];
}
