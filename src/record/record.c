/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include "base/error.h"
#include "base/time.h"
#include "record/codec.h"
#include "record/name.h"
#include "record/ratelog.h"
#include "record/role.h"
#include "record/webhook.h"

void record_head(struct buf *out, uint64_t epoch, int64_t wall_ms)
{
    wire_put_u8(out, COMMIT_VERSION);
    wire_put_varint(out, epoch);
    wire_put_zigzag(out, wall_ms);
}

ROW_RECORDS(CODEC)

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

uint64_t image_bytes(const struct job_image *image)
{
    const struct trail_image *t = &image->trail;
    uint64_t bytes = JOB_KEPT_BYTES + image->queue.len + image->opts.len + image->payload.len;

    return !image->has_trail
               ? bytes
               : bytes + TRAIL_KEPT_BYTES + t->worker.len + t->note.len + t->result.len +
                     t->error.len + t->history.len + t->pending.len + t->log.len;
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

    wire_varint(&r); /* seq */
    uint64_t at = (uint64_t)wire_zigzag(&r);
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

#define PUT_TEXT(name)  wire_put_bytes(out, str_of(from->name));
#define GET_TEXT(name)  get_text(r, ret->name, sizeof(ret->name) - 1);
#define PUT_LIMIT       PUT_SIGNED
#define GET_LIMIT(name) ret->name = r->p < r->end ? wire_zigzag(r) : tenant_defaults.name;
#define PUT_RATE(name)  PUT_PLAIN(name.count) PUT_PLAIN(name.per_ms)
#define GET_RATE(name)  get_rate(r, &ret->name);

#define PUT_SETTING(name, kind, member) PUT_##kind(member)
#define GET_SETTING(name, kind, member) GET_##kind(member)

/* A text has no zero in it. `ret` is full of zeros. */
static void get_text(struct wire_reader *r, char *ret, size_t max)
{
    struct str s = wire_bytes(r);

    if (s.len > max || memchr(s.ptr, '\0', s.len))
        r->bad = true;
    else
        memcpy(ret, s.ptr, s.len);
}

static void get_rate(struct wire_reader *r, struct rate *ret)
{
    uint64_t count = wire_varint(r), per = wire_varint(r);

    *ret = (struct rate){ .count = (int64_t)count, .per_ms = count ? (int64_t)per : 0 };
    if (count && (count > RATE_COUNT_MAX || per == 0 || per > RATE_PER_MAX))
        r->bad = true;
}

/* A setting that most queues do not have is written as a number and bytes. So a reader can pass
 * over a setting that it does not know. */
enum queue_tag { QUEUE_TAG_PUSH = 1, QUEUE_TAG_BURST = 2, QUEUE_TAG_TAKEN = 3 };

static void put_push(struct buf *ret, const struct queue_settings *from)
{
    const struct push_settings *s = &from->push, *usual = &queue_defaults.push;
    struct buf body = { 0 }, *out = &body;

    if (s->url.len == 0 && s->headers.len == 0 && s->secrets.len == 0 &&
        s->timeout_ms == usual->timeout_ms && s->concurrency == usual->concurrency)
        return;
    QUEUE_PUSH_FIELDS(PUT_SETTING)
    wire_put_u8(ret, QUEUE_TAG_PUSH);
    wire_put_bytes(ret, buf_view(&body));
    ret->failed = ret->failed || body.failed;
    buf_fini(&body);
}

static void put_burst(struct buf *ret, const struct queue_settings *from)
{
    struct buf body = { 0 }, *out = &body;

    if (from->rate.burst == 0)
        return;
    QUEUE_BURST_FIELDS(PUT_SETTING)
    wire_put_u8(ret, QUEUE_TAG_BURST);
    wire_put_bytes(ret, buf_view(&body));
    ret->failed = ret->failed || body.failed;
    buf_fini(&body);
}

static void put_taken(struct buf *ret, const struct rate_log *taken)
{
    struct buf body = { 0 };

    rate_put(&body, taken);
    wire_put_bytes(ret, buf_view(&body));
    ret->failed = ret->failed || body.failed;
    buf_fini(&body);
}

static bool get_burst(struct str body, struct queue_settings *ret)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;

    QUEUE_BURST_FIELDS(GET_SETTING)
    return !r->bad && rate_burst_is_valid(&ret->rate);
}

static bool get_push(struct str body, struct queue_settings *ret)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;
    const char *field;

    QUEUE_PUSH_FIELDS(GET_SETTING)
    return !r->bad && push_settings_why(&ret->push, &field) == NULL;
}

static void get_tagged(struct wire_reader *r, struct queue_record *ret)
{
    while (r->p < r->end && !r->bad) {
        unsigned tag = wire_u8(r);
        struct str body = wire_bytes(r);

        if ((tag == QUEUE_TAG_PUSH && !get_push(body, &ret->settings)) ||
            (tag == QUEUE_TAG_BURST && !get_burst(body, &ret->settings)) ||
            (tag == QUEUE_TAG_TAKEN && !rate_get(body, &ret->taken)))
            r->bad = true;
    }
}

void record_put_queue(struct buf *out, const struct queue_record *record)
{
    const struct queue_settings *from = &record->settings;
    size_t mark = record_open(out, RECORD_QUEUE);

    wire_put_bytes(out, record->tenant);
    wire_put_bytes(out, record->queue);
    QUEUE_FIRST_FIELDS(PUT_SETTING)
    QUEUE_LATER_FIELDS(PUT_SETTING)
    put_push(out, from);
    put_burst(out, from);
    if (record->taken.parts > 0) {
        wire_put_u8(out, QUEUE_TAG_TAKEN);
        put_taken(out, &record->taken);
    }
    record_close(out, mark);
}

bool record_get_queue(struct str body, struct queue_record *record)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;
    struct queue_settings *ret = &record->settings;

    record->tenant = wire_bytes(r);
    record->queue = wire_bytes(r);
    record->taken.total = record->taken.parts = 0;
    *ret = (struct queue_settings){ .push = queue_defaults.push };
    QUEUE_FIRST_FIELDS(GET_SETTING)
    if (r->p < r->end) {
        QUEUE_LATER_FIELDS(GET_SETTING)
    }
    get_tagged(r, record);
    return !r->bad && ret->backoff[0] && record->queue.len > 0 &&
           record->queue.len <= QUEUE_MAX_BYTES && ret->lease_ms > 0 &&
           ret->lease_ms <= LEASE_MAX_MS && ret->attempts >= 0 && ret->past_grace_ms >= -1 &&
           ret->max_running >= 0;
}

void record_put_tenant(struct buf *out, const struct tenant_record *record)
{
    const struct tenant_settings *from = &record->settings;
    size_t mark = record_open(out, RECORD_TENANT);

    wire_put_bytes(out, record->name);
    TENANT_FIRST_FIELDS(PUT_SETTING)
    TENANT_LATER_FIELDS(PUT_SETTING)
    TENANT_LIMIT_FIELDS(PUT_SETTING)
    put_taken(out, &record->taken);
    TENANT_STOP_FIELDS(PUT_SETTING)
    record_close(out, mark);
}

bool record_get_tenant(struct str body, struct tenant_record *record)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;
    struct tenant_settings *ret = &record->settings;

    record->name = wire_bytes(r);
    *ret = (struct tenant_settings){ 0 };
    TENANT_FIRST_FIELDS(GET_SETTING)
    if (r->p < r->end) {
        TENANT_LATER_FIELDS(GET_SETTING)
    }
    TENANT_LIMIT_FIELDS(GET_SETTING)
    record->taken.total = record->taken.parts = 0;
    if (r->p < r->end && !rate_get(wire_bytes(r), &record->taken))
        r->bad = true;
    if (r->p < r->end) {
        TENANT_STOP_FIELDS(GET_SETTING)
    }
    return !r->bad && name_valid(record->name) && ret->weight > 0 && ret->weight <= WEIGHT_MAX &&
           ret->max_pending >= 0 && ret->max_running >= 0 && ret->max_queues >= 0 &&
           ret->max_recurrences >= 0 && ret->max_connections >= 0 && ret->requests >= 0 &&
           ret->max_bytes >= 0 && ret->max_streams >= 0 && ret->max_leased >= 0 &&
           ret->maintenance_until_ms >= 0 && ret->maintenance_until_ms <= TIME_MOMENT_MAX &&
           rate_burst_is_valid(&ret->rate);
}

/* ---- Tokens ---- */

void record_put_token(struct buf *out, const struct token_record *from)
{
    size_t mark = record_open(out, RECORD_TOKEN);

    TOKEN_FIELDS(PUT_FIELD)
    if (!from->gone) {
        TOKEN_LIVE_FIELDS(PUT_FIELD)
    }
    record_close(out, mark);
}

/* The server's own secret has neither role nor tenant. */
static bool token_is_plausible(const struct token_record *r)
{
    if (r->hash.len != TOKEN_HASH_BYTES || r->expires_ms < 0)
        return false;
    if (str_eq(r->name, STR(TOKEN_KEY_NAME)))
        return r->role == ROLE_NONE && r->tenant.len == 0;
    return name_valid(r->name) && r->role > ROLE_NONE && r->role < ROLE_END &&
           (name_valid(r->tenant) || str_eq(r->tenant, STR(TENANT_ALL)));
}

bool record_get_token(struct str body, struct token_record *ret)
{
    struct wire_reader reader = wire_reader_of(body), *r = &reader;

    *ret = (struct token_record){ 0 };
    TOKEN_FIELDS(GET_FIELD)
    if (ret->gone)
        return !r->bad && ret->gone == 1 && name_valid(ret->name);
    TOKEN_LIVE_FIELDS(GET_FIELD)
    return !r->bad && token_is_plausible(ret);
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

void record_put_attempt(struct buf *out, const struct attempt *from)
{
    ATTEMPT_FIELDS(PUT_FIELD)
}

bool record_get_attempt(struct wire_reader *r, struct attempt *ret)
{
    ATTEMPT_FIELDS(GET_FIELD)
    return !r->bad;
}
