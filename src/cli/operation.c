/* SPDX-License-Identifier: MIT */
#include "cli/operation.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int operation_failed(const struct bench *b, const char *step, const char *why)
{
    cli_say("bench: %s at %s:%s: %s: %s", b->target.driver->name, b->load.host, b->load.port, step,
            why);
    return CLI_ERROR;
}

static void make_later(void *arg, struct buf *out, uint64_t n)
{
    const struct target *t = &((struct bench *)arg)->target;

    t->driver->put(t, out, n, false);
}

static void make_due(void *arg, struct buf *out, uint64_t n)
{
    const struct target *t = &((struct bench *)arg)->target;

    t->driver->put(t, out, n, true);
}

/* Picks one of each `stride` jobs, at a place that differs from stride to stride. */
static bool is_sampled(const struct bench *b, uint64_t n)
{
    uint64_t part = n / b->stride;

    return n % b->stride == (part * part * UINT64_C(2654435761) >> 7) % b->stride;
}

static void note_id(void *arg, uint64_t n, struct str reply)
{
    struct bench *b = arg;
    char id[DRIVER_ID_MAX];

    if (b->ids)
        b->target.driver->note(reply, b->ids + b->ids_n++ * b->target.driver->id_bytes);
    if (b->stride && is_sampled(b, n)) {
        b->target.driver->note(reply, id);
        buf_printf(&b->sampled, "%s{\"n\":%llu,\"id\":\"%.*s\",\"due_ms\":%lld}",
                   b->sampled.len ? "," : ",\"sample\":[", (unsigned long long)n,
                   (int)strnlen(id, b->target.driver->id_bytes), id,
                   (long long)driver_due_ms(&b->target, n));
    }
}

static void make_drop(void *arg, struct buf *out, uint64_t n)
{
    struct bench *b = arg;

    b->target.driver->drop(&b->target, out, b->ids + n * b->target.driver->id_bytes);
}

/* Removes the jobs that were scheduled for later. This is not measured. */
static int clean_up(struct bench *b)
{
    struct load_options o = b->load;
    struct load_result r;
    int code = CLI_OK;

    o.stoppable = false;
    o.connections = o.connections < 4 ? 4 : o.connections;
    o.in_flight = o.in_flight < 256 ? 256 : o.in_flight;
    o.part = NULL;
    if (b->ids && load_stream(&o, "clean up", b->ids_n, make_drop, NULL, b, &r) < 0)
        code = operation_failed(b, "cleaning up", r.why);
    if (b->target.driver->wipe && !b->keep)
        b->target.driver->wipe(&b->target, &b->client);
    free(b->ids);
    b->ids = NULL;
    b->ids_n = 0;
    return code;
}

static void tell_part(void *arg, uint64_t so_far, const struct load_result *part)
{
    struct bench *b = arg;

    result_part(&b->result, b->op, so_far, part);
}

static int schedule(struct bench *b, const struct load_options *o, uint64_t jobs)
{
    bool has_ids = b->target.driver->id_bytes > 0;
    struct load_result r;

    if (has_ids && !b->keep)
        b->ids = calloc(jobs, b->target.driver->id_bytes);
    b->stride =
        has_ids && b->sample > 0 ? (jobs + (uint64_t)b->sample - 1) / (uint64_t)b->sample : 0;
    if (load_stream(o, b->op, jobs, make_later, b->ids || b->stride ? note_id : NULL, b, &r) < 0) {
        clean_up(b);
        return operation_failed(b, b->op, r.why);
    }
    if (b->sampled.len)
        buf_text(&b->sampled, "]");
    result_load(&b->result, b->op, o, &r, buf_view(&b->sampled));
    buf_fini(&b->sampled);
    return clean_up(b);
}

static int run_schedule(struct bench *b, uint64_t jobs)
{
    return schedule(b, &b->load, jobs);
}

static int run_lone(struct bench *b, uint64_t jobs)
{
    struct load_options o = b->load;

    o.connections = o.in_flight = 1;
    return schedule(b, &o, jobs);
}

static int run_fill(struct bench *b, uint64_t jobs)
{
    struct load_result r;

    if (load_stream(&b->load, b->op, jobs, make_due, NULL, b, &r) < 0)
        return operation_failed(b, b->op, r.why);
    result_load(&b->result, b->op, &b->load, &r, STR(""));
    return CLI_OK;
}

static int run_lease(struct bench *b, uint64_t jobs)
{
    struct load_options o = b->load;
    struct load_result r;

    o.part = NULL; /* filling is not measured */
    if (load_stream(&o, "fill", jobs, make_due, NULL, b, &r) < 0)
        return operation_failed(b, "fill", r.why);
    jobs = r.jobs;
    if (load_rounds(&b->load, b->op, jobs, 0, NULL, &r) < 0)
        return operation_failed(b, b->op, r.why);
    if (r.jobs < jobs)
        return operation_failed(b, b->op, "not all jobs came");
    result_load(&b->result, b->op, &b->load, &r, STR(""));
    return clean_up(b);
}

static int run_drain(struct bench *b, uint64_t jobs)
{
    struct drain_result r;

    if (drain_measure(&b->load, jobs, b->at_ms >= 0, &r) < 0)
        return operation_failed(b, b->op, r.load.why);
    result_drain(&b->result, &b->load, &r);
    return drain_is_right(&r) ? CLI_OK : CLI_ERROR;
}

static int run_late(struct bench *b, uint64_t jobs)
{
    int64_t span_ms = b->span_ms ? b->span_ms : LATE_SPAN_MS;
    struct late_result r;

    if (late_measure(&b->load, jobs, span_ms, &r) < 0)
        return operation_failed(b, b->op, r.why);
    result_late(&b->result, &r, span_ms);
    return r.early ? CLI_ERROR : CLI_OK;
}

static int run_ping(struct bench *b, uint64_t count)
{
    struct ping_result r;

    if (ping_measure(&b->load, count, b->every_ms, &r) < 0)
        return operation_failed(b, b->op, r.load.why);
    result_ping(&b->result, &r);
    return CLI_OK;
}

static const struct operation operations[] = {
    { "schedule", run_schedule, .jobs = 100000, .tenant = true },
    { "lease", run_lease, .jobs = 100000, .tenant = true },
    { "lone", run_lone, .jobs = 2000, .tenant = true },
    { "late", run_late, .jobs = 1000, .belfry = true },
    { "fill", run_fill, .jobs = 100000, .tenant = true },
    { "drain", run_drain, .jobs = 100000, .belfry = true, .tenant = true },
    { "ping", run_ping, .jobs = 2000, .belfry = true, .tenant = true },
    { 0 },
};

const struct operation *operation_next(const char **ops)
{
    size_t len = strcspn(*ops, ",");
    const struct operation *op = operations;

    while (op->name && (strlen(op->name) != len || memcmp(op->name, *ops, len) != 0))
        op++;
    *ops += len + ((*ops)[len] == ',');
    return op->name ? op : NULL;
}

int operation_run(struct bench *b, const struct operation *op)
{
    b->op = op->name;
    b->load.part = b->load.every ? tell_part : NULL;
    b->load.part_arg = b;
    if (op->belfry && b->target.driver != &driver_belfry)
        return operation_failed(b, op->name, "is for belfry only");
    return op->run(b, b->jobs ? (uint64_t)b->jobs : op->jobs);
}
