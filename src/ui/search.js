/* SPDX-License-Identifier: MIT */
/* The search bar of jobs: qualifiers such as `queue:mail state:dead error:timeout due:<2h`, and an id by itself. */
import { STATES } from "./parts.js";

const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000, w: 604800000 };
const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/i;

/** "1h30m" -> milliseconds; null if it is no duration. */
export function milliseconds(text) {
    if (!/^(\d+(ms|[smhdw]))+$/.test(text)) return null;
    return [...text.matchAll(/(\d+)(ms|[smhdw])/g)].reduce((sum, [, n, unit]) => sum + n * UNITS[unit], 0);
}

/** A span around now: <2h is before in two hours, >1d is behind in a day, <-1h is longer ago than an hour. */
function around(name, value, query, from, to, now) {
    const found = /^([<>])(-?)(.+)$/.exec(value);
    const ms = found && milliseconds(found[3]);
    if (value === "past") query[to] = now;
    else if (value === "today") {
        query[from] = new Date(now).setHours(0, 0, 0, 0);
        query[to] = new Date(now).setHours(24, 0, 0, 0);
    } else if (ms) query[found[1] === "<" ? to : from] = now + (found[2] ? -ms : ms);
    else
        throw new Error(
            `${name}:${value} is not understood: write ${name}:<2h, ${name}:>1d, ${name}:>-1h, ${name}:past or ${name}:today`,
        );
}

function instant(name, value) {
    const ms = /^\d+$/.test(value) ? Number(value) : Date.parse(value);
    if (Number.isNaN(ms)) throw new Error(`${name}:${value} is no moment: write ${name}:2030-01-31T09:00:00Z`);
    return ms;
}

/** Qualifiers by name: how each one changes the query of LIST, and words for suggestions. */
export const QUALIFIERS = {
    queue: { words: "of a queue", set: (v, q) => (q.queue = v) },
    state: {
        words: "in a state; several with commas between",
        set: (v, q) => (q.state = [...(q.state ?? []), ...v.split(",").map(stateOf)]),
    },
    tag: { words: "with a tag", set: (v, q) => (q.tag = v) },
    error: { words: "whose last error has a text in it", set: (v, q) => (q.error = v.replace(/^~/, "")) },
    due: {
        words: "due within a time: <2h, >1d, past, today",
        set: (v, q, now) => around("due", v, q, "from", "to", now),
    },
    ended: {
        words: "ended within a time: >-1h, today",
        set: (v, q, now) => around("ended", v, q, "ended_from", "ended_to", now),
    },
    worker: { words: "that a worker has or had", set: (v, q) => (q.worker = v) },
    key: { words: "whose key begins so", set: (v, q) => (q.key_prefix = v) },
    order: { words: "with an ordering key", set: (v, q) => (q.order = v) },
    recurrence: { words: "made by a recurrence", set: (v, q) => (q.recurrence = v) },
    from: { words: "due at or after a moment", set: (v, q) => (q.from = instant("from", v)) },
    to: { words: "due before a moment", set: (v, q) => (q.to = instant("to", v)) },
    id: { words: "by its id", set: (v, q) => (q.id = v.toUpperCase()) },
};

function stateOf(name) {
    const state = STATES.find((s) => s.name === name || s.word === name);
    if (!state) throw new Error(`state:${name} is none of ${STATES.map((s) => s.name).join(", ")}`);
    return state.name;
}

/** @returns {{query: Record<string, any>, problem: string|null}} the parameters of LIST, or the sentence about a mistake */
export function parse(text, now = Date.now()) {
    const query = {};
    try {
        for (const [, name, quoted, plain] of text.matchAll(/(?:(\w+):)?(?:"([^"]*)"|(\S+))/g)) {
            const value = quoted ?? plain;
            if (!name && ID.test(value)) query.id = value.toUpperCase();
            else if (!name) throw new Error(`“${value}” is no qualifier and no id: write, for example, queue:${value}`);
            else if (!QUALIFIERS[name])
                throw new Error(
                    `${name}: is not known. There are ${Object.keys(QUALIFIERS)
                        .map((n) => `${n}:`)
                        .join(" ")}`,
                );
            else QUALIFIERS[name].set(value, query, now);
        }
        return { query, problem: null };
    } catch (error) {
        return { query: {}, problem: error.message };
    }
}

/** What could follow the last word.
 * @param {{queues: string[]}} known */
export function suggest(text, known) {
    const last = /\S*$/.exec(text)[0],
        before = text.slice(0, text.length - last.length);
    const [name, value] = last.includes(":")
        ? [last.slice(0, last.indexOf(":")), last.slice(last.indexOf(":") + 1)]
        : [null, last];
    const from = (list) =>
        list
            .filter((v) => v.startsWith(value) && v !== value)
            .slice(0, 8)
            .map((v) => ({ text: `${before}${name}:${v} `, show: `${name}:${v}` }));
    if (name === "queue") return from(known.queues);
    if (name === "state") return from(STATES.map((s) => s.name));
    if (name === "ended") return from([">-1h", ">-1d", "today"]);
    if (name === "due") return from(["<1h", "<1d", ">1h", ">1d", "<-1h", "past", "today"]);
    if (name) return [];
    return Object.entries(QUALIFIERS)
        .filter(([n]) => n.startsWith(value) && !text.includes(`${n}:`))
        .map(([n, { words }]) => ({ text: `${before}${n}:`, show: `${n}:`, words }));
}

/** The text with one qualifier set to another value, or taken out. */
export function withWord(text, name, value) {
    const rest = text
        .replace(new RegExp(`(^|\\s)${name}:("[^"]*"|\\S*)`, "g"), " ")
        .replace(/\s+/g, " ")
        .trim();
    return value ? `${rest} ${name}:${value}`.trim() : rest;
}
