/* SPDX-License-Identifier: MIT */
"use strict";
/* What the two programs share, so that they do the same. */

const IN_FLIGHT = 1000;

exports.payload = "x".repeat(80);

/** Calls `make` so many times, with 1,000 calls under way. */
exports.flood = async (jobs, make) => {
    let n = 0;
    const lane = async () => {
        while (n < jobs) await make(n++);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
};

/** How many of them a second. */
exports.rate = async (jobs, run) => {
    const start = performance.now();
    await run();
    return (jobs / (performance.now() - start)) * 1000;
};
