/* SPDX-License-Identifier: MIT */
/* Lists with the keyboard: j and k walk, Enter opens, x selects. And columns that sort. */
import { h } from "./dom.js";
import { bind } from "./keys.js";

const rows = () => [...document.querySelectorAll("tr[data-row]")];

function walk(step) {
    const list = rows();
    if (!list.length) return;
    const at = list.indexOf(document.activeElement?.closest?.("tr[data-row]"));
    const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + step))];
    next.querySelector("a")?.focus();
    next.scrollIntoView({ block: "nearest" });
}

/** Binds the keys of a list while its screen is shown: for enter() of a screen. */
export function listKeys(select) {
    const off = [bind("j", "next in the list", () => walk(1)), bind("k", "the one before", () => walk(-1))];
    if (select)
        off.push(
            bind("x", "select, or not", () => {
                const row = document.activeElement?.closest?.("tr[data-row]");
                if (row) select(row.dataset.row);
            }),
        );
    return () => off.forEach((one) => one());
}

/** A table of rows below the heads of its columns. */
export const grid = (heads, rows) =>
    h("table", { class: "grid rows" }, h("thead", null, h("tr", null, heads)), h("tbody", null, rows));

/** A head of a column that sorts; the order is in the address. */
export function sorter(page, name, label, kind = "num") {
    const [by, down] = (page.route.query.get("sort") ?? "").split("-");
    const on = by === name;
    return h(
        "th",
        { class: kind, "aria-sort": on ? (down ? "descending" : "ascending") : null },
        h(
            "button",
            { class: "sort", onclick: () => page.ask({ sort: on && down ? name : on ? "" : `${name}-down` }, true) },
            label,
            h("i", { "aria-hidden": "true" }, on ? (down ? "↓" : "↑") : ""),
        ),
    );
}

export function sorted(page, list, columns) {
    const [by, down] = (page.route.query.get("sort") ?? "").split("-");
    const value = columns[by];
    if (!value) return list;
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return [...list].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)));
}

/** The way to the things behind a name, and back. */
export const pager = (page, last) =>
    (last !== null || page.route.query.get("after")) &&
    h(
        "div",
        { class: "pager" },
        page.route.query.get("after") && h("button", { onclick: () => history.back() }, "‹ Back"),
        last !== null && h("button", { onclick: () => page.ask({ after: last }) }, "Next page ›"),
    );
