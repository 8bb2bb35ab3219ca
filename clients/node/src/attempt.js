/* SPDX-License-Identifier: MIT */
"use strict";
/* A job in the hands of a handler: one attempt, under a lease. */

const { fromBytes } = require("./payload");
const { durationWord } = require("./duration");
const { CancelledError, LeaseLostError } = require("./errors");

const NOTE_BYTES = 1024;

/** Members come from LEASE: id, token, tenant, queue, attempt, priority, due, leaseMs, until, key, tags, meta, order,
 * recurrence, nominal, payload. */
class Attempt {
    #send;
    #leasedUntil;
    #extended;
    #tell;
    #abort = null; // made when it is asked for
    #reason = null;
    #stop = null;
    #data;
    #decoded = false;

    /** Whether a STALE was heard: the server takes no word about the job with this token. */
    lost = false;
    /** Whether the server said that the job is cancelled. */
    cancelled = false;

    /** @param {object} map as LEASE answers it
     * @param {(words: any[]) => Promise<any>} send
     * @param {(attempt: Attempt, percent: number) => void} tell called after progress() */
    constructor(map, send, tell, now) {
        // By name, and not with view(): a worker makes many of these.
        this.id = map.id;
        this.token = map.token;
        this.tenant = map.tenant;
        this.queue = map.queue;
        this.payload = map.payload;
        this.attempt = map.attempt;
        this.priority = map.priority;
        this.due = new Date(map.due_ms);
        this.leaseMs = map.lease_ms;
        this.until = new Date(map.until_ms);
        this.key = map.key;
        this.tags = map.tags;
        this.meta = map.meta;
        this.order = map.order;
        this.recurrence = map.recurrence;
        this.nominal = map.nominal_ms === null ? null : new Date(map.nominal_ms);
        this.#send = send;
        this.#tell = tell;
        this.#leasedUntil = now + map.lease_ms;
        this.#extended = now;
    }

    /** When the lease ends by the clock of performance.now(), as far as is known. */
    get leasedUntil() {
        return this.#leasedUntil;
    }

    /** When the lease was lengthened last, by that clock. */
    get extended() {
        return this.#extended;
    }

    /** The value of the payload: JSON, or the bytes if it is no JSON. */
    get data() {
        if (!this.#decoded) {
            this.#data = fromBytes(this.payload);
            this.#decoded = true;
        }
        return this.#data;
    }

    set data(value) {
        this.#data = value;
        this.#decoded = true;
    }

    /** How many attempts came before this one. */
    get attemptsMade() {
        return this.attempt - 1;
    }

    /** Aborted when the job is cancelled, its lease is lost, its time is over, or the worker is closed at once. */
    get signal() {
        if (!this.#abort) {
            this.#abort = new AbortController();
            if (this.#reason) this.#abort.abort(this.#reason);
        }
        return this.#abort.signal;
    }

    abort(reason) {
        this.#reason ??= reason;
        if (this.#abort && !this.#abort.signal.aborted) this.#abort.abort(reason);
    }

    /** Waits for the handler's promise, or for stop(). */
    outcome(promise) {
        return new Promise((resolve, reject) => {
            this.#stop = reject;
            promise.then(resolve, reject);
        });
    }

    /** Aborts the handler, and waits for it no longer. */
    stop(error) {
        this.abort(error);
        this.#stop?.(error);
    }

    /** Tells how far the job is: percent, and a note for people. It also lengthens the lease. */
    async progress(percent, note) {
        const words = [];
        if (percent !== undefined && percent !== null) words.push("PROGRESS", String(Math.round(percent)));
        if (note !== undefined) words.push("NOTE", cut(String(note), NOTE_BYTES));
        await this.#extend(words);
        if (percent !== undefined && percent !== null) this.#tell(this, percent);
    }

    /** As progress(), in the words of BullMQ. */
    updateProgress(percent) {
        return this.progress(percent);
    }

    /** Leaves a note for people; the last one is shown. */
    log(note) {
        return this.progress(null, note);
    }

    /** Lengthens the lease; the heartbeat of the worker does this by itself. */
    async extend(length) {
        await this.#extend(length === undefined ? [] : ["FOR", durationWord(length)]);
    }

    async #extend(words) {
        const sent = performance.now();
        this.#extended = sent;
        try {
            const answer = await this.#send(["EXTEND", this.id, this.token, ...words]);
            // The lease may have another length now: the server says its end by its own clock.
            const length = words[0] === "FOR" ? answer.until_ms - Date.now() : this.leaseMs;
            this.#leasedUntil = Math.max(this.#leasedUntil, sent + length);
            if (answer.cancelled) {
                this.cancelled = true;
                this.abort(new CancelledError(this.id));
            }
        } catch (error) {
            if (error.code === "STALE" || error.code === "NOTFOUND") this.lose();
            throw error;
        }
    }

    /** The heartbeat: as extend(), and an error is only noted. */
    async beat() {
        try {
            await this.#extend([]);
        } catch {
            // A lost lease was noted; any other failure is answered by the next beat.
        }
    }

    /** By our clock the lease has ended, without a word of the server. The handler should stop; if it ends well all the
     * same, the server decides. */
    expire() {
        this.abort(new LeaseLostError(this.id));
    }

    lose() {
        this.lost = true;
        this.abort(new LeaseLostError(this.id));
    }

    toJSON() {
        const { payload, ...rest } = this;
        return { ...rest, data: this.data };
    }
}

/** The text, with at most so many bytes. */
function cut(text, most) {
    if (Buffer.byteLength(text) <= most) return text;
    return new TextDecoder().decode(Buffer.from(text).subarray(0, most)).replace(/\ufffd$/, "");
}

module.exports = { Attempt, cut };
