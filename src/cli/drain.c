/* SPDX-License-Identifier: MIT */
#include "cli/drain.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

struct drain {
    struct driver_watch watch; /* first */
    const struct target *target;
    uint64_t jobs;
    bool timed;
    uint8_t *seen;                           /* a bit for each job */
    struct buf filler;                       /* text of a payload */
    int64_t latest_ms[LOAD_CONNECTIONS_MAX]; /* the latest due time that each connection has seen */
    struct drain_result *ret;
};

/* The job's number; UINT64_MAX if the payload is not one of ours. */
static uint64_t number_of(const struct drain *d, struct str payload)
{
    size_t width = DRIVER_NUMBER_DIGITS;
    uint64_t n;

    if (payload.len != d->filler.len ||
        memcmp(payload.ptr + width, d->filler.ptr + width, payload.len - width) != 0)
        return UINT64_MAX;
    return str_number((struct str){ payload.ptr, width }, &n) && n < d->jobs ? n : UINT64_MAX;
}

static void note_order(struct drain *d, int64_t due_ms)
{
    int64_t *latest = &d->latest_ms[d->watch.conn];

    if (due_ms >= *latest) {
        *latest = due_ms;
        return;
    }
    d->ret->behind++;
    if (*latest - due_ms > d->ret->behind_max_ms)
        d->ret->behind_max_ms = *latest - due_ms;
}

static void note_job(struct driver_watch *w, const struct driver_job *j)
{
    struct drain *d = (struct drain *)w;
    struct drain_result *ret = d->ret;
    int64_t late_us = time_wall_us() - j->due_ms * 1000;
    uint64_t n = number_of(d, j->payload);

    ret->early += late_us < 0;
    if (ret->late.count == 0 || late_us < ret->earliest_us)
        ret->earliest_us = late_us;
    hist_add(&ret->late, late_us);
    note_order(d, j->due_ms);
    if (n == UINT64_MAX) {
        ret->damaged++;
        return;
    }
    ret->moved += d->timed && j->due_ms != driver_due_ms(d->target, n);
    if (d->seen[n / 8] & 1u << n % 8) {
        ret->twice++;
        return;
    }
    d->seen[n / 8] |= (uint8_t)(1u << n % 8);
    ret->delivered++;
}

int drain_measure(const struct load_options *o, uint64_t jobs, bool timed, struct drain_result *ret)
{
    struct drain d = { .watch.job = note_job, .target = o->target, .jobs = jobs, .timed = timed };
    int64_t until_ms = timed ? o->target->first_ms + o->target->span_ms : 0;
    int err = BELFRY_NOMEM;

    *ret = (struct drain_result){ 0 };
    d.ret = ret;
    d.seen = calloc(jobs / 8 + 1, 1);
    driver_filler(&d.filler, o->target->payload_bytes);
    if (o->target->payload_bytes < DRIVER_NUMBER_DIGITS) {
        err = cli_fail(ret->load.why, BELFRY_INVALID,
                       "payloads have no room for a number of %d digits", DRIVER_NUMBER_DIGITS);
    } else if (d.seen && !d.filler.failed) {
        err = load_rounds(o, "drain", jobs, until_ms, &d.watch, &ret->load);
        ret->missing = jobs - ret->delivered;
    } else {
        err = cli_fail(ret->load.why, err, "%s", error_text(err));
    }
    free(d.seen);
    buf_fini(&d.filler);
    return err;
}

bool drain_is_right(const struct drain_result *r)
{
#define DRAIN_NONE(name, text) &&r->name == 0
    return true DRAIN_FAULTS(DRAIN_NONE);
#undef DRAIN_NONE
}
