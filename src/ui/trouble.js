/* SPDX-License-Identifier: MIT */
/* What is wrong now, in sentences, each with its one remedy. Everything follows from the answers of the server. */
import { get, patch, post } from "./api.js";
import { count, number, soon, span } from "./format.js";
import { href } from "./route.js";

/** Reasons for which a queue gives out nothing, by a word of the server's sentence, with what helps.
 * `rank` orders sentences: 0 stands for harm now, 1 for something that may be meant, 2 for a note. */
const HOLDS = [
    {
        has: "paused",
        rank: 1,
        verb: "RESUME",
        label: "Resume",
        run: (q) => post(["queues", q.queue, "resume"], {}, { tenant: q.tenant }),
    },
    { has: "maintenance", skip: true }, // the tenant has a sentence of its own
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
const LONE = 5; // queues whose last worker is looked up
const asked = new Map();

/** When a worker last asked for a queue: EXPLAIN of its first ready job knows. Answers undefined if nothing can be said. */
async function lastAsked(page, q) {
    const name = `${q.tenant}@${q.queue}`,
        kept = asked.get(name);
    if (kept && Date.now() - kept.at < 10000) return kept.ms;
    const list = await get(["jobs"], { tenant: q.tenant, queue: q.queue, state: "ready", limit: 1 }, page.signal).catch(
        () => null,
    );
    const why =
        list?.jobs[0] &&
        (await get(["jobs", list.jobs[0].id, "explain"], { tenant: q.tenant }, page.signal).catch(() => null));
    const ms = why ? why.asked_ms : undefined;
    asked.set(name, { at: Date.now(), ms });
    return ms;
}

const place = (page, q) => (page.tenant === "*" && q.tenant !== "default" ? `${q.tenant} / ${q.queue}` : q.queue);

function held(page, q) {
    const row = HOLDS.find((one) => q.held_by.includes(one.has));
    if (row.skip || q.ready + q.leased === 0) return null;
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

async function lonely(page, queues) {
    const rows = queues
        .filter((q) => !q.held_by && !q.push_url && q.ready > 0 && q.waiting_workers === 0)
        .sort((a, b) => b.ready - a.ready)
        .slice(0, LONE);
    const found = await Promise.all(
        rows.map(async (q) => {
            const ms = await lastAsked(page, q);
            if (ms === undefined || (ms !== null && Date.now() - ms < 15000)) return null;
            return {
                rank: 0,
                size: q.ready,
                about: place(page, q),
                words: `${number(q.ready)} ready, and no worker has asked ${ms ? `for ${span(Date.now() - ms)}` : "since the server started"}.`,
                label: "How to start one",
                to: href(["queues", q.tenant, q.queue], { worker: 1 }),
            };
        }),
    );
    return found.filter(Boolean);
}

const buried = (page, queues) =>
    queues
        .filter((q) => q.dead > 0)
        .sort((a, b) => b.dead - a.dead)
        .slice(0, 4)
        .map((q) => ({
            rank: 1,
            size: q.dead,
            about: place(page, q),
            words: `${count(q.dead, "job")} used up their attempts and ${q.dead === 1 ? "is" : "are"} dead.`,
            label: "See their errors",
            to: href(["dead"], { queue: q.queue, tenant: q.tenant }),
        }));

function gates(tenants, queues) {
    return tenants.flatMap((t) => {
        const deferred = queues.filter((q) => q.tenant === t.tenant).reduce((sum, q) => sum + q.total_deferred, 0);
        return [
            t.maintenance && {
                rank: 1,
                size: t.pending,
                about: t.tenant,
                words: `in maintenance${t.maintenance_until_ms ? ` until ${soon(t.maintenance_until_ms)}` : ""}. ${count(t.pending, "job")} wait.`,
                verb: "TENANT!",
                label: "End maintenance",
                run: () => patch(["tenants", t.tenant], { maintenance: false }),
                to: href(["tenants", t.tenant]),
            },
            t.quiet_until_ms && {
                rank: 2,
                size: t.pending,
                about: t.tenant,
                words: `quiet until ${soon(t.quiet_until_ms)}${deferred ? `. ${count(deferred, "job")} put off so far` : ""}.`,
                label: "Change the hours",
                to: href(["tenants", t.tenant]),
            },
            t.max_pending > 0 &&
                t.pending >= t.max_pending * 0.9 && {
                    rank: 0,
                    size: t.pending,
                    about: t.tenant,
                    words: `${number(t.pending)} of ${number(t.max_pending)} jobs that it may have pending.`,
                    label: "Change the limit",
                    to: href(["tenants", t.tenant]),
                },
        ].filter(Boolean);
    });
}

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
 * @returns {Promise<{rank: number, about: string, words: string, label: string, to?: string, verb?: string, run?: () => Promise<any>}[]>} */
export async function troubles(page, { stats, queues, tenants }) {
    const list = [
        ...machine(stats),
        ...queues
            .filter((q) => q.held_by)
            .map((q) => held(page, q))
            .filter(Boolean),
        ...(await lonely(page, queues)),
        ...buried(page, queues),
        ...gates(tenants, queues),
    ];
    return list.sort((a, b) => a.rank - b.rank || (b.size ?? 0) - (a.size ?? 0));
}
