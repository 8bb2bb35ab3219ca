/* SPDX-License-Identifier: MIT */
#include "recur/zonetable.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "recur/civil.h"

#define OFFSETS_APART (4 * CIVIL_DAY) /* more than two offsets can differ */

size_t zone_size(const struct zone *z)
{
    return sizeof(*z) + z->rows_n * sizeof(*z->rows) + z->kinds_n * sizeof(*z->kinds);
}

struct zone *zone_new(uint32_t rows_n, uint32_t kinds_n)
{
    size_t size = sizeof(struct zone) + rows_n * sizeof(struct zone_row) +
                  kinds_n * sizeof(struct tzrule_kind);
    struct zone *z = calloc(1, size);
    if (!z)
        return NULL;
    z->rows_n = rows_n;
    z->kinds_n = kinds_n;
    z->rows = (struct zone_row *)(z + 1);
    z->kinds = (struct tzrule_kind *)(z->rows + rows_n);
    return z;
}

int zone_new_utc(struct zone **ret)
{
    struct zone *z = zone_new(0, 0);
    if (!z)
        return BELFRY_NOMEM;
    z->tail_s = z->tail_reach_s = INT64_MIN;
    memcpy(z->tail.standard.abbreviation, "UTC", sizeof("UTC"));
    *ret = z;
    return 0;
}

void zone_free(struct zone *z)
{
    free(z);
}

static struct zone_stretch stretch_of(const struct tzrule_kind *k, int64_t start_s, int64_t end_s,
                                      int64_t reach_s)
{
    return (
        struct zone_stretch){ start_s, end_s, reach_s, k->offset_s, k->is_dst, k->abbreviation };
}

/* The stretches of the tail, one after another from some time before the one that is looked for. */
struct tail_walk {
    const struct zone *z;
    struct tzrule_turn turns[TZRULE_CHANGES];
    int next;
    struct zone_stretch at;
};

static bool tail_next(struct tail_walk *w)
{
    const struct zone *z = w->z;
    while (w->next < TZRULE_CHANGES) {
        const struct tzrule_turn *turn = &w->turns[w->next++];
        int64_t end = w->next < TZRULE_CHANGES ? turn[1].at_s : INT64_MAX;
        bool first = w->at.end_s == INT64_MIN;
        int64_t shown = first ? z->tail_reach_s : w->at.end_s + w->at.offset_s;
        if (end <= z->tail_s || end == turn->at_s)
            continue;
        w->at = stretch_of(turn->kind, turn->at_s > z->tail_s ? turn->at_s : z->tail_s, end,
                           shown > w->at.reach_s ? shown : w->at.reach_s);
        return true;
    }
    return false;
}

static void tail_start(struct tail_walk *w, const struct zone *z, int64_t near_s)
{
    *w = (struct tail_walk){ .z = z };
    w->at.end_s = w->at.reach_s = INT64_MIN;
    tzrule_turns(&z->tail, near_s, w->turns);
}

static struct zone_stretch tail_whole(const struct zone *z)
{
    return stretch_of(&z->tail.standard, z->tail_s, INT64_MAX, z->tail_reach_s);
}

static struct zone_stretch tail_at(const struct zone *z, int64_t utc_s)
{
    struct tail_walk w;
    if (!z->tail.has_dst)
        return tail_whole(z);
    tail_start(&w, z, utc_s);
    while (tail_next(&w)) {
        if (w.at.end_s > utc_s)
            break;
    }
    return w.at;
}

static struct zone_stretch tail_showing(const struct zone *z, int64_t local_s)
{
    struct tail_walk w;
    if (!z->tail.has_dst)
        return tail_whole(z);
    tail_start(&w, z, local_s);
    while (tail_next(&w)) {
        if (w.at.end_s == INT64_MAX || w.at.end_s + w.at.offset_s > local_s)
            break;
    }
    return w.at;
}

static struct zone_stretch row_stretch(const struct zone *z, uint32_t i)
{
    const struct zone_row *row = &z->rows[i];
    return stretch_of(&z->kinds[row->kind], row->at_s, i + 1 < z->rows_n ? row[1].at_s : z->tail_s,
                      row->reach_s);
}

struct zone_stretch zone_at(const struct zone *z, int64_t utc_s)
{
    uint32_t low = 0, high = z->rows_n;
    if (utc_s >= z->tail_s)
        return tail_at(z, utc_s);
    while (high - low > 1) { /* rows[low] begins by then, rows[high] later */
        uint32_t middle = low + (high - low) / 2;
        if (z->rows[middle].at_s <= utc_s)
            low = middle;
        else
            high = middle;
    }
    return row_stretch(z, low);
}

/* The first stretch that shows a time later than local_s or that one, by its end. */
static struct zone_stretch zone_showing(const struct zone *z, int64_t local_s)
{
    uint32_t low = 0, high = z->rows_n;
    if (local_s >= z->tail_reach_s)
        return tail_showing(z, local_s);
    while (high - low > 1) { /* no local time that was shown before rows[low] reaches it */
        uint32_t middle = low + (high - low) / 2;
        if (z->rows[middle].reach_s <= local_s)
            low = middle;
        else
            high = middle;
    }
    return row_stretch(z, low);
}

int64_t zone_moment(const struct zone *z, int64_t local_s, enum zone_fit *ret_fit)
{
    struct zone_stretch s = zone_showing(z, local_s);
    int64_t utc_s = local_s - s.offset_s;
    enum zone_fit fit = ZONE_ONCE;
    if (utc_s < s.start_s) {
        utc_s = s.start_s;
        fit = ZONE_GAP;
    } else if (ret_fit && s.end_s - OFFSETS_APART < utc_s) {
        struct zone_stretch next = zone_at(z, s.end_s);
        if (next.start_s + next.offset_s <= local_s && local_s - next.offset_s < next.end_s)
            fit = ZONE_TWICE;
    }
    if (ret_fit)
        *ret_fit = fit;
    return utc_s;
}

int64_t zone_peak(const struct zone *z, int64_t utc_s)
{
    struct zone_stretch s = zone_at(z, utc_s);
    return utc_s + s.offset_s >= s.reach_s ? utc_s + s.offset_s : s.reach_s - 1;
}

/* The rows', then the two of the tail. */
size_t zone_offsets(const struct zone *z)
{
    return z->rows_n + (z->tail.has_dst ? 2 : 1);
}

bool zone_offset(const struct zone *z, size_t i, int64_t since_s, int32_t *ret)
{
    if (i < z->rows_n) {
        struct zone_stretch row = row_stretch(z, (uint32_t)i);
        if (row.end_s <= since_s)
            return false;
        *ret = row.offset_s;
    } else {
        *ret = i == z->rows_n ? z->tail.standard.offset_s : z->tail.dst.offset_s;
    }
    return true;
}
