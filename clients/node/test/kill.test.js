/* SPDX-License-Identifier: MIT */
"use strict";
/* The server is killed under load, again and again. Every acknowledged job is completed once, and every worker is back
 * within two seconds of the server. BELFRY_LONG=1: 100 workers and ten kills. */

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { Worker } = require("..");
const { Server, sleep, until } = require("./server");

const LONG = !["", "0", undefined].includes(process.env.BELFRY_LONG);
const WORKERS = LONG ? 100 : 20;
const KILLS = LONG ? 10 : 2;
const LOAD_MS = LONG ? 3000 : 600; // between kills
const BACK_MS = 2000;

test(`${WORKERS} workers, ${KILLS} kills`, { timeout: 300000 }, async () => {
    const server = await new Server().start();
    const b = server.client();
    const acknowledged = new Set();
    const completed = new Map();
    const ready = new Map(); // worker -> when it was connected last
    let stop = false;
    let stalled = 0;

    const workers = Array.from({ length: WORKERS }, (_, i) => {
        const worker = new Worker("load", async (job) => sleep(job.data % 5), {
            port: server.port,
            concurrency: 5,
            lease: "4s",
            name: `w${i}`,
        });
        worker.on("ready", () => ready.set(worker, performance.now()));
        worker.on("completed", (job) => completed.set(job.id, (completed.get(job.id) ?? 0) + 1));
        worker.on("stalled", () => stalled++);
        worker.on("error", () => {});
        return worker;
    });

    let n = 0;
    const produce = async () => {
        while (!stop) {
            const items = Array.from({ length: 10 }, () => ({
                queue: "load",
                data: n++,
                in: n % 50,
                backoff: "fixed:1ms",
            }));
            try {
                for (const { id } of await b.batch(items)) acknowledged.add(id);
            } catch (error) {
                assert.ok(["LOST", "UNREACHABLE"].includes(error.code), error.stack);
            }
            await sleep(5);
        }
    };
    const producers = [produce(), produce()];

    const backs = [];
    for (let kill = 0; kill < KILLS; kill++) {
        await sleep(LOAD_MS);
        await server.kill();
        ready.clear();
        await sleep(kill % 2 ? 500 : 0);
        await server.start();
        const up = performance.now();
        await until(() => workers.every((worker) => ready.has(worker)), "every worker is back");
        backs.push(Math.max(...ready.values()) - up);
    }
    await sleep(LOAD_MS);
    stop = true;
    await Promise.all(producers);
    await until(() => [...acknowledged].every((id) => completed.has(id)), "every acknowledged job is completed", 60000);
    await Promise.all(workers.map((worker) => worker.close()));

    assert.ok(acknowledged.size > 500, `only ${acknowledged.size} jobs`);
    assert.deepEqual([...completed].filter(([, times]) => times !== 1), []); // prettier-ignore
    const info = await b.queue("load").settings();
    assert.equal(info.done, completed.size);
    assert.deepEqual([info.ready, info.scheduled, info.leased, info.dead], [0, 0, 0, 0]);
    assert.ok(Math.max(...backs) < BACK_MS, `back after ${backs.map(Math.round)} ms`);
    console.log(
        `${acknowledged.size} jobs acknowledged, ${completed.size} completed, ${stalled} leases lost, back after ${backs.map((ms) => Math.round(ms)).join(", ")} ms`,
    );
    await b.close();
    await server.stop();
});
