/* SPDX-License-Identifier: MIT */
/*
 * What a client asks for. A request is executed at once. If it answers COLD, it waits for a fetch
 * from disk while other clients go on, and is executed again. What it must answer is what the model
 * says at its last execution.
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include "partition/partition.h"
#include "sim/model.h"

struct world;
struct request;

/* Executes and judges it. False, with nothing done, if the engine says COLD. May leave a request in
 * world.follow_up that is to be sent next. */
typedef bool request_fn(struct world *w, const struct request *r);

#define BATCH_ITEMS 5

struct request {
    request_fn *execute;
    struct model_spec spec; /* SCHEDULE */
    struct model_spec batch[BATCH_ITEMS];
    size_t batch_count;
    struct job_id id;
    uint64_t token;
    unsigned queue;
    uint32_t key;
    uint32_t text; /* result, error or note */
    int64_t ms;    /* due, again, retry or in; of EXTEND how long */
    int64_t progress;
    bool flag; /* FAIL: final; EXTEND: has a note */
    size_t limit;
    unsigned recurrence;      /* the number of the recurrence */
    struct model_recur recur; /* the request for the recurrence */
    unsigned scope;           /* whose jobs it may see: SCOPE_ALL, ... */
};

#define PARKED_MAX 8

/* A request that waits for the disk. */
struct parked {
    struct request request;
    struct fetch *fetch; /* NULL: no request waits here */
    bool ran;
    int result;
    bool faulted;
    int tries;
};

/* Called around the execution of a request that names a job. The engine shows it only the jobs of
 * its scope, and jobs of other tenants seem not to exist. The model keeps the scope until the next.
 */
void request_enter(struct world *w, const struct request *r);
void request_leave(struct world *w, const struct request *r, int err);

void request_send(struct world *w, const struct request *r);
/* The same, waiting for the answer. It may get none: after a fault. */
void request_finish(struct world *w, const struct request *r);
/* Brings all to their ends that wait. */
void requests_finish(struct world *w);

/* The judge has looked jobs up in the middle of a request, so the engine has lost the answer that
 * the request is executed with. */
void request_answer_again(struct world *w);

#endif
