/* SPDX-License-Identifier: MIT */
"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { encode, Parser } = require("../src/resp");
const { KeyExistsError, StaleError } = require("../src/errors");

const REPLIES = [
    ["+OK\r\n", "OK"],
    [":-42\r\n", -42],
    [":9223372036854775807\r\n", 9223372036854775807n],
    ["_\r\n", null],
    ["$-1\r\n", null],
    ["#t\r\n", true],
    [",1.5\r\n", 1.5],
    [",inf\r\n", Infinity],
    ["$0\r\n\r\n", ""],
    ["*0\r\n", []],
    ["%0\r\n", {}],
    ["*2\r\n:1\r\n*1\r\n+a\r\n", [1, ["a"]]],
    ["%2\r\n$1\r\na\r\n:1\r\n+b\r\n%1\r\n+c\r\n_\r\n", { a: 1, b: { c: null } }],
    ["~1\r\n:7\r\n", [7]],
    ["=5\r\ntxt:a\r\n", "a"],
];

function parse(chunks) {
    const found = [];
    const parser = new Parser((reply) => found.push(reply));
    for (const chunk of chunks) parser.push(chunk);
    return found;
}

test("every reply is read, whole and in pieces of any size", () => {
    const bytes = Buffer.from(REPLIES.map(([text]) => text).join(""));
    const wanted = REPLIES.map(([, value]) => value);
    for (const size of [1, 2, 3, 7, bytes.length]) {
        const chunks = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        assert.deepEqual(parse(chunks), wanted, `pieces of ${size}`);
    }
});

test("payloads are bytes, and other texts are strings unless they are no UTF-8", () => {
    const [reply] = parse([
        Buffer.concat([
            Buffer.from("%2\r\n$7\r\npayload\r\n$2\r\nhi\r\n$3\r\nkey\r\n$2\r\n"),
            Buffer.from([255, 0]),
            Buffer.from("\r\n"),
        ]),
    ]);
    assert.deepEqual(reply, { payload: Buffer.from("hi"), key: Buffer.from([255, 0]) });
    assert.deepEqual(parse([Buffer.from("$5\r\ngr\u00fc\u00df\r\n".replace("5", "6"))]), ["gr\u00fc\u00df"]);
});

test("a name cannot reach the prototype", () => {
    const [reply] = parse([Buffer.from("%1\r\n$9\r\n__proto__\r\n%1\r\n+x\r\n:1\r\n")]);
    assert.equal(Object.getPrototypeOf(reply), Object.prototype);
    assert.equal(reply.x, undefined);
});

test("errors have classes by their codes", () => {
    const [stale, taken, other] = parse([
        Buffer.from("-STALE lease no longer held\r\n-KEYEXISTS 01M7R72V7V0000000000000001\r\n-CORRUPT x\r\n"),
    ]);
    assert.ok(stale instanceof StaleError && stale.code === "STALE" && stale.message === "lease no longer held");
    assert.ok(taken instanceof KeyExistsError && taken.id === "01M7R72V7V0000000000000001");
    assert.equal(other.code, "CORRUPT");
});

test("a large value is not copied with each chunk", () => {
    const size = 32 << 20;
    const head = Buffer.from(`$${size}\r\n`);
    const piece = Buffer.alloc(16384, 97);
    let count = 0;
    const parser = new Parser((reply) => (count = reply.length));
    const start = process.cpuUsage();
    parser.push(head);
    for (let at = 0; at < size; at += piece.length) parser.push(piece);
    parser.push(Buffer.from("\r\n"));
    assert.equal(count, size);
    assert.ok(process.cpuUsage(start).user < 3e6, "quadratic");
});

test("what is no reply is an error", () => {
    for (const text of ["HTTP/1.1 200 OK\r\n", "$x\r\n", ":1x\r\n"]) assert.throws(() => parse([Buffer.from(text)]));
});

test("requests are counted in bytes", () => {
    assert.equal(encode(["GET", "\u00fc", 7]), "*3\r\n$3\r\nGET\r\n$2\r\n\u00fc\r\n$1\r\n7\r\n");
    assert.deepEqual(
        encode(["X", Buffer.from([1, 2]), "y"]),
        Buffer.from("*3\r\n$1\r\nX\r\n$2\r\n\x01\x02\r\n$1\r\ny\r\n"),
    );
    assert.throws(() => encode(["X", undefined]), /a word of a request/);
    assert.throws(() => encode(["X", null]), /not null/);
});
