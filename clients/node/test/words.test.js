/* SPDX-License-Identifier: MIT */
"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { milliseconds, durationWord, momentWord, backoffWord } = require("../src/duration");
const { optionWords, jobWords } = require("../src/words");
const { configOf } = require("../src/url");
const { toBytes, fromBytes } = require("../src/payload");

test("durations", () => {
    for (const [text, ms] of [
        ["250ms", 250],
        ["10s", 10000],
        ["1h30m", 5400000],
        ["1.5s", 1500],
        ["2d", 172800000],
        [7, 7],
    ])
        // prettier-ignore
        assert.equal(milliseconds(text), ms);
    for (const wrong of ["", "ten", "5 s", -1, NaN, {}, null, "5x"])
        assert.throws(() => milliseconds(wrong, "in"), /^TypeError: in: expected a duration/, String(wrong));
    assert.equal(durationWord(0.2), "1");
    assert.equal(momentWord(new Date(5)), "5");
    assert.throws(() => momentWord(new Date(NaN), "at"), /at: expected a Date/);
});

test("back-offs, also as BullMQ has them", () => {
    assert.equal(backoffWord({ type: "exponential", delay: 1000 }), "exp:1000ms:1h");
    assert.equal(backoffWord({ type: "fixed", delay: "20s" }), "fixed:20s");
    assert.equal(backoffWord(["1m", 300000]), "1m,300000ms");
    assert.throws(() => backoffWord({ type: "linear" }), /backoff: expected/);
});

test("options become words, and an unknown one is told what it may be", () => {
    const words = optionWords("SCHEDULE", {
        in: "5m",
        tags: ["a", "b"],
        meta: { x: 1 },
        notify: true,
        after: [{ id: "01A" }, "01B"],
        key: undefined,
    });
    assert.deepEqual(words, [
        "IN",
        "5m",
        "TAG",
        "a",
        "TAG",
        "b",
        "META",
        "x",
        "1",
        "NOTIFY",
        "yes",
        "AFTER",
        "01A",
        "AFTER",
        "01B",
    ]);
    assert.throws(() => optionWords("SCHEDULE", { delay: 5 }), /unknown option delay: say in: 5000/);
    assert.throws(() => optionWords("RECUR", { cron: "0 30 9 * * 1" }), /cron: expected five fields, without seconds/);
    assert.throws(() => optionWords("RECUR", { pattern: "30 9 * * 1" }), /unknown option pattern: say cron/);
    assert.deepEqual(optionWords("RECUR", { cron: "30 9 * * 1" }), ["CRON", "30 9 * * 1"]);
    assert.throws(() => optionWords("SCHEDULE", { constructor: 5 }), /unknown option constructor/);
    assert.throws(() => optionWords("SCHEDULE", { notify: "yes" }), /notify: expected true or false/);
    assert.throws(() => optionWords("SCHEDULE", { priority: 1.5 }), /priority: expected a whole number/);
    assert.deepEqual(jobWords({ id: "01A", key: "k" }), ["01A"]);
    assert.deepEqual(jobWords({ queue: "q", key: "k" }), ["QUEUE", "q", "KEY", "k"]);
    for (const wrong of [undefined, null, 5, {}, { queue: "q" }]) assert.throws(() => jobWords(wrong), TypeError);
});

test("where the server is", () => {
    const is = (url, wanted) => {
        const { host, port, token, tls, tenant } = configOf(url);
        assert.deepEqual(
            { host, port, token, tls, tenant },
            { host: "127.0.0.1", port: 2355, token: null, tls: false, tenant: undefined, ...wanted },
        );
    };
    is("belfry://", {});
    is("belfry://shop.SECRET@jobs.example:99?tls", { host: "jobs.example", port: 99, token: "shop.SECRET", tls: true });
    is("belfry://shop:SECRET@jobs.example", { host: "jobs.example", token: "shop.SECRET" });
    is("belfry://default:shop.SECRET@[::1]:7?tenant=acme", {
        host: "::1",
        port: 7,
        token: "shop.SECRET",
        tenant: "acme",
    });
    for (const wrong of ["redis://x", "x", "belfry://h?tsl", "http://h"])
        assert.throws(() => configOf(wrong), /^TypeError: url/, wrong);
    assert.throws(() => configOf({ prot: 5 }), /unknown option prot of a client/);
    assert.throws(() => configOf({ port: 0 }), /port: expected/);
    process.env.BELFRY_URL = "belfry://elsewhere";
    assert.equal(configOf().host, "elsewhere");
    assert.equal(configOf({ port: 5 }).host, "127.0.0.1");
    delete process.env.BELFRY_URL;
});

test("payloads", () => {
    for (const value of [{ a: [1, null] }, "text", 0, false, null, ""])
        assert.deepEqual(fromBytes(Buffer.from(toBytes(value))), value);
    assert.equal(fromBytes(Buffer.from(toBytes(undefined))), undefined);
    const bytes = Buffer.from([1, 255]);
    assert.equal(toBytes(bytes), bytes);
    assert.deepEqual(fromBytes(bytes), bytes);
    assert.throws(() => toBytes(() => {}), /data: JSON has no function/);
});
