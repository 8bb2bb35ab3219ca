/* SPDX-License-Identifier: MIT */
"use strict";
/* Waiting for ends of jobs. One stream of events serves all waiters of a client.
 *
 * The stream is open before a job is asked for, so no end falls between the two. After a gap, and after a break of the
 * stream, every job that is waited for is asked for again. A token that may not read events asks again and again. */

const { EventStream } = require("./events");
const { BelfryError, ClosedError, JobEndedError, NotFoundError, TimeoutError } = require("./errors");
const { milliseconds } = require("./duration");

const ENDED = new Set(["done", "dead", "cancelled", "expired"]);
const POLL_MIN_MS = 50;
const POLL_MAX_MS = 1000;
const READY_MS = 1000; // so long a stream may take to begin; then jobs are asked for meanwhile
const LINGER_MS = 5000; // a stream without waiters is kept so long, for the next one

/** Waits for the promise, and no longer than that. */
function within(promise, ms) {
    let timer;
    const over = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
    return Promise.race([promise, over]).finally(() => clearTimeout(timer));
}

class Waiters {
    #client;
    #streams = new Map(); // tenant -> { stream, jobs: Map id -> Set of callbacks, linger }

    constructor(client) {
        this.#client = client;
    }

    /** @returns {Promise<any>} the result of the job; rejected with a JobEndedError if it ended otherwise than done */
    async wait(id, { timeout, tenant = this.#client.tenant, signal } = {}) {
        const end = new AbortController();
        const ms = timeout === undefined ? 0 : milliseconds(timeout, "timeout");
        const late = () => end.abort(new TimeoutError(`job ${id} did not end within ${ms} ms`));
        const timer = timeout === undefined ? null : setTimeout(late, ms);
        const onAbort = () => end.abort(signal.reason);
        if (signal?.aborted) onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
        try {
            const ended = await this.#ended(id, tenant, end.signal);
            if (ended.state === "done") return ended.job?.result ?? null;
            throw new JobEndedError(id, ended.state, ended.job);
        } finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", onAbort);
        }
    }

    async #ended(id, tenant, signal) {
        const news = new News(signal);
        const entry = this.#join(id, tenant, news);
        let state = null; // as the stream told
        let pause = POLL_MIN_MS;
        try {
            await within(news.during(entry.ready), READY_MS);
            for (;;) {
                const job = await news.during(this.#client.get(id, { tenant }));
                if (job && ENDED.has(job.state)) return { state: job.state, job };
                if (!job && state) return { state, job: null };
                if (!job) throw new NotFoundError("NOTFOUND", `there is no job ${id}`);
                if (entry.live) state = (await news.next()) ?? state;
                else await within(news.during(entry.ready), (pause = Math.min(POLL_MAX_MS, pause * 1.5)));
            }
        } finally {
            this.#leave(id, tenant, entry, news);
        }
    }

    #join(id, tenant, news) {
        let entry = this.#streams.get(tenant);
        if (!entry) {
            entry = { jobs: new Map(), linger: null, live: false };
            entry.stream = this.#client.events({ tenant, state: [...ENDED] });
            entry.ready = entry.stream.ready.then(
                () => (entry.live = true),
                () => new Promise(() => {}), // the jobs are asked for again and again
            );
            this.#streams.set(tenant, entry);
            this.#read(tenant, entry);
        }
        clearTimeout(entry.linger);
        entry.stream.hold(true);
        if (!entry.jobs.has(id)) entry.jobs.set(id, new Set());
        entry.jobs.get(id).add(news);
        return entry;
    }

    async #read(tenant, entry) {
        const all = () => {
            for (const waiters of entry.jobs.values()) for (const one of waiters) one.tell(null);
        };
        try {
            for await (const event of entry.stream) {
                if (event.type === "gap") all();
                else for (const one of entry.jobs.get(event.id) ?? []) one.tell(event.state);
            }
        } catch {
            // A role that reads no events: the waiters ask again and again.
        }
        if (this.#streams.get(tenant) === entry) this.#streams.delete(tenant);
        entry.live = false;
        all();
    }

    #leave(id, tenant, entry, news) {
        const waiters = entry.jobs.get(id);
        waiters.delete(news);
        if (waiters.size === 0) entry.jobs.delete(id);
        if (entry.jobs.size > 0 || this.#streams.get(tenant) !== entry) return;
        entry.stream.hold(false);
        entry.linger = setTimeout(() => {
            this.#streams.delete(tenant);
            entry.stream.close();
        }, LINGER_MS).unref();
    }

    close() {
        for (const [, entry] of this.#streams) {
            clearTimeout(entry.linger);
            for (const waiters of entry.jobs.values()) for (const one of waiters) one.end(new ClosedError());
            entry.stream.close();
        }
        this.#streams.clear();
    }
}

/** What one waiter has been told and has not looked at. */
class News {
    #signal;
    #words = [];
    #wake = null;
    #reject = null;
    #broken;

    constructor(signal) {
        this.#signal = signal;
        this.#broken = new Promise((_, reject) => (this.#reject = reject));
        this.#broken.catch(() => {});
        if (signal.aborted) this.#reject(signal.reason);
        else signal.addEventListener("abort", () => this.#reject(signal.reason), { once: true });
    }

    tell(word) {
        this.#words.push(word);
        this.#wake?.();
    }

    end(error) {
        this.#reject(error instanceof BelfryError ? error : new ClosedError());
    }

    /** The promise, unless the wait is over first. */
    during(promise) {
        return Promise.race([promise, this.#broken]);
    }

    /** The next word, or null for "ask again". */
    async next() {
        while (this.#words.length === 0) await this.during(new Promise((resolve) => (this.#wake = resolve)));
        const words = this.#words;
        this.#words = [];
        return words[words.length - 1] ?? words.find((word) => word !== null) ?? null;
    }
}

module.exports = { Waiters };
