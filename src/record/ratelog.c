/* SPDX-License-Identifier: MIT */
#include "record/ratelog.h"

#include <string.h>

#include "base/time.h"
#include "base/wire.h"

#define RATE_AHEAD_MAX (UINT64_C(1) << 32) /* so that moments do not overflow */

/* A rate allows so many jobs in any window. */
struct window {
    int64_t limit;
    int64_t length_ms;
};

static struct window window_of(const struct rate *r)
{
    if (r->burst == 0)
        return (struct window){ r->count, r->per_ms };
    return (struct window){ r->burst, (r->per_ms * r->burst + r->count - 1) / r->count };
}

bool rate_burst_is_valid(const struct rate *r)
{
    return r->burst == 0 || (r->burst > 0 && r->count > 0 && r->burst <= r->count &&
                             r->count % r->burst == 0 && r->per_ms * r->burst >= r->count);
}

/* With a limit of L in a window of W, a job goes W after the L-th before it. So the first L jobs
 * wait for the log alone, and each of the others for one of the first and whole windows. */
int64_t rate_moment_behind(const struct rate_log *l, const struct rate *r, int64_t now_ms,
                           uint64_t ahead)
{
    struct window w = window_of(r);
    int64_t counted = l ? l->total : 0, moment = now_ms, windows;

    if (r->count == 0)
        return 0;
    if (ahead > RATE_AHEAD_MAX)
        ahead = RATE_AHEAD_MAX;
    windows = (int64_t)ahead / w.limit;
    counted += (int64_t)ahead % w.limit;
    for (uint32_t i = 0; l && i < l->parts; i++) {
        int64_t over_ms = l->part[i].last_ms + w.length_ms;

        if (over_ms > now_ms && counted < w.limit)
            break;
        counted -= l->part[i].count;
        moment = over_ms > now_ms ? over_ms : now_ms;
    }
    moment += windows * w.length_ms;
    return moment > now_ms ? moment : 0;
}

int64_t rate_moment(const struct rate_log *l, const struct rate *r, int64_t now_ms)
{
    return rate_moment_behind(l, r, now_ms, 0);
}

static void forget(struct rate_log *l, uint32_t parts)
{
    for (uint32_t i = 0; i < parts; i++)
        l->total -= l->part[i].count;
    l->parts -= parts;
    memmove(l->part, l->part + parts, l->parts * sizeof(*l->part));
}

/* From the first job of a part to the last of the next one. */
static int64_t length_with_next(const struct rate_part *p)
{
    return p[1].last_ms - p[0].last_ms + p[0].length_ms;
}

/* The two parts that are nearest together become one. */
static void join_two(struct rate_log *l)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i + 1 < l->parts; i++)
        if (length_with_next(&l->part[i]) < length_with_next(&l->part[best]))
            best = i;
    struct rate_part *p = &l->part[best];
    p[1].length_ms = (uint32_t)length_with_next(p);
    p[1].count += p[0].count;
    memmove(p, p + 1, (--l->parts - best) * sizeof(*p));
}

void rate_count(struct rate_log *l, const struct rate *r, int64_t now_ms)
{
    int64_t length_ms = window_of(r).length_ms;
    uint32_t over = 0;

    if (r->count == 0)
        return;
    while (over < l->parts && l->part[over].last_ms + length_ms <= now_ms)
        over++;
    forget(l, over);
    l->total++;
    if (l->parts > 0 && l->part[l->parts - 1].last_ms >= now_ms) {
        l->part[l->parts - 1].count++;
        return;
    }
    if (l->parts == RATE_PARTS)
        join_two(l);
    l->part[l->parts++] = (struct rate_part){ .last_ms = now_ms, .count = 1 };
}

void rate_shift(struct rate_log *l, const struct rate *r, int64_t from_now_ms, int64_t to_now_ms)
{
    uint32_t over = 0;

    for (uint32_t i = 0; i < l->parts; i++) {
        int64_t age_ms = from_now_ms - l->part[i].last_ms;

        over += age_ms >= RATE_PER_MAX || r->count == 0;
        l->part[i].last_ms = to_now_ms - (age_ms > 0 ? age_ms : 0);
    }
    forget(l, over);
}

void rate_put(struct buf *out, const struct rate_log *l)
{
    for (uint32_t i = 0; i < l->parts; i++) {
        wire_put_zigzag(out, l->part[i].last_ms);
        wire_put_varint(out, l->part[i].length_ms);
        wire_put_varint(out, l->part[i].count);
    }
}

bool rate_get(struct str bytes, struct rate_log *ret)
{
    struct wire_reader r = wire_reader_of(bytes);
    struct rate_log l = { 0 };

    while (r.p < r.end && !r.bad && l.parts < RATE_PARTS) {
        int64_t last_ms = wire_zigzag(&r);
        uint64_t length_ms = wire_varint(&r), count = wire_varint(&r);

        if (last_ms > TIME_MOMENT_MAX || last_ms < -TIME_MOMENT_MAX || length_ms > RATE_PER_MAX ||
            count > RATE_COUNT_MAX || (l.parts > 0 && last_ms < l.part[l.parts - 1].last_ms))
            return false;
        l.part[l.parts++] = (struct rate_part){ last_ms, (uint32_t)length_ms, (uint32_t)count };
        l.total += (int64_t)count;
    }
    if (r.bad || r.p < r.end)
        return false;
    *ret = l;
    return true;
}
