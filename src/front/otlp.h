/* SPDX-License-Identifier: MIT */
/*
 * Traces of jobs, as OTLP in JSON (opentelemetry-proto, ExportTraceServiceRequest). Each
 * span follows from one event, so the server remembers nothing of a job:
 *
 *     the producer's span (traceparent)
 *      └─ schedule Q     when it was taken
 *          ├─ deliver Q  each attempt, from its lease to its end
 *          │   └─ finish Q   when it ended, if with that attempt;
 *          └─ finish Q       if without one
 *
 * The metadata `traceparent` of a job names its trace. A job without it has its own id as the
 * trace. Ids of spans are hashes of the job's id and the lease. No sockets.
 */
#ifndef FRONT_OTLP_H
#define FRONT_OTLP_H

#include "base/buf.h"
#include "engine/event.h"

struct trace_context {
    uint8_t trace[16];
    uint8_t parent[8];
    bool sampled;
};

/* A traceparent as in W3C's Trace Context; false if it is none. */
bool trace_parse(struct str text, struct trace_context *ret);

/* Appends the spans that follow from an event, with commas between them. A comma goes before them,
 * too, unless `first`. Returns how many spans there are. */
unsigned otlp_spans(const struct job_event *ev, bool first, struct buf *out);

/* A whole request with these spans. */
void otlp_request(struct str service, struct str spans, struct buf *out);

#endif
