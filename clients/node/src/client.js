/* SPDX-License-Identifier: MIT */
"use strict";
/* The client: schedules jobs, looks at them and changes them. */

const { Connection } = require("./connection");
const { EventStream } = require("./events");
const { Queue } = require("./queue");
const { Waiters } = require("./wait");
const { apiOf, injected } = require("./trace");
const { configOf } = require("./url");
const { idOf, jobWords, optionWords, queueName } = require("./words");
const { jobView, view } = require("./view");
const { fromBytes, toBytes } = require("./payload");

const BATCH_MAX = 1000; // items of one request
const BULK_POLL_MS = 100;
/** Verbs without TENANT. */
const NO_TENANT = new Set(["TENANT", "TENANTS", "TENANTDELETE", "TOKENREVOKE"]);

/** Speaks to one server over one connection, which it opens with its first request. */
class Client {
    #config;
    #connection;
    #waiters = null;

    /** @param {string | object} [url] belfry://[token@]host[:port][?tls], or options; $BELFRY_URL if not given
     * @param {object} [options] beside a URL */
    constructor(url, options) {
        this.#config = configOf(url, options);
        this.#connection = this.connect();
    }

    /** A further connection to the server. */
    connect(options) {
        const make = this.#config.connect;
        return make ? make(options) : new Connection(this.#config, options);
    }

    get tenant() {
        return this.#config.tenant;
    }

    /** OpenTelemetry's API, or null. */
    get telemetry() {
        return apiOf(this.#config.telemetry);
    }

    /** Any request, as words; the answer as the server gave it. */
    call(words, options) {
        return this.#connection.call(words, options);
    }

    /** As call(), for the client's tenant. */
    ask(words, { tenant, ...options } = {}) {
        if (!tenant && this.tenant && !NO_TENANT.has(words[0])) words.push("TENANT", this.tenant);
        return this.#connection.call(words, options);
    }

    async ping() {
        return (await this.call(["PING"], { again: true })) === "PONG";
    }

    // ---- Jobs ----

    #item(queue, data, options) {
        const words = [queueName(queue), toBytes(data)];
        const { meta, ...rest } = options ?? {};
        const traced = injected(this.telemetry, meta);
        optionWords("SCHEDULE", rest, words);
        if (traced) optionWords("SCHEDULE", { meta: traced }, words);
        words.push("ANSWER", "map");
        if (!options?.tenant && this.tenant) words.push("TENANT", this.tenant);
        return words;
    }

    /** Schedules a job; without `in` and `at` it is due at once.
     * @returns {Promise<{id: string, created: boolean, outcome: string}>} */
    async schedule(queue, data, options) {
        return this.#connection.call(["SCHEDULE", ...this.#item(queue, data, options)]);
    }

    /** Schedules several jobs: items are { queue, data, …options }. With mode "all", the default, all of them or none;
     * with "each", an error stands in the place of a refused item. */
    async batch(items, { mode = "all" } = {}) {
        const made = items.map(({ queue, data, ...options }) => this.#item(queue, data, options));
        if (made.length === 0) return [];
        const pages = [];
        for (let at = 0; at < made.length; at += mode === "each" ? BATCH_MAX : made.length) {
            const words = ["BATCH", mode];
            for (const item of made.slice(at, mode === "each" ? at + BATCH_MAX : undefined))
                words.push(item.length, ...item);
            pages.push(this.#connection.call(words));
        }
        return (await Promise.all(pages)).flat();
    }

    /** A job with all that is known of it, by id or by { queue, key }; null if there is none. */
    async get(target, { tenant } = {}) {
        const words = ["GET", ...jobWords(target)];
        if (tenant) words.push("TENANT", tenant);
        return jobView(await this.ask(words, { tenant: tenant ?? target?.tenant, again: true }));
    }

    /** One page of jobs: { jobs, cursor }; the cursor of the last page is null. */
    async listPage(filter = {}) {
        return view(await this.ask(["LIST", ...optionWords("LIST", filter)], { tenant: filter.tenant, again: true }));
    }

    /** All jobs of a filter, page by page. */
    async *list(filter = {}) {
        let cursor = filter.cursor;
        do {
            const page = await this.listPage({ ...filter, cursor });
            yield* page.jobs;
            cursor = page.cursor;
        } while (cursor !== null);
    }

    /** Why a job has not run, and what it waits for; null if there is no such job. */
    async explain(target) {
        return view(await this.ask(["EXPLAIN", ...jobWords(target)], { tenant: target?.tenant, again: true }));
    }

    /** @returns {Promise<"cancelled" | "running" | "notfound">} running: its worker learns of it */
    cancel(target) {
        return this.ask(["CANCEL", ...jobWords(target)], { tenant: target?.tenant });
    }

    /** Forgets a job that is not running. */
    async delete(target) {
        await this.ask(["DELETE", ...jobWords(target)], { tenant: target?.tenant });
    }

    /** Moves a job that is not running: { in } or { at }. */
    async reschedule(target, options = {}) {
        await this.ask(["RESCHEDULE", idOf(target), ...optionWords("RESCHEDULE", options)], { tenant: options.tenant });
    }

    /** Puts dead jobs back: one by its id, or those of { queue, limit }. Without a limit, all of them.
     * @returns {Promise<number>} how many */
    async redrive(target) {
        if (typeof target === "string" || target?.id) return this.ask(["REDRIVE", idOf(target)]);
        if (target?.queue === undefined) throw new TypeError("expected the id of a job, a job, or { queue }");
        const words = () => ["REDRIVE", ...optionWords("REDRIVE", target)];
        if (target.limit !== undefined) return this.ask(words(), { tenant: target.tenant });
        let sum = 0;
        for (let n; (n = await this.ask(words(), { tenant: target.tenant })) > 0;) sum += n;
        return sum;
    }

    /** Changes all jobs of a filter, in the background. With { wait: true } the answer comes when that is over.
     * @param {"cancel" | "reschedule" | "redrive" | "delete"} action */
    async bulk(action, { wait = false, ...filter } = {}) {
        const { tenant } = filter;
        let bulk = view(await this.ask(["BULK", action, ...optionWords("BULK", filter)], { tenant }));
        while (wait && bulk.state === "running") {
            await new Promise((resolve) => setTimeout(resolve, BULK_POLL_MS));
            const words = ["BULKS", "ID", bulk.id, ...(tenant ? ["TENANT", tenant] : [])];
            bulk = view(await this.ask(words, { tenant, again: true }))[0] ?? bulk;
        }
        return bulk;
    }

    /** Waits until a job has ended; answers its result.
     * @param {string | {id: string}} target
     * @param {{timeout?: string | number, signal?: AbortSignal, tenant?: string}} [options] */
    async waitFor(target, options) {
        this.#waiters ??= new Waiters(this);
        return this.#waiters.wait(idOf(target), options);
    }

    /** Changes of jobs as they happen: an async iterator that comes back by itself. */
    events(filter) {
        if (this.#config.events) return this.#config.events(filter);
        return new EventStream(this.#config, filter);
    }

    // ---- Recurrences ----

    /** Makes a recurrence, or changes the one of that name. Exactly one of cron, every and rrule. */
    async recur(name, queue, data, options = {}) {
        const words = ["RECUR", queueName(name), queueName(queue), toBytes(data), ...optionWords("RECUR", options)];
        return recurrenceView(await this.ask(words, { tenant: options.tenant, again: true }));
    }

    /** A recurrence with its ledger, or null. */
    async recurrence(name) {
        return recurrenceView(await this.ask(["RECURRENCE", name], { again: true }));
    }

    /** All recurrences, page by page. */
    async *recurrences(filter = {}) {
        let cursor = filter.cursor;
        do {
            const words = ["RECURRENCES", ...optionWords("RECURRENCES", { ...filter, cursor })];
            const page = await this.ask(words, { tenant: filter.tenant, again: true });
            yield* page.recurrences.map(recurrenceView);
            cursor = page.cursor;
        } while (cursor !== null);
    }

    async pauseRecurrence(name) {
        await this.ask(["RECURPAUSE", name], { again: true });
    }

    async resumeRecurrence(name) {
        await this.ask(["RECURRESUME", name], { again: true });
    }

    /** Makes a job of a recurrence now.
     * @returns {Promise<string>} its id */
    runRecurrence(name) {
        return this.ask(["RECURRUN", name]);
    }

    async deleteRecurrence(name) {
        await this.ask(["RECURDELETE", name]);
    }

    /** The next times of a rule, without making a recurrence. */
    async preview(rule) {
        return view(await this.ask(["PREVIEW", ...optionWords("PREVIEW", rule)], { tenant: rule.tenant, again: true }));
    }

    // ---- The server ----

    /** A queue by its name, for jobs of one type. */
    queue(name) {
        return new Queue(name, this);
    }

    /** All queues with their counts and settings. */
    async *queues({ tenant } = {}) {
        for (let after; ;) {
            const words = [
                "QUEUES",
                ...(after === undefined ? [] : ["AFTER", after]),
                ...(tenant ? ["TENANT", tenant] : []),
            ];
            const page = view(await this.ask(words, { tenant, again: true }));
            if (page.length === 0) return;
            yield* page;
            const last = page[page.length - 1];
            after = tenant === "*" && last.tenant !== "default" ? `${last.tenant}@${last.queue}` : last.queue;
        }
    }

    /** The counts and settings of a tenant, or null. With settings, after changing them. */
    async tenantSettings(name, change = {}) {
        return view(await this.ask(["TENANT", name, ...optionWords("TENANT", change)], { again: true }));
    }

    /** The server's figures, or those of a tenant. */
    async stats({ tenant = this.tenant } = {}) {
        return view(await this.call(["STATS", ...(tenant ? ["TENANT", tenant] : [])], { again: true }));
    }

    /** How many jobs become due in each coming step of time. */
    async forecast(options = {}) {
        return view(
            await this.ask(["FORECAST", ...optionWords("FORECAST", options)], { tenant: options.tenant, again: true }),
        );
    }

    /** Workers of the last hour. */
    async workers({ tenant } = {}) {
        return view(await this.ask(["WORKERS", ...(tenant ? ["TENANT", tenant] : [])], { tenant, again: true }));
    }

    /** Ends the connection. Requests without an answer, and waits, are rejected. */
    async close() {
        this.#waiters?.close();
        this.#connection.close();
    }
}

function recurrenceView(map) {
    if (map === null) return null;
    return { ...view(map), data: fromBytes(map.payload) };
}

module.exports = { Client };
