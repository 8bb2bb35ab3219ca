/* SPDX-License-Identifier: MIT */
"use strict";
/* RESP3, the protocol of Redis: requests to bytes, bytes to replies. Knows no socket. */

const { replyError } = require("./errors");

const CR = 13;
/** Values of these names come as bytes. Any other text that is UTF-8 comes as a string. */
const RAW = new Set(["payload", "result", "preview"]);
const MORE = Symbol("more"); // the bytes end within a value
const OPENED = Symbol("opened"); // a frame was pushed

const NAMES = new Array(256); // the last field name of each hash

/** A reply that no server of Belfry sends. The connection is of no use after it. */
class ProtocolError extends Error {}

/** Makes the bytes of a request: a string if all words are texts, else a Buffer.
 * @param {(string | number | Uint8Array)[]} words */
function encode(words) {
    let text = `*${words.length}\r\n`;
    let parts = null;
    for (const word of words) {
        if (typeof word === "string") {
            text += `$${Buffer.byteLength(word)}\r\n${word}\r\n`;
        } else if (word instanceof Uint8Array) {
            parts ??= [];
            parts.push(Buffer.from(`${text}$${word.length}\r\n`), word);
            text = "\r\n";
        } else if (typeof word === "number" || typeof word === "bigint") {
            const digits = String(word);
            text += `$${digits.length}\r\n${digits}\r\n`;
        } else {
            throw new TypeError(
                `a word of a request is a string, a number or bytes, not ${word === null ? "null" : typeof word}`,
            );
        }
    }
    return parts ? Buffer.concat([...parts, Buffer.from(text)]) : text;
}

function textOf(buffer, from, to) {
    const text = buffer.toString("utf8", from, to);
    if (!text.includes("\ufffd")) return text;
    const bytes = Buffer.from(buffer.subarray(from, to));
    return Buffer.from(text).equals(bytes) ? text : bytes;
}

function put(map, name, value) {
    if (name === "__proto__")
        Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
    else map[name] = value;
}

/** Takes bytes as they come and tells of each whole reply. A value that spans chunks is looked at once it is whole. */
class Parser {
    /** @param {(reply: any) => void} onReply gets an Error for a reply that is one */
    constructor(onReply) {
        this.onReply = onReply;
        this.buffer = Buffer.alloc(0);
        this.at = 0;
        this.need = 0; // bytes that the next value has at least
        this.chunks = []; // not yet joined to the buffer
        this.waiting = 0; // bytes of them
        this.frames = []; // open maps and arrays
    }

    push(chunk) {
        this.chunks.push(chunk);
        this.waiting += chunk.length;
        const left = this.buffer.length - this.at;
        if (left + this.waiting < this.need) return;
        if (left > 0) this.chunks.unshift(this.buffer.subarray(this.at));
        this.buffer = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
        this.at = this.need = this.waiting = 0;
        this.chunks = [];
        for (;;) {
            const value = this.one();
            if (value === MORE) return;
            if (value !== OPENED) this.close(value);
        }
    }

    /** Puts a value where it belongs, and closes the frames that are full by it. */
    close(value) {
        for (;;) {
            const frame = this.frames[this.frames.length - 1];
            if (!frame) return this.onReply(value);
            if (!frame.isMap) {
                frame.into.push(value);
            } else if (frame.name === null) {
                frame.name = String(value);
                return;
            } else {
                put(frame.into, frame.name, value);
                frame.name = null;
            }
            if (--frame.left > 0) return;
            this.frames.pop();
            value = frame.into;
        }
    }

    line() {
        const end = this.buffer.indexOf(CR, this.at + 1);
        if (end < 0 || end + 1 >= this.buffer.length) {
            if (end < 0 && this.buffer.length - this.at > 65536) throw new ProtocolError("a line without an end");
            return -1;
        }
        return end;
    }

    number(from, to) {
        const isNegative = this.buffer[from] === 0x2d;
        let value = 0;
        for (let at = isNegative ? from + 1 : from; at < to; at++) {
            const digit = this.buffer[at] - 0x30;
            if (digit < 0 || digit > 9) return this.noNumber(from, to);
            value = value * 10 + digit;
        }
        if (to - from - isNegative < 1) return this.noNumber(from, to);
        if (!Number.isSafeInteger(value)) return BigInt(this.buffer.toString("latin1", from, to));
        return isNegative ? -value : value;
    }

    noNumber(from, to) {
        throw new ProtocolError(`not a number: ${this.buffer.toString("latin1", from, to)}`);
    }

    /** The name of a field. Names come again and again, so each text is made once. */
    name(from, to) {
        const length = to - from;
        const place =
            (length * 31 + this.buffer[from] * 7 + this.buffer[to - 1] * 3 + this.buffer[from + (length >> 1)]) & 255;
        const known = NAMES[place];
        if (known && known.bytes.length === length) {
            let at = 0;
            while (at < length && known.bytes[at] === this.buffer[from + at]) at++;
            if (at === length) return known.text;
        }
        const text = this.buffer.toString("latin1", from, to);
        if (length > 0 && length < 32) NAMES[place] = { text, bytes: Buffer.from(text, "latin1") };
        return text;
    }

    open(isMap, end) {
        const left = this.number(this.at + 1, end);
        this.at = end + 2;
        if (left < 0) return null;
        if (left === 0) return isMap ? {} : [];
        this.frames.push({ isMap, left, into: isMap ? {} : [], name: null });
        return OPENED;
    }

    bulk(end) {
        const length = this.number(this.at + 1, end);
        if (length < 0) {
            this.at = end + 2;
            return null;
        }
        const from = end + 2;
        if (from + length + 2 > this.buffer.length) {
            this.need = from + length + 2 - this.at;
            return MORE;
        }
        const kind = this.buffer[this.at];
        this.at = from + length + 2;
        const frame = this.frames[this.frames.length - 1];
        if (frame?.isMap) {
            if (frame.name === null) return this.name(from, from + length);
            if (RAW.has(frame.name)) return Buffer.from(this.buffer.subarray(from, from + length));
        }
        if (kind === 0x21) return replyError(this.buffer.toString("utf8", from, from + length));
        return textOf(this.buffer, kind === 0x3d ? from + 4 : from, from + length);
    }

    /** One value, or the beginning of a map or an array. */
    one() {
        if (this.at >= this.buffer.length) return MORE;
        const end = this.line();
        if (end < 0) return MORE;
        const from = this.at + 1;
        const kind = this.buffer[this.at];
        if (kind === 0x24 || kind === 0x21 || kind === 0x3d) return this.bulk(end); // $ ! =
        if (kind === 0x25) return this.open(true, end); // %
        if (kind === 0x2a || kind === 0x7e || kind === 0x3e) return this.open(false, end); // * ~ >
        this.at = end + 2;
        if (kind === 0x3a || kind === 0x28) return this.number(from, end); // : (
        if (kind === 0x5f) return null; // _
        if (kind === 0x23) return this.buffer[from] === 0x74; // #t
        const text = this.buffer.toString("utf8", from, end);
        if (kind === 0x2b) return text; // +
        if (kind === 0x2d) return replyError(text); // -
        if (kind === 0x2c) return text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text); // ,
        throw new ProtocolError(`no reply begins with byte ${kind}: is this a Belfry server?`);
    }
}

module.exports = { encode, Parser, ProtocolError };
