/* SPDX-License-Identifier: MIT */
"use strict";
/* One connection to the server, which comes back by itself.
 *
 * Requests are pipelined: those of one turn of the event loop leave in one write. While there is no server they wait,
 * up to connectTimeout. A request that was sent when the connection broke is rejected, because the server may have done
 * it; with `again` it is sent a second time instead. A connection without requests does not keep the process alive. */

const { EventEmitter } = require("node:events");
const net = require("node:net");
const tls = require("node:tls");
const { encode, Parser } = require("./resp");
const {
    AuthError,
    BelfryError,
    ClosedError,
    ConnectionLostError,
    TimeoutError,
    UnreachableError,
} = require("./errors");

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 1000;
const ATTEMPT_MS = 5000; // for a socket and its handshake
const SWEEP_MS = 200;
const WRITE_CHARS = 65536;

/** A request and its answer. */
class Request {
    constructor(words, options, now) {
        this.verb = String(words[0]);
        this.bytes = encode(words);
        this.again = options.again ?? false;
        this.made = now;
        this.deadline = now + options.timeout;
        this.connectBy = now + options.connectTimeout;
        this.sent = 0; // when; 0: not yet
        this.resent = false;
        this.over = false;
        this.promise = new Promise((resolve, reject) => {
            this.resolve = resolve;
            this.reject = reject;
        });
    }

    fail(error) {
        if (error instanceof BelfryError && error.verb === "") error.verb = this.verb;
        if (this.resent) error.resent = true;
        this.over = true;
        this.reject(error);
    }
}

/** A queue of requests. Taking the first costs the same, however many there are. */
class Line {
    constructor() {
        this.items = [];
        this.head = 0;
    }

    get length() {
        return this.items.length - this.head;
    }

    push(item) {
        this.items.push(item);
    }

    shift() {
        const item = this.items[this.head];
        this.items[this.head++] = undefined;
        if (this.head > 1024 && this.head * 2 > this.items.length) {
            this.items = this.items.slice(this.head);
            this.head = 0;
        }
        return item;
    }

    /** Takes all of them. */
    drain() {
        const all = this.items.slice(this.head);
        this.items = [];
        this.head = 0;
        return all;
    }
}

/** Events: `up` when the server can be asked, `down` with the reason when a connection or an attempt at one ends. */
class Connection extends EventEmitter {
    #config;
    #held;
    #socket = null;
    #waiting = new Line(); // not sent
    #sent = new Line(); // sent, not answered
    #pending = 0; // requests without an answer that somebody waits for
    #flushing = false;
    #tries = 0;
    #retry = null;
    #sweep = null;
    #heard = 0;
    #why = null; // the last failure
    #closed = false;

    /** The number of the connection at the server, for CLIENT UNBLOCK; null while it is down. */
    id = null;

    /** @param {object} config of configOf()
     * @param {{held?: boolean}} [options] held: connects at once, stays connected, and keeps the process alive */
    constructor(config, { held = false } = {}) {
        super();
        this.#config = config;
        this.where = config.where;
        this.#held = held;
        if (held) this.#open();
    }

    /** Sends a request. The promise has the reply as the parser made it.
     * @param {(string | number | Uint8Array)[]} words
     * @param {{timeout?: number, connectTimeout?: number, again?: boolean}} [options] in milliseconds */
    call(words, options = {}) {
        if (this.#closed) return Promise.reject(new ClosedError());
        let request;
        try {
            const { timeout = this.#config.timeout, connectTimeout = this.#config.connectTimeout, again } = options;
            request = new Request(words, { timeout, connectTimeout, again }, performance.now());
        } catch (error) {
            return Promise.reject(error);
        }
        this.#waiting.push(request);
        this.#count(1);
        if (this.id !== null) this.#flushSoon();
        else if (!this.#socket && !this.#retry) this.#open();
        return request.promise;
    }

    /** Ends the connection. Requests without an answer are rejected. */
    close(error = new ClosedError()) {
        this.#closed = true;
        clearTimeout(this.#retry);
        clearInterval(this.#sweep);
        this.#retry = this.#sweep = null;
        const socket = this.#socket;
        this.#socket = this.id = null;
        socket?.destroy();
        for (const request of [...this.#sent.drain(), ...this.#waiting.drain()]) if (!request.over) request.fail(error);
        this.#pending = 0;
    }

    /** Breaks the connection: it comes back, and requests with `again` are sent again. */
    drop(why = new Error("dropped")) {
        this.#socket?.destroy(why);
    }

    #count(change) {
        const before = this.#pending;
        this.#pending += change;
        if (before === 0 && this.#pending > 0) {
            this.#socket?.ref();
            this.#sweep ??= setInterval(() => this.#overdue(), SWEEP_MS);
        } else if (before > 0 && this.#pending === 0) {
            if (!this.#held) this.#socket?.unref();
            clearInterval(this.#sweep);
            this.#sweep = null;
        }
    }

    #open() {
        this.#retry = null;
        const { host, port, tls: secure } = this.#config;
        const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30000 };
        const servername = net.isIP(host) ? undefined : host;
        const socket = secure
            ? tls.connect({ servername, ...options, ...(secure === true ? {} : secure) })
            : net.connect(options);
        let greeted = false;
        const parser = new Parser((reply) => {
            if (greeted) return this.#answer(reply);
            greeted = true;
            this.#greeted(socket, reply);
        });
        const timer = setTimeout(() => socket.destroy(new Error("it does not answer")), ATTEMPT_MS);
        this.#socket = socket;
        socket.once(secure ? "secureConnect" : "connect", () => socket.write(this.#hello()));
        socket.on("data", (chunk) => {
            if (this.#socket !== socket) return;
            this.#heard = performance.now();
            clearTimeout(timer);
            try {
                parser.push(chunk);
            } catch (error) {
                socket.destroy(error);
            }
        });
        let why = null;
        socket.on("error", (error) => (why = error));
        socket.once("close", () => {
            clearTimeout(timer);
            if (this.#socket === socket) this.#lost(this.#why ?? why ?? new Error("the server closed the connection"));
        });
    }

    #hello() {
        const { token, name } = this.#config;
        return encode(["HELLO", "3", ...(token ? ["AUTH", "default", token] : []), ...(name ? ["SETNAME", name] : [])]);
    }

    #greeted(socket, reply) {
        if (reply instanceof Error) {
            this.#why = reply;
            return socket.destroy();
        }
        this.id = reply.id;
        this.#tries = 0;
        this.#why = null;
        if (!this.#held && this.#pending === 0) socket.unref();
        this.emit("up");
        this.#flush();
    }

    #flushSoon() {
        if (this.#flushing) return;
        this.#flushing = true;
        setImmediate(() => {
            this.#flushing = false;
            if (this.id !== null) this.#flush();
        });
    }

    #flush() {
        const now = performance.now();
        let text = "";
        this.#socket.cork();
        while (this.#waiting.length > 0) {
            const request = this.#waiting.shift();
            if (request.over) continue;
            request.sent = now;
            this.#sent.push(request);
            if (typeof request.bytes === "string") {
                text += request.bytes;
                if (text.length < WRITE_CHARS) continue;
            }
            if (text) this.#socket.write(text);
            text = "";
            if (typeof request.bytes !== "string") this.#socket.write(request.bytes);
        }
        if (text) this.#socket.write(text);
        this.#socket.uncork();
    }

    #answer(reply) {
        const request = this.#sent.shift();
        if (!request) {
            // The server says why it closes the connection.
            this.#why = reply instanceof Error ? reply : null;
            return this.#socket.destroy();
        }
        if (request.over) return;
        if (reply instanceof Error) {
            request.fail(reply);
        } else {
            request.over = true;
            request.resolve(reply);
        }
        this.#count(-1);
    }

    #lost(error) {
        const wasUp = this.id !== null;
        this.#socket = this.id = null;
        this.#why = null;
        const sent = this.#sent.drain();
        const waiting = this.#waiting.drain();
        const refused = error instanceof AuthError; // it will not change by asking again
        let failed = 0;
        for (const request of [...sent, ...waiting]) {
            if (request.over) continue;
            if (refused && !this.#held) {
                request.fail(error);
                failed++;
            } else if (request.sent && !request.again) {
                request.fail(new ConnectionLostError(request.verb, error));
                failed++;
            } else {
                request.resent ||= request.sent > 0;
                request.sent = 0;
                request.connectBy = Math.max(request.connectBy, performance.now() + this.#config.connectTimeout);
                this.#waiting.push(request);
            }
        }
        this.#last = error;
        this.#count(-failed);
        this.emit("down", error, wasUp);
        if (this.#closed || (!this.#held && this.#pending === 0)) return;
        // The first attempt after a connection that worked comes at once.
        const pause = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#tries++) * (0.5 + Math.random() / 2);
        this.#retry = setTimeout(() => this.#open(), pause);
    }

    #last = null;

    /** Ends requests whose time is over. If nothing at all was heard since one was sent, the connection is dead. */
    #overdue() {
        const now = performance.now();
        let failed = 0;
        let dead = false;
        for (const request of this.#sent.items) {
            if (!request || request.over || now < request.deadline) continue;
            dead ||= this.#heard < request.sent;
            request.fail(
                new TimeoutError(
                    `${request.verb} was not answered within ${Math.round(request.deadline - request.made)} ms`,
                ),
            );
            failed++;
        }
        for (const request of this.#waiting.items) {
            if (!request || request.over || now < Math.min(request.deadline, request.connectBy)) continue;
            request.fail(new UnreachableError(this.#config.where, this.#why ?? this.#last));
            failed++;
        }
        this.#count(-failed);
        if (dead) this.drop(new Error("the server does not answer"));
        else if (this.#pending === 0 && this.#retry && !this.#held) {
            clearTimeout(this.#retry);
            this.#retry = null;
        }
    }
}

module.exports = { Connection };
