/* SPDX-License-Identifier: MIT */
/* A month in the zone of a rule: past times from the ledger, coming ones from PREVIEW, and changes of the clock. */
import { h } from "./dom.js";
import { count, local, moment, offset } from "./format.js";
import { icon } from "./icons.js";

const DAY_MS = 86400000;
const two = (n) => String(n).padStart(2, "0");
const keyOf = (p) => `${p.year}-${two(p.month)}-${two(p.day)}`;

/** About the beginning of a local day. Noon of UTC less the zone's offset is within that day, and twelve hours before is its midnight. */
function beginning({ year, month }, day, tz) {
    const noon = Date.UTC(year, month - 1, day, 12);
    return noon - 12 * 3600000 - offset(noon, tz) * 60000;
}

/** The change of the clock in the day that begins about `ms`, in words; null if there is none. */
function change(ms, tz) {
    const before = offset(ms, tz),
        after = offset(ms + DAY_MS, tz);
    if (before === after) return null;
    let low = ms,
        high = ms + DAY_MS;
    while (high - low > 60000) {
        const middle = (low + high) / 2;
        if (offset(middle, tz) === before) low = middle;
        else high = middle;
    }
    const p = local(high, tz),
        minutes = Math.abs(after - before);
    return {
        forward: after > before,
        words: `clocks go ${after > before ? "forward" : "back"} by ${minutes === 60 ? "an hour" : `${minutes} minutes`} to ${two(p.hour)}:${two(p.minute)}`,
    };
}

/** The month of the zone's next change of the clock within a year, as the address has it; null if there is none. */
export function nextChange(tz, now = Date.now()) {
    for (let ms = now; ms < now + 366 * DAY_MS; ms += DAY_MS) {
        if (offset(ms, tz) === offset(ms + DAY_MS, tz)) continue;
        const p = local(ms + DAY_MS, tz);
        return {
            month: `${p.year}-${two(p.month)}`,
            words: `${p.day} ${new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: tz }).format(ms + DAY_MS)}`,
        };
    }
    return null;
}

/** Sentences about the changes of the clock in the shown month, each with what the rule does then. */
function changes(shown, length, tz, days) {
    return Array.from({ length }, (_, n) => n + 1).flatMap((n) => {
        const shift = change(beginning(shown, n, tz), tz);
        if (!shift) return [];
        const notes = (days.get(keyOf({ ...shown, day: n })) ?? [])
            .filter((one) => one.note)
            .map((one) => `${one.note}.`);
        return [
            h(
                "li",
                null,
                h("b", null, `On day ${n} `),
                `${shift.words}. `,
                notes[0] ? notes[0][0].toUpperCase() + notes[0].slice(1) : "No time of the rule is touched.",
            ),
        ];
    });
}

/** The month of the address; without one the present month of the zone. */
export function shownMonth(page, tz) {
    const found = /^(\d{4})-(\d{2})$/.exec(page.route.query.get("month") ?? "");
    if (found) return { year: Number(found[1]), month: Number(found[2]) };
    const { year, month } = local(Date.now(), tz);
    return { year, month };
}

/** @param {{year: number, month: number}} shown
 * @param {{at_ms: number, local: string, note: string|null}[]} coming
 * @param {any[]} ledger */
export function calendar(page, shown, tz, coming, ledger) {
    const days = new Map();
    const day = (ms) => {
        const key = keyOf(local(ms, tz));
        if (!days.has(key)) days.set(key, []);
        return days.get(key);
    };
    for (const one of ledger)
        day(one.nominal_ms).push({
            kind: one.outcome,
            name: one.name,
            at: one.nominal_ms,
            words: `${moment(one.nominal_ms, tz)}: ${one.outcome}${one.why ? `, ${one.why}` : ""}${one.count > 1 ? ` (${one.count} times)` : ""}`,
        });
    for (const one of coming)
        day(one.at_ms).push({
            kind: one.note ? "coming noted" : "coming",
            name: one.name,
            at: one.at_ms,
            words: `${one.name ? `${one.name}, ` : ""}${one.local}${one.note ? `: ${one.note}` : ""}`,
            note: one.note,
        });
    const first = Date.UTC(shown.year, shown.month - 1, 1),
        lead = (new Date(first).getUTCDay() + 6) % 7;
    const length = new Date(Date.UTC(shown.year, shown.month, 0)).getUTCDate(),
        today = keyOf(local(Date.now(), tz));
    const cells = Array.from({ length: Math.ceil((lead + length) / 7) * 7 }, (_, n) => n - lead + 1);
    const move = (by) => () => {
        const d = new Date(Date.UTC(shown.year, shown.month - 1 + by, 1));
        page.ask({ month: `${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}` }, true);
    };
    const soonest = nextChange(tz);
    const title = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" }).format(first);
    return h(
        "div",
        { class: "calendar" },
        h(
            "div",
            { class: "calendar-head" },
            h("button", { class: "quiet square", "aria-label": "Month before", onclick: move(-1) }, "‹"),
            h("h3", { "aria-live": "polite" }, title),
            h("button", { class: "quiet square", "aria-label": "Next month", onclick: move(1) }, "›"),
            h("span", { class: "muted" }, tz),
            soonest &&
                soonest.month !== `${shown.year}-${two(shown.month)}` &&
                h(
                    "button",
                    { class: "quiet small", onclick: () => page.ask({ month: soonest.month }, true) },
                    `Clock change ${soonest.words}`,
                ),
        ),
        h(
            "table",
            null,
            h(
                "thead",
                null,
                h(
                    "tr",
                    null,
                    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].map((d) => h("th", { scope: "col" }, d)),
                ),
            ),
            h(
                "tbody",
                null,
                Array.from({ length: cells.length / 7 }, (_, week) =>
                    h(
                        "tr",
                        null,
                        cells.slice(week * 7, week * 7 + 7).map((n) => cell(n, length, shown, tz, days, today)),
                    ),
                ),
            ),
        ),
        h("ul", { class: "changes" }, changes(shown, length, tz, days)),
    );
}

function cell(n, length, shown, tz, days, today) {
    if (n < 1 || n > length) return h("td", { class: "off" });
    const key = keyOf({ ...shown, day: n }),
        list = (days.get(key) ?? []).sort((a, b) => a.at - b.at);
    const shift = change(beginning(shown, n, tz), tz);
    const p = (one) => {
        const t = local(one.at, tz);
        return `${two(t.hour)}:${two(t.minute)}`;
    };
    return h(
        "td",
        { class: key === today ? "today" : null },
        h(
            "span",
            { class: "day" },
            n,
            shift &&
                h(
                    "span",
                    { class: "shift", title: shift.words, role: "img", "aria-label": shift.words },
                    icon(shift.forward ? "right" : "recurrences"),
                ),
        ),
        list
            .slice(0, 3)
            .map((one) =>
                h(
                    "span",
                    { class: `time ${one.kind}`, title: one.words },
                    h("i", { class: "dot" }),
                    h("span", { class: "clip" }, p(one), one.name ? ` ${one.name}` : ""),
                ),
            ),
        list.length > 3 &&
            h(
                "span",
                {
                    class: "muted more",
                    title: list
                        .slice(3, 30)
                        .map((one) => one.words)
                        .join("\n"),
                },
                `+ ${list.length - 3}`,
            ),
        list.length > 0 && h("span", { class: "hidden" }, count(list.length, "time")),
    );
}
