/* SPDX-License-Identifier: MIT */
/* Settings that are edited where they stand. The server checks a value, and its sentence is shown beside the input. */
import { attempt } from "./dialog.js";
import { h } from "./dom.js";
import { duration, number, span } from "./format.js";

/** How a kind of value is shown and typed. */
const KINDS = {
    duration: {
        show: (v) => (v === null ? "any" : v === 0 ? "0" : span(v)),
        text: (v) => duration(v),
        hint: "such as 90s, 10m, 1h30m",
    },
    limit: { show: (v) => (v ? number(v) : "no limit"), text: (v) => String(v ?? 0), hint: "0 means no limit" },
    number: { show: (v) => number(v), text: (v) => String(v ?? "") },
    rate: { show: (v) => v ?? "no limit", text: (v) => v ?? "0", hint: "such as 100/1m; 0 means no limit" },
    text: { show: (v) => (v === null || v === "" ? "–" : v), text: (v) => v ?? "" },
    secret: { show: (v) => (v ? `${v} set` : "none"), text: () => "", hint: "never shown again" },
};

/** @param {{name: string, field: string, label: string, kind: keyof KINDS, words: string}[]} rows the table of settings
 * @param {Record<string, any>} values the answer of the server
 * @param {(change: Record<string, string>) => Promise<any>} save */
export function settings(page, rows, values, save, allowed) {
    const own = (page.own.setting ??= { at: null, problem: "", busy: false });
    const edit = (row) => {
        Object.assign(own, { at: row.name, problem: "", busy: false, text: KINDS[row.kind].text(values[row.field]) });
        page.redraw();
        const input = document.querySelector(".setting-form input");
        input?.focus();
        input?.select();
    };
    const leave = () => {
        const name = own.at;
        own.at = null;
        page.redraw();
        document.querySelector(`[data-key="setting-${name}"] button`)?.focus();
    };
    const send = async (event, row) => {
        event.preventDefault();
        own.busy = true;
        try {
            const text = new FormData(event.target).get("value").trim();
            const whole = (row.kind === "limit" || row.kind === "number") && /^\d+$/.test(text);
            await save({ [row.name]: whole ? Number(text) : text });
            await attempt(() => page.refresh(), `${row.label} is saved.`);
            leave();
        } catch (error) {
            own.problem = error.message;
            own.busy = false;
            page.redraw();
        }
    };
    const form = (row) =>
        h(
            "form",
            { class: "setting-form", onsubmit: (e) => send(e, row), onkeydown: (e) => e.key === "Escape" && leave() },
            h("input", {
                name: "value",
                value: own.text,
                oninput: (e) => (own.text = e.target.value),
                "aria-label": row.label,
                "aria-describedby": "setting-problem",
                autocomplete: "off",
                spellcheck: "false",
            }),
            h("button", { class: "primary", disabled: own.busy }, "Save"),
            h("button", { type: "button", class: "quiet", onclick: leave }, "Leave it"),
            h(
                "small",
                { id: "setting-problem", class: own.problem ? "problem" : "muted", role: own.problem ? "alert" : null },
                own.problem || KINDS[row.kind].hint || "",
            ),
        );
    const value = (row) => {
        const text = KINDS[row.kind].show(values[row.field]);
        return allowed
            ? h(
                  "button",
                  { class: "setting", onclick: () => edit(row), "aria-label": `Change ${row.label}: ${text}` },
                  text,
              )
            : h("span", { class: "setting-still" }, text);
    };
    return h(
        "dl",
        { class: "settings" },
        rows.map((row) =>
            h(
                "div",
                { "data-key": `setting-${row.name}`, class: own.at === row.name ? "editing" : null },
                h("dt", null, row.label),
                h("dd", null, own.at === row.name ? form(row) : value(row)),
                h("dd", { class: "words" }, row.words),
            ),
        ),
    );
}
