/* SPDX-License-Identifier: MIT */
"use strict";
/* What the client and the worker promise, once on a real server and once on the double: so the double stays true. */

const assert = require("node:assert/strict");
const { after, before, describe, test } = require("node:test");
const belfry = require("..");
const { Server, sleep, until } = require("./server");

const { Again, Final, Postpone, RetryLater, TestBelfry, Worker } = belfry;

/** A place to run on. `pass` lets time go by. */
const PLACES = {
    "a server": () => {
        const server = new Server();
        let client;
        return {
            start: async () => (client = (await server.start()).client()),
            stop: async () => (await client.close(), server.stop()),
            client: () => client,
            worker: (queues, handler, options) => new Worker(queues, handler, { port: server.port, ...options }),
            pass: sleep,
            now: () => Date.now(),
        };
    },
    "the double": () => {
        const double = new TestBelfry();
        let client;
        return {
            start: async () => (client = double.client()),
            stop: () => double.close(),
            client: () => client,
            worker: (...args) => double.worker(...args),
            pass: (ms) => double.advance(ms),
            now: () => double.now.getTime(),
        };
    },
};

for (const [name, make] of Object.entries(PLACES))
    describe(name, () => {
        const place = make();
        let b;
        before(async () => (b = await place.start()));
        after(async () => {
            await Promise.all(workers.map((worker) => worker.close()));
            await place.stop();
        });

        const workers = [];
        const work = (queue, handler, options) => {
            const worker = place.worker(queue, handler, options);
            workers.push(worker);
            return worker;
        };
        const ended = async (id) => {
            for (let i = 0; i < 400; i++) {
                const job = await b.get(id);
                if (["done", "dead", "cancelled", "expired"].includes(job.state)) return job;
                await place.pass(10);
            }
            throw new Error(`job ${id} does not end: ${JSON.stringify(await b.get(id))}`);
        };
        test("a job is scheduled, shown, listed and cancelled", async () => {
            const data = { to: "ann", n: [1, null], text: "grüß" };
            const at = new Date(place.now() + 3600000);
            const made = await b.schedule("look", data, {
                at,
                key: "k",
                tags: ["x"],
                meta: { m: "1" },
                priority: 2,
                attempts: 7,
            });
            assert.equal(made.created, true);
            assert.equal(made.outcome, "created");
            const job = await b.get(made.id);
            assert.deepEqual(job.data, data);
            assert.deepEqual(
                [job.state, job.queue, job.key, job.tags, job.meta],
                ["scheduled", "look", "k", ["x"], { m: "1" }],
            );
            assert.deepEqual([job.due, job.at, job.priority, job.attempts, job.attempt], [at, at, 2, 7, 0]);
            assert.equal((await b.get({ queue: "look", key: "k" })).id, made.id);
            assert.equal(await b.get({ queue: "look", key: "none" }), null);
            const listed = [];
            for await (const one of b.list({ queue: "look", state: "scheduled" })) listed.push(one.id);
            assert.deepEqual(listed, [made.id]);
            assert.equal(await b.cancel(made), "cancelled");
            assert.equal((await b.get(made)).state, "cancelled");
            await assert.rejects(b.cancel(made), belfry.StateError);
            assert.equal(await b.cancel({ queue: "look", key: "none" }), "notfound");
            await b.delete(made);
            assert.equal(await b.get(made.id), null);
            await assert.rejects(b.delete(made), belfry.NotFoundError);
        });

        test("bytes go through as they are", async () => {
            const bytes = Buffer.from([0, 255, 13, 10, 36]);
            const { id } = await b.schedule("bytes", bytes, { in: "1h" });
            const job = await b.get(id);
            assert.deepEqual(job.payload, bytes);
            assert.deepEqual(job.data, bytes);
            const none = await b.get((await b.schedule("bytes", undefined, { in: "1h" })).id);
            assert.equal(none.data, undefined);
        });

        test("a key is kept, replaced, or refused with the id of its job", async () => {
            const first = await b.schedule("keys", 1, { key: "k", in: "1h" });
            const kept = await b.schedule("keys", 2, { key: "k" });
            assert.deepEqual([kept.id, kept.created, kept.outcome], [first.id, false, "kept"]);
            assert.equal((await b.get(first)).data, 1);
            const replaced = await b.schedule("keys", 3, { key: "k", ifExists: "replace", in: "2h" });
            assert.deepEqual([replaced.id, replaced.created, replaced.outcome], [first.id, false, "replaced"]);
            assert.equal((await b.get(first)).data, 3);
            await assert.rejects(b.schedule("keys", 4, { key: "k", ifExists: "reject" }), (error) => {
                assert.ok(error instanceof belfry.KeyExistsError);
                assert.equal(error.id, first.id);
                return true;
            });
        });

        test("a batch is all or nothing, or each by itself", async () => {
            const taken = await b.schedule("batch", 0, { key: "k", in: "1h" });
            const items = [{ queue: "batch", data: 1, in: "1h" }, { queue: "batch", data: 2, key: "k", ifExists: "reject" }]; // prettier-ignore
            await assert.rejects(b.batch(items), belfry.KeyExistsError);
            assert.equal((await b.listPage({ queue: "batch" })).jobs.length, 1);
            const [made, refused] = await b.batch(items, { mode: "each" });
            assert.equal(made.created, true);
            assert.ok(refused instanceof belfry.KeyExistsError && refused.id === taken.id);
            assert.deepEqual(await b.batch([]), []);
        });

        test("a list goes over pages", async () => {
            await b.batch(Array.from({ length: 25 }, (_, i) => ({ queue: "pages", data: i, in: `${i + 1}h` })));
            const seen = new Set();
            for await (const job of b.list({ queue: "pages", limit: 10 })) seen.add(job.id);
            assert.equal(seen.size, 25);
        });

        test("a worker gets the value, and its value is the result", async () => {
            const { id } = await b.schedule("run", { x: 2 }, { in: "30ms", meta: { a: "b" } });
            const seen = [];
            const worker = work("run", async (job) => {
                seen.push([
                    job.id,
                    job.data,
                    job.attempt,
                    job.attemptsMade,
                    job.meta.a,
                    place.now() >= job.due.getTime(),
                ]);
                return { y: job.data.x * 2 };
            });
            const told = [];
            worker.on("completed", (job, result) => told.push([job.id, result]));
            const job = await ended(id);
            assert.deepEqual(seen, [[id, { x: 2 }, 1, 0, "b", true]]);
            assert.deepEqual([job.state, job.result, job.history.length], ["done", { y: 4 }, 1]);
            assert.deepEqual(await b.waitFor(id), { y: 4 });
            await until(() => told.length === 1);
            assert.deepEqual(told, [[id, { y: 4 }]]);
        });

        test("a handler that throws is tried again, until the job is dead; redrive brings it back", async () => {
            let calls = 0;
            const worker = work("fail", async () => {
                calls++;
                throw new Error(`no ${calls}`);
            });
            const told = [];
            worker.on("failed", (job, error) => told.push([job.attempt, error.message, job.next.state]));
            const { id } = await b.schedule("fail", 1, { attempts: 2, backoff: "fixed:20ms" });
            const job = await ended(id);
            assert.deepEqual([job.state, calls], ["dead", 2]);
            assert.match(job.error, /^Error: no 2\n\s+at /);
            await until(() => told.length === 2);
            assert.deepEqual(told, [[1, "no 1", "scheduled"], [2, "no 2", "dead"]]); // prettier-ignore
            await assert.rejects(
                b.waitFor(id),
                (error) => error instanceof belfry.JobEndedError && error.state === "dead" && error.job.id === id,
            );
            await worker.close();
            assert.equal(await b.redrive(id), 1);
            assert.equal((await b.get(id)).state, "ready");
            assert.equal(await b.redrive({ queue: "fail" }), 0);
        });

        test("handlers say when and whether to try again", async () => {
            const seen = [];
            work("say", async (job) => {
                seen.push(`${job.data}${job.attempt}`);
                if (job.data === "later" && job.attempt === 1) throw new RetryLater("10ms");
                if (job.data === "final") throw new Final("never");
                if (job.data === "postpone" && seen.filter((one) => one === "postpone1").length === 1)
                    throw new Postpone("10ms");
                if (job.data === "again" && seen.filter((one) => one === "again1").length < 3) return new Again("10ms");
                return job.data;
            });
            const ids = {};
            for (const what of ["later", "final", "postpone", "again"])
                ids[what] = (await b.schedule("say", what, { backoff: "fixed:1h" })).id;
            const jobs = {};
            for (const [what, id] of Object.entries(ids)) jobs[what] = await ended(id);
            assert.deepEqual([jobs.later.state, jobs.later.history.length], ["done", 2]);
            assert.deepEqual([jobs.final.state, jobs.final.history.length], ["dead", 1]);
            assert.match(jobs.final.error, /^Final: never/);
            assert.deepEqual([jobs.postpone.state, jobs.postpone.attempt], ["done", 1]);
            assert.deepEqual([jobs.again.state, jobs.again.result], ["done", "again"]);
            assert.deepEqual(seen.sort(), [
                "again1",
                "again1",
                "again1",
                "final1",
                "later1",
                "later2",
                "postpone1",
                "postpone1",
            ]);
        });

        test("a job waits for others", async () => {
            const first = await b.schedule("after", "first", { in: "40ms" });
            const second = await b.schedule("after", "second", { after: first });
            assert.equal((await b.get(second)).state, "waiting");
            const seen = [];
            work("after", async (job) => void seen.push(job.data), { concurrency: 5 });
            await ended(second.id);
            assert.deepEqual(seen, ["first", "second"]);
            const lost = await b.schedule("after", 1, { in: "1h" });
            const child = await b.schedule("after", 2, { after: [lost.id] });
            await b.cancel(lost);
            assert.equal((await ended(child.id)).state, "cancelled");
        });

        test("one ordering key, one job at a time", async () => {
            let running = 0;
            let most = 0;
            const seen = [];
            work("order", async (job) => {
                most = Math.max(most, ++running);
                await sleep(3);
                running--;
                seen.push(job.data);
            }, { concurrency: 10 }); // prettier-ignore
            const made = await b.batch([0, 1, 2, 3].map((data) => ({ queue: "order", data, order: "o" })));
            await ended(made[3].id);
            assert.deepEqual([most, seen], [1, [0, 1, 2, 3]]);
        });

        test("a queue is paused, resumed and set", async () => {
            const queue = b.queue("set");
            await queue.pause();
            const { id } = await queue.schedule({ a: 1 });
            work("set", async () => 1);
            await place.pass(50);
            assert.equal((await b.get(id)).state, "ready");
            assert.equal((await queue.settings({ attempts: 9, backoff: "fixed:1s", lease: "5s" })).attempts, 9);
            const info = await queue.settings();
            assert.deepEqual([info.paused, info.leaseMs, info.ready, info.queue], [true, 5000, 1, "set"]);
            await queue.resume();
            assert.equal((await ended(id)).state, "done");
            const names = [];
            for await (const one of b.queues()) names.push(one.queue);
            assert.ok(names.includes("set"));
        });

        test("a recurrence makes jobs, is paused, run by hand and deleted", async () => {
            const seen = [];
            work("recur", async (job) => void seen.push([job.recurrence, job.data, job.nominal instanceof Date]));
            const made = await b.recur("tick", "recur", { n: 1 }, { every: "20ms", start: new Date(place.now() + 20) });
            assert.deepEqual([made.name, made.kind, made.data, made.paused], ["tick", "every", { n: 1 }, false]);
            for (let i = 0; seen.length < 3 && i < 200; i++) await place.pass(20);
            assert.deepEqual(seen[2], ["tick", { n: 1 }, true]);
            await b.pauseRecurrence("tick");
            assert.equal((await b.recurrence("tick")).paused, true);
            const id = await b.runRecurrence("tick");
            assert.equal((await ended(id)).state, "done");
            const names = [];
            for await (const one of b.recurrences()) names.push(one.name);
            assert.deepEqual(names, ["tick"]);
            await b.resumeRecurrence("tick");
            await b.deleteRecurrence("tick");
            assert.equal(await b.recurrence("tick"), null);
            await assert.rejects(b.pauseRecurrence("tick"), belfry.NotFoundError);
        });

        test("the next times of a rule, over a change of the clock", async () => {
            const rule = {
                cron: "30 9 * * mon",
                tz: "Europe/Berlin",
                from: "2027-03-20T00:00:00Z",
                start: "2027-01-01T00:00:00Z",
                count: 2,
            };
            const times = await b.preview(rule);
            assert.deepEqual(times.map((one) => one.at.toISOString()), ["2027-03-22T08:30:00.000Z", "2027-03-29T07:30:00.000Z"]); // prettier-ignore
        });

        test("a job moves to another time", async () => {
            const { id } = await b.schedule("move", 1, { in: "1h" });
            const at = new Date(place.now() + 7200000);
            await b.reschedule(id, { at });
            assert.deepEqual((await b.get(id)).due, at);
            await assert.rejects(b.reschedule("01M7R72V7V0000000000099999"), belfry.NotFoundError);
        });

        test("a job expires if it was not started in time", async () => {
            const { id } = await b.schedule("expire", 1, { expire: "20ms" });
            await place.pass(60);
            assert.equal((await b.get(id)).state, "expired");
        });

        test("a cancelled job aborts its handler, and is not retried", async () => {
            let job = null;
            work("stop", (one) => new Promise((_, reject) => {
                job = one;
                one.signal.addEventListener("abort", () => reject(one.signal.reason));
            }), { lease: "90ms" }); // prettier-ignore
            const { id } = await b.schedule("stop", 1);
            await until(() => job);
            assert.equal(await b.cancel(id), "running");
            const reason = await until(() => job.signal.aborted && job.signal.reason);
            assert.ok(reason instanceof belfry.CancelledError);
            assert.equal((await ended(id)).state, "cancelled");
        });

        test("events tell of changes, in order", async () => {
            const events = b.events({ queue: "told" });
            await events.ready;
            const { id } = await b.schedule("told", 1, { in: "20ms" });
            work("told", async () => 1);
            await ended(id);
            const seen = [];
            for await (const event of events) {
                seen.push([event.type, event.id === id, event.cause]);
                if (event.type === "done") break;
            }
            assert.deepEqual(seen, [["scheduled", true, "created"], ["leased", true, "leased"], ["done", true, "ended"]]); // prettier-ignore
        });

        test("what the caller did wrong is an error", async () => {
            await assert.rejects(b.schedule("bad", 1, { delay: 5 }), /unknown option delay: say in/);
            await assert.rejects(b.schedule(undefined, 1), /expected the name of a queue/);
            await assert.rejects(b.schedule("bad", 1, { in: "1h", at: new Date() }), belfry.InvalidError);
            await assert.rejects(b.call(["NOSUCH"]), belfry.InvalidError);
            await assert.rejects(b.recur("r", "q", 1, { cron: "no" }), belfry.InvalidError);
            assert.throws(() => b.queue("q").add("name", "data", {}), /a job of Belfry has no name/);
            assert.throws(() => new Worker("q", "not a function"), /the handler/);
            assert.throws(() => new Worker("q", () => {}, { concurency: 5 }), /unknown option concurency/);
        });
    });
