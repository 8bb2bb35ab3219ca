/* SPDX-License-Identifier: MIT */
"use strict";
/* The heartbeat of a worker: at about a third of the shortest lease, it lengthens the leases of all its jobs. The
 * requests of one beat leave in one write. */

const PERIOD_MIN_MS = 10;

class Heartbeat {
    #attempts;
    #timer = null;
    #at = Infinity; // when the timer fires

    /** @param {() => Iterable<import("./attempt").Attempt>} attempts those whose handlers run */
    constructor(attempts) {
        this.#attempts = attempts;
    }

    /** A job was taken: the next beat comes in time for it. */
    include(attempt) {
        const at = performance.now() + pauseOf(attempt.leaseMs);
        if (at < this.#at) this.#arm(at);
    }

    stop() {
        clearTimeout(this.#timer);
        this.#timer = null;
        this.#at = Infinity;
    }

    #arm(at) {
        clearTimeout(this.#timer);
        this.#at = at;
        this.#timer = setTimeout(() => this.#beat(), at - performance.now());
    }

    #beat() {
        const now = performance.now();
        let shortest = Infinity;
        this.#at = Infinity;
        for (const attempt of this.#attempts()) {
            if (attempt.lost) continue;
            shortest = Math.min(shortest, attempt.leaseMs);
            // The server may have given the job to another worker by now. Only its answer to COMPLETE will say.
            if (now >= attempt.leasedUntil) attempt.expire();
            // A job of a longer lease than others need not be told of at each beat.
            if (now - attempt.extended >= attempt.leaseMs / 5) attempt.beat();
        }
        if (shortest < Infinity) this.#arm(now + pauseOf(shortest));
    }
}

/** A third of the lease, less up to a fifth of that, so that workers do not beat together. */
const pauseOf = (lease) => Math.max(PERIOD_MIN_MS, (lease / 3) * (0.8 + Math.random() * 0.2));

module.exports = { Heartbeat };
