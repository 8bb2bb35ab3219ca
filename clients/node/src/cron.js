/* SPDX-License-Identifier: MIT */
"use strict";
/* Rules of recurrences for the double: EVERY, and CRON of five fields. The server knows more. */

const { milliseconds } = require("./duration");

const MINUTE = 60000;
const MACROS = { "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *" }; // prettier-ignore
const NAMES = ["sun mon tue wed thu fri sat", "jan feb mar apr may jun jul aug sep oct nov dec"].map((text) =>
    text.split(" "),
);
const RANGES = [[0, 59], [0, 23], [1, 31], [1, 12], [0, 7]]; // prettier-ignore

function fieldOf(text, at) {
    const [low, high] = RANGES[at];
    const number = (word) => {
        const names = at === 4 ? NAMES[0] : at === 3 ? NAMES[1] : [];
        const found = names.indexOf(word.toLowerCase());
        const n = found >= 0 ? found + (at === 3 ? 1 : 0) : Number(word);
        if (!/^\d+$/.test(word) && found < 0) throw new Error(`cron: ${word} is no number`);
        if (n < low || n > high) throw new Error(`cron: ${word} is not from ${low} to ${high}`);
        return n;
    };
    const set = new Set();
    for (const part of text.split(",")) {
        const [span, step = "1"] = part.split("/");
        const [from, to] = span === "*" ? [low, high] : span.includes("-") ? span.split("-").map(number) : [number(span), part.includes("/") ? high : number(span)]; // prettier-ignore
        for (let n = from; n <= to; n += Math.max(1, Number(step))) set.add(at === 4 ? n % 7 : n);
    }
    return set;
}

/** The local time of a moment as fields of a rule. */
function clockOf(tz) {
    const format = new Intl.DateTimeFormat("en-US", {
        ...{ timeZone: tz, hourCycle: "h23", year: "numeric", month: "numeric" },
        ...{ day: "numeric", hour: "numeric", minute: "numeric", weekday: "short" },
    });
    return (ms) => {
        const parts = {};
        for (const { type, value } of format.formatToParts(ms)) parts[type] = value;
        const weekday = NAMES[0].indexOf(parts.weekday.toLowerCase());
        return [Number(parts.minute), Number(parts.hour), Number(parts.day), Number(parts.month), weekday];
    };
}

/** A rule: `next(ms)` is its first time after that moment, or null. */
function ruleOf({ cron, every, tz = "UTC", start }) {
    if (every !== undefined) {
        const step = milliseconds(every);
        return {
            kind: "every",
            rule: every,
            next: (ms) => (ms < start ? start : start + (Math.floor((ms - start) / step) + 1) * step),
        };
    }
    const fields = (MACROS[cron] ?? cron).trim().split(/\s+/);
    if (fields.length !== 5)
        throw new Error("cron: expected five fields: minute, hour, day of month, month, day of week");
    const sets = fields.map(fieldOf);
    const either = fields[2] !== "*" && fields[4] !== "*"; // as cron has it: one of the two days is enough
    const clock = clockOf(tz);
    const fits = (ms) => {
        const at = clock(ms);
        const days = either ? sets[2].has(at[2]) || sets[4].has(at[4]) : sets[2].has(at[2]) && sets[4].has(at[4]);
        return days && sets[0].has(at[0]) && sets[1].has(at[1]) && sets[3].has(at[3]);
    };
    const next = (ms) => {
        let at = (Math.floor(ms / MINUTE) + 1) * MINUTE;
        for (const end = at + 5 * 366 * 1440 * MINUTE; at < end; at += MINUTE) {
            if (fits(at)) return at;
            // Hours whose minutes cannot fit are passed over, and days whose hours cannot.
            const [minute, hour, day, month, weekday] = clock(at);
            const isDay = either ? sets[2].has(day) || sets[4].has(weekday) : sets[2].has(day) && sets[4].has(weekday);
            if (!isDay || !sets[3].has(month)) at += Math.max(0, (22 - hour) * 60) * MINUTE;
            else if (!sets[1].has(hour)) at += (59 - minute) * MINUTE;
        }
        return null;
    };
    return { kind: "cron", rule: cron, next: (ms) => next(Math.max(ms, start - 1)) };
}

module.exports = { ruleOf };
