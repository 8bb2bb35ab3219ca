/* SPDX-License-Identifier: MIT */
"use strict";
/* Changes of jobs as they happen: server-sent events of /v1/events, as an async iterator that comes back by itself.
 *
 * After a break the stream goes on behind the last event. If the server no longer has that, an event `gap` comes first:
 * then the reader asks for the jobs that it cares about. */

const http = require("node:http");
const https = require("node:https");
const { AuthError, BelfryError, BusyError, ClosedError, InvalidError, PermissionError } = require("./errors");
const { view } = require("./view");

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 1000;
const SILENCE_MS = 45000; // the server says something every 15 seconds
const BUFFER_EVENTS = 1000; // beyond these, the stream is not read until the reader has taken some

/** Blocks of a text/event-stream. */
class Blocks {
    #text = "";
    #decoder = new TextDecoder();

    /** The blocks that are whole by now: objects of fields. */
    *push(chunk) {
        this.#text += this.#decoder.decode(chunk, { stream: true });
        for (let end; (end = this.#text.indexOf("\n\n")) >= 0;) {
            const block = {};
            for (const line of this.#text.slice(0, end).split("\n")) {
                const colon = line.indexOf(":");
                if (colon > 0) block[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
            }
            this.#text = this.#text.slice(end + 2);
            yield block;
        }
    }
}

function eventOf(block) {
    const data = JSON.parse(block.data);
    if (block.event === "gap") return { type: "gap", missed: data.missed ?? null };
    return { type: block.event, eventId: block.id, ...view(data) };
}

function refusal(status, body) {
    let problem = {};
    try {
        problem = JSON.parse(body);
    } catch {
        // Not the server's own words.
    }
    const text = problem.detail || problem.title || `the server answered ${status}`;
    if (status === 401) return new AuthError(problem.code ?? "NOAUTH", text);
    if (status === 403) return new PermissionError(problem.code ?? "NOPERM", text);
    if (status === 400) return new InvalidError(problem.code ?? "INVALID", text);
    if (status === 429) return new BusyError(problem.code ?? "BUSY", text);
    return new BelfryError(problem.code ?? "HTTP", text);
}

const isFinal = (error) =>
    error instanceof AuthError || error instanceof PermissionError || error instanceof InvalidError;

/** An async iterator of events. One reader may use it. */
class EventStream {
    #config;
    #path;
    #agent;
    #after;
    #request = null;
    #response = null;
    #events = [];
    #wake = null;
    #error = null;
    #closed = false;
    #tries = 0;
    #retry = null;
    #ready = {};
    #signal;
    #onAbort = () => this.close();
    #opened = false;
    #held = true;

    /** @param {object} config of configOf()
     * @param {{queue?: string, state?: string | string[], tenant?: string, after?: string, signal?: AbortSignal}} filter */
    constructor(config, filter = {}) {
        const { queue, state, tenant = config.tenant, after, signal, ...rest } = filter;
        for (const name in rest)
            throw new TypeError(`unknown option ${name}; there are queue, state, tenant, after, signal`);
        const words = new URLSearchParams();
        if (queue) words.append("queue", queue);
        for (const one of [].concat(state ?? [])) words.append("state", one);
        if (tenant) words.append("tenant", tenant);
        const text = words.toString();
        this.#path = `/v1/events${text ? `?${text}` : ""}`;
        this.#config = config;
        this.#after = after ?? null;
        this.#agent = config.tls ? https : http;
        this.#ready.promise = new Promise((resolve, reject) => Object.assign(this.#ready, { resolve, reject }));
        this.#ready.promise.catch(() => {}); // who does not wait for it need not hear of it
        this.#signal = signal;
        if (signal?.aborted) return void this.close();
        signal?.addEventListener("abort", this.#onAbort, { once: true });
        this.#open();
    }

    /** Fulfilled once the server streams: later changes are told. */
    get ready() {
        return this.#ready.promise;
    }

    /** The id of the last event that was taken, for `after` of a later stream. */
    get lastEventId() {
        return this.#taken;
    }

    #taken = null;

    #open() {
        this.#retry = null;
        const { host, port, token, tls } = this.#config;
        const headers = { Accept: "text/event-stream" };
        if (token) headers.Authorization = `Bearer ${token}`;
        if (this.#after !== null) headers["Last-Event-ID"] = this.#after;
        const options = { host, port, path: this.#path, headers, agent: false, ...(tls && tls !== true ? tls : {}) };
        const request = this.#agent.get(options);
        this.#request = request;
        request.setTimeout(SILENCE_MS, () => request.destroy(new Error("the stream is silent")));
        request.on("error", () => this.#broken(request));
        request.on("response", (response) => {
            if (response.statusCode !== 200) return this.#refused(request, response);
            this.#response = response;
            this.#tries = 0;
            if (!this.#held) response.socket.unref();
            // Nothing names the place where a stream broke that had no event yet.
            if (this.#opened && this.#after === null) this.#put({ type: "gap", missed: null });
            this.#opened = true;
            this.#ready.resolve();
            const blocks = new Blocks();
            response.on("data", (chunk) => {
                for (const block of blocks.push(chunk)) this.#take(block);
            });
            response.on("error", () => this.#broken(request));
            response.on("close", () => this.#broken(request));
        });
    }

    #refused(request, response) {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (text) => (body += text));
        response.on("end", () => {
            const error = refusal(response.statusCode, body);
            if (isFinal(error)) this.#end(error);
            else this.#broken(request);
        });
    }

    #take(block) {
        if (block.id !== undefined) this.#after = block.id;
        if (block.data !== undefined && !this.#closed) this.#put(eventOf(block));
    }

    #put(event) {
        this.#events.push(event);
        if (this.#events.length >= BUFFER_EVENTS) this.#response?.pause();
        this.#wake?.();
    }

    #broken(request) {
        if (this.#request !== request || this.#closed) return;
        this.#request = this.#response = null;
        request.destroy();
        const pause = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#tries++) * (0.5 + Math.random() / 2);
        this.#retry = setTimeout(() => this.#open(), pause);
    }

    #end(error) {
        this.#error = error;
        this.#ready.reject(error ?? new ClosedError("the stream is closed"));
        this.close();
    }

    /** Whether the stream keeps the process alive, as it does at first. */
    hold(yes) {
        this.#held = yes;
        const socket = this.#response?.socket;
        if (yes) socket?.ref();
        else socket?.unref();
    }

    /** Ends the stream; the iteration is over after the events that have come. */
    close() {
        this.#closed = true;
        this.#ready.reject(new ClosedError("the stream is closed"));
        this.#signal?.removeEventListener("abort", this.#onAbort);
        clearTimeout(this.#retry);
        const request = this.#request;
        this.#request = this.#response = null;
        request?.destroy();
        this.#wake?.();
    }

    async next() {
        for (;;) {
            const event = this.#events.shift();
            if (event) {
                if (event.eventId !== undefined) this.#taken = event.eventId;
                if (this.#events.length < BUFFER_EVENTS / 2) this.#response?.resume();
                return { value: event, done: false };
            }
            if (this.#error) {
                const error = this.#error;
                this.#error = null;
                throw error;
            }
            if (this.#closed) return { value: undefined, done: true };
            await new Promise((resolve) => (this.#wake = resolve));
            this.#wake = null;
        }
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

module.exports = { EventStream };
