/* SPDX-License-Identifier: MIT */
/* Numbers, durations and moments, as people read them. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const UNITS = [
    ["w", 604800000],
    ["d", 86400000],
    ["h", 3600000],
    ["m", 60000],
    ["s", 1000],
    ["ms", 1],
];

/** 12345 -> "12,345" */
export const number = (n) => (n === null || n === undefined ? "–" : whole.format(n));

/** 1234567 -> "1.2 M", for places that are narrow. */
export function short(n) {
    if (n < 10000) return number(n);
    const [unit, size] = n < 1e6 ? ["k", 1e3] : n < 1e9 ? ["M", 1e6] : ["G", 1e9];
    const value = n / size;
    return `${value < 100 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    for (; n >= 1024 && at < units.length - 1; at++) n /= 1024;
    return `${at && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[at]}`;
}

export const percent = (part, of) => (of > 0 ? `${Math.round((100 * part) / of)} %` : "–");

/** A span for people, with its two largest units: 93784000 -> "1d 2h" */
export function span(ms) {
    if (ms === null || ms === undefined) return "–";
    const left = Math.abs(Math.round(ms));
    if (left < 1000) return `${left} ms`;
    if (left < 60000) return `${left < 10000 ? (left / 1000).toFixed(1) : Math.round(left / 1000)} s`;
    const at = UNITS.findIndex(([, size]) => left >= size);
    const [unit, size] = UNITS[at],
        [lower, part] = UNITS[at + 1];
    const rest = Math.floor((left % size) / part);
    return `${Math.floor(left / size)}${unit}${rest ? ` ${rest}${lower}` : ""}`;
}

/** 1234 microseconds -> "1.2 ms" */
export const micros = (us) =>
    us < 1000 ? `${number(us)} µs` : us < 10000 ? `${(us / 1000).toFixed(1)} ms` : span(us / 1000);

/** A duration exactly, as the server takes it: 5400000 -> "1h30m" */
export function duration(ms) {
    if (ms === null || ms === undefined) return "";
    if (ms === 0) return "0ms";
    let text = "";
    for (const [unit, size] of UNITS) {
        if (ms >= size) text += Math.floor(ms / size) + unit;
        ms %= size;
    }
    return text;
}

/** "in 5m", "3m ago", "now" */
export function ago(ms, now = Date.now()) {
    if (ms === null || ms === undefined) return "–";
    const d = ms - now;
    if (Math.abs(d) < 1000) return "now";
    return d > 0 ? `in ${span(d)}` : `${span(d)} ago`;
}

const clocks = new Map();
function clock(options, tz) {
    const key = JSON.stringify(options) + tz;
    if (!clocks.has(key)) clocks.set(key, new Intl.DateTimeFormat("en-GB", { ...options, timeZone: tz }));
    return clocks.get(key);
}

/** "18 Nov 2026, 16:44:14", in the browser's zone or in `tz`. */
export function moment(ms, tz) {
    if (ms === null || ms === undefined) return "–";
    return clock(
        { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" },
        tz,
    ).format(ms);
}

/** "16:44", with the day if that is not today. */
export function soon(ms, tz) {
    const day = { day: "numeric", month: "short" };
    const time = clock({ hour: "2-digit", minute: "2-digit" }, tz).format(ms);
    return clock(day, tz).format(ms) === clock(day, tz).format(Date.now())
        ? time
        : `${clock({ weekday: "short", ...day }, tz).format(ms)}, ${time}`;
}

export const time = (ms, tz) => clock({ hour: "2-digit", minute: "2-digit", second: "2-digit" }, tz).format(ms);

/** Year, month (1 to 12), day, hour, … of a moment in a zone. */
export function local(ms, tz) {
    const parts = {};
    const form = clock(
        {
            year: "numeric",
            month: "2-digit",
            day: "2-digit",
            hour: "2-digit",
            minute: "2-digit",
            second: "2-digit",
            weekday: "short",
            hourCycle: "h23",
        },
        tz,
    );
    for (const { type, value } of form.formatToParts(ms)) parts[type] = type === "weekday" ? value : Number(value);
    return parts;
}

/** The offset of a zone from UTC at a moment, in minutes. */
export function offset(ms, tz) {
    const p = local(ms, tz);
    return Math.round(
        (Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - Math.floor(ms / 1000) * 1000) / 60000,
    );
}

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** "1 job", "12 jobs" */
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : text);
