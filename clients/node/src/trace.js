/* SPDX-License-Identifier: MIT */
"use strict";
/* W3C trace context by way of OpenTelemetry, if the program has its API. Jobs carry it in their metadata. */

const CONSUMER = 4; // SpanKind
const FAILED = 2; // SpanStatusCode

let found;
/** The API: the given one, that of the program, or null. `false` means none. */
function apiOf(given) {
    if (given === false) return null;
    if (given) return given;
    if (found === undefined) {
        try {
            found = require("@opentelemetry/api");
        } catch {
            found = null;
        }
    }
    return found;
}

/** The metadata with the caller's trace, unless it has one of its own. */
function injected(api, meta) {
    if (!api || meta?.traceparent) return meta;
    const carrier = {};
    api.propagation.inject(api.context.active(), carrier);
    if (!carrier.traceparent) return meta;
    const trace = { traceparent: carrier.traceparent };
    if (carrier.tracestate) trace.tracestate = carrier.tracestate;
    return { ...meta, ...trace };
}

/** Runs a handler within a span that belongs to the job's trace. */
function traced(api, job, run) {
    const parent = api.propagation.extract(api.context.active(), job.meta ?? {});
    const attributes = {
        "messaging.system": "belfry",
        "messaging.destination.name": job.queue,
        "messaging.message.id": job.id,
        "belfry.attempt": job.attempt,
    };
    const tracer = api.trace.getTracer("belfry");
    return tracer.startActiveSpan(`process ${job.queue}`, { kind: CONSUMER, attributes }, parent, async (span) => {
        try {
            return await run();
        } catch (error) {
            span.recordException?.(error);
            span.setStatus?.({ code: FAILED, message: String(error?.message ?? error) });
            throw error;
        } finally {
            span.end();
        }
    });
}

module.exports = { apiOf, injected, traced };
