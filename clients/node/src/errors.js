/* SPDX-License-Identifier: MIT */
"use strict";
/* Errors: those that the server answers, by their codes, and those of the client. */

/** Every error of this package. `code` is for programs, the message for people. */
class BelfryError extends Error {
    constructor(code, message, options) {
        super(message, options);
        this.name = this.constructor.name;
        this.code = code;
    }
}

/** An answer of the server: `verb` was refused. */
class ReplyError extends BelfryError {
    constructor(code, message) {
        super(code, message);
        this.verb = "";
    }
}

class InvalidError extends ReplyError {}
class NotFoundError extends ReplyError {}
/** The lease is no longer held: another worker may have the job. */
class StaleError extends ReplyError {}
/** A job has this key. `id` is that job. */
class KeyExistsError extends ReplyError {
    constructor(code, message) {
        const id = /\b[0-9A-Z]{26}\b/.exec(message)?.[0] ?? null;
        super(code, id === message ? `a job with this key exists: ${id}` : message);
        this.id = id;
    }
}
class StateError extends ReplyError {}
/** The server takes no new jobs: its disk or its memory is full. */
class FullError extends ReplyError {}
class TooLargeError extends ReplyError {}
class PastError extends ReplyError {}
/** Too many clients, or too many wrong tokens. */
class BusyError extends ReplyError {}
/** The tenant has as much as it may. */
class LimitError extends ReplyError {}
/** The tenant sends too many requests. */
class RateError extends ReplyError {}
/** No token, or a wrong one. */
class AuthError extends ReplyError {}
/** The role or the tenant of the token may not do that. */
class PermissionError extends ReplyError {}

/** No server answers at the address. */
class UnreachableError extends BelfryError {
    constructor(where, cause) {
        const why = cause?.message || cause?.code || "it does not answer";
        super("UNREACHABLE", `no Belfry server at ${where}: ${why} (is belfryd running there?)`, { cause });
    }
}

/** The connection broke after the request was sent. So the server may have done it, or not. */
class ConnectionLostError extends BelfryError {
    constructor(verb, cause) {
        super("LOST", `the connection broke before ${verb} was answered: it may have been done, or not`, { cause });
        this.verb = verb;
    }
}

/** The answer, or the end of a job, did not come in time. */
class TimeoutError extends BelfryError {
    constructor(message) {
        super("TIMEOUT", message);
    }
}

/** The client or the worker was closed. */
class ClosedError extends BelfryError {
    constructor(message = "the client is closed") {
        super("CLOSED", message);
    }
}

/** A job that was waited for ended otherwise than done. `job` is as `get` shows it, or null if it is forgotten. */
class JobEndedError extends BelfryError {
    constructor(id, state, job) {
        const why = job?.error ? `: ${String(job.error).split("\n")[0]}` : "";
        super(state.toUpperCase(), `job ${id} is ${state}${why}`);
        this.id = id;
        this.state = state;
        this.job = job;
    }
}

/** Aborts the signal of a job that was cancelled. */
class CancelledError extends BelfryError {
    constructor(id) {
        super("CANCELLED", `job ${id} was cancelled`);
    }
}

/** Aborts the signal of a job whose lease has ended: another worker may have the job. */
class LeaseLostError extends BelfryError {
    constructor(id) {
        super("STALE", `the lease of job ${id} has ended`);
    }
}

const CLASSES = {
    INVALID: InvalidError,
    PROTOCOL: InvalidError,
    UNKNOWN: InvalidError,
    NOTFOUND: NotFoundError,
    STALE: StaleError,
    KEYEXISTS: KeyExistsError,
    STATE: StateError,
    FULL: FullError,
    TOOLARGE: TooLargeError,
    PAST: PastError,
    BUSY: BusyError,
    LIMIT: LimitError,
    RATE: RateError,
    NOAUTH: AuthError,
    WRONGPASS: AuthError,
    NOPERM: PermissionError,
};

/** The error of a line `CODE text`. */
function replyError(line) {
    const blank = line.indexOf(" ");
    const code = blank < 0 ? line : line.slice(0, blank);
    return new (CLASSES[code] ?? ReplyError)(code, blank < 0 ? line : line.slice(blank + 1));
}

module.exports = {
    BelfryError,
    ReplyError,
    InvalidError,
    NotFoundError,
    StaleError,
    KeyExistsError,
    StateError,
    FullError,
    TooLargeError,
    PastError,
    BusyError,
    LimitError,
    RateError,
    AuthError,
    PermissionError,
    UnreachableError,
    ConnectionLostError,
    TimeoutError,
    ClosedError,
    JobEndedError,
    CancelledError,
    LeaseLostError,
    replyError,
};
