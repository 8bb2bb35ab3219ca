/* SPDX-License-Identifier: MIT */
"use strict";
/* A queue by its name: what a client can do, without naming the queue each time. */

const { optionWords, queueName } = require("./words");
const { view } = require("./view");

/** A queue of a client. It has no connection of its own. */
class Queue {
    #client;

    /** @param {string} name
     * @param {object | string} [client] a Client; or what makes one: a URL, or its options */
    constructor(name, client) {
        const { Client } = require("./client"); // which makes queues, too
        this.name = queueName(name);
        this.#client = client instanceof Client ? client : new Client(client);
    }

    get client() {
        return this.#client;
    }

    /** Schedules a job. */
    schedule(data, options, ...rest) {
        if (rest.length > 0 || typeof options === "string")
            throw new TypeError(
                "a job of Belfry has no name: schedule(data, options), with a queue for each kind of job",
            );
        return this.#client.schedule(this.name, data, options);
    }

    /** As schedule(), in the words of BullMQ. */
    add(...args) {
        return this.schedule(...args);
    }

    /** Schedules several jobs, all of them or none: items are { data, …options }. */
    batch(items, options) {
        return this.#client.batch(
            items.map((item) => ({ ...item, queue: this.name })),
            options,
        );
    }

    /** The job with a key, or null. */
    byKey(key, order) {
        return this.#client.get({ queue: this.name, key, order });
    }

    list(filter) {
        return this.#client.list({ ...filter, queue: this.name });
    }

    /** The counts and settings of the queue, or null if there is none. With settings, after changing them. */
    async settings(change = {}) {
        return view(
            await this.#client.ask(["QUEUE", this.name, ...optionWords("QUEUE", change)], {
                tenant: change.tenant,
                again: true,
            }),
        );
    }

    pause() {
        return this.#client.ask(["PAUSE", this.name], { again: true });
    }

    resume() {
        return this.#client.ask(["RESUME", this.name], { again: true });
    }

    /** Puts dead jobs back; answers how many. */
    redrive(options) {
        return this.#client.redrive({ ...options, queue: this.name });
    }

    /** Forgets the queue, which must have no jobs. */
    delete() {
        return this.#client.ask(["QUEUEDELETE", this.name]);
    }

    close() {
        return this.#client.close();
    }
}

module.exports = { Queue };
