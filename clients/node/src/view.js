/* SPDX-License-Identifier: MIT */
"use strict";
/* Answers of the server as JavaScript has them: `due_ms` becomes `due`, a Date; `lease_ms` stays a number, `leaseMs`. */

const { fromBytes } = require("./payload");

/** Fields that are moments. Other fields in `_ms` are durations. A test compares the list with /openapi.json. */
const MOMENTS = new Set(
    (
        "asked at created deferred_until due edited end ended ended_from ended_to expires first from " +
        "happened keep last maintenance_until next nominal oldest quiet_until seen start to until upto"
    )
        .split(" ")
        .map((name) => `${name}_ms`),
);
const AS_GIVEN = new Set(["meta"]); // their names are the caller's

const names = new Map();
function nameOf(field) {
    let name = names.get(field);
    if (name === undefined) {
        const short = MOMENTS.has(field) ? field.slice(0, -3) : field;
        name = short.replace(/[_ ]([a-z0-9])/g, (_, letter) => letter.toUpperCase());
        names.set(field, name);
    }
    return name;
}

/** An answer of the server with names and Dates of JavaScript. */
function view(value) {
    if (Array.isArray(value)) return value.map(view);
    if (value === null || typeof value !== "object" || Buffer.isBuffer(value) || value instanceof Error) return value;
    const out = {};
    for (const [field, inner] of Object.entries(value)) {
        if (MOMENTS.has(field)) out[nameOf(field)] = inner === null ? null : new Date(Number(inner));
        else out[nameOf(field)] = AS_GIVEN.has(field) ? inner : view(inner);
    }
    return out;
}

/** As view(), with the value of the payload as `data`, and that of the result. */
function jobView(map) {
    if (map === null) return null;
    const job = view(map);
    if ("payload" in map) job.data = fromBytes(map.payload);
    if ("result" in map) job.result = fromBytes(map.result) ?? null;
    return job;
}

module.exports = { view, jobView, MOMENTS };
