/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include "base/error.h"
#include "base/time.h"
#include "record/name.h"
#include "record/webhook.h"

void record_head(struct buf *out, uint64_t epoch, int64_t wall_ms)
{
    wire_put_u8(out, COMMIT_VERSION);
    wire_put_varint(out, epoch);
    wire_put_zigzag(out, wall_ms);
}

void record_put_begin(struct buf *out, const struct begin_record *r)
{
    size_t mark = record_open(out, RECORD_BEGIN);

    wire_put_varint(out, r->previous);
    wire_put_varint(out, r->next_seq);
    wire_put_varint(out, r->oldest);
    record_close(out, mark);
}

static void put_trail(struct buf *out, const struct trail_image *t)
{
    wire_put_varint(out, t->token);
    wire_put_zigzag(out, t->start_ms);
    wire_put_zigzag(out, t->until_ms);
    wire_put_zigzag(out, t->lease_ms);
    wire_put_zigzag(out, t->late_ms);
    wire_put_zigzag(out, t->ended_ms);
    wire_put_zigzag(out, t->keep_ms);
    wire_put_zigzag(out, t->hold_ms);
    wire_put_varint(out, t->flags);
    wire_put_zigzag(out, t->progress);
    wire_put_bytes(out, t->worker);
    wire_put_bytes(out, t->note);
    wire_put_bytes(out, t->result);
    wire_put_bytes(out, t->error);
    wire_put_bytes(out, t->history);
    wire_put_zigzag(out, t->pending_due_ms);
    wire_put_bytes(out, t->pending);
    wire_put_zigzag(out, t->deferred_ms);
    wire_put_varint(out, t->deferrals);
}

static void get_trail(struct wire_reader *r, struct trail_image *ret)
{
    ret->token = wire_varint(r);
    ret->start_ms = wire_zigzag(r);
    ret->until_ms = wire_zigzag(r);
    ret->lease_ms = wire_zigzag(r);
    ret->late_ms = wire_zigzag(r);
    ret->ended_ms = wire_zigzag(r);
    ret->keep_ms = wire_zigzag(r);
    ret->hold_ms = wire_zigzag(r);
    ret->flags = (unsigned)wire_varint(r);
    ret->progress = wire_zigzag(r);
    ret->worker = wire_bytes(r);
    ret->note = wire_bytes(r);
    ret->result = wire_bytes(r);
    ret->error = wire_bytes(r);
    ret->history = wire_bytes(r);
    ret->pending_due_ms = wire_zigzag(r);
    ret->pending = wire_bytes(r);
    if (r->p < r->end) { /* later versions */
        ret->deferred_ms = wire_zigzag(r);
        ret->deferrals = (uint32_t)wire_varint(r);
    }
}

void record_put_image(struct buf *out, const struct job_image *r)
{
    wire_put_varint(out, r->seq);
    wire_put_zigzag(out, r->born_ms);
    wire_put_u8(out, (uint8_t)r->state);
    wire_put_u8(out, (uint8_t)r->priority);
    wire_put_zigzag(out, r->due_ms - r->born_ms);
    wire_put_zigzag(out, r->at_ms - r->due_ms);
    wire_put_varint(out, r->attempt);
    wire_put_varint(out, r->stalls);
    wire_put_bytes(out, r->tenant);
    wire_put_bytes(out, r->queue);
    wire_put_bytes(out, r->opts);
    wire_put_bytes(out, r->payload);
    wire_put_u8(out, r->has_trail);
    if (r->has_trail)
        put_trail(out, &r->trail);
}

void record_put_job(struct buf *out, const struct job_image *r)
{
    size_t mark = record_open(out, RECORD_PUT);

    record_put_image(out, r);
    record_close(out, mark);
}

static bool moment_ok(int64_t ms)
{
    return ms >= 0 && ms <= TIME_MOMENT_MAX;
}

/* When a job runs: also AT_NEVER. */
static bool at_ok(int64_t ms)
{
    return ms >= 0 && ms <= TIME_MOMENT_MAX + 1;
}

static bool trail_ok(const struct trail_image *t)
{
    return moment_ok(t->start_ms) && moment_ok(t->until_ms) && moment_ok(t->lease_ms) &&
           moment_ok(t->ended_ms) && moment_ok(t->keep_ms) && moment_ok(t->hold_ms) &&
           moment_ok(t->pending_due_ms) && moment_ok(t->deferred_ms);
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

bool record_get_job(struct str body, struct job_image *ret)
{
    struct wire_reader r = wire_reader_of(body);

    *ret = (struct job_image){ 0 };
    ret->seq = wire_varint(&r);
    ret->born_ms = wire_zigzag(&r);
    ret->state = wire_u8(&r);
    ret->priority = wire_u8(&r);
    ret->due_ms = (int64_t)((uint64_t)ret->born_ms + (uint64_t)wire_zigzag(&r));
    ret->at_ms = (int64_t)((uint64_t)ret->due_ms + (uint64_t)wire_zigzag(&r));
    ret->attempt = (uint32_t)wire_varint(&r);
    ret->stalls = (uint32_t)wire_varint(&r);
    ret->tenant = wire_bytes(&r);
    ret->queue = wire_bytes(&r);
    ret->opts = wire_bytes(&r);
    ret->payload = wire_bytes(&r);
    ret->has_trail = wire_u8(&r) != 0;
    if (ret->has_trail)
        get_trail(&r, &ret->trail);
    return !r.bad && ret->state < JOB_WAITING && ret->state != JOB_READY && ret->priority >= 1 &&
           ret->priority <= 5 && moment_ok(ret->born_ms) && moment_ok(ret->due_ms) &&
           at_ok(ret->at_ms) && ret->queue.len > 0 && ret->queue.len <= QUEUE_MAX_BYTES &&
           ret->opts.len > 0 && ret->opts.len <= UINT16_MAX &&
           (ret->has_trail ? trail_ok(&ret->trail) : ret->state == JOB_SCHEDULED);
}

bool record_get_begin(struct str body, struct begin_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->previous = wire_varint(&r);
    ret->next_seq = wire_varint(&r);
    ret->oldest = r.p < r.end ? (uint32_t)wire_varint(&r) : 0; /* an older version's does not say */
    return !r.bad;
}

void record_put_lease(struct buf *out, const struct lease_record *r)
{
    size_t mark = record_open(out, RECORD_LEASE);

    wire_put_varint(out, r->seq);
    wire_put_varint(out, r->token);
    wire_put_zigzag(out, r->start_ms);
    wire_put_zigzag(out, r->until_ms - r->start_ms);
    wire_put_zigzag(out, r->lease_ms);
    wire_put_zigzag(out, r->late_ms);
    wire_put_varint(out, r->attempt);
    wire_put_bytes(out, r->worker);
    record_close(out, mark);
}

bool record_get_lease(struct str body, struct lease_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->token = wire_varint(&r);
    ret->start_ms = wire_zigzag(&r);
    ret->until_ms = (int64_t)((uint64_t)ret->start_ms + (uint64_t)wire_zigzag(&r));
    ret->lease_ms = wire_zigzag(&r);
    ret->late_ms = wire_zigzag(&r);
    ret->attempt = (uint32_t)wire_varint(&r);
    ret->worker = wire_bytes(&r);
    return !r.bad && moment_ok(ret->start_ms) && moment_ok(ret->until_ms) &&
           moment_ok(ret->lease_ms);
}

void record_put_extend(struct buf *out, const struct extend_record *r)
{
    size_t mark = record_open(out, RECORD_EXTEND);

    wire_put_varint(out, r->seq);
    wire_put_zigzag(out, r->until_ms);
    wire_put_zigzag(out, r->lease_ms);
    wire_put_zigzag(out, r->progress);
    wire_put_u8(out, r->has_note);
    wire_put_bytes(out, r->note);
    record_close(out, mark);
}

bool record_get_extend(struct str body, struct extend_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->until_ms = wire_zigzag(&r);
    ret->lease_ms = wire_zigzag(&r);
    ret->progress = wire_zigzag(&r);
    ret->has_note = wire_u8(&r) != 0;
    ret->note = wire_bytes(&r);
    return !r.bad && moment_ok(ret->until_ms) && moment_ok(ret->lease_ms);
}

void record_put_back(struct buf *out, const struct back_record *r)
{
    size_t mark = record_open(out, RECORD_BACK);

    wire_put_varint(out, r->seq);
    wire_put_zigzag(out, r->due_ms);
    wire_put_zigzag(out, r->at_ms);
    wire_put_varint(out, r->attempt);
    wire_put_varint(out, r->stalls);
    wire_put_u8(out, (uint8_t)r->outcome);
    wire_put_zigzag(out, r->end_ms);
    wire_put_bytes(out, r->error);
    record_close(out, mark);
}

bool record_get_back(struct str body, struct back_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->due_ms = wire_zigzag(&r);
    ret->at_ms = wire_zigzag(&r);
    ret->attempt = (uint32_t)wire_varint(&r);
    ret->stalls = (uint32_t)wire_varint(&r);
    ret->outcome = wire_u8(&r);
    ret->end_ms = wire_zigzag(&r);
    ret->error = wire_bytes(&r);
    return !r.bad && moment_ok(ret->due_ms) && moment_ok(ret->at_ms);
}

void record_put_end(struct buf *out, const struct end_record *r)
{
    size_t mark = record_open(out, RECORD_END);

    wire_put_varint(out, r->seq);
    wire_put_u8(out, (uint8_t)r->state);
    wire_put_zigzag(out, r->ended_ms);
    wire_put_zigzag(out, r->keep_ms);
    wire_put_zigzag(out, r->hold_ms);
    wire_put_u8(out, (uint8_t)r->outcome);
    wire_put_varint(out, r->stalls);
    wire_put_bytes(out, r->error);
    wire_put_bytes(out, r->result);
    record_close(out, mark);
}

bool record_get_end(struct str body, struct end_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->state = wire_u8(&r);
    ret->ended_ms = wire_zigzag(&r);
    ret->keep_ms = wire_zigzag(&r);
    ret->hold_ms = wire_zigzag(&r);
    ret->outcome = wire_u8(&r);
    ret->stalls = (uint32_t)wire_varint(&r);
    ret->error = wire_bytes(&r);
    ret->result = wire_bytes(&r);
    return !r.bad && ret->state > JOB_LEASED && ret->state < JOB_WAITING &&
           moment_ok(ret->keep_ms) && moment_ok(ret->hold_ms);
}

void record_put_told(struct buf *out, const struct told_record *r)
{
    size_t mark = record_open(out, RECORD_TOLD);

    wire_put_varint(out, r->seq);
    record_close(out, mark);
}

bool record_get_told(struct str body, struct told_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    return !r.bad;
}

void record_put_listen(struct buf *out, const struct listen_record *r)
{
    size_t mark = record_open(out, RECORD_LISTEN);

    wire_put_varint(out, r->seq);
    wire_put_zigzag(out, r->due_ms);
    wire_put_varint(out, r->listener);
    record_close(out, mark);
}

bool record_get_listen(struct str body, struct listen_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->due_ms = wire_zigzag(&r);
    ret->listener = wire_varint(&r);
    return !r.bad && moment_ok(ret->due_ms);
}

void record_put_move(struct buf *out, const struct move_record *r)
{
    size_t mark = record_open(out, RECORD_MOVE);

    wire_put_varint(out, r->seq);
    wire_put_zigzag(out, r->due_ms);
    wire_put_zigzag(out, r->at_ms);
    if (r->deferred)
        wire_put_u8(out, 1);
    record_close(out, mark);
}

bool record_get_move(struct str body, struct move_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->due_ms = wire_zigzag(&r);
    ret->at_ms = wire_zigzag(&r);
    ret->deferred = r.p < r.end && wire_u8(&r) == 1;
    return !r.bad && moment_ok(ret->due_ms) && at_ok(ret->at_ms);
}

void record_put_mark(struct buf *out, const struct mark_record *r)
{
    size_t mark = record_open(out, RECORD_MARK);

    wire_put_varint(out, r->seq);
    wire_put_varint(out, r->flags);
    wire_put_zigzag(out, r->pending_due_ms);
    wire_put_bytes(out, r->pending);
    record_close(out, mark);
}

bool record_get_mark(struct str body, struct mark_record *ret)
{
    struct wire_reader r = wire_reader_of(body);

    ret->seq = wire_varint(&r);
    ret->flags = (unsigned)wire_varint(&r);
    ret->pending_due_ms = wire_zigzag(&r);
    ret->pending = wire_bytes(&r);
    return !r.bad && moment_ok(ret->pending_due_ms);
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
