/* SPDX-License-Identifier: MIT */
"use strict";
/* node bullmq.js PORT JOBS: as belfry.js, with BullMQ on a Redis. NODE_PATH says where npm has put it. */

const { Queue, Worker } = require("bullmq");
const { flood, payload, rate } = require("./load");

async function main(port, jobs) {
    const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
    const queue = new Queue("bench", { connection });
    await queue.waitUntilReady();
    const schedule = await rate(jobs, () => flood(jobs, (n) => queue.add("job", { n, payload })));
    let left = jobs;
    const process = await rate(jobs, async () => {
        const worker = new Worker("bench", async (job) => job.data.n, { connection, concurrency: 50 });
        await new Promise((resolve) => worker.on("completed", () => --left === 0 && resolve()));
        rate.after = () => worker.close();
    });
    await rate.after();
    const done = await queue.getCompletedCount();
    if (done !== jobs) throw new Error(`${done} of ${jobs} jobs are done`);
    await queue.close();
    console.log(JSON.stringify({ schedule, process }));
}

main(...process.argv.slice(2).map(Number));
