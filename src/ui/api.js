/* SPDX-License-Identifier: MIT */
/* Requests to the server. Addresses are relative, so the pages work below any prefix. */

/** Tells the shell: "gone" and "back" about the server, "login" when a token is needed. */
export const bus = new EventTarget();

/** An answer that is a problem document. The message is the server's own sentence. */
export class Problem extends Error {
    constructor(status, body) {
        super(body?.detail || body?.title || `The server answered ${status}.`);
        this.status = status;
        this.code = body?.code ?? "";
    }
}

/** No answer at all. */
export class Gone extends Error {
    constructor() {
        super("The server does not answer.");
    }
}

let gone = false;
function reached(yes) {
    if (gone !== yes) return;
    gone = !yes;
    bus.dispatchEvent(new Event(yes ? "back" : "gone"));
}

const path = (parts) => `v1/${parts.map(encodeURIComponent).join("/")}`;

/** @param {string} method
 * @param {string[]} parts of the path below v1/
 * @param {{query?: Record<string, any>, body?: any, signal?: AbortSignal}} [options] */
export async function call(method, parts, { query, body, signal } = {}) {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {}))
        for (const one of [].concat(value ?? [])) if (one !== "") words.append(name, one);
    const text = words.toString();
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
        answer = await fetch(path(parts) + (text ? `?${text}` : ""), {
            method,
            headers,
            signal,
            cache: "no-store",
            body: body === undefined ? undefined : JSON.stringify(body),
        });
        if (answer.status === 502 || answer.status === 504) throw new TypeError("a proxy answered");
    } catch (error) {
        if (error.name === "AbortError") throw error;
        reached(false);
        throw new Gone();
    }
    reached(true);
    const answered = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (answer.ok) return answered;
    if (answer.status === 401 && parts[0] !== "session") bus.dispatchEvent(new Event("login"));
    throw new Problem(answer.status, answered);
}

export const get = (parts, query, signal) => call("GET", parts, { query, signal });
export const post = (parts, body = {}, query) => call("POST", parts, { body, query });
export const patch = (parts, body, query) => call("PATCH", parts, { body, query });
export const put = (parts, body, query) => call("PUT", parts, { body, query });
export const remove = (parts, query) => call("DELETE", parts, { query });

/** Answers null instead of an answer 404. */
export async function find(parts, query, signal) {
    try {
        return await get(parts, query, signal);
    } catch (error) {
        if (error instanceof Problem && error.status === 404) return null;
        throw error;
    }
}

/** All pages of a list, up to `most` things.
 * @param {string} field the field of the answer that has the things */
export async function pages(parts, query, field, most, signal) {
    const things = [];
    let cursor = null;
    do {
        const page = await get(parts, { ...query, limit: Math.min(1000, most - things.length), cursor }, signal);
        things.push(...page[field]);
        cursor = page.cursor;
    } while (cursor && things.length < most);
    return { things, more: Boolean(cursor) };
}
