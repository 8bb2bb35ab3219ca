/* SPDX-License-Identifier: MIT */
"use strict";
/* The server's promises in memory, under a clock that the test turns. It answers words as the server does, for the verbs
 * of its table; any other verb is an error. Pauses of a back-off are exact, where the server draws them near that. */

const { milliseconds } = require("./duration");
const { VERBS } = require("./double_verbs");
const { ENDED, LABELS, SPEC, refuse, text, optionsOf } = require("./double_words");

const DEFAULTS = {
    lease_ms: 60000,
    attempts: 5,
    backoff: "exp:2s:1h",
    retain_ms: 86400000,
    retain_dead_ms: 30 * 86400000,
};
const STALLS_MAX = 10;
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function digits(value, length) {
    let out = "";
    for (let n = BigInt(value); out.length < length; n /= 32n) out = DIGITS[Number(n % 32n)] + out;
    return out;
}

/** What a back-off pauses after so many attempts. */
function pauseOf(backoff, attempt) {
    const [form, first, most] = backoff.split(":");
    if (form === "fixed") return milliseconds(first);
    if (form === "exp") return Math.min(milliseconds(most ?? "1h"), milliseconds(first) * 2 ** (attempt - 1));
    const list = backoff.split(",");
    return milliseconds(list[Math.min(attempt, list.length) - 1]);
}

class Double {
    now;
    jobs = new Map();
    queues = new Map(); // tenant@queue -> settings
    recurrences = new Map();
    parked = []; // LEASEs that wait: { connection, queues, count, …, resolve }
    told = new Set(); // listeners to events
    #seq = 0;
    #token = 1099511627776n;
    #ended = 0;

    constructor(now) {
        this.now = now;
    }

    /** Answers a request, or throws the error that the server answers. */
    call(words, connection) {
        const verb = text(words[0]).toUpperCase();
        const run = VERBS[verb];
        if (!run) refuse("UNKNOWN", `the double does not know ${verb}: test that against a server`);
        const answer = run(this, words, connection);
        this.give();
        return answer;
    }

    // ---- Jobs ----

    settings(tenant, queue) {
        const name = `${tenant}@${queue}`;
        if (!this.queues.has(name))
            this.queues.set(name, { tenant, queue, paused: false, max_running: 0, ...DEFAULTS });
        return this.queues.get(name);
    }

    find(id, tenant) {
        const job = this.jobs.get(text(id));
        return job && (tenant === "*" || job.tenant === tenant) ? job : null;
    }

    byKey(tenant, queue, key, order) {
        for (const job of this.jobs.values())
            if (
                job.tenant === tenant &&
                job.queue === queue &&
                job.key === key &&
                job.order === order &&
                this.holdsKey(job)
            )
                return job;
        return null;
    }

    holdsKey(job) {
        return !ENDED.has(job.state) || (job.ended_ms + job.key_hold_ms > this.now && job.state !== "expired");
    }

    named(words) {
        const byId = words.length > 1 && !["KEY", "QUEUE", "ORDER", "TENANT"].includes(text(words[1]).toUpperCase());
        const o = optionsOf(words, byId ? 2 : 1, ["KEY", "QUEUE", "ORDER"]);
        if (byId) return this.find(words[1], o.tenant);
        if (o.key === undefined || o.queue === undefined) refuse("INVALID", "expected an id, or KEY and QUEUE");
        return this.byKey(o.tenant, text(o.queue), text(o.key), o.order === undefined ? null : text(o.order));
    }

    stateOf(job) {
        return job.state === "scheduled" && job.at_ms <= this.now ? "ready" : job.state;
    }

    due(o) {
        if (o.in !== undefined && o.at !== undefined) refuse("INVALID", "in, at: expected only one of them");
        if (o.in !== undefined) return this.now + milliseconds(text(o.in));
        if (o.at === undefined) return this.now;
        const at = /^\d+$/.test(text(o.at)) ? Number(text(o.at)) : Date.parse(text(o.at));
        return Number.isNaN(at) ? refuse("INVALID", `at: expected a moment, not ${text(o.at)}`) : at;
    }

    schedule(words, from = 1, more = {}) {
        const [queue, payload] = [text(words[from]), Buffer.from(words[from + 1])];
        const o = optionsOf(words, from + 2, SPEC, LABELS);
        const settings = this.settings(o.tenant, queue);
        const due = this.due(o);
        const key = o.key === undefined ? null : text(o.key);
        const order = o.order === undefined ? null : text(o.order);
        const taken = key === null ? null : this.byKey(o.tenant, queue, key, order);
        const mode = text(o.ifexists ?? "keep");
        if (taken && mode === "reject") refuse("KEYEXISTS", taken.id);
        if (taken && mode === "replace" && !ENDED.has(taken.state)) {
            if (taken.state === "leased") taken.replacement = { payload, due };
            else this.move(taken, due, "replaced", payload);
            return this.scheduled(taken, "replaced", o);
        }
        if (taken && mode === "keep") return this.scheduled(taken, "kept", o);
        const number = (name, otherwise) => (o[name] === undefined ? otherwise : Number(text(o[name])));
        const ms = (name, otherwise) => (o[name] === undefined ? otherwise : milliseconds(text(o[name])));
        for (const id of o.after) if (!this.find(id, o.tenant)) refuse("NOTFOUND", `there is no job ${id}`);
        const job = {
            ...{
                id: digits(due, 10) + digits(++this.#seq, 16),
                state: "scheduled",
                tenant: o.tenant,
                queue,
                key,
                payload,
            },
            ...{
                priority: number("priority", 3),
                due_ms: due,
                at_ms: due,
                attempt: 0,
                attempts: number("attempts", settings.attempts),
            },
            ...{ backoff: text(o.backoff ?? settings.backoff), lease: ms("lease", null), created_ms: this.now, order },
            ...{
                retain: ms("retain", settings.retain_ms),
                expires_ms: o.expire === undefined ? null : due + ms("expire"),
            },
            ...{
                key_hold_ms: ms("key_hold", 0),
                tags: o.tag,
                meta: o.meta ?? {},
                after: o.after,
                afterfail: text(o.afterfail ?? "cancel"),
            },
            ...{
                stalls: 0,
                error: null,
                worker: null,
                progress: null,
                note: null,
                result: null,
                token: null,
                until_ms: null,
            },
            ...{
                cancelling: false,
                replacement: null,
                ended_ms: null,
                history: [],
                recurrence: null,
                nominal_ms: null,
                ...more,
            },
        };
        this.jobs.set(job.id, job);
        if (job.after.length > 0) job.state = "waiting";
        this.tell(job, job.state, null, "created");
        this.unblock(job);
        return this.scheduled(job, "created", o);
    }

    scheduled(job, outcome, o) {
        if (text(o.answer ?? "id") === "id") return job.id;
        return { id: job.id, created: outcome === "created", outcome };
    }

    move(job, at, cause, payload) {
        const from = job.state;
        if (payload) job.payload = payload;
        job.due_ms = job.at_ms = at;
        if (job.state !== "waiting") job.state = "scheduled";
        this.tell(job, job.state, from, cause);
    }

    /** A waiting job whose parents have ended goes on, or is cancelled. */
    unblock(job) {
        if (job.state !== "waiting") return;
        const parents = job.after.map((id) => this.jobs.get(id)?.state ?? "done");
        if (job.afterfail === "cancel" && parents.some((state) => ENDED.has(state) && state !== "done"))
            return this.end(job, "cancelled");
        if (!parents.every((state) => ENDED.has(state))) return;
        job.state = "scheduled";
        this.tell(job, "scheduled", "waiting", "unblocked");
    }

    end(job, state) {
        const from = job.state;
        const dead = this.settings(job.tenant, job.queue).retain_dead_ms;
        Object.assign(job, { state, token: null, until_ms: null, ended_ms: this.now, sequence: ++this.#ended });
        job.forget_ms = this.now + (state === "dead" ? dead : job.retain);
        this.tell(job, state, from, "ended");
        for (const child of [...this.jobs.values()]) if (child.after.includes(job.id)) this.unblock(child);
        const recurrence = job.recurrence && this.recurrences.get(`${job.tenant}@${job.recurrence}`);
        if (recurrence) {
            const entry = recurrence.ledger.find((one) => one.id === job.id);
            if (entry)
                Object.assign(entry, {
                    outcome: state === "done" ? "ran" : state === "cancelled" ? "cancelled" : "failed",
                    ended_ms: this.now,
                });
        }
    }

    tell(job, state, from, cause) {
        const event = { id: job.id, tenant: job.tenant, queue: job.queue, state, from, cause, attempt: job.attempt };
        Object.assign(event, {
            happened_ms: this.now,
            due_ms: job.due_ms,
            at_ms: state === "waiting" ? null : job.at_ms,
        });
        for (const listener of this.told) listener(event);
    }

    // ---- Leases ----

    /** The ready jobs of a LEASE, the first ones first. */
    ready({ tenant, queues }) {
        const running = new Map();
        const firsts = new Map(); // tenant, queue, order -> the job that may run
        for (const job of this.jobs.values()) {
            const name = `${job.tenant}@${job.queue}`;
            if (job.state === "leased") running.set(name, (running.get(name) ?? 0) + 1);
            if (job.order === null || ENDED.has(job.state) || job.state === "waiting") continue;
            const lane = `${name}\0${job.order}`;
            const first = firsts.get(lane);
            if (!first || job.state === "leased" || (first.state !== "leased" && job.due_ms < first.due_ms))
                firsts.set(lane, job);
        }
        const may = (job) => {
            if (
                this.stateOf(job) !== "ready" ||
                !queues.includes(job.queue) ||
                (tenant !== "*" && tenant !== job.tenant)
            )
                return false;
            const name = `${job.tenant}@${job.queue}`;
            const { paused, max_running: most } = this.settings(job.tenant, job.queue);
            if (paused || (most > 0 && (running.get(name) ?? 0) >= most)) return false;
            if (job.order !== null && firsts.get(`${name}\0${job.order}`) !== job) return false;
            if (most > 0) running.set(name, (running.get(name) ?? 0) + 1);
            return true;
        };
        const rank = (a, b) => a.priority - b.priority || a.at_ms - b.at_ms || (a.id < b.id ? -1 : 1);
        return [...this.jobs.values()].sort(rank).filter(may);
    }

    take(lease) {
        return this.ready(lease)
            .slice(0, lease.count)
            .map((job) => this.lease(job, lease));
    }

    lease(job, { length, worker, connection }) {
        job.attempt++;
        const lease = length ?? job.lease ?? this.settings(job.tenant, job.queue).lease_ms;
        Object.assign(job, {
            state: "leased",
            token: String(++this.#token),
            lease_ms: lease,
            until_ms: this.now + lease,
            worker,
        });
        Object.assign(job, { connection, started_ms: this.now, progress: null, note: null });
        this.tell(job, "leased", "scheduled", "leased");
        const shown = ["id", "token", "tenant", "queue", "payload", "attempt", "priority", "due_ms", "lease_ms", "until_ms", "key", "tags", "meta", "order", "recurrence", "nominal_ms"]; // prettier-ignore
        return Object.fromEntries(shown.map((name) => [name, job[name]]));
    }

    /** Gives ready jobs to LEASEs that wait. */
    give() {
        for (const lease of [...this.parked]) {
            const jobs = this.take(lease);
            if (jobs.length > 0) this.unpark(lease, jobs);
        }
    }

    unpark(lease, jobs = []) {
        this.parked = this.parked.filter((one) => one !== lease);
        lease.resolve(jobs);
    }

    held(words) {
        const job = this.jobs.get(text(words[1]));
        if (!job || job.state !== "leased" || job.token !== text(words[2])) refuse("STALE", "lease no longer held");
        return job;
    }

    /** Ends an attempt, and notes it. */
    attempted(job, outcome, error = null) {
        const entry = {
            attempt: job.attempt,
            start_ms: job.started_ms,
            end_ms: this.now,
            late_ms: job.started_ms - job.at_ms,
        };
        job.history.push({ ...entry, outcome, worker: job.worker, error });
        if (error !== null) job.error = error;
        job.token = job.until_ms = job.lease_ms = job.connection = null;
    }

    again(job, pause, cause) {
        if (job.replacement) {
            const { payload, due } = job.replacement;
            Object.assign(job, { payload, due_ms: due, replacement: null, attempt: 0 });
            pause = due - this.now;
        }
        const from = job.state;
        job.state = "scheduled";
        job.at_ms = this.now + pause;
        if (cause === "again") job.due_ms = job.at_ms;
        this.tell(job, "scheduled", from, cause);
    }

    fail(job, error, { outcome = "failed", retry, final = false } = {}) {
        this.attempted(job, outcome, error);
        job.stalls = outcome === "stalled" ? job.stalls + 1 : 0;
        const isOver = final || job.stalls >= STALLS_MAX || (job.attempts > 0 && job.attempt >= job.attempts);
        if (job.cancelling) this.end(job, "cancelled");
        else if (isOver && !job.replacement) this.end(job, "dead");
        else this.again(job, retry ?? pauseOf(job.backoff, job.attempt), "retried");
    }

    // ---- Time ----

    /** When something happens next by itself; Infinity if never. */
    next() {
        let at = Infinity;
        for (const job of this.jobs.values()) {
            if (job.state === "scheduled" && job.at_ms > this.now) at = Math.min(at, job.at_ms);
            if (job.state === "leased") at = Math.min(at, job.until_ms);
            if (["scheduled", "waiting"].includes(job.state) && job.attempt === 0 && job.expires_ms !== null)
                at = Math.min(at, job.expires_ms);
            if (ENDED.has(job.state)) at = Math.min(at, job.forget_ms);
        }
        for (const one of this.recurrences.values())
            if (!one.paused && one.next_ms !== null) at = Math.min(at, one.next_ms);
        return at;
    }

    /** Does what is due now. */
    fire() {
        for (const one of this.recurrences.values()) this.recur(one);
        for (const job of [...this.jobs.values()]) {
            const isNew = ["scheduled", "waiting"].includes(job.state) && job.attempt === 0;
            if (job.state === "leased" && job.until_ms <= this.now)
                this.fail(job, "the lease ended", { outcome: "stalled" });
            else if (isNew && job.expires_ms !== null && job.expires_ms <= this.now) this.end(job, "expired");
            else if (ENDED.has(job.state) && job.forget_ms <= this.now) this.jobs.delete(job.id);
        }
        this.give();
    }

    recur(one) {
        while (!one.paused && one.next_ms !== null && one.next_ms <= this.now) {
            const nominal = one.next_ms;
            one.next_ms = one.times.next(nominal);
            const open = one.ledger.some((entry) => entry.outcome === "open");
            if (open && one.overlap === "skip")
                one.ledger.push({ nominal_ms: nominal, outcome: "skipped", why: "overlap", id: null, ended_ms: null });
            else this.occur(one, nominal);
        }
    }

    occur(one, nominal) {
        const more = { recurrence: one.name, nominal_ms: nominal };
        const id = this.schedule(["SCHEDULE", one.queue, one.payload, ...one.spec, "TENANT", one.tenant], 1, more);
        one.ledger.push({ nominal_ms: nominal, outcome: "open", why: null, id, ended_ms: null });
        one.last_ms = nominal;
        return id;
    }

    recurrence(tenant, name) {
        return (
            this.recurrences.get(`${tenant}@${text(name)}`) ??
            refuse("NOTFOUND", `there is no recurrence ${text(name)}`)
        );
    }
}

module.exports = { Double };
