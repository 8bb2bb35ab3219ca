/* SPDX-License-Identifier: MIT */
"use strict";
/* Durations and moments: what callers write, and what the server takes. */

const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000, w: 604800000 };

/** Milliseconds of "1h30m", "1.5s", or of a number of milliseconds.
 * @param {string | number} value */
function milliseconds(value, name = "a duration") {
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
    if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
    if (typeof value === "string" && /^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(value)) {
        let sum = 0;
        for (const [, n, unit] of value.matchAll(/([\d.]+)(ms|[smhdw])/g)) sum += Number(n) * UNITS[unit];
        return sum;
    }
    throw new TypeError(
        `${name}: expected a duration, such as "10m", "1h30m" or 5000 (milliseconds), not ${show(value)}`,
    );
}

/** The word of a duration. Fractions of a millisecond are rounded up, so that nothing runs early. */
function durationWord(value, name) {
    if (typeof value === "string") {
        milliseconds(value, name);
        return value;
    }
    return String(Math.ceil(milliseconds(value, name)));
}

/** The word of a moment: a Date, RFC 3339, or milliseconds since 1970. */
function momentWord(value, name = "a moment") {
    const ms = value instanceof Date ? value.getTime() : value;
    if (typeof ms === "number" && Number.isFinite(ms)) return String(Math.ceil(ms));
    if (typeof ms === "string" && ms !== "") return ms;
    throw new TypeError(
        `${name}: expected a Date, milliseconds since 1970, or RFC 3339 with its zone, not ${show(value)}`,
    );
}

/** The word of a back-off: as the server has it, or an object as BullMQ has it. */
function backoffWord(value, name = "backoff") {
    if (typeof value === "string") return value;
    if (Array.isArray(value))
        return value
            .map((pause) => durationWord(pause, name))
            .map(withUnit)
            .join(",");
    if (value && typeof value === "object") {
        const pause = withUnit(durationWord(value.delay ?? 1000, `${name}.delay`));
        if (value.type === "fixed") return `fixed:${pause}`;
        if (value.type === "exponential")
            return `exp:${pause}:${withUnit(durationWord(value.max ?? "1h", `${name}.max`))}`;
    }
    throw new TypeError(
        `${name}: expected "exp:2s:1h", "fixed:20s", "1m,5m,15m", an array of durations, ` +
            `or { type: "exponential" or "fixed", delay, max }, not ${show(value)}`,
    );
}

const withUnit = (word) => (/^\d+$/.test(word) ? `${word}ms` : word);

function show(value) {
    try {
        return JSON.stringify(value) ?? String(value);
    } catch {
        return typeof value;
    }
}

module.exports = { milliseconds, durationWord, momentWord, backoffWord, show };
