/* SPDX-License-Identifier: MIT */
"use strict";
const assert = require("node:assert/strict");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { after, before, test } = require("node:test");
const belfry = require("..");
const { MOMENTS } = require("../src/view");
const { Server, sleep, until } = require("./server");

const { Client } = belfry;
const server = new Server();
let b;
before(async () => (b = (await server.start()).client()));
after(async () => (await b.close(), server.stop()));

/** A way to the server that can be cut, held up and opened again. */
class Gate {
    #sockets = new Set();
    #server = net.createServer((from) => {
        const to = net.connect(this.target, "127.0.0.1");
        this.#sockets.add(from).add(to);
        const pass = (a, z) => {
            a.on("data", (chunk) => this.isDeaf || z.write(chunk));
            a.on("error", () => {});
            a.on("close", () => (z.destroy(), this.#sockets.delete(a)));
        };
        pass(from, to);
        pass(to, from);
    });
    isDeaf = false;

    constructor(target) {
        this.target = target;
    }

    async open(port = 0) {
        await new Promise((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
        this.port = this.#server.address().port;
        return this;
    }

    cut() {
        for (const socket of this.#sockets) socket.destroy();
    }

    async close() {
        this.cut();
        await new Promise((resolve) => this.#server.close(resolve));
    }
}

test("requests of one turn leave together, and answers come in order", async () => {
    const made = await Promise.all(Array.from({ length: 500 }, (_, i) => b.schedule("many", i, { in: "1h" })));
    assert.equal(new Set(made.map((one) => one.id)).size, 500);
    assert.equal((await b.get(made[123])).data, 123);
    assert.equal(await b.ping(), true);
});

test("a bulk changes all jobs of a filter", async () => {
    await b.batch([1, 2, 3].map((data) => ({ queue: "bulk", data, in: "1h", tags: "t" })));
    assert.equal((await b.bulk("cancel", { queue: "bulk", tag: "t", dryRun: true, wait: true })).matched, 3);
    const bulk = await b.bulk("cancel", { queue: "bulk", wait: true });
    assert.deepEqual([bulk.state, bulk.changed, bulk.dryRun], ["done", 3, false]);
});

test("figures, forecast, explanation, tenants, workers", async () => {
    const { id } = await b.schedule("why", 1, { in: "1h" });
    const why = await b.explain(id);
    assert.deepEqual([why.state, why.reason, why.until instanceof Date], ["scheduled", "scheduled", true]);
    assert.equal(await b.explain({ queue: "why", key: "none" }), null);
    assert.equal(typeof (await b.stats()).uptimeMs, "number");
    const steps = await b.forecast({ step: "1h" });
    assert.ok(steps.length >= 24 && steps[0].from instanceof Date && typeof steps[1].jobs === "number");
    assert.equal((await b.tenantSettings("acme", { weight: 3, maxRunning: 5 })).weight, 3);
    assert.ok(Array.isArray(await b.workers()));
    const acme = server.client({ tenant: "acme" });
    const other = await acme.schedule("why", 1, { in: "1h" });
    assert.equal((await acme.get(other)).tenant, "acme");
    assert.equal(await b.get(other), null);
    assert.equal((await b.get(other, { tenant: "acme" })).id, other.id);
    await acme.close();
});

test("every moment of the server is a Date here", async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/openapi.json`);
    const { components } = await answer.json();
    const moments = new Set();
    const others = new Set();
    for (const schema of Object.values(components.schemas))
        for (const [name, field] of Object.entries(schema.properties ?? {}))
            if (name.endsWith("_ms")) (field.description?.includes("since 1970") ? moments : others).add(name);
    assert.ok(moments.size > 10 && others.size > 5);
    assert.deepEqual([...moments].sort(), [...MOMENTS].sort());
    for (const name of others) assert.ok(!MOMENTS.has(name), name);
});

test("who waits for a job hears of its end, however soon that is", async () => {
    const worker = new belfry.Worker("wait", async (job) => ({ n: job.data }), { port: server.port, concurrency: 10 });
    const results = await Promise.all(
        Array.from({ length: 200 }, async (_, n) =>
            b.waitFor(await b.schedule("wait", n, { in: n % 20 }), { timeout: "20s" }),
        ),
    );
    assert.deepEqual(results.map((one) => one.n), Array.from({ length: 200 }, (_, n) => n)); // prettier-ignore
    const gone = await b.schedule("wait", 7, { in: "30ms", retain: 0 });
    assert.equal(await b.waitFor(gone, { timeout: "5s" }), null); // done, and forgotten at once
    await worker.close();
    const { id } = await b.schedule("wait", 1, { in: "1h" });
    const start = Date.now();
    await assert.rejects(b.waitFor(id, { timeout: "100ms" }), belfry.TimeoutError);
    assert.ok(Date.now() - start < 5000);
    const waits = assert.rejects(
        b.waitFor(id),
        (error) => error instanceof belfry.JobEndedError && error.code === "CANCELLED",
    );
    await sleep(30);
    await b.cancel(id);
    await waits;
    await assert.rejects(b.waitFor("01M7R72V7V0000000000099999"), belfry.NotFoundError);
    await assert.rejects(b.waitFor(gone.id, { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("a wait lasts over a break of the stream", async () => {
    const gate = await new Gate(server.port).open();
    const client = new Client({ port: gate.port });
    const { id } = await client.schedule("break", 1, { in: "1h" });
    const end = assert.rejects(client.waitFor(id), (error) => error.state === "cancelled");
    await sleep(50);
    gate.isDeaf = true; // the end is told to nobody
    await b.cancel(id);
    await sleep(30);
    gate.isDeaf = false;
    gate.cut();
    await end;
    await client.close();
    await gate.close();
});

test("events go on behind the last one, and a gap is told", async () => {
    const gate = await new Gate(server.port).open();
    const client = new Client({ port: gate.port });
    const events = client.events({ queue: "flow", state: ["scheduled"] });
    await events.ready;
    const make = (data) => b.schedule("flow", data, { in: "1h" });
    const ids = [(await make(0)).id];
    const seen = [(await events.next()).value.id];
    gate.cut();
    ids.push((await make(1)).id, (await make(2)).id);
    seen.push((await events.next()).value.id, (await events.next()).value.id);
    assert.deepEqual(seen, ids);
    const place = events.lastEventId;
    ids.push((await make(3)).id);
    const later = b.events({ queue: "flow", after: place });
    assert.equal((await later.next()).value.id, ids[3]);
    later.close();
    assert.deepEqual(await later.next(), { value: undefined, done: true });
    const unknown = b.events({ after: "999-999" });
    assert.deepEqual((await unknown.next()).value, { type: "gap", missed: null });
    await unknown.return();
    // A stream that breaks before its first event misses nothing either, or says so.
    const early = client.events({ queue: "early" });
    await early.ready;
    gate.cut();
    const missed = await b.schedule("early", 1, { in: "1h" });
    const { value } = await early.next();
    assert.ok(value.type === "gap" || value.id === missed.id);
    early.close();
    events.close();
    await assert.rejects(b.events({ state: "doen" }).next(), belfry.InvalidError);
    assert.throws(() => b.events({ states: "done" }), /unknown option states/);
    await client.close();
    await gate.close();
});

test("a broken connection: what was sent is rejected unless it may be asked twice, and what was not sent goes on", async () => {
    const gate = await new Gate(server.port).open();
    const client = new Client({ port: gate.port });
    await client.ping();
    gate.isDeaf = true;
    const lost = assert.rejects(
        client.schedule("lost", 1),
        (error) => error instanceof belfry.ConnectionLostError && error.verb === "SCHEDULE",
    );
    const asked = client.ping();
    await sleep(30);
    gate.isDeaf = false;
    gate.cut();
    await lost;
    assert.equal(await asked, true);
    const { port } = gate;
    await gate.close();
    await sleep(50); // the client has seen that
    const early = client.schedule("early", 1, { in: "1h" });
    await sleep(100);
    const again = await new Gate(server.port).open(port);
    assert.equal((await early).created, true);
    await client.close();
    await again.close();
    await assert.rejects(client.ping(), belfry.ClosedError);
});

test("a server that does not answer, and none at all", async () => {
    const gate = await new Gate(server.port).open();
    const client = new Client({ port: gate.port, timeout: "150ms", connectTimeout: "300ms" });
    await client.ping();
    gate.isDeaf = true;
    await assert.rejects(
        client.stats(),
        (error) => error instanceof belfry.TimeoutError && /STATS was not answered within 150 ms/.test(error.message),
    );
    gate.isDeaf = false;
    assert.equal(await client.ping(), true); // over a new connection
    await client.close();
    await gate.close();
    const nobody = new Client({ port: gate.port, connectTimeout: "200ms" });
    await assert.rejects(
        nobody.ping(),
        (error) => error instanceof belfry.UnreachableError && /ECONNREFUSED.*is belfryd running/.test(error.message),
    );
    const stranger = net
        .createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
        .listen(0, "127.0.0.1");
    await until(() => stranger.address());
    const lost = new Client({ port: stranger.address().port, connectTimeout: "200ms" });
    await assert.rejects(lost.ping(), /is this a Belfry server/);
    stranger.close();
});

test("a program that is done ends by itself, with a request or a wait behind it", () => {
    const program = `const { Client } = require(${JSON.stringify(path.join(__dirname, ".."))});
        const b = new Client({ port: ${server.port} });
        b.schedule("end", 1, { in: "50ms" }).then(async ({ id }) => { await b.waitFor(id).catch(() => {}); console.log(id.length); });
        setTimeout(() => b.queue("end").list().next().then(({ value }) => b.cancel(value)), 30);`;
    const done = spawnSync(process.execPath, ["-e", program], { encoding: "utf8", timeout: 20000 });
    assert.equal(done.stdout, "26\n", done.stderr);
});

test("ES modules import every name", () => {
    const program = `import * as all from ${JSON.stringify(path.join(__dirname, "../index.mjs"))};
        console.log(Object.keys(all).sort().join());`;
    const names = execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }).trim();
    assert.equal(names, [...Object.keys(belfry), "default"].sort().join());
});

test("the types name what there is", () => {
    const types = fs.readFileSync(path.join(__dirname, "../index.d.ts"), "utf8");
    for (const [name, thing] of Object.entries(belfry)) {
        if (name === "UnrecoverableError") continue;
        const body =
            new RegExp(`^export class ${name}\\b[^{]*\\{(.*?)^\\}`, "ms").exec(types)?.[1] ??
            (types.includes(`export class ${name} `) ? "" : null);
        assert.notEqual(body, null, `the types lack ${name}`);
        if (!["Client", "Queue", "Worker", "TestBelfry"].includes(name)) continue;
        const named = new Set([...body.matchAll(/^ {4}(?:readonly )?(\w+)[(<:?]/gm)].map((found) => found[1]));
        const real = Object.getOwnPropertyNames(thing.prototype).filter(
            (one) => !["connect", "ask", "telemetry"].includes(one),
        );
        for (const one of real) assert.ok(named.has(one), `the types lack ${name}.${one}`);
        const own = ["name", "queues", "concurrency", "on", "once", "off"]; // made by the constructor, or inherited
        for (const one of named)
            assert.ok(real.includes(one) || own.includes(one), `${name}.${one} is in the types only`);
    }
});

test("tokens: none, a wrong one, a role; over TLS as well", async () => {
    const guarded = new Server();
    await guarded.start();
    const open = guarded.client({ token: "" });
    const { token: root } = await open.call(["TOKENCREATE", "root", "admin"]);
    await assert.rejects(open.stats(), belfry.AuthError);
    await open.close();
    const wrong = guarded.client({ token: "root.wrong" });
    await assert.rejects(wrong.ping(), (error) => error instanceof belfry.AuthError && error.code === "WRONGPASS");
    const admin = new Client(`belfry://${encodeURIComponent(root)}@127.0.0.1:${guarded.port}`);
    const { token } = await admin.call(["TOKENCREATE", "shop", "producer", "TENANT", "acme"]);
    const shop = guarded.client({ token });
    const { id } = await shop.schedule("q", 1, { in: "50ms" });
    await assert.rejects(shop.stats(), belfry.PermissionError);
    await assert.rejects(wrong.events().next(), belfry.AuthError);
    // The role may not read events of jobs? Then a wait asks again and again.
    const worker = new belfry.Worker("q", async () => 5, { port: guarded.port, token: root, tenant: "acme" });
    assert.equal(await shop.waitFor(id, { timeout: "10s" }), 5);
    await worker.close();
    await Promise.all([admin.close(), shop.close(), wrong.close()]);
    await guarded.stop();
});

test("TLS", async () => {
    const folder = fs.mkdtempSync(path.join(server.directory, "tls-"));
    const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], { stdio: "ignore" }); // prettier-ignore
    const secret = new Server(["--tls", "only", "--tls-cert", cert, "--tls-key", key]);
    await secret.start();
    const client = new Client({ port: secret.port, tls: { ca: fs.readFileSync(cert) } });
    const { id } = await client.schedule("tls", { a: 1 }, { in: "20ms" });
    const worker = new belfry.Worker("tls", async (job) => job.data, { client });
    assert.deepEqual(await client.waitFor(id, { timeout: "10s" }), { a: 1 });
    await worker.close();
    await client.close();
    const doubtful = new Client(`belfry://127.0.0.1:${secret.port}?tls`, { connectTimeout: "300ms" });
    await assert.rejects(doubtful.ping(), /self-signed/);
    await secret.stop();
});

test("traces of OpenTelemetry travel with jobs", async () => {
    // What the API promises, without the package.
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const spans = [];
    const span = {
        recordException: (error) => spans.push(error.message),
        setStatus: ({ code }) => spans.push(code),
        end: () => spans.push("end"),
    };
    const telemetry = {
        context: { active: () => ({}) },
        propagation: {
            inject: (_, carrier) => Object.assign(carrier, { traceparent: trace, tracestate: "a=1" }),
            extract: (context, carrier) => ({ ...context, parent: carrier.traceparent }),
        },
        trace: {
            getTracer: () => ({
                startActiveSpan: (name, { kind }, { parent }, run) => (spans.push(name, kind, parent), run(span)),
            }),
        },
    };
    const client = server.client({ telemetry });
    const { id } = await client.schedule("trace", 1, { in: "1h", meta: { mine: "x" } });
    assert.deepEqual((await client.get(id)).meta, { mine: "x", traceparent: trace, tracestate: "a=1" });
    const worker = new belfry.Worker("trace", async () => { throw new belfry.Final("no"); }, { client }); // prettier-ignore
    await client.reschedule(id);
    await assert.rejects(client.waitFor(id, { timeout: "10s" }), belfry.JobEndedError);
    await worker.close();
    assert.deepEqual(spans, ["process trace", 4, trace, "no", 2, "end"]);
    await client.close();
});
