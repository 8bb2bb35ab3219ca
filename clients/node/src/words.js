/* SPDX-License-Identifier: MIT */
"use strict";
/* Options as objects to the words of a verb. One table for each verb; a name that is not in it is an error. */

const { durationWord, momentWord, backoffWord, show } = require("./duration");

const one = (make) => (word) => (words, value, name) => words.push(word, make(value, name));
const duration = one(durationWord);
const moment = one(momentWord);
const backoff = one(backoffWord);
const yesNo = one((value, name) => {
    if (typeof value === "boolean") return value ? "yes" : "no";
    throw new TypeError(`${name}: expected true or false, not ${show(value)}`);
});
const number = one((value, name) => {
    if (Number.isSafeInteger(value) || typeof value === "bigint") return String(value);
    throw new TypeError(`${name}: expected a whole number, not ${show(value)}`);
});
const text = one((value, name) => {
    if (typeof value === "string" || value instanceof Uint8Array) return value;
    if (typeof value === "number") return String(value);
    throw new TypeError(`${name}: expected a text, not ${show(value)}`);
});
const each = (word) => (words, value, name) => {
    for (const item of Array.isArray(value) ? value : [value]) text(word)(words, item, name);
};
/** Ids, or things that have one, such as the answer of schedule(). */
const ids = (word) => (words, value) => {
    for (const item of Array.isArray(value) ? value : [value]) words.push(word, idOf(item));
};
const pairs = (word) => (words, value, name) => {
    if (!value || typeof value !== "object")
        throw new TypeError(`${name}: expected an object of texts, not ${show(value)}`);
    for (const [key, inner] of Object.entries(value)) if (inner !== undefined) words.push(word, key, String(inner));
};

const TENANT = { tenant: text("TENANT") };
const DUE = { in: duration("IN"), at: moment("AT") };
const LABELS = {
    priority: number("PRIORITY"),
    attempts: number("ATTEMPTS"),
    backoff: backoff("BACKOFF"),
    lease: duration("LEASE"),
    retain: duration("RETAIN"),
    expire: duration("EXPIRE"),
    tags: each("TAG"),
    meta: pairs("META"),
    notify: yesNo("NOTIFY"),
    gates: text("GATES"),
    order: text("ORDER"),
    push: text("PUSH"),
};
/** BullMQ and others have a field of seconds in front. */
const cron = one((value, name) => {
    if (typeof value !== "string") throw new TypeError(`${name}: expected a text, not ${show(value)}`);
    if (value.trim().split(/\s+/).length === 6)
        throw new TypeError(
            `${name}: expected five fields, without seconds: minute, hour, day of month, month, day of week`,
        );
    return value;
})("CRON");
const RULE = {
    cron,
    rrule: text("RRULE"),
    every: duration("EVERY"),
    tz: text("TZ"),
    start: moment("START"),
};
const PAGE = { limit: number("LIMIT"), cursor: text("CURSOR") };
const SPAN = { from: moment("FROM"), to: moment("TO") };
const FLOW = { maxRunning: number("MAX_RUNNING"), rate: text("RATE"), burst: number("BURST") };

const TABLES = {
    SCHEDULE: {
        ...DUE,
        ...LABELS,
        key: text("KEY"),
        ifExists: text("IFEXISTS"),
        after: ids("AFTER"),
        afterFail: text("AFTERFAIL"),
        keyHold: duration("KEY_HOLD"),
        ...TENANT,
    },
    RECUR: {
        ...RULE,
        ...LABELS,
        exdate: text("EXDATE"),
        rdate: text("RDATE"),
        catchup: text("CATCHUP"),
        overlap: text("OVERLAP"),
        ...TENANT,
    },
    PREVIEW: {
        ...RULE,
        from: moment("FROM"),
        count: number("COUNT"),
        name: text("NAME"),
        queue: text("QUEUE"),
        ...TENANT,
    },
    LIST: {
        queue: text("QUEUE"),
        state: each("STATE"),
        ...SPAN,
        ...PAGE,
        tag: text("TAG"),
        recurrence: text("RECURRENCE"),
        keyPrefix: text("KEY_PREFIX"),
        order: text("ORDER"),
        worker: text("WORKER"),
        error: text("ERROR"),
        endedFrom: moment("ENDED_FROM"),
        endedTo: moment("ENDED_TO"),
        preview: number("PREVIEW"),
        ...TENANT,
    },
    RESCHEDULE: { ...DUE, ...TENANT },
    RECURRENCES: { ...PAGE, ...TENANT },
    REDRIVE: { queue: text("QUEUE"), limit: number("LIMIT"), ...TENANT },
    BULK: {
        queue: text("QUEUE"),
        state: text("STATE"),
        tag: text("TAG"),
        ...SPAN,
        ...DUE,
        dryRun: yesNo("DRYRUN"),
        ...TENANT,
    },
    QUEUE: {
        lease: duration("LEASE"),
        attempts: number("ATTEMPTS"),
        backoff: backoff("BACKOFF"),
        retain: duration("RETAIN"),
        retainDead: duration("RETAIN_DEAD"),
        keyHold: duration("KEY_HOLD"),
        pastGrace: duration("PAST_GRACE"),
        ...FLOW,
        pushUrl: text("PUSH_URL"),
        pushHeaders: text("PUSH_HEADERS"),
        pushSecret: text("PUSH_SECRET"),
        pushTimeout: duration("PUSH_TIMEOUT"),
        pushConcurrency: number("PUSH_CONCURRENCY"),
        ...TENANT,
    },
    TENANT: {
        weight: number("WEIGHT"),
        paused: yesNo("PAUSED"),
        maintenance: yesNo("MAINTENANCE"),
        until: moment("UNTIL"),
        maxPending: number("MAX_PENDING"),
        ...FLOW,
        quiet: text("QUIET"),
        tz: text("TZ"),
        spread: duration("SPREAD"),
        maxQueues: number("MAX_QUEUES"),
        maxRecurrences: number("MAX_RECURRENCES"),
        maxConnections: number("MAX_CONNECTIONS"),
        requests: number("REQUESTS"),
        maxBytes: number("MAX_BYTES"),
        maxStreams: number("MAX_STREAMS"),
        maxLeased: number("MAX_LEASED"),
    },
    FORECAST: { ...SPAN, step: duration("STEP"), queue: text("QUEUE"), ...TENANT },
    AUDIT: { ...SPAN, ...PAGE, ...TENANT },
    KEYED: { key: text("KEY"), queue: text("QUEUE"), order: text("ORDER"), ...TENANT },
};

/** Words of other libraries, and what to say here. */
const HINTS = {
    delay: 'say in: 5000, or in: "5s"',
    jobId: "say key",
    timestamp: "say at",
    removeOnComplete: 'say retain, such as "1h", or 0',
    removeOnFail: "set retainDead of the queue",
    repeat: "use client.recur()",
    parent: "say after: the jobs that come first",
    deduplication: "say key and ifExists",
    startAfter: "say at",
    singletonKey: "say key",
    unique: "say key",
    tag: "say tags",
    runAt: "say at",
    pattern: "say cron, with five fields",
};

/** Adds the words of options to those of a verb. */
function optionWords(verb, options, words = []) {
    const table = TABLES[verb];
    for (const name in options) {
        const value = options[name];
        if (value === undefined || value === null) continue;
        const put = Object.hasOwn(table, name) ? table[name] : null;
        if (!put) {
            const hint = HINTS[name] ? `: ${HINTS[name]}` : `; there are ${Object.keys(table).join(", ")}`;
            throw new TypeError(`unknown option ${name}${hint}`);
        }
        put(words, value, name);
    }
    return words;
}

/** The id of a text, or of a thing that has one. */
function idOf(target) {
    const id = typeof target === "object" && target !== null ? target.id : target;
    if (typeof id === "string" && id !== "") return id;
    throw new TypeError(`expected the id of a job, or a job, not ${show(target)}`);
}

/** The words that name a job: by id, or by its queue and key. */
function jobWords(target) {
    if (target && typeof target === "object" && target.id === undefined) {
        if (target.key === undefined || target.queue === undefined)
            throw new TypeError("expected the id of a job, a job, or { queue, key }");
        return optionWords("KEYED", target);
    }
    return [idOf(target)];
}

/** The name of a queue, checked before it stands among words that have a place only. */
function queueName(queue) {
    if (typeof queue === "string" && queue !== "") return queue;
    throw new TypeError(`expected the name of a queue, not ${show(queue)}`);
}

module.exports = { optionWords, idOf, jobWords, queueName };
