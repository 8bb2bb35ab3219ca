/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include "base/error.h"
#include "base/time.h"
#include "record/codec.h"
#include "record/name.h"
#include "record/webhook.h"

void record_head(struct buf *out, uint64_t epoch, int64_t wall_ms)
{
    wire_put_u8(out, COMMIT_VERSION);
    wire_put_varint(out, epoch);
    wire_put_zigzag(out, wall_ms);
}

CODEC(BEGIN, begin, struct begin_record, BEGIN_FIELDS, true)
CODEC(LEASE, lease, struct lease_record, LEASE_FIELDS, true)
CODEC(EXTEND, extend, struct extend_record, EXTEND_FIELDS, true)
CODEC(BACK, back, struct back_record, BACK_FIELDS, true)
CODEC(END, end, struct end_record, END_FIELDS, state_is_ended(ret->state))
CODEC(MOVE, move, struct move_record, MOVE_FIELDS, true)
CODEC(MARK, mark, struct mark_record, MARK_FIELDS, true)
CODEC(TOLD, told, struct told_record, TOLD_FIELDS, true)
CODEC(LISTEN, listen, struct listen_record, LISTEN_FIELDS, true)

/* ---- Jobs ---- */

static void put_trail(struct buf *out, const struct trail_image *from)
{
    TRAIL_FIELDS(PUT_FIELD)
    TRAIL_LATER_FIELDS(PUT_FIELD)
}

static void get_trail(struct wire_reader *r, struct trail_image *ret)
{
    TRAIL_FIELDS(GET_FIELD)
    if (r->p < r->end) {
        TRAIL_LATER_FIELDS(GET_FIELD)
    }
}

void record_put_image(struct buf *out, const struct job_image *from)
{
    IMAGE_FIELDS(PUT_FIELD)
    if (from->has_trail)
        put_trail(out, &from->trail);
}

bool record_get_job(struct str body, struct job_image *ret)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;

    *ret = (struct job_image){ 0 };
    IMAGE_FIELDS(GET_FIELD)
    if (ret->has_trail)
        get_trail(r, &ret->trail);
    return !r->bad && ret->state < JOB_WAITING && ret->state != JOB_READY && ret->priority >= 1 &&
           ret->priority <= 5 && ret->queue.len > 0 && ret->queue.len <= QUEUE_MAX_BYTES &&
           ret->opts.len > 0 && ret->opts.len <= UINT16_MAX &&
           (ret->has_trail || ret->state == JOB_SCHEDULED);
}

void record_put_job(struct buf *out, const struct job_image *r)
{
    size_t mark = record_open(out, RECORD_PUT);

    record_put_image(out, r);
    record_close(out, mark);
}

bool record_peek_job(struct str body, unsigned *ret_state, int64_t *ret_at_ms,
                     struct str *ret_queue)
{
    struct wire_reader r = wire_reader_of(body);
    uint64_t at;

    wire_varint(&r); /* seq */
    at = (uint64_t)wire_zigzag(&r);
    *ret_state = wire_u8(&r);
    wire_u8(&r);                     /* priority */
    at += (uint64_t)wire_zigzag(&r); /* due, from birth */
    at += (uint64_t)wire_zigzag(&r); /* at, from due */
    *ret_at_ms = (int64_t)at;
    wire_varint(&r); /* attempt */
    wire_varint(&r); /* stalls */
    wire_bytes(&r);  /* tenant */
    *ret_queue = wire_bytes(&r);
    return !r.bad;
}

/* ---- Settings ---- */

static bool moment_ok(int64_t ms)
{
    return ms >= 0 && ms <= TIME_MOMENT_MAX;
}

static void put_rate(struct buf *out, const struct rate *r)
{
    wire_put_varint(out, (uint64_t)r->count);
    wire_put_varint(out, (uint64_t)r->per_ms);
}

static bool get_rate(struct wire_reader *r, struct rate *ret)
{
    uint64_t count = wire_varint(r), per = wire_varint(r);

    *ret = (struct rate){ (int64_t)count, count ? (int64_t)per : 0 };
    return count == 0 || (count <= RATE_COUNT_MAX && per > 0 && per <= RATE_PER_MAX);
}

/* Settings that most queues do not have: a number and bytes each, so that a reader can pass over
 * those that it does not know. */
enum queue_tag { QUEUE_TAG_PUSH = 1 };

static void put_push(struct buf *out, const struct push_settings *s)
{
    struct buf body = { 0 };

    if (s->url.len == 0 && s->headers.len == 0 && s->secrets.len == 0 &&
        s->timeout_ms == queue_defaults.push.timeout_ms &&
        s->concurrency == queue_defaults.push.concurrency)
        return;
    wire_put_bytes(&body, s->url);
    wire_put_bytes(&body, s->headers);
    wire_put_bytes(&body, s->secrets);
    wire_put_varint(&body, (uint64_t)s->timeout_ms);
    wire_put_varint(&body, (uint64_t)s->concurrency);
    wire_put_u8(out, QUEUE_TAG_PUSH);
    wire_put_bytes(out, buf_view(&body));
    out->failed = out->failed || body.failed;
    buf_fini(&body);
}

static bool get_push(struct str body, struct push_settings *ret)
{
    struct wire_reader r = wire_reader_of(body);
    const char *field;

    ret->url = wire_bytes(&r);
    ret->headers = wire_bytes(&r);
    ret->secrets = wire_bytes(&r);
    ret->timeout_ms = (int64_t)wire_varint(&r);
    ret->concurrency = (int64_t)wire_varint(&r);
    return !r.bad && push_settings_why(ret, &field) == NULL;
}

static bool get_tagged(struct wire_reader *r, struct queue_settings *ret)
{
    ret->push = queue_defaults.push;
    while (r->p < r->end && !r->bad) {
        unsigned tag = wire_u8(r);
        struct str body = wire_bytes(r);

        if (tag == QUEUE_TAG_PUSH && !get_push(body, &ret->push))
            return false;
    }
    return !r->bad;
}

void record_put_queue(struct buf *out, const struct queue_record *r)
{
    const struct queue_settings *s = &r->settings;
    size_t mark = record_open(out, RECORD_QUEUE);

    wire_put_bytes(out, r->tenant);
    wire_put_bytes(out, r->queue);
    wire_put_u8(out, s->paused);
    wire_put_zigzag(out, s->lease_ms);
    wire_put_zigzag(out, s->attempts);
    wire_put_bytes(out, str_of(s->backoff));
    wire_put_zigzag(out, s->retain_ms);
    wire_put_zigzag(out, s->retain_dead_ms);
    wire_put_zigzag(out, s->key_hold_ms);
    wire_put_zigzag(out, s->past_grace_ms);
    wire_put_zigzag(out, s->max_running);
    put_rate(out, &s->rate);
    put_push(out, &s->push);
    record_close(out, mark);
}

void record_put_tenant(struct buf *out, const struct tenant_record *r)
{
    size_t mark = record_open(out, RECORD_TENANT);
    const struct tenant_settings *s = &r->settings;

    wire_put_bytes(out, r->name);
    wire_put_zigzag(out, s->weight);
    wire_put_u8(out, s->maintenance);
    wire_put_zigzag(out, s->max_pending);
    wire_put_zigzag(out, s->max_running);
    put_rate(out, &s->rate);
    wire_put_bytes(out, str_of(s->quiet));
    wire_put_bytes(out, str_of(s->tz));
    wire_put_zigzag(out, s->spread_ms);
    record_close(out, mark);
}

/* A text without a zero in it. */
static bool get_text(struct wire_reader *r, char *ret, size_t max)
{
    struct str s = wire_bytes(r);

    if (r->bad || s.len > max || (s.len && memchr(s.ptr, '\0', s.len)))
        return false;
    if (s.len)
        memcpy(ret, s.ptr, s.len);
    return true;
}

bool record_get_tenant(struct str body, struct tenant_record *ret)
{
    struct wire_reader r = wire_reader_of(body);
    struct tenant_settings *s = &ret->settings;

    *ret = (struct tenant_record){ .name = wire_bytes(&r) };
    s->weight = wire_zigzag(&r);
    s->maintenance = wire_u8(&r) != 0;
    s->max_pending = wire_zigzag(&r);
    s->max_running = wire_zigzag(&r);
    if (!get_rate(&r, &s->rate))
        return false;
    if (r.p < r.end) { /* later versions */
        if (!get_text(&r, s->quiet, QUIET_MAX_BYTES) || !get_text(&r, s->tz, TZ_MAX_BYTES))
            return false;
        s->spread_ms = wire_zigzag(&r);
    }
    return !r.bad && name_valid(ret->name) && s->weight > 0 && s->weight <= WEIGHT_MAX &&
           s->max_pending >= 0 && s->max_running >= 0 && moment_ok(s->spread_ms);
}

bool record_get_queue(struct str body, struct queue_record *ret)
{
    struct wire_reader r = wire_reader_of(body);
    struct queue_settings *s = &ret->settings;
    struct str backoff;

    *ret = (struct queue_record){ 0 };
    ret->tenant = wire_bytes(&r);
    ret->queue = wire_bytes(&r);
    s->paused = wire_u8(&r) != 0;
    s->lease_ms = wire_zigzag(&r);
    s->attempts = wire_zigzag(&r);
    backoff = wire_bytes(&r);
    s->retain_ms = wire_zigzag(&r);
    s->retain_dead_ms = wire_zigzag(&r);
    s->key_hold_ms = wire_zigzag(&r);
    s->past_grace_ms = wire_zigzag(&r);
    if (r.p < r.end) { /* later versions */
        s->max_running = wire_zigzag(&r);
        if (!get_rate(&r, &s->rate))
            return false;
    }
    if (!get_tagged(&r, s) || backoff.len == 0 || backoff.len > BACKOFF_MAX_BYTES ||
        memchr(backoff.ptr, '\0', backoff.len) || ret->queue.len == 0 ||
        ret->queue.len > QUEUE_MAX_BYTES)
        return false;
    memcpy(s->backoff, backoff.ptr, backoff.len);
    return s->lease_ms > 0 && s->lease_ms <= LEASE_MAX_MS && s->attempts >= 0 &&
           moment_ok(s->retain_ms) && moment_ok(s->retain_dead_ms) && moment_ok(s->key_hold_ms) &&
           s->past_grace_ms >= -1 && s->max_running >= 0;
}

/* ---- Commits ---- */

int record_walk(struct str commit, struct commit_head *ret_head,
                int (*fn)(void *arg, enum record_type type, struct str body), void *arg)
{
    struct wire_reader r = wire_reader_of(commit);
    struct commit_head head;
    int answer = 0;

    if (wire_u8(&r) != COMMIT_VERSION)
        return BELFRY_CORRUPT;
    head.epoch = wire_varint(&r);
    head.wall_ms = wire_zigzag(&r);
    if (r.bad)
        return BELFRY_CORRUPT;
    if (ret_head)
        *ret_head = head;
    while (r.p < r.end && answer == 0) {
        enum record_type type = (enum record_type)wire_u8(&r);
        uint32_t len = wire_u32(&r);

        if (r.bad || len > (size_t)(r.end - r.p))
            return BELFRY_CORRUPT;
        answer = fn(arg, type, (struct str){ (const char *)r.p, len });
        r.p += len;
    }
    return answer;
}

void record_put_attempt(struct buf *out, const struct attempt *a)
{
    wire_put_varint(out, a->number);
    wire_put_zigzag(out, a->start_ms);
    wire_put_zigzag(out, a->end_ms - a->start_ms);
    wire_put_zigzag(out, a->late_ms);
    wire_put_u8(out, (uint8_t)a->outcome);
    wire_put_bytes(out, a->worker);
    wire_put_bytes(out, a->error);
}

bool record_get_attempt(struct wire_reader *r, struct attempt *ret)
{
    ret->number = (uint32_t)wire_varint(r);
    ret->start_ms = wire_zigzag(r);
    ret->end_ms = (int64_t)((uint64_t)ret->start_ms + (uint64_t)wire_zigzag(r));
    ret->late_ms = wire_zigzag(r);
    ret->outcome = wire_u8(r);
    ret->worker = wire_bytes(r);
    ret->error = wire_bytes(r);
    return !r->bad;
}
