/* SPDX-License-Identifier: MIT */
"use strict";
/* Payloads and results: values to bytes and back. */

const NOTHING = Buffer.alloc(0);

/** Bytes are taken as they are, nothing is an empty payload, and anything else becomes JSON. */
function toBytes(value, name = "data") {
    if (value === undefined) return NOTHING;
    if (value instanceof Uint8Array) return value;
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`${name}: JSON has no ${typeof value}`);
    return text;
}

/** The value of a JSON text; undefined for no bytes; and bytes that are not JSON as they are. */
function fromBytes(bytes) {
    if (bytes === null || bytes === undefined || bytes.length === 0) return undefined;
    try {
        return JSON.parse(bytes.toString());
    } catch {
        return bytes;
    }
}

module.exports = { toBytes, fromBytes };
