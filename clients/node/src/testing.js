/* SPDX-License-Identifier: MIT */
"use strict";
/* Belfry for the tests of a program: in memory, without a server, under a clock that the test turns. */

const { EventEmitter } = require("node:events");
const { Client } = require("./client");
const { Double } = require("./double");
const { Worker } = require("./worker");
const { ClosedError } = require("./errors");
const { milliseconds, momentWord } = require("./duration");
const { view } = require("./view");

let connections = 0;

/** A connection to the double. */
class TestConnection extends EventEmitter {
    #double;
    #closed = false;
    id = ++connections;
    where = "memory";

    constructor(double) {
        super();
        this.#double = double;
        process.nextTick(() => this.emit("up"));
    }

    async call(words) {
        if (this.#closed) throw new ClosedError();
        try {
            return await this.#double.call(words, this);
        } catch (error) {
            error.verb = String(words[0]);
            throw error;
        }
    }

    drop() {}

    close() {
        this.#closed = true;
        for (const lease of this.#double.parked) if (lease.connection === this) this.#double.unpark(lease);
    }
}

/** Events of the double, as EventStream has them. */
class TestStream {
    #events = [];
    #wake = null;
    #closed = false;
    #listener;
    #double;
    ready = Promise.resolve();
    lastEventId = null;

    constructor(double, { queue, state, tenant = "default" } = {}) {
        const states = state === undefined ? null : [].concat(state);
        this.#double = double;
        this.#listener = (event) => {
            if (queue !== undefined && event.queue !== queue) return;
            if (tenant !== "*" && event.tenant !== tenant) return;
            if (states && !states.includes(event.state)) return;
            this.#events.push({ type: event.state, ...view(event) });
            this.#wake?.();
        };
        double.told.add(this.#listener);
    }

    hold() {}

    close() {
        this.#closed = true;
        this.#double.told.delete(this.#listener);
        this.#wake?.();
    }

    async next() {
        while (this.#events.length === 0 && !this.#closed) await new Promise((resolve) => (this.#wake = resolve));
        const value = this.#events.shift();
        return value ? { value, done: false } : { value: undefined, done: true };
    }

    async return() {
        this.#events = [];
        this.close();
        return { value: undefined, done: true };
    }

    [Symbol.asyncIterator]() {
        return this;
    }
}

/** A server in memory. Its time stands still until advance(). */
class TestBelfry {
    #double;
    #workers = new Set();
    #clients = new Set();

    /** @param {{now?: Date | string | number}} [options] the moment at which its clock stands */
    constructor({ now = Date.now() } = {}) {
        const word = momentWord(now, "now");
        this.#double = new Double(/^\d+$/.test(word) ? Number(word) : Date.parse(word));
    }

    /** The time of the double. */
    get now() {
        return new Date(this.#double.now);
    }

    /** A client of the double. */
    client(options = {}) {
        const connect = () => new TestConnection(this.#double);
        const events = (filter) => new TestStream(this.#double, { tenant: options.tenant, ...filter });
        const client = new Client({ telemetry: false, ...options, connect, events });
        this.#clients.add(client);
        return client;
    }

    /** A worker of the double. advance() waits for its handlers. */
    worker(queues, handler, options = {}) {
        const worker = new Worker(queues, handler, { ...options, client: this.client({ tenant: options.tenant }) });
        this.#workers.add(worker);
        worker.once("closed", () => this.#workers.delete(worker));
        return worker;
    }

    /** Lets that time pass, moment by moment. Before each one, what is due is run: the handlers of the workers end. */
    async advance(duration) {
        const double = this.#double;
        const end = double.now + milliseconds(duration);
        await this.settle();
        for (let at; (at = double.next()) <= end;) {
            double.now = Math.max(double.now, at);
            double.fire();
            await this.settle();
        }
        double.now = end;
    }

    /** Goes to a moment. */
    async advanceTo(moment) {
        const word = momentWord(moment);
        const at = /^\d+$/.test(word) ? Number(word) : Date.parse(word);
        if (at < this.#double.now) throw new RangeError("time does not go back");
        await this.advance(at - this.#double.now);
    }

    /** Runs what is due now, until no worker has anything to do. */
    async settle() {
        for (let quiet = 0; quiet < 2;) {
            await new Promise((resolve) => setImmediate(resolve));
            quiet = this.#isBusy() ? 0 : quiet + 1;
        }
    }

    #isBusy() {
        const mine = new Set();
        for (const worker of this.#workers) {
            if (!worker.idle || (worker.isRunning() && !worker.isPaused() && !worker.waiting)) return true;
            if (worker.isRunning()) mine.add(worker.name);
        }
        for (const job of this.#double.jobs.values()) if (job.state === "leased" && mine.has(job.worker)) return true;
        return false;
    }

    /** Ends its workers and clients. */
    async close() {
        await Promise.all([...this.#workers].map((worker) => worker.close()));
        await Promise.all([...this.#clients].map((client) => client.close()));
    }

    async [Symbol.asyncDispose]() {
        await this.close();
    }
}

module.exports = { TestBelfry };
