/* SPDX-License-Identifier: MIT */
"use strict";
const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const path = require("node:path");
const { after, before, test } = require("node:test");
const belfry = require("..");
const { Server, sleep, until } = require("./server");

const { Worker } = belfry;
const server = new Server();
let b;
before(async () => (b = (await server.start()).client()));
after(async () => (await b.close(), server.stop()));

const work = (queue, handler, options) => new Worker(queue, handler, { port: server.port, ...options });
/** A promise that the test fulfils. */
const gate = () => {
    const made = {};
    made.promise = new Promise((resolve) => (made.open = resolve));
    return made;
};

test("as many handlers run as the worker may run, and not one more", async () => {
    let running = 0;
    let most = 0;
    let done = 0;
    const worker = work("width", async () => {
        most = Math.max(most, ++running);
        await sleep(1);
        running--;
        done++;
    }, { concurrency: 7 }); // prettier-ignore
    await b.batch(Array.from({ length: 300 }, (_, data) => ({ queue: "width", data })));
    await until(() => done === 300);
    assert.equal(most, 7);
    await worker.close();
    assert.equal((await b.queue("width").settings()).done, 300);
});

test("the heartbeat keeps leases, in one write for all jobs", async () => {
    const end = gate();
    const stalled = [];
    const worker = work("beat", () => end.promise, { concurrency: 20, lease: "300ms" });
    worker.on("stalled", (job) => stalled.push(job.id));
    const made = await b.batch(Array.from({ length: 20 }, (_, data) => ({ queue: "beat", data })));
    await until(() => worker.running === 20);
    await sleep(1200);
    end.open("ok");
    for (const { id } of made) assert.equal(await b.waitFor(id, { timeout: "10s" }), "ok");
    assert.deepEqual(stalled, []);
    assert.equal((await b.queue("beat").settings()).stalled ?? 0, 0);
    await worker.close();
});

test("a lost lease aborts the handler, and its end is told to nobody", async () => {
    const end = gate();
    const told = [];
    let attempt = null;
    const worker = work("lost", (job) => (job.attempt === 1 ? ((attempt = job), end.promise) : "second"), {
        concurrency: 2,
        lease: "250ms",
    });
    for (const event of ["completed", "stalled", "failed"])
        worker.on(event, (job, x) => told.push([event, job.attempt, x]));
    const { id } = await b.schedule("lost", 1, { backoff: "fixed:1ms" });
    await until(() => attempt);
    // Somebody else ends the attempt with the token.
    await b.call(["FAIL", id, attempt.token, "ERROR", "by hand", "RETRY", "1ms"]);
    const reason = await until(() => attempt.signal.aborted && attempt.signal.reason);
    assert.ok(reason instanceof belfry.LeaseLostError);
    assert.equal(attempt.lost, true);
    assert.equal(await b.waitFor(id, { timeout: "10s" }), "second");
    end.open("first");
    await until(() => told.length === 2);
    assert.deepEqual(told, [["completed", 2, "second"], ["stalled", 1, undefined]]); // prettier-ignore
    assert.equal((await b.get(id)).result, "second");
    await worker.close();
});

test("a handler that takes too long fails", async () => {
    let reason = null;
    const worker = work(
        "slow",
        (job) => new Promise(() => job.signal.addEventListener("abort", () => (reason = job.signal.reason))),
        { timeout: "50ms" },
    );
    const { id } = await b.schedule("slow", 1, { attempts: 1 });
    await assert.rejects(b.waitFor(id, { timeout: "10s" }), /timed out after 50 ms/);
    assert.ok(reason instanceof belfry.TimeoutError);
    await worker.close();
});

test("progress and notes are seen", async () => {
    const end = gate();
    const told = [];
    const worker = work("steps", async (job) => {
        await job.updateProgress(40);
        await job.log("half of it");
        await end.promise;
    }); // prettier-ignore
    worker.on("progress", (job, percent) => told.push(percent));
    const { id } = await b.schedule("steps", 1);
    await until(async () => (await b.get(id)).note === "half of it");
    assert.equal((await b.get(id)).progress, 40);
    assert.deepEqual(told, [40]);
    end.open();
    await b.waitFor(id, { timeout: "10s" });
    await worker.close();
});

test("close waits for the handlers; those that have not begun go back at once", async () => {
    const end = gate();
    const worker = work("close", () => end.promise, { concurrency: 1 });
    const [first, second] = await b.batch([1, 2].map((data) => ({ queue: "close", data })));
    await until(() => worker.running === 1);
    const closed = worker.close();
    let isClosed = false;
    closed.then(() => (isClosed = true));
    await sleep(100);
    assert.equal(isClosed, false);
    end.open("done");
    await closed;
    assert.equal((await b.get(first)).state, "done");
    const job = await b.get(second);
    assert.deepEqual([job.state, job.attempt], ["ready", 0]);
    assert.equal(worker.isRunning(), false);
});

test("close with a timeout aborts the rest, and gives the jobs back without costing an attempt", async () => {
    const reasons = [];
    const worker = work(
        "force",
        (job) => new Promise(() => job.signal.addEventListener("abort", () => reasons.push(job.signal.reason))),
    );
    const { id } = await b.schedule("force", 1);
    await until(() => worker.running === 1);
    const start = Date.now();
    await worker.close({ timeout: "80ms" });
    assert.ok(Date.now() - start < 3000);
    assert.ok(reasons[0] instanceof belfry.ClosedError);
    const job = await b.get(id);
    assert.deepEqual([job.state, job.attempt, job.history[0].outcome], ["ready", 0, "released"]);
});

test("a worker that waits for work is closed at once", async () => {
    const worker = work("idle", async () => {});
    await until(() => worker.waiting);
    await sleep(20);
    const start = Date.now();
    await worker.close();
    assert.ok(Date.now() - start < 1000, `took ${Date.now() - start} ms`);
    await work("idle", async () => {}, { autorun: false }).close();
});

test("a worker that is closed with a timeout lets its program end", () => {
    const program = `const { Worker } = require(${JSON.stringify(path.join(__dirname, ".."))});
        const worker = new Worker("ends", async () => {}, { port: ${server.port} });
        worker.once("ready", () => worker.close({ timeout: "30s" }));`;
    const start = Date.now();
    const done = spawnSync(process.execPath, ["-e", program], { encoding: "utf8", timeout: 20000 });
    assert.equal(done.status, 0, done.stderr);
    assert.ok(Date.now() - start < 8000);
});

test("a worker that is closed while its server is away", async () => {
    const away = await new Server().start();
    const client = away.client();
    const worker = new Worker("away", async () => sleep(50), { port: away.port });
    worker.on("error", () => {});
    await client.schedule("away", 1);
    await until(() => worker.running === 1);
    await away.kill();
    await sleep(100);
    let closed = false;
    const end = worker.close().then(() => (closed = true));
    await sleep(100);
    assert.equal(closed, false); // the end of the job is not told yet
    await away.start();
    await end;
    assert.equal((await client.queue("away").settings()).done, 1);
    await client.close();
    await away.stop();
});

test("pause and resume", async () => {
    let done = 0;
    const worker = work("pause", async () => void done++);
    await until(() => worker.waiting);
    await worker.pause();
    assert.equal(worker.isPaused(), true);
    await b.schedule("pause", 1);
    await sleep(100);
    assert.equal(done, 0);
    worker.resume();
    await until(() => done === 1);
    await worker.close();
});

test("events in order; drained once when there is no more", async () => {
    const told = [];
    const worker = work("told", async () => "r", { autorun: false });
    for (const event of ["ready", "active", "completed", "drained", "closing", "closed"])
        worker.on(event, () => told.push(event));
    await b.batch([1, 2].map((data) => ({ queue: "told", data })));
    worker.run();
    await until(() => told.includes("drained"));
    await sleep(120);
    await worker.close();
    // The second job may begin before the server has answered the end of the first one.
    assert.deepEqual(told.filter((one) => one === "active" || one === "completed").length, 4);
    assert.deepEqual(
        [told[0], told[1], ...told.slice(-4)],
        ["ready", "active", "completed", "drained", "closing", "closed"],
    );
});

test("one worker for several queues and all tenants", async () => {
    const seen = [];
    const worker = work(["a1", "a2"], async (job) => void seen.push(`${job.tenant}/${job.queue}`), { tenant: "*" });
    await b.schedule("a1", 1);
    await b.schedule("a2", 1, { tenant: "acme" });
    await until(() => seen.length === 2);
    assert.deepEqual(seen.sort(), ["acme/a2", "default/a1"]);
    await worker.close();
});

test("a result that is too large is left out, and that is told", async () => {
    const errors = [];
    const worker = work("large", async () => "x".repeat(70000));
    worker.on("error", (error) => errors.push(error));
    const { id } = await b.schedule("large", 1);
    assert.equal(await b.waitFor(id, { timeout: "10s" }), null);
    assert.ok(errors[0] instanceof belfry.TooLargeError);
    await worker.close();
});

test("a value without JSON fails the attempt, and a listener that throws harms nothing", async () => {
    const errors = [];
    const worker = work("odd", async (job) => (job.data === 1 ? 10n : "fine"));
    worker.on("error", (error) => errors.push(error.message));
    worker.on("completed", () => {
        throw new Error("listener");
    });
    const first = await b.schedule("odd", 1, { attempts: 1 });
    await assert.rejects(b.waitFor(first, { timeout: "10s" }), /BigInt/);
    assert.equal(await b.waitFor(await b.schedule("odd", 2), { timeout: "10s" }), "fine");
    await until(() => errors.includes("listener"));
    await worker.close();
});
