/* SPDX-License-Identifier: MIT */
/// <reference types="node" />
import { EventEmitter } from "node:events";
import { ConnectionOptions } from "node:tls";

// ---- Values ----

/** A span of time: milliseconds, or a text such as "250ms", "10s", "1h30m", "2d". */
export type Duration = number | string;
/** A point in time: a Date, milliseconds since 1970, or RFC 3339 with its zone. */
export type Moment = Date | number | string;
/** The pause before each retry: "exp:2s:1h", "fixed:20s", "1m,5m,15m", a list of durations, or an object as BullMQ has it. */
export type Backoff = string | Duration[] | { type: "exponential" | "fixed"; delay?: Duration; max?: Duration };
/** A state of a job. `ready` means due, and waiting for a worker. `dead` means failed for good: a dead letter. */
export type State = "scheduled" | "ready" | "leased" | "done" | "dead" | "cancelled" | "expired" | "waiting";
/** A state of a job that has ended. */
export type EndState = "done" | "dead" | "cancelled" | "expired";
/** The outcome of an attempt. */
export type AttemptOutcome = "done" | "failed" | "stalled" | "released" | "again";
/** Words of a request. */
export type Words = (string | number | bigint | Uint8Array)[];

// ---- Options ----

/** How to reach the server. */
export interface ConnectOptions {
    /** belfry://[token@]host[:port][?tls]; $BELFRY_URL if neither this nor host and port are given. */
    url?: string;
    /** 127.0.0.1 if not given. */
    host?: string;
    /** 2355 if not given. */
    port?: number;
    /** name.secret; $BELFRY_AUTH, or the file that $BELFRY_AUTH_FILE names, if not given. */
    token?: string;
    /** Encrypt: true, or options of node:tls, such as { ca }. */
    tls?: boolean | ConnectionOptions;
    /** The tenant of all requests; by default that of the token, or `default`. */
    tenant?: string;
    /** How long an answer may take; 30s if not given. */
    timeout?: Duration;
    /** How long a request waits for a server that is away; 10s if not given. */
    connectTimeout?: Duration;
    /** The name of the connections. */
    name?: string;
    /** OpenTelemetry's API; false for none. By default that of the program, if it has one. */
    telemetry?: object | false;
}

/** When a job is due; at once if neither is given. */
export interface Due {
    /** Due this long from now. */
    in?: Duration;
    /** Due at this moment. */
    at?: Moment;
}

/** Options of the jobs of a recurrence, and of a job. */
export interface LabelOptions {
    /** 1 goes first, 5 last; 3 if not given. */
    priority?: number;
    /** How many deliveries before the job is dead; 0 means no limit. */
    attempts?: number;
    /** The pause before each retry. */
    backoff?: Backoff;
    /** How long a worker has the job before it must extend its lease. Workers do that by themselves. */
    lease?: Duration;
    /** How long the job is kept after its end. */
    retain?: Duration;
    /** The job becomes expired if it was not started this long after its due time. */
    expire?: Duration;
    /** Words for list() and bulk(). */
    tags?: string | string[];
    /** Metadata for the worker. */
    meta?: Record<string, string | number | boolean | undefined>;
    /** true: the job disturbs people, so quiet hours of its tenant put it off. */
    notify?: boolean;
    /** pass: neither quiet hours nor maintenance hold the job. */
    gates?: "hold" | "pass";
    /** Jobs of the queue with one ordering key run one at a time, by due time. */
    order?: string;
    /** URL to which the server pushes the job. */
    push?: string;
    /** The tenant; that of the client if not given. */
    tenant?: string;
}

/** Options of a job. */
export interface ScheduleOptions extends Due, LabelOptions {
    /** Unique among the jobs of the queue that have not ended. */
    key?: string | Uint8Array;
    /** If the key is taken: keep that job (the default), replace its payload and time, or reject with a KeyExistsError. */
    ifExists?: "keep" | "replace" | "reject";
    /** How long the key stays taken after the end of the job. */
    keyHold?: Duration;
    /** The job waits until these jobs are done: ids, or things with an id. */
    after?: JobRef | JobRef[];
    /** If one of those ends otherwise than done: cancel the job (the default), or run it. */
    afterFail?: "cancel" | "run";
}

/** A rule: exactly one of cron, every and rrule. */
export interface RuleOptions {
    /** Minute, hour, day of month, month, day of week; or @daily and the like. There are no seconds. */
    cron?: string;
    /** One time after each such duration. */
    every?: Duration;
    /** A rule of RFC 5545. */
    rrule?: string;
    /** Time zone, such as Europe/Berlin; UTC if not given. */
    tz?: string;
    /** The moment where the rule begins. */
    start?: Moment;
}

/** Options of a recurrence. */
export interface RecurOptions extends RuleOptions, LabelOptions {
    /** Times that the rule leaves out, as in iCalendar. */
    exdate?: string;
    /** Times in addition, as in iCalendar. */
    rdate?: string;
    /** For times that were missed because the server was down: a job for the last of them (the default), none, or all. */
    catchup?: "last" | "skip" | "all";
    /** If the job before has not ended: leave this time out (the default), run beside it, or run after it. */
    overlap?: "skip" | "allow" | "queue";
}

/** Which jobs. */
export interface ListFilter {
    queue?: string;
    state?: State | State[];
    /** Due at or after this. */
    from?: Moment;
    /** Due before this. */
    to?: Moment;
    tag?: string;
    recurrence?: string;
    keyPrefix?: string;
    order?: string;
    worker?: string;
    /** The last error has this text in it. */
    error?: string;
    endedFrom?: Moment;
    endedTo?: Moment;
    /** So many bytes of each payload as `preview`. */
    preview?: number;
    /** Jobs in a page. */
    limit?: number;
    cursor?: string | null;
    tenant?: string;
}

/** Which jobs a bulk changes, and how. */
export interface BulkOptions extends Due {
    queue?: string;
    state?: State;
    tag?: string;
    from?: Moment;
    to?: Moment;
    /** Only count. */
    dryRun?: boolean;
    /** Answer when the bulk is over. */
    wait?: boolean;
    tenant?: string;
}

/** Settings of a queue. */
export interface QueueSettings {
    lease?: Duration;
    attempts?: number;
    backoff?: Backoff;
    retain?: Duration;
    retainDead?: Duration;
    keyHold?: Duration;
    pastGrace?: Duration;
    /** How many jobs may run at a time; 0 means any number. */
    maxRunning?: number;
    /** How many jobs are given out in a period, such as "100/1m"; "0" means any number. */
    rate?: string;
    burst?: number;
    pushUrl?: string;
    pushHeaders?: string;
    pushSecret?: string;
    pushTimeout?: Duration;
    pushConcurrency?: number;
    tenant?: string;
}

/** Settings of a tenant. */
export interface TenantSettings {
    weight?: number;
    paused?: boolean;
    maintenance?: boolean;
    until?: Moment;
    maxPending?: number;
    maxRunning?: number;
    rate?: string;
    burst?: number;
    quiet?: string;
    tz?: string;
    spread?: Duration;
    maxQueues?: number;
    maxRecurrences?: number;
    maxConnections?: number;
    requests?: number;
    maxBytes?: number;
    maxStreams?: number;
    maxLeased?: number;
}

// ---- Answers ----

/** A job by its id, or a thing that has one. */
export type JobRef = string | { id: string };
/** A job by its key. */
export interface KeyRef {
    queue: string;
    key: string | Uint8Array;
    order?: string;
    tenant?: string;
}

/** The answer of schedule(). */
export interface Scheduled {
    id: string;
    /** false: the key was taken, and id is the job that has it. */
    created: boolean;
    outcome: "created" | "kept" | "replaced";
}

/** A job as list() shows it. */
export interface JobSummary {
    id: string;
    state: State;
    tenant: string;
    queue: string;
    key: string | Buffer | null;
    priority: number;
    /** When it was to run. */
    due: Date;
    /** When it is to run next. */
    at: Date;
    attempt: number;
    /** 0 means any number. */
    attempts: number;
    payloadBytes: number;
    deferredUntil: Date | null;
    deferrals: number;
    /** The last error. */
    error: string | Buffer | null;
    order: string | Buffer | null;
    preview?: Buffer | null;
}

/** An attempt that has ended. */
export interface AttemptView {
    attempt: number;
    start: Date;
    end: Date;
    lateMs: number;
    outcome: AttemptOutcome;
    worker: string | null;
    error: string | Buffer | null;
}

/** A job as get() shows it. */
export interface Job<T = any, R = any> extends Omit<JobSummary, "preview"> {
    /** The value of the payload; the bytes if it is no JSON. */
    data: T;
    payload: Buffer;
    created: Date;
    stalls: number;
    tags: string[];
    meta: Record<string, string>;
    after: string[];
    recurrence: string | null;
    nominal: Date | null;
    expires: Date | null;
    notify: boolean;
    gates: "hold" | "pass";
    leaseMs: number | null;
    until: Date | null;
    worker: string | null;
    progress: number | null;
    note: string | null;
    cancelling: boolean;
    replacing: boolean;
    ended: Date | null;
    keep: Date | null;
    result: R | null;
    push: string | null;
    token: string | null;
    history: AttemptView[];
    attemptsLeftOut: number;
}

/** What keeps a job from running. */
export interface Cause {
    reason: string;
    why: string;
    until: Date | null;
}

/** Why a job has not run. */
export interface Explanation extends Cause {
    id: string;
    state: State;
    readyInQueue: number;
    deferredUntil: Date | null;
    deferrals: number;
    then: Cause[];
    at: Date | null;
    ahead: number | null;
    aheadMost: number | null;
    first: string | null;
    asked: Date | null;
    attempt: number;
    attempts: number;
    error: string | null;
    ended: Date | null;
    parent: string | null;
}

/** One time of a recurrence, or several that were skipped in a row. */
export interface LedgerEntry {
    nominal: Date;
    upto: Date;
    count: number;
    outcome: "open" | "ran" | "failed" | "cancelled" | "skipped";
    why: string | null;
    byHand: boolean;
    id: string | null;
    ended: Date | null;
}

/** A recurrence. */
export interface Recurrence<T = any> {
    name: string;
    tenant: string;
    queue: string;
    kind: "cron" | "every" | "rrule";
    rule: string;
    tz: string;
    start: Date;
    exdate: string | null;
    rdate: string | null;
    catchup: "last" | "skip" | "all";
    overlap: "skip" | "allow" | "queue";
    priority: number;
    data: T;
    payload: Buffer;
    paused: boolean;
    revision: number;
    created: Date;
    edited: Date;
    last: Date | null;
    /** When it runs next; null if it is paused or over. */
    next: Date | null;
    finished: boolean;
    queued: number;
    open: number;
    ran: number;
    failed: number;
    cancelled: number;
    skipped: number;
    /** Only from recurrence() and recur(). */
    ledger?: LedgerEntry[];
}

/** A time of a rule. */
export interface Occurrence {
    at: Date;
    /** With its offset from UTC. */
    local: string;
    /** How a change of the clock affects this time. */
    note: string | null;
}

/** How far a bulk is. */
export interface Bulk {
    id: string;
    action: "cancel" | "reschedule" | "redrive" | "delete";
    dryRun: boolean;
    state: "running" | "done" | "stopped" | "failed";
    tenant: string;
    matched: number;
    changed: number;
    skipped: number;
    lookedAt: number;
    queue: string | null;
    states: State[];
    tag: string | null;
    from: Date | null;
    to: Date | null;
    due: Date | null;
    created: Date;
    ended: Date | null;
    error: string | null;
}

/** Counts and settings of a queue: these, and every further figure of the server. */
export interface QueueInfo {
    tenant: string;
    queue: string;
    /** What holds the whole queue, such as `the queue is paused`. */
    heldBy: string | null;
    scheduled: number;
    ready: number;
    leased: number;
    done: number;
    dead: number;
    cancelled: number;
    expired: number;
    waiting: number;
    waitingWorkers: number;
    /** Since when the oldest ready job is due, if the server tells. */
    oldest?: Date | null;
    paused: boolean;
    leaseMs: number;
    attempts: number;
    backoff: string;
    retainMs: number;
    retainDeadMs: number;
    keyHoldMs: number;
    maxRunning: number;
    rate: string;
    [figure: string]: unknown;
}

/** A change of a job. */
export interface JobEvent {
    /** The new state. */
    type: Exclude<State, "ready">;
    /** The place in the stream, for `after`. */
    eventId: string;
    /** The job. */
    id: string;
    tenant: string;
    queue: string;
    state: Exclude<State, "ready">;
    from: State | null;
    cause:
        | "created"
        | "replaced"
        | "unblocked"
        | "rescheduled"
        | "deferred"
        | "redriven"
        | "leased"
        | "retried"
        | "released"
        | "again"
        | "ended";
    attempt: number;
    happened: Date;
    due: Date;
    at: Date | null;
    latenessMs?: number | null;
    durationMs?: number | null;
    worker?: string | null;
    outcome?: AttemptOutcome | null;
    error?: string | null;
}

/** Events were missed: ask for the jobs that matter. */
export interface GapEvent {
    type: "gap";
    /** How many; null if that is unknown. */
    missed: number | null;
}

/** Which events. */
export interface EventFilter {
    queue?: string;
    state?: Exclude<State, "ready"> | Exclude<State, "ready">[];
    tenant?: string;
    /** Go on behind this event. */
    after?: string;
    /** Ends the stream. */
    signal?: AbortSignal;
}

/** Events as they happen. The stream comes back by itself after a break, behind the last event. */
export interface EventStream extends AsyncIterableIterator<JobEvent | GapEvent> {
    /** Fulfilled once the server streams: later changes are told. */
    readonly ready: Promise<unknown>;
    /** The place of the last event that was taken. */
    readonly lastEventId: string | null;
    /** Whether the stream keeps the process alive, as it does at first. */
    hold(yes: boolean): void;
    close(): void;
}

// ---- Client ----

/** An item of batch(). */
export type BatchItem<T = any> = ScheduleOptions & { queue: string; data?: T };

/** Speaks to one server over one connection, which it opens with its first request, and opens again when it breaks.
 * An idle client does not keep the process alive. */
export class Client {
    constructor(url?: string, options?: ConnectOptions);
    constructor(options?: ConnectOptions);
    readonly tenant: string | undefined;
    /** Any request, as words; the answer as the server gave it. `again`: it may be sent twice if the connection breaks. */
    call(words: Words, options?: { timeout?: number; again?: boolean }): Promise<any>;
    ping(): Promise<boolean>;
    /** Schedules a job; without `in` and `at` it is due at once. */
    schedule<T = any>(queue: string, data?: T, options?: ScheduleOptions): Promise<Scheduled>;
    /** Schedules several jobs: all of them, or none. */
    batch(items: BatchItem[], options?: { mode?: "all" }): Promise<Scheduled[]>;
    /** Schedules several jobs, each by itself: an error stands in the place of a refused item. */
    batch(items: BatchItem[], options: { mode: "each" }): Promise<(Scheduled | ReplyError)[]>;
    /** A job with all that is known of it; null if there is none. */
    get<T = any, R = any>(job: JobRef | KeyRef, options?: { tenant?: string }): Promise<Job<T, R> | null>;
    /** All jobs of a filter, page by page. */
    list(filter?: ListFilter): AsyncGenerator<JobSummary, void, undefined>;
    /** One page of jobs; the cursor of the last page is null. */
    listPage(filter?: ListFilter): Promise<{ jobs: JobSummary[]; cursor: string | null }>;
    /** Why a job has not run, and what it waits for; null if there is no such job. */
    explain(job: JobRef | KeyRef): Promise<Explanation | null>;
    /** running: a worker has the job, and learns of it at its next heartbeat. */
    cancel(job: JobRef | KeyRef): Promise<"cancelled" | "running" | "notfound">;
    /** Forgets a job that is not running. */
    delete(job: JobRef | KeyRef): Promise<void>;
    /** Moves a job that is not running; without `in` and `at` it is due at once. */
    reschedule(job: JobRef, options?: Due & { tenant?: string }): Promise<void>;
    /** Puts dead jobs back: one, or those of a queue. Without a limit, all of them. Answers how many. */
    redrive(job: JobRef | { queue: string; limit?: number; tenant?: string }): Promise<number>;
    /** Changes all jobs of a filter, in the background. */
    bulk(action: "cancel" | "reschedule" | "redrive" | "delete", options?: BulkOptions): Promise<Bulk>;
    /** Waits until a job has ended, and answers its result. Rejected with a JobEndedError if it ended otherwise than
     * done, and with a TimeoutError if it did not end in time. */
    waitFor<R = any>(job: JobRef, options?: { timeout?: Duration; signal?: AbortSignal; tenant?: string }): Promise<R>;
    /** Changes of jobs as they happen. */
    events(filter?: EventFilter): EventStream;
    /** Makes a recurrence, or changes the one of that name. */
    recur<T = any>(name: string, queue: string, data: T, options: RecurOptions): Promise<Recurrence<T>>;
    /** A recurrence with its ledger: the outcome of each of its times. */
    recurrence<T = any>(name: string): Promise<Recurrence<T> | null>;
    /** All recurrences, page by page. */
    recurrences(filter?: { limit?: number; tenant?: string }): AsyncGenerator<Recurrence, void, undefined>;
    /** Stops a recurrence; jobs that it made go on. */
    pauseRecurrence(name: string): Promise<void>;
    /** Ends a pause; times that passed meanwhile are skipped. */
    resumeRecurrence(name: string): Promise<void>;
    /** Makes a job of a recurrence now; answers its id. */
    runRecurrence(name: string): Promise<string>;
    /** Ends a recurrence and forgets it. */
    deleteRecurrence(name: string): Promise<void>;
    /** The next times of a rule, without making a recurrence. */
    preview(
        rule: RuleOptions & { from?: Moment; count?: number; name?: string; queue?: string; tenant?: string },
    ): Promise<Occurrence[]>;
    /** A queue by its name, for jobs of one type. */
    queue<T = any, R = any>(name: string): Queue<T, R>;
    /** All queues with their counts and settings. */
    queues(options?: { tenant?: string }): AsyncGenerator<QueueInfo, void, undefined>;
    /** The counts and settings of a tenant, or null. With settings, after changing them. */
    tenantSettings(name: string, change?: TenantSettings): Promise<Record<string, unknown> | null>;
    /** The server's figures, or those of a tenant. */
    stats(options?: { tenant?: string }): Promise<Record<string, unknown>>;
    /** How many jobs become due in each coming step of time. */
    forecast(options?: {
        from?: Moment;
        to?: Moment;
        step?: Duration;
        queue?: string;
        tenant?: string;
    }): Promise<{ from: Date; to: Date; jobs: number; recurring: number; partial: boolean }[]>;
    /** Workers of the last hour. */
    workers(options?: { tenant?: string }): Promise<Record<string, unknown>[]>;
    /** Ends the connection. Requests without an answer, and waits, are rejected. */
    close(): Promise<void>;
}

/** A queue by its name. T is the type of its payloads, R that of its results. */
export class Queue<T = any, R = any> {
    /** With a client; or with a URL or options, which make one. */
    constructor(name: string, client?: Client | string | ConnectOptions);
    readonly name: string;
    readonly client: Client;
    /** Schedules a job. */
    schedule(data: T, options?: ScheduleOptions): Promise<Scheduled>;
    /** As schedule(), in the words of BullMQ, without a name. */
    add(data: T, options?: ScheduleOptions): Promise<Scheduled>;
    /** Schedules several jobs. */
    batch(items: (ScheduleOptions & { data: T })[], options?: { mode?: "all" }): Promise<Scheduled[]>;
    batch(items: (ScheduleOptions & { data: T })[], options: { mode: "each" }): Promise<(Scheduled | ReplyError)[]>;
    /** The job with a key, or null. */
    byKey(key: string | Uint8Array, order?: string): Promise<Job<T, R> | null>;
    list(filter?: Omit<ListFilter, "queue">): AsyncGenerator<JobSummary, void, undefined>;
    /** The counts and settings, or null if there is no such queue. With settings, after changing them. */
    settings(change?: QueueSettings): Promise<QueueInfo | null>;
    /** Stops giving out jobs; they wait. */
    pause(): Promise<"OK">;
    resume(): Promise<"OK">;
    /** Puts dead jobs back; answers how many. */
    redrive(options?: { limit?: number }): Promise<number>;
    /** Forgets the queue, which must have no jobs. */
    delete(): Promise<"OK">;
    /** Closes the client. */
    close(): Promise<void>;
}

// ---- Worker ----

/** A job in the hands of a handler: one attempt, under a lease. */
export interface Attempt<T = any> {
    readonly id: string;
    /** Grows with every lease of the job: a system that the job writes to can refuse an older one. */
    readonly token: string;
    readonly tenant: string;
    readonly queue: string;
    /** The value of the payload; the bytes if it is no JSON. */
    data: T;
    readonly payload: Buffer;
    /** The number of this attempt, from 1. */
    readonly attempt: number;
    /** How many attempts came before this one. */
    readonly attemptsMade: number;
    readonly priority: number;
    readonly due: Date;
    readonly leaseMs: number;
    /** When the lease ended by the server's clock when it was given; the heartbeat lengthens it. */
    readonly until: Date;
    readonly key: string | Buffer | null;
    readonly tags: string[];
    readonly meta: Record<string, string>;
    readonly order: string | Buffer | null;
    /** The recurrence that made the job. */
    readonly recurrence: string | null;
    /** Its time by the rule of the recurrence. */
    readonly nominal: Date | null;
    /** Aborted when the job is cancelled, its lease is lost, its time is over, or the worker is closed at once. */
    readonly signal: AbortSignal;
    /** Whether the server takes no word about the job with this token. */
    readonly lost: boolean;
    readonly cancelled: boolean;
    /** After `failed`: what comes next. */
    readonly next?: { state: "scheduled" | "dead" | "cancelled"; at: Date | null };
    /** Tells how far the job is: percent, and a note for people. */
    progress(percent?: number | null, note?: string): Promise<void>;
    /** As progress(), in the words of BullMQ. */
    updateProgress(percent: number): Promise<void>;
    /** Leaves a note for people; the last one is shown. */
    log(note: string): Promise<void>;
    /** Lengthens the lease; the heartbeat of the worker does this by itself. */
    extend(length?: Duration): Promise<void>;
}

/** What a handler answers: the result of the job, or Again. */
export type Handler<T = any, R = any> = (job: Attempt<T>) => R | Again | Promise<R | Again>;

/** Options of a worker. */
export interface WorkerOptions extends Omit<ConnectOptions, "timeout" | "connectTimeout"> {
    /** A client whose server and options the worker uses. The worker has connections of its own in any case. */
    client?: Client;
    /** How many handlers run at a time; 1 if not given. */
    concurrency?: number;
    /** Length of the leases; that of the job or the queue if not given. */
    lease?: Duration;
    /** A tenant; `*` for all, which take turns. */
    tenant?: string;
    /** How long a handler may run before its attempt fails. */
    timeout?: Duration;
    /** How long one request for work waits at the server; 20s if not given. */
    wait?: Duration;
    /** false: run() begins. */
    autorun?: boolean;
    /** The name that the history of jobs shows; host and process id if not given. */
    name?: string;
}

/** Events of a worker. */
export interface WorkerEvents<T, R> {
    /** The worker is connected. */
    ready: [];
    /** A handler begins. */
    active: [job: Attempt<T>];
    /** The server has recorded that the job is done. */
    completed: [job: Attempt<T>, result: R | Again];
    /** The server has recorded that the attempt failed; `job.next` says what comes next. */
    failed: [job: Attempt<T>, error: Error];
    /** The lease was lost before the job ended: another worker has it, or will have it. */
    stalled: [job: Attempt<T>];
    progress: [job: Attempt<T>, percent: number];
    /** No job is in hand, and none is ready. */
    drained: [];
    /** Something is wrong besides the jobs, such as a server that is away. Without a listener it is a warning of the process. */
    error: [error: Error];
    paused: [];
    resumed: [];
    closing: [];
    closed: [];
}

/** Takes jobs, runs the handler for each, and tells the server how it ended. */
export class Worker<T = any, R = any> extends EventEmitter {
    constructor(queues: string | string[], handler: Handler<T, R>, options?: WorkerOptions);
    readonly queues: string[];
    readonly name: string;
    /** May be changed while the worker runs. */
    concurrency: number;
    /** How many handlers run. */
    readonly running: number;
    /** Whether no job is in hand. */
    readonly idle: boolean;
    /** Whether the server has been asked for jobs and has none. */
    readonly waiting: boolean;
    /** Begins, with autorun: false. The promise lasts until the worker is closed. */
    run(): Promise<void>;
    isRunning(): boolean;
    isPaused(): boolean;
    /** Takes no more jobs; fulfilled when those in hand have ended, or at once with pause(true). */
    pause(doNotWait?: boolean): Promise<void>;
    resume(): void;
    /** Takes no more jobs, gives back those that have not begun, waits for the handlers, and ends the connections. With a
     * timeout, handlers that are not over by then are aborted, and their jobs are given back. close(true) does not wait. */
    close(options?: boolean | { timeout?: Duration }): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    on<E extends keyof WorkerEvents<T, R>>(event: E, listener: (...args: WorkerEvents<T, R>[E]) => void): this;
    once<E extends keyof WorkerEvents<T, R>>(event: E, listener: (...args: WorkerEvents<T, R>[E]) => void): this;
    off<E extends keyof WorkerEvents<T, R>>(event: E, listener: (...args: WorkerEvents<T, R>[E]) => void): this;
}

/** Thrown by a handler: the attempt has failed, and the next one comes after this pause instead of the back-off. */
export class RetryLater extends Error {
    constructor(pause: Duration, message?: string, options?: { cause?: unknown });
    readonly pause: string;
}

/** Thrown by a handler: the job has failed for good. It is dead, whatever attempts are left. */
export class Final extends Error {
    constructor(message?: string, options?: { cause?: unknown });
}

/** Final, in the words of BullMQ. */
export { Final as UnrecoverableError };

/** Thrown by a handler: the job is given back without costing an attempt, and offered again after the pause. */
export class Postpone extends Error {
    constructor(pause: Duration, message?: string);
    readonly pause: string;
}

/** Returned by a handler: the job runs again after this pause, with its attempts counted anew. */
export class Again {
    constructor(pause: Duration);
    readonly pause: string;
}

// ---- Tests of programs ----

/** Belfry in memory, for the tests of a program. Its time stands still until advance(). */
export class TestBelfry {
    constructor(options?: { now?: Moment });
    /** The time of the double. */
    readonly now: Date;
    client(options?: Pick<ConnectOptions, "tenant" | "telemetry" | "name">): Client;
    worker<T = any, R = any>(
        queues: string | string[],
        handler: Handler<T, R>,
        options?: Omit<WorkerOptions, "client" | keyof ConnectOptions> & { name?: string; tenant?: string },
    ): Worker<T, R>;
    /** Lets that time pass, moment by moment. At each one the handlers of what is due run to their end. */
    advance(duration: Duration): Promise<void>;
    /** Goes to a moment. */
    advanceTo(moment: Moment): Promise<void>;
    /** Runs what is due now. */
    settle(): Promise<void>;
    /** Ends its workers and clients. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

// ---- Errors ----

/** Every error of this package. */
export class BelfryError extends Error {
    constructor(code: string, message: string, options?: { cause?: unknown });
    /** For programs. */
    readonly code: string;
}
/** An answer of the server. */
export class ReplyError extends BelfryError {
    constructor(code: string, message: string);
    /** The verb of the request. */
    verb: string;
}
/** The request is wrong. */
export class InvalidError extends ReplyError {}
/** There is no such thing. */
export class NotFoundError extends ReplyError {}
/** The lease is no longer held: another worker may have the job. */
export class StaleError extends ReplyError {}
/** A job has this key. */
export class KeyExistsError extends ReplyError {
    /** The job that has the key. */
    readonly id: string | null;
}
/** Not possible in the state of the job. */
export class StateError extends ReplyError {}
/** The server takes no new jobs: its disk or its memory is full. */
export class FullError extends ReplyError {}
/** Larger than the limit. */
export class TooLargeError extends ReplyError {}
/** The due time is further in the past than the queue accepts. */
export class PastError extends ReplyError {}
/** Too many clients, or too many wrong tokens. */
export class BusyError extends ReplyError {}
/** The tenant has as much as it may. */
export class LimitError extends ReplyError {}
/** The tenant sends too many requests. */
export class RateError extends ReplyError {}
/** No token, or a wrong one. */
export class AuthError extends ReplyError {}
/** The role or the tenant of the token may not do that. */
export class PermissionError extends ReplyError {}
/** No server answers at the address. */
export class UnreachableError extends BelfryError {
    constructor(where: string, cause?: unknown);
}
/** The connection broke after the request was sent. So the server may have done it, or not. */
export class ConnectionLostError extends BelfryError {
    constructor(verb: string, cause?: unknown);
    readonly verb: string;
}
/** The answer, or the end of a job, did not come in time. */
export class TimeoutError extends BelfryError {
    constructor(message: string);
}
/** The client or the worker was closed. */
export class ClosedError extends BelfryError {
    constructor(message?: string);
}
/** A job that was waited for ended otherwise than done. */
export class JobEndedError extends BelfryError {
    constructor(id: string, state: EndState, job: Job | null);
    readonly id: string;
    readonly state: EndState;
    /** As get() shows it; null if the server has forgotten it. */
    readonly job: Job | null;
}
/** Aborts the signal of a job that was cancelled. */
export class CancelledError extends BelfryError {
    constructor(id: string);
}
/** Aborts the signal of a job whose lease has ended. */
export class LeaseLostError extends BelfryError {
    constructor(id: string);
}
