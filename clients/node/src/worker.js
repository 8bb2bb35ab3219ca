/* SPDX-License-Identifier: MIT */
"use strict";
/* A worker: takes jobs, runs the handler for each, and tells the server how it ended.
 *
 * It has two connections. On one, a LEASE waits for work; on the other go all words about jobs. A job stands in one or
 * two of these sets: `running`, while its handler runs; `held`, from its LEASE until the server has answered its end.
 * Only `running` counts against the concurrency. After a STALE no further word about the job is sent. */

const { EventEmitter } = require("node:events");
const os = require("node:os");
const { Client } = require("./client");
const { Attempt, cut } = require("./attempt");
const { Heartbeat } = require("./heartbeat");
const { Again, Final, Postpone, RetryLater } = require("./outcome");
const { durationWord, milliseconds } = require("./duration");
const { BelfryError, ClosedError, TimeoutError, TooLargeError, UnreachableError } = require("./errors");
const { toBytes } = require("./payload");
const { traced } = require("./trace");

const ERROR_BYTES = 16384; // the server keeps the beginning
const RESULT_BYTES = 65536;
const UNSETTLED_MIN = 2000; // ended jobs without the server's answer, before no more are taken; or the concurrency
const LEASE_GRACE_MS = 10000; // how much longer than WAIT the answer to LEASE may take
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 10000;
const DRAINED_MS = 50; // no job for so long
const UNBLOCK_MS = 50;
const UNPARK_MS = 2000;
/** Answers that ask for patience. */
const LATER = new Set(["BUSY", "FULL", "RATE", "LIMIT", "IO", "NOMEM", "INDOUBT", "TIMEOUT", "UNREACHABLE", "LOST"]);

const OPTIONS = new Set(
    "client url host port token tls name connect concurrency lease tenant timeout wait autorun telemetry".split(" "),
);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Events: active, completed, failed, stalled, progress, drained, error, ready, paused, resumed, closing, closed. */
class Worker extends EventEmitter {
    #handler;
    #options;
    #client;
    #leases;
    #commands;
    #heartbeat;
    #running = new Set();
    #held = new Set();
    #timeout;
    #wait;
    #paused = false;
    #closing = null; // the promise of close()
    #loop = null;
    #wake = null; // of the loop, while it waits for a free slot, or for resume()
    #parked = null; // the promise of the LEASE under way
    #idle = new Set(); // who waits until no job is held
    #drained = null;
    #worked = false; // since the last `drained`
    #down = false;
    #gaveUp = null; // the error that ends the handlers of a worker that is closed at once
    #telemetry;
    #send = (words) => this.#commands.call(words);
    #tell = (attempt, percent) => this.#guard(() => this.emit("progress", attempt, percent));
    #owns; // whether the client is our own

    /** @param {string | string[]} queues
     * @param {(job: Attempt, signal: AbortSignal) => any} handler its value becomes the result of the job
     * @param {object} [options] */
    constructor(queues, handler, options = {}) {
        super();
        for (const name of Object.keys(options))
            if (!OPTIONS.has(name))
                throw new TypeError(`unknown option ${name} of a worker; there are ${[...OPTIONS].join(", ")}`);
        if (typeof handler !== "function")
            throw new TypeError("the handler of a worker is a function: async (job) => …");
        const { client, concurrency = 1, lease, timeout, wait = "20s", autorun = true, name, ...rest } = options;
        if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 100000)
            throw new TypeError(`concurrency: expected a whole number from 1 to 100000, not ${concurrency}`);
        this.#handler = handler;
        this.queues = [].concat(queues);
        this.name = name ?? `${os.hostname()}:${process.pid}`;
        this.concurrency = concurrency;
        this.#wait = milliseconds(wait, "wait");
        this.#timeout = timeout === undefined ? 0 : milliseconds(timeout, "timeout");
        const { tenant, ...where } = rest;
        this.#owns = !client;
        this.#client = client ?? new Client({ ...where, name: this.name });
        this.#telemetry = this.#client.telemetry;
        this.#options = [
            ...["WAIT", String(this.#wait), "WORKER", this.name],
            ...(lease === undefined ? [] : ["FOR", durationWord(lease, "lease")]),
            ...((tenant ?? this.#client.tenant) ? ["TENANT", tenant ?? this.#client.tenant] : []),
        ];
        this.#heartbeat = new Heartbeat(() => this.#running);
        if (autorun) this.run();
    }

    /** Begins to take jobs; only for a worker with autorun: false. The promise lasts until the worker is closed. */
    run() {
        if (this.#loop) return this.#loop;
        this.#leases = this.#client.connect({ held: true });
        this.#commands = this.#client.connect({ held: true });
        this.#leases.on("up", () => {
            this.#down = false;
            this.#guard(() => this.emit("ready"));
        });
        this.#leases.on("down", (error, wasUp) => {
            const { where } = this.#leases;
            const lost = () =>
                new BelfryError("LOST", `the connection to ${where} ended, and is made anew: ${error.message}`, {
                    cause: error,
                });
            const told = error instanceof BelfryError ? error : wasUp ? lost() : new UnreachableError(where, error);
            if (!this.#down && !this.#closing) this.#report(told);
            this.#down = true;
        });
        this.#loop = this.#take();
        return this.#loop;
    }

    /** How many handlers run. */
    get running() {
        return this.#running.size;
    }

    /** Whether no job is in hand, and none is on its way. */
    get idle() {
        return this.#held.size === 0;
    }

    /** Whether the server has been asked for jobs and has none. */
    get waiting() {
        return this.#parked !== null;
    }

    isRunning() {
        return this.#loop !== null && !this.#closing;
    }

    isPaused() {
        return this.#paused;
    }

    /** Takes no more jobs; fulfilled when those in hand have ended, or at once with pause(true). */
    async pause(doNotWait = false) {
        this.#paused = true;
        await this.#unpark();
        this.#guard(() => this.emit("paused"));
        if (!doNotWait) await this.#untilIdle();
    }

    resume() {
        this.#paused = false;
        this.#wake?.();
        this.#guard(() => this.emit("resumed"));
    }

    /** Takes no more jobs, gives back those that have not begun, waits for the handlers, and ends the connections.
     * With a timeout, handlers that are not over by then are aborted, and their jobs are given back. close(true) is
     * close({ timeout: 0 }). */
    close(options = {}) {
        const timeout = options === true ? 0 : options?.timeout;
        this.#closing ??= this.#close(timeout === undefined ? Infinity : milliseconds(timeout, "timeout"));
        return this.#closing;
    }

    async [Symbol.asyncDispose]() {
        await this.close();
    }

    // ---- Taking jobs ----

    async #take() {
        let pause = RETRY_MIN_MS;
        while (!this.#closing) {
            const free = Math.min(this.concurrency - this.#running.size, this.#room(), 1000);
            if (this.#paused || free <= 0) {
                await new Promise((resolve) => (this.#wake = resolve));
                continue;
            }
            try {
                this.#parked = this.#leases.call(["LEASE", this.queues.join(","), "COUNT", free, ...this.#options], {
                    timeout: this.#wait + LEASE_GRACE_MS,
                    connectTimeout: Infinity,
                });
                this.#drainSoon();
                const jobs = await this.#parked;
                for (const map of jobs) this.#begin(map);
                pause = RETRY_MIN_MS;
            } catch (error) {
                if (this.#closing || error.code === "LOST") continue; // `down` has told of it
                this.#report(error);
                await Promise.race([
                    sleep(pause * (0.5 + Math.random() / 2)),
                    new Promise((resolve) => (this.#wake = resolve)),
                ]);
                pause = Math.min(RETRY_MAX_MS, pause * 2);
            } finally {
                this.#parked = null;
            }
        }
    }

    /** How many jobs more may be without an answer to their end. */
    #room() {
        return Math.max(UNSETTLED_MIN, this.concurrency) + this.concurrency - this.#held.size;
    }

    /** Ends the LEASE that waits. One that is on its way to the server is asked to end again. */
    async #unpark() {
        this.#wake?.();
        const parked = this.#parked?.catch(() => {}).then(() => true);
        if (!parked) return;
        for (const end = performance.now() + Math.min(this.#wait, UNPARK_MS); performance.now() < end;) {
            const { id } = this.#leases;
            if (id !== null)
                await this.#commands
                    .call(["CLIENT", "UNBLOCK", id], { timeout: 1000, connectTimeout: 100 })
                    .catch(() => {});
            if (await Promise.race([parked, sleep(UNBLOCK_MS)])) return;
        }
        // The server is away or slow. Whatever it still gives is given back.
        if (this.#leases.id !== null) this.#leases.drop();
    }

    #begin(map) {
        const attempt = new Attempt(map, this.#send, this.#tell, performance.now());
        this.#held.add(attempt);
        this.#worked = true;
        clearTimeout(this.#drained);
        if (this.#closing || this.#paused) return this.#settle(attempt, this.#release(attempt));
        this.#running.add(attempt);
        this.#heartbeat.include(attempt);
        this.#work(attempt);
    }

    // ---- One job ----

    async #work(attempt) {
        let timer = null;
        let end;
        try {
            this.#guard(() => this.emit("active", attempt));
            const api = this.#telemetry;
            const run = api ? traced(api, attempt, async () => this.#handler(attempt)) : this.#handler(attempt);
            if (this.#timeout > 0)
                timer = setTimeout(
                    () => attempt.stop(new TimeoutError(`timed out after ${this.#timeout} ms`)),
                    this.#timeout,
                );
            end = this.#done(attempt, typeof run?.then === "function" ? await attempt.outcome(run) : run);
        } catch (error) {
            end = error === this.#gaveUp ? this.#release(attempt) : this.#failed(attempt, error);
        }
        clearTimeout(timer);
        this.#running.delete(attempt);
        this.#wake?.();
        this.#settle(attempt, end);
    }

    #done(attempt, value) {
        const { id, token } = attempt;
        if (value instanceof Again)
            return {
                words: ["COMPLETE", id, token, "AGAIN", value.pause],
                tell: () => this.emit("completed", attempt, value),
            };
        const bytes = toBytes(value, "the handler's value");
        const tell = () => this.emit("completed", attempt, value);
        if (bytes.length === 0) return { words: ["COMPLETE", id, token], tell };
        if (Buffer.byteLength(bytes) <= RESULT_BYTES) return { words: ["COMPLETE", id, token, "RESULT", bytes], tell };
        this.#report(
            new TooLargeError(
                "TOOLARGE",
                `the result of job ${id} is left out: it has more than ${RESULT_BYTES} bytes`,
            ),
        );
        return { words: ["COMPLETE", id, token], tell };
    }

    #failed(attempt, error) {
        const { id, token } = attempt;
        if (error instanceof Postpone) return { words: ["RELEASE", id, token, "IN", error.pause], tell: () => {} };
        const words = ["FAIL", id, token, "ERROR", cut(textOf(error), ERROR_BYTES)];
        if (error instanceof RetryLater) words.push("RETRY", error.pause);
        if (error instanceof Final) words.push("FINAL", "yes");
        return {
            words,
            tell: (answer) => {
                attempt.next = { state: answer.state, at: answer.at_ms === null ? null : new Date(answer.at_ms) };
                this.emit("failed", attempt, error);
            },
        };
    }

    #release(attempt) {
        return { words: ["RELEASE", attempt.id, attempt.token], tell: () => {} };
    }

    /** Tells the server the end of a job, until it answers: over breaks of the connection, too. */
    async #settle(attempt, { words, tell }) {
        let twice = false; // the server may have been told before
        for (let pause = RETRY_MIN_MS; twice || !attempt.lost; pause = Math.min(RETRY_MAX_MS, pause * 2)) {
            try {
                const answer = await this.#commands.call(words, { again: true, connectTimeout: Infinity });
                return this.#forget(attempt, () => tell(answer));
            } catch (error) {
                twice ||= error.resent || error.code === "TIMEOUT";
                if (error.code === "STALE" || error.code === "NOTFOUND") {
                    const taken = twice ? await this.#wasTaken(attempt, words[0]) : null;
                    if (taken) return this.#forget(attempt, () => tell(taken));
                    break;
                }
                if (error.code === "CLOSED") return this.#forget(attempt, () => {});
                if (!LATER.has(error.code)) return this.#forget(attempt, () => this.#report(error));
                await sleep(pause * (0.5 + Math.random() / 2));
            }
        }
        this.#forget(attempt, () => this.emit("stalled", attempt));
    }

    /** Whether the server did what it was told before the connection broke: then the second time it says STALE.
     * @returns {Promise<object | null>} what it may have answered */
    async #wasTaken(attempt, verb) {
        const outcomes = { COMPLETE: ["done", "again"], FAIL: ["failed"], RELEASE: ["released"] };
        try {
            const words = ["GET", attempt.id, "TENANT", attempt.tenant];
            const job = await this.#commands.call(words, { again: true });
            // A crash may have undone the LEASE, and another lease of the job has its number then, but not its beginning.
            const start = attempt.until.getTime() - attempt.leaseMs;
            const mine = (one) => one.attempt === attempt.attempt && one.start_ms === start && one.worker === this.name;
            const entry = job?.history.find(mine);
            if (!entry || !outcomes[verb].includes(entry.outcome)) return null;
            return { state: job.state, at_ms: job.at_ms };
        } catch {
            return null;
        }
    }

    /** The job is no longer ours, and this is told. */
    #forget(attempt, tell) {
        this.#held.delete(attempt);
        this.#guard(tell);
        this.#wake?.();
        this.#drainSoon();
        if (this.#held.size > 0) return;
        if (this.#running.size === 0) this.#heartbeat.stop();
        this.#wakeIdle();
    }

    // ---- Telling the user ----

    /** A listener that throws must not end the loop. */
    #guard(tell) {
        try {
            tell();
        } catch (error) {
            this.#report(error);
        }
    }

    #report(error) {
        if (this.listenerCount("error") > 0) this.emit("error", error);
        else process.emitWarning(`worker of ${this.queues.join(", ")}: ${error?.message ?? error}`, "BelfryWarning");
    }

    #drainSoon() {
        clearTimeout(this.#drained);
        if (!this.#worked || this.#held.size > 0 || this.#closing) return;
        this.#drained = setTimeout(() => {
            if (this.#held.size > 0 || !this.#parked) return;
            this.#worked = false;
            this.#guard(() => this.emit("drained"));
        }, DRAINED_MS);
    }

    // ---- Ending ----

    #untilIdle() {
        return this.#held.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.add(resolve));
    }

    async #close(timeout) {
        this.#guard(() => this.emit("closing"));
        clearTimeout(this.#drained);
        if (!this.#loop) return;
        // close() has not stored its promise yet, by which the loop knows.
        await null;
        await this.#unpark();
        const timers = [];
        if (timeout !== Infinity) {
            timers.push(setTimeout(() => this.#giveUp(), timeout));
            // The server may be away. Then the leases of the jobs will end by themselves.
            timers.push(setTimeout(() => this.#wakeIdle(), timeout + LEASE_GRACE_MS));
        }
        await this.#untilIdle();
        timers.forEach(clearTimeout);
        this.#heartbeat.stop();
        this.#leases.close();
        this.#commands.close();
        await this.#loop;
        if (this.#owns) await this.#client.close();
        this.#guard(() => this.emit("closed"));
    }

    #wakeIdle() {
        for (const resolve of this.#idle) resolve();
        this.#idle.clear();
    }

    #giveUp() {
        this.#gaveUp = new ClosedError("the worker is closed");
        for (const attempt of this.#running) attempt.stop(this.#gaveUp);
    }
}

/** What the history of a job shows of an error: its name, its message, and where it was thrown. */
function textOf(error) {
    if (!(error instanceof Error)) return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
    const head = `${error.name}: ${error.message}`;
    const stack = String(error.stack ?? "");
    const frames = stack
        .slice(stack.indexOf("\n    at ") + 1)
        .split("\n")
        .filter((line) => /^\s+at /.test(line) && !line.includes("node:internal"));
    return [head, ...frames].join("\n");
}

module.exports = { Worker };
