/* SPDX-License-Identifier: MIT */
"use strict";
/* Words of requests to the double, and its refusals. */

const { replyError } = require("./errors");

const ENDED = new Set(["done", "dead", "cancelled", "expired"]);

const refuse = (code, text) => {
    throw replyError(`${code} ${text}`);
};

const text = (word) => (Buffer.isBuffer(word) ? word.toString() : String(word));

/** Options behind the positional words of a verb. `many` may be given several times. */
function optionsOf(words, from, known, many = []) {
    const out = {};
    for (const name of many) out[name.toLowerCase()] = [];
    for (let at = from; at < words.length;) {
        const name = text(words[at]).toUpperCase();
        if (name === "META") {
            (out.meta ??= {})[text(words[at + 1])] = text(words[at + 2]);
            at += 3;
        } else if (many.includes(name)) {
            out[name.toLowerCase()].push(text(words[at + 1]));
            at += 2;
        } else if (name === "TENANT" || known.includes(name)) {
            if (at + 1 >= words.length) refuse("INVALID", `${name}: a value is missing`);
            out[name.toLowerCase()] = words[at + 1];
            at += 2;
        } else {
            refuse("INVALID", `${name}: the double has no such option; it has ${[...known, ...many].join(", ")}`);
        }
    }
    out.tenant = text(out.tenant ?? "default");
    return out;
}

const SPEC = ["IN", "AT", "KEY", "IFEXISTS", "PRIORITY", "ATTEMPTS", "BACKOFF", "LEASE", "RETAIN", "EXPIRE", "AFTERFAIL", "NOTIFY", "GATES", "ORDER", "PUSH", "KEY_HOLD", "ANSWER"]; // prettier-ignore
const LABELS = ["TAG", "AFTER"];

module.exports = { ENDED, SPEC, LABELS, refuse, text, optionsOf };
