/* SPDX-License-Identifier: MIT */
/* Drawings: lines over time, bars, and the heat map. Widths are those of the place; texts are HTML beside the drawing. */
import { h, s } from "./dom.js";
import { number, short } from "./format.js";

/** A line of the last values, without axes. */
export function spark(values, label, { height = 22, width = 90 } = {}) {
    const top = Math.max(...values, 1e-9),
        step = width / Math.max(values.length - 1, 1);
    const points = values.map(
        (v, n) => `${(n * step).toFixed(1)},${(height - 1.5 - (v / top) * (height - 3)).toFixed(1)}`,
    );
    return s(
        "svg",
        {
            class: "spark",
            viewBox: `0 0 ${width} ${height}`,
            preserveAspectRatio: "none",
            role: "img",
            "aria-label": label,
        },
        points.length > 1 &&
            s("polygon", { class: "area", points: `0,${height} ${points.join(" ")} ${width},${height}` }),
        points.length > 1 && s("polyline", { points: points.join(" ") }),
    );
}

const nice = (top) => {
    const size = 10 ** Math.floor(Math.log10(Math.max(top, 1)));
    return [1, 2, 5, 10].map((n) => n * size).find((n) => n >= top) ?? top;
};

/** Several lines over one scale.
 * @param {{name: string, class: string, values: number[]}[]} lines
 * @param {number} room how many values the width has room for
 * @param {string[]} ends words for the left and the right end */
export function lines(lines, room, ends, label) {
    const width = 600,
        height = 120;
    const top = nice(Math.max(...lines.flatMap((line) => line.values), 1));
    const step = width / (room - 1);
    const draw = ({ values, class: kind }) => {
        const from = width - (values.length - 1) * step;
        const points = values
            .map((v, n) => `${(from + n * step).toFixed(1)},${(height - (v / top) * (height - 4) - 1).toFixed(1)}`)
            .join(" ");
        return values.length > 1
            ? [
                  s("polygon", {
                      class: `area ${kind}`,
                      points: `${from.toFixed(1)},${height} ${points} ${width},${height}`,
                  }),
                  s("polyline", { class: kind, points }),
              ]
            : null;
    };
    return h(
        "figure",
        { class: "lines" },
        h(
            "figcaption",
            null,
            lines.map((line) =>
                h(
                    "span",
                    { class: `key ${line.class}` },
                    h("i"),
                    line.name,
                    h("b", { class: "num" }, rate(line.values.at(-1) ?? 0)),
                ),
            ),
        ),
        h(
            "div",
            { class: "plot" },
            h("span", { class: "scale" }, `${short(top)}/s`),
            s(
                "svg",
                { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
                [0.5, 1].map((at) =>
                    s("line", {
                        class: "rule",
                        x1: 0,
                        x2: width,
                        y1: height - at * (height - 4) - 1,
                        y2: height - at * (height - 4) - 1,
                    }),
                ),
                lines.map(draw),
            ),
        ),
        h(
            "div",
            { class: "ends" },
            ends.map((words) => h("span", null, words)),
        ),
    );
}

export const rate = (perSecond) =>
    perSecond === 0 ? "0/s" : perSecond < 10 ? `${perSecond.toFixed(1)}/s` : `${short(Math.round(perSecond))}/s`;

/** Bars of equal width, each a link.
 * @param {{value: number, extra?: number, label: string, href?: string}[]} rows `extra` is the part at the foot in another colour */
export function bars(rows, label, { height = 90 } = {}) {
    const top = Math.max(...rows.map((row) => row.value), 1);
    return h(
        "div",
        { class: "bars", role: "group", "aria-label": label, style: { height: `${height}px` } },
        rows.map((row) =>
            h(
                row.href ? "a" : "span",
                {
                    class: "bar-slot",
                    href: row.href,
                    title: row.label,
                    "aria-label": row.label,
                    role: row.href ? null : "img",
                    tabindex: row.value && row.href ? null : "-1",
                },
                h(
                    "i",
                    { class: "bar-fill", style: { height: `${(row.value / top) * 100}%` } },
                    row.extra ? h("b", { style: { height: `${(row.extra / row.value) * 100}%` } }) : null,
                ),
            ),
        ),
    );
}

const LEVELS = 8;

/** The level of a value for its colour: by its logarithm, so that a spike does not make the others white. */
export function level(value, top) {
    if (value <= 0) return 0;
    return 1 + Math.min(LEVELS - 2, Math.floor((Math.log1p(value) / Math.log1p(top)) * (LEVELS - 1)));
}

/** Rows and columns of cells. Arrow keys walk over them, and Enter opens one.
 * @param {{label: string, cells: ({value: number, text?: string, label: string, href: string, on?: boolean, over?: boolean}|null)[]}[]} rows
 * @param {number} [full] the value of the darkest colour; the largest one if it is not given */
export function heat(rows, columns, label, full = 0) {
    const top = full || Math.max(...rows.flatMap((row) => row.cells.map((cell) => cell?.value ?? 0)), 1);
    const walk = (event) => {
        const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [
            0, 0,
        ];
        if (!dx && !dy) return;
        event.preventDefault();
        const cell = event.target.closest("td"),
            row = cell.parentNode;
        const target = row.parentNode.rows[row.rowIndex - 1 + dy]?.cells[cell.cellIndex + dx]?.querySelector("a");
        target?.focus();
    };
    let first = true;
    const cellOf = (cell) => {
        if (!cell) return h("td", null);
        const stop = first;
        first = false;
        return h(
            "td",
            null,
            h(
                "a",
                {
                    class: `heat-${level(cell.value, top)}${cell.on ? " on" : ""}${cell.over ? " over" : ""}`,
                    href: cell.href,
                    title: cell.label,
                    "aria-label": cell.label,
                    tabindex: stop ? "0" : "-1",
                },
                h("span", { class: "heat-n" }, cell.text ?? (cell.value ? short(cell.value).replace(" ", "") : "")),
            ),
        );
    };
    return h(
        "div",
        { class: "heat-wrap" },
        h(
            "table",
            { class: "heat", "aria-label": label, onkeydown: walk },
            h(
                "thead",
                null,
                h(
                    "tr",
                    null,
                    h("td", null),
                    columns.map((c) => h("th", { scope: "col" }, c)),
                ),
            ),
            h(
                "tbody",
                null,
                rows.map((row) => h("tr", null, h("th", { scope: "row" }, row.label), row.cells.map(cellOf))),
            ),
        ),
    );
}

export const legend = (top) =>
    h(
        "p",
        { class: "legend" },
        h("span", null, "0"),
        Array.from({ length: LEVELS }, (_, n) => h("i", { class: `heat-${n}` })),
        h("span", null, typeof top === "number" ? number(top) : top),
    );
