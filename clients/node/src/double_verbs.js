/* SPDX-License-Identifier: MIT */
"use strict";
/* The verbs of the double: each takes the double, the words of a request and its connection. */

const { milliseconds } = require("./duration");
const { ruleOf } = require("./cron");
const { ENDED, LABELS, SPEC, refuse, text, optionsOf } = require("./double_words");

function shown(d, job) {
    if (!job) return null;
    const {
        connection,
        forget_ms: keep,
        replacement,
        afterfail,
        backoff,
        retain,
        lease,
        started_ms,
        sequence,
        key_hold_ms,
        ...rest
    } = job;
    return {
        ...rest,
        state: d.stateOf(job),
        payload_bytes: job.payload.length,
        replacing: replacement !== null,
        keep_ms: keep ?? null,
    };
}

function recurrenceShown({ times, spec, ...one }) {
    const count = (outcome) => one.ledger.filter((entry) => entry.outcome === outcome).length;
    return {
        ...one,
        ledger: one.ledger.slice(-100),
        open: count("open"),
        ran: count("ran"),
        failed: count("failed"),
        skipped: count("skipped"),
    };
}

function queueShown(d, settings) {
    const counts = { scheduled: 0, ready: 0, leased: 0, done: 0, dead: 0, cancelled: 0, expired: 0, waiting: 0 };
    for (const job of d.jobs.values())
        if (job.tenant === settings.tenant && job.queue === settings.queue) counts[d.stateOf(job)]++;
    return { ...settings, ...counts };
}

/** Rules give times from `start`, as RECUR has it. */
function timesOf(d, o) {
    if (o.rrule !== undefined) refuse("INVALID", "the double knows no RRULE: test that against a server");
    if ((o.cron === undefined) === (o.every === undefined))
        refuse("INVALID", "expected exactly one of RRULE, CRON and EVERY");
    const start = o.start === undefined ? Math.ceil(d.now / 1000) * 1000 : d.due({ at: o.start });
    const given = (name) => (o[name] === undefined ? undefined : text(o[name]));
    try {
        return { times: ruleOf({ cron: given("cron"), every: given("every"), tz: given("tz"), start }), start };
    } catch (error) {
        return refuse("INVALID", error.message);
    }
}

const ok = (run) => (d, words) => {
    run(d, words, optionsOf(words, 2, []));
    return "OK";
};

const VERBS = {
    PING: () => "PONG",
    CLIENT(d, words) {
        const lease = d.parked.find((one) => one.connection.id === Number(words[2]));
        if (lease) d.unpark(lease);
        return lease ? 1 : 0;
    },
    SCHEDULE: (d, words) => d.schedule(words),
    BATCH(d, words) {
        const each = text(words[1]) === "each";
        const before = [new Map(d.jobs), new Map(d.queues)];
        const out = [];
        for (let at = 2; at < words.length; at += Number(words[at]) + 1) {
            try {
                out.push(d.schedule(words.slice(at + 1, at + 1 + Number(words[at])), 0));
            } catch (error) {
                if (!each) {
                    [d.jobs, d.queues] = before;
                    throw error;
                }
                out.push(error);
            }
        }
        return out;
    },
    LEASE(d, words, connection) {
        const o = optionsOf(words, 2, ["COUNT", "WAIT", "FOR", "WORKER"]);
        const lease = {
            connection,
            tenant: o.tenant,
            queues: text(words[1]).split(","),
            count: Number(text(o.count ?? 1)),
        };
        lease.length = o.for === undefined ? null : milliseconds(text(o.for));
        lease.worker = o.worker === undefined ? null : text(o.worker);
        const jobs = d.take(lease);
        if (jobs.length > 0 || o.wait === undefined) return jobs;
        return new Promise((resolve) => d.parked.push(Object.assign(lease, { resolve })));
    },
    COMPLETE(d, words) {
        const o = optionsOf(words, 3, ["RESULT", "AGAIN"]);
        const job = d.held(words);
        if (o.result !== undefined && o.again !== undefined)
            refuse("INVALID", "result, again: expected only one of them");
        job.stalls = 0;
        d.attempted(job, o.again === undefined ? "done" : "again");
        if (o.result !== undefined) job.result = Buffer.from(o.result);
        if (o.again !== undefined) {
            job.attempt = 0;
            d.again(job, milliseconds(text(o.again)), "again");
        } else if (job.replacement) {
            d.again(job, 0, "replaced");
        } else {
            d.end(job, "done");
        }
        return "OK";
    },
    FAIL(d, words) {
        const o = optionsOf(words, 3, ["ERROR", "RETRY", "FINAL"]);
        const job = d.held(words);
        const retry = o.retry === undefined ? undefined : milliseconds(text(o.retry));
        const attempt = job.attempt;
        d.fail(job, text(o.error ?? ""), { retry, final: text(o.final ?? "no") === "yes" });
        return { state: job.state, at_ms: ENDED.has(job.state) ? null : job.at_ms, attempt, attempts: job.attempts };
    },
    EXTEND(d, words) {
        const o = optionsOf(words, 3, ["FOR", "PROGRESS", "NOTE"]);
        const job = d.held(words);
        if (o.for !== undefined) job.lease_ms = milliseconds(text(o.for));
        if (o.progress !== undefined) job.progress = Number(text(o.progress));
        if (o.note !== undefined) job.note = text(o.note);
        job.until_ms = d.now + job.lease_ms;
        return { until_ms: job.until_ms, cancelled: job.cancelling };
    },
    RELEASE(d, words) {
        const o = optionsOf(words, 3, ["IN"]);
        const job = d.held(words);
        d.attempted(job, "released");
        job.attempt--;
        if (job.cancelling) d.end(job, "cancelled");
        else d.again(job, o.in === undefined ? 0 : milliseconds(text(o.in)), "released");
        return "OK";
    },
    CANCEL(d, words) {
        const job = d.named(words);
        if (!job) return "notfound";
        if (ENDED.has(job.state)) refuse("STATE", `the job is ${job.state} already`);
        if (job.state === "leased") {
            job.cancelling = true;
            return "running";
        }
        d.end(job, "cancelled");
        return "cancelled";
    },
    DELETE(d, words) {
        const job = d.named(words) ?? refuse("NOTFOUND", "there is no such job");
        if (job.state === "leased") refuse("STATE", "a worker has the job");
        if (!ENDED.has(job.state)) d.end(job, "cancelled");
        d.jobs.delete(job.id);
        return "OK";
    },
    RESCHEDULE(d, words) {
        const o = optionsOf(words, 2, ["IN", "AT"]);
        const job = d.find(words[1], o.tenant) ?? refuse("NOTFOUND", `there is no job ${text(words[1])}`);
        if (job.state === "leased" || ENDED.has(job.state)) refuse("STATE", `the job is ${job.state}`);
        job.attempt = 0;
        d.move(job, d.due(o), "rescheduled");
        return "OK";
    },
    GET: (d, words) => shown(d, d.named(words)),
    LIST(d, words) {
        const known = ["QUEUE", "FROM", "TO", "LIMIT", "TAG", "RECURRENCE", "KEY_PREFIX", "ORDER", "CURSOR"];
        const o = optionsOf(words, 1, known, ["STATE"]);
        const given = (name) => (o[name] === undefined ? undefined : text(o[name]));
        const fits = (job) =>
            (o.tenant === "*" || job.tenant === o.tenant) &&
            (o.queue === undefined || job.queue === given("queue")) &&
            (o.state.length === 0 || o.state.includes(d.stateOf(job))) &&
            (o.from === undefined || job.due_ms >= d.due({ at: o.from })) &&
            (o.to === undefined || job.due_ms < d.due({ at: o.to })) &&
            (o.tag === undefined || job.tags.includes(given("tag"))) &&
            (o.recurrence === undefined || job.recurrence === given("recurrence")) &&
            (o.key_prefix === undefined || job.key?.startsWith(given("key_prefix"))) &&
            (o.order === undefined || job.order === given("order"));
        const from = Number(given("cursor") ?? 0);
        const limit = Number(given("limit") ?? 100);
        const found = [...d.jobs.values()].filter(fits).sort((a, b) => a.due_ms - b.due_ms || (a.id < b.id ? -1 : 1));
        const jobs = found.slice(from, from + limit).map((job) => {
            const { payload, result, history, ...summary } = shown(d, job);
            return summary;
        });
        return { jobs, cursor: found.length > from + limit ? String(from + limit) : null };
    },
    REDRIVE(d, words) {
        const byId = !["QUEUE", "LIMIT", "TENANT"].includes(text(words[1]).toUpperCase());
        const o = optionsOf(words, byId ? 2 : 1, ["QUEUE", "LIMIT"]);
        if (byId && !d.find(words[1], o.tenant)) refuse("NOTFOUND", `there is no job ${text(words[1])}`);
        if (byId && d.find(words[1], o.tenant).state !== "dead") refuse("STATE", "the job is not dead");
        const isMeant = (job) =>
            byId ? job.id === text(words[1]) : job.tenant === o.tenant && job.queue === text(o.queue);
        const jobs = [...d.jobs.values()]
            .filter((job) => job.state === "dead" && isMeant(job))
            .slice(0, Number(text(o.limit ?? 1000)));
        for (const job of jobs) {
            Object.assign(job, { attempt: 0, stalls: 0, ended_ms: null });
            d.move(job, d.now, "redriven");
        }
        return jobs.length;
    },
    PAUSE: ok((d, words, o) => (d.settings(o.tenant, text(words[1])).paused = true)),
    RESUME: ok((d, words, o) => (d.settings(o.tenant, text(words[1])).paused = false)),
    QUEUE(d, words) {
        const o = optionsOf(words, 2, ["LEASE", "ATTEMPTS", "BACKOFF", "RETAIN", "RETAIN_DEAD", "MAX_RUNNING"]);
        const has = d.queues.has(`${o.tenant}@${text(words[1])}`);
        if (!has && words.length === 2 + ("tenant" in o && words.length > 2 ? 2 : 0)) return null;
        const settings = d.settings(o.tenant, text(words[1]));
        for (const [name, value] of Object.entries(o)) {
            if (["lease", "retain", "retain_dead"].includes(name)) settings[`${name}_ms`] = milliseconds(text(value));
            else if (["attempts", "max_running"].includes(name)) settings[name] = Number(text(value));
            else if (name === "backoff") settings.backoff = text(value);
        }
        return queueShown(d, settings);
    },
    QUEUES(d, words) {
        const o = optionsOf(words, 1, ["AFTER", "LIMIT"]);
        const after = text(o.after ?? "");
        const mine = [...d.queues.values()].filter(
            (one) => (o.tenant === "*" || one.tenant === o.tenant) && one.queue > after,
        );
        return mine.sort((a, b) => (a.queue < b.queue ? -1 : 1)).map((one) => queueShown(d, one));
    },
    RECUR(d, words) {
        const rule = ["RRULE", "CRON", "EVERY", "TZ", "START", "CATCHUP", "OVERLAP"];
        const o = optionsOf(words, 4, [...rule, ...SPEC], LABELS);
        const { times, start } = timesOf(d, o);
        const spec = [];
        for (const name of SPEC) if (o[name.toLowerCase()] !== undefined) spec.push(name, o[name.toLowerCase()]);
        for (const tag of o.tag) spec.push("TAG", tag);
        for (const [name, value] of Object.entries(o.meta ?? {})) spec.push("META", name, value);
        const name = text(words[1]);
        const before = d.recurrences.get(`${o.tenant}@${name}`);
        const made = {
            ...{
                name,
                tenant: o.tenant,
                queue: text(words[2]),
                payload: Buffer.from(words[3]),
                kind: times.kind,
                rule: times.rule,
            },
            ...{
                tz: text(o.tz ?? "UTC"),
                start_ms: start,
                overlap: text(o.overlap ?? "skip"),
                catchup: text(o.catchup ?? "last"),
            },
            ...{
                paused: before?.paused ?? false,
                revision: (before?.revision ?? 0) + 1,
                created_ms: before?.created_ms ?? d.now,
            },
            ...{ edited_ms: d.now, last_ms: before?.last_ms ?? null, ledger: before?.ledger ?? [], times, spec },
        };
        made.next_ms = times.next(d.now - (start >= d.now ? 1 : 0));
        d.recurrences.set(`${o.tenant}@${name}`, made);
        return recurrenceShown(made);
    },
    RECURRENCE(d, words) {
        const found = d.recurrences.get(`${optionsOf(words, 2, []).tenant}@${text(words[1])}`);
        return found ? recurrenceShown(found) : null;
    },
    RECURRENCES(d, words) {
        const o = optionsOf(words, 1, ["LIMIT", "CURSOR"]);
        const all = [...d.recurrences.values()].filter((one) => o.tenant === "*" || one.tenant === o.tenant);
        return { recurrences: all.map(recurrenceShown).map(({ ledger, ...rest }) => rest), cursor: null };
    },
    RECURPAUSE: ok((d, words, o) => (d.recurrence(o.tenant, words[1]).paused = true)),
    RECURRESUME: ok((d, words, o) => {
        const one = d.recurrence(o.tenant, words[1]);
        Object.assign(one, { paused: false, next_ms: one.times.next(d.now) });
    }),
    RECURRUN(d, words) {
        return d.occur(d.recurrence(optionsOf(words, 2, []).tenant, words[1]), d.now);
    },
    RECURDELETE: ok((d, words, o) => {
        d.recurrence(o.tenant, words[1]);
        d.recurrences.delete(`${o.tenant}@${text(words[1])}`);
    }),
    PREVIEW(d, words) {
        const o = optionsOf(words, 1, ["RRULE", "CRON", "EVERY", "TZ", "START", "FROM", "COUNT", "NAME", "QUEUE"]);
        const { times } = timesOf(d, o);
        const out = [];
        for (
            let at = (o.from === undefined ? d.now : d.due({ at: o.from })) - 1;
            out.length < Number(text(o.count ?? 10));
        ) {
            at = times.next(at);
            if (at === null) break;
            out.push({ at_ms: at, local: new Date(at).toISOString(), note: null });
        }
        return out;
    },
};

module.exports = { VERBS };
