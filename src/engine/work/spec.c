/* SPDX-License-Identifier: MIT */
/* The job that a request asks for: whether its values are valid, and how its options are written.
 */
#include "engine/work/work.h"

#include "base/time.h"
#include "engine/place/detail.h"
#include "record/backoff.h"
#include "record/name.h"
#include "record/opts.h"

static int check_labels(struct engine *e, const struct job_spec *s)
{
    if (s->tag_count > TAGS_MAX)
        return engine_error(e, BELFRY_INVALID, "tag: expected at most %d of them", TAGS_MAX);
    if (s->meta_count > METAS_MAX)
        return engine_error(e, BELFRY_INVALID, "meta: expected at most %d of them", METAS_MAX);
    for (size_t i = 0; i < s->tag_count; i++)
        if (!name_valid(s->tags[i]))
            return engine_error(e, BELFRY_INVALID, "tag: " NAME_RULE);
    for (size_t i = 0; i < s->meta_count; i++) {
        if (!name_valid(s->meta[i].name))
            return engine_error(
                e, BELFRY_INVALID,
                "meta: expected a name of 1-128 characters of A-Z a-z 0-9 . _ - : /");
        for (size_t k = 0; k < i; k++)
            if (str_eq(s->meta[k].name, s->meta[i].name))
                return engine_error(e, BELFRY_INVALID, "meta %.*s: given twice",
                                    STR_ARG(s->meta[i].name));
        if (s->meta[i].value.len > META_MAX_BYTES)
            return engine_error(e, BELFRY_TOOLARGE, "meta %.*s: %zu bytes, the limit is %d",
                                STR_ARG(s->meta[i].name), s->meta[i].value.len, META_MAX_BYTES);
    }
    return 0;
}

int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s)
{
    struct backoff b;
    const char *why;

    if (!q && !queue_name_valid(s->queue))
        return engine_error(e, BELFRY_INVALID, "queue: " NAME_RULE);
    if (s->key.len > KEY_MAX_BYTES || s->order.len > KEY_MAX_BYTES)
        return engine_error(e, BELFRY_TOOLARGE, "%s: %zu bytes, the limit is %d",
                            s->key.len > KEY_MAX_BYTES ? "key" : "order",
                            s->key.len > KEY_MAX_BYTES ? s->key.len : s->order.len, KEY_MAX_BYTES);
    if (s->priority < 1 || s->priority > PRIORITIES)
        return engine_error(e, BELFRY_INVALID, "priority: expected 1 to 5");
    if (s->due_ms > TIME_MOMENT_MAX || s->due_ms < -1)
        return engine_error(e, BELFRY_INVALID, "due time: expected a moment up to the year 9999");
    if (s->lease_ms == 0 || s->lease_ms > LEASE_MAX_MS)
        return engine_error(e, BELFRY_INVALID, "lease: expected 1ms to 1w");
    if (s->backoff.len > 0 && backoff_parse(s->backoff, &b, &why) < 0)
        return engine_error(e, BELFRY_INVALID, "backoff: %s", why);
    int err = push_spec_check(e, q, s);
    return err ? err : check_labels(e, s);
}

static void put_labels(struct buf *out, const struct job_spec *s)
{
    for (size_t i = 0; i < s->tag_count; i++) {
        wire_put_u8(out, OPT_TAG);
        wire_put_bytes(out, s->tags[i]);
    }
    for (size_t i = 0; i < s->meta_count; i++) {
        wire_put_u8(out, OPT_META);
        wire_put_bytes(out, s->meta[i].name);
        wire_put_bytes(out, s->meta[i].value);
    }
}

void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born)
{
    job_opts_put(out,
                 &(struct job_opts){ .created_ms = created_less_born,
                                     .key = s->key,
                                     .attempts = s->attempts,
                                     .backoff = s->backoff,
                                     .lease_ms = s->lease_ms,
                                     .retain_ms = s->retain_ms,
                                     .expire_ms = s->expire_ms,
                                     .key_hold_ms = s->key_hold_ms,
                                     .order = s->order,
                                     .push = s->push,
                                     .notify = s->notify,
                                     .passing = s->passing },
                 0);
    put_labels(out, s);
}
