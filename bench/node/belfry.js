/* SPDX-License-Identifier: MIT */
"use strict";
/* node belfry.js PORT JOBS: schedules jobs, then takes and completes them with 50 at a time. Prints rates as JSON. */

const { Client, Worker } = require("../../clients/node");
const { flood, payload, rate } = require("./load");

async function main(port, jobs) {
    const client = new Client({ port, telemetry: false });
    const queue = client.queue("bench");
    await client.ping();
    const schedule = await rate(jobs, () => flood(jobs, (n) => queue.schedule({ n, payload })));
    let left = jobs;
    const process = await rate(jobs, async () => {
        const worker = new Worker("bench", async (job) => job.data.n, { client, concurrency: 50 });
        await new Promise((resolve) => worker.on("completed", () => --left === 0 && resolve()));
        rate.after = () => worker.close();
    });
    await rate.after();
    const { done } = await queue.settings();
    if (done !== jobs) throw new Error(`${done} of ${jobs} jobs are done`);
    await client.close();
    console.log(JSON.stringify({ schedule, process }));
}

main(...process.argv.slice(2).map(Number));
