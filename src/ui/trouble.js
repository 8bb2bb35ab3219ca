/* SPDX-License-Identifier: MIT */
/* What is wrong now, in sentences, each with its one remedy. Everything follows from the answers of the server. */
import { patch, post } from "./api.js";
import { bytes, count, number, soon, span } from "./format.js";
import { href } from "./route.js";

/** Reasons for which a queue gives out nothing, by a word of the server's sentence, with what helps.
 * `rank` orders sentences: 0 stands for harm now, 1 for something that may be meant, 2 for a note. */
const HOLDS = [
    { has: "maintenance", skip: true }, // the tenant has a sentence of its own
    { has: "tenant is paused", skip: true },
    {
        has: "paused",
        rank: 1,
        verb: "RESUME",
        label: "Resume",
        run: (q) => post(["queues", q.queue, "resume"], {}, { tenant: q.tenant }),
    },
    {
        has: "queue has as many running",
        rank: 1,
        label: "Change the limit",
        to: (q) => href(["queues", q.tenant, q.queue]),
    },
    { has: "tenant has as many running", rank: 1, label: "Change the limit", to: (q) => href(["tenants", q.tenant]) },
    {
        has: "queue has given as many",
        rank: 2,
        label: "Change the rate",
        to: (q) => href(["queues", q.tenant, q.queue]),
    },
    { has: "tenant has given as many", rank: 2, label: "Change the rate", to: (q) => href(["tenants", q.tenant]) },
    { has: "endpoint", rank: 0, label: "See the endpoint", to: (q) => href(["queues", q.tenant, q.queue]) },
    { has: "", rank: 0, label: "See the queue", to: (q) => href(["queues", q.tenant, q.queue]) },
];
const BURIED = 4; // queues with dead jobs that have a sentence
const PATIENCE_MS = 15000; // a queue whose last worker asked this long ago has none

const place = (page, q) => (page.tenant === "*" && q.tenant !== "default" ? `${q.tenant} / ${q.queue}` : q.queue);

function held(page, q) {
    const row = HOLDS.find((one) => q.held_by.includes(one.has));
    if (row.skip) return null;
    return {
        rank: row.rank,
        size: q.ready,
        about: place(page, q),
        words: `${q.held_by}. ${count(q.ready, "job")} ${q.ready === 1 ? "is" : "are"} ready.`,
        verb: row.verb,
        label: row.label,
        run: row.run && (() => row.run(q)),
        to: row.to?.(q) ?? href(["queues", q.tenant, q.queue]),
    };
}

/** Nobody asks for the jobs of these queues. */
function lonely(page, q, now) {
    if (q.asked_ms !== null && now - q.asked_ms < PATIENCE_MS) return null;
    const since = q.asked_ms === null ? "since the server started" : `for ${span(now - q.asked_ms)}`;
    return {
        rank: 0,
        size: q.ready,
        about: place(page, q),
        words: `${number(q.ready)} ready, and no worker has asked ${since}.`,
        label: "How to start one",
        to: href(["queues", q.tenant, q.queue], { worker: 1 }),
    };
}

const buried = (page, q) => ({
    rank: 1,
    size: q.dead,
    about: place(page, q),
    words: `${count(q.dead, "job")} used up their attempts and ${q.dead === 1 ? "is" : "are"} dead.`,
    label: "See their errors",
    to: href(["dead"], { queue: q.queue, tenant: q.tenant }),
});

const jobsWait = (n) => `${count(n, "job")} ${n === 1 ? "waits" : "wait"}`;

function gates(t) {
    const of = { size: t.pending, about: t.tenant, to: href(["tenants", t.tenant]) };
    return [
        t.maintenance && {
            ...of,
            rank: 1,
            words: `in maintenance${t.maintenance_until_ms ? ` until ${soon(t.maintenance_until_ms)}` : ""}. ${jobsWait(t.pending)}.`,
            verb: "TENANT!",
            label: "End maintenance",
            run: () => patch(["tenants", t.tenant], { maintenance: false }),
        },
        t.paused && {
            ...of,
            rank: 1,
            words: `paused. ${jobsWait(t.pending)}.`,
            verb: "TENANT!",
            label: "Resume",
            run: () => patch(["tenants", t.tenant], { paused: false }),
        },
        t.quiet_until_ms && {
            ...of,
            rank: 2,
            words: `quiet until ${soon(t.quiet_until_ms)}: jobs that notify people are put off.`,
            label: "Change the hours",
        },
        t.max_pending > 0 &&
            t.pending >= t.max_pending * 0.9 && {
                ...of,
                rank: 0,
                words: `${number(t.pending)} of ${number(t.max_pending)} jobs that it may have pending.`,
                label: "Change the limit",
            },
    ].filter(Boolean);
}

/** What there is beyond the rows that the overview shows. */
const beyond = (n, shown, words, kind) =>
    n > shown
        ? [
              {
                  rank: 2,
                  about: `${number(n - shown)} more queues`,
                  words,
                  label: "See queues",
                  to: href(["queues"], { kind }),
              },
          ]
        : [];

function machine(stats) {
    const part = stats.memory_bytes / stats.memory_limit_bytes;
    return [
        part > 0.9 && {
            rank: 0,
            about: "The server",
            words: `has ${Math.round(part * 100)} % of its memory in use. Jobs go to disk, and new ones may be refused.`,
            label: "See storage",
            to: href(["operations"], { tab: "storage" }),
        },
        stats.disk_low > 0 && {
            rank: 0,
            about: "The server",
            words: `has ${bytes(stats.disk_free_bytes)} of disk left, its reserve. New jobs are refused.`,
            label: "See storage",
            to: href(["operations"], { tab: "storage" }),
        },
        stats.audit_dropped > 0 && {
            rank: 2,
            about: "The audit log",
            words: `has dropped ${count(stats.audit_dropped, "entry", "entries")} at its limit.`,
            label: "See the log",
            to: href(["operations"]),
        },
        stats.leased_memory_tenants > 0 && {
            rank: 1,
            about: count(stats.leased_memory_tenants, "tenant"),
            words: "wait because their leased jobs take as much memory as they may.",
            label: "See tenants",
            to: href(["tenants"]),
        },
    ].filter(Boolean);
}

/** All sentences, the worst first.
 * @param {any} stats the figures of the server or of a tenant
 * @param {any} overview the answer of OVERVIEW
 * @returns {{rank: number, about: string, words: string, label: string, to?: string, verb?: string, run?: () => Promise<any>}[]} */
export function troubles(page, stats, overview, now = Date.now()) {
    const list = [
        ...machine(stats),
        ...overview.held.map((q) => held(page, q)),
        ...overview.unserved.map((q) => lonely(page, q, now)),
        ...overview.dead.slice(0, BURIED).map((q) => buried(page, q)),
        ...overview.gated.flatMap((t) => gates(t)),
        ...beyond(overview.held_queues, overview.held.length, "are held.", "held"),
        ...beyond(overview.dead_queues, Math.min(BURIED, overview.dead.length), "have dead jobs.", "dead"),
    ].filter(Boolean);
    return list.sort((a, b) => a.rank - b.rank || (b.size ?? 0) - (a.size ?? 0));
}
