/* SPDX-License-Identifier: MIT */
/*
 * Time zones: what the clock on the wall shows at a moment, and when it shows a given time.
 *
 * A zone is a line of stretches with one offset each. It is immutable: any number of threads may
 * use one. The way back from local time is one rule without exceptions:
 *
 *     zone_moment(L) is the first moment at which the local clock shows L or later.
 *
 *     clock set forward: L in the gap        ->  the end of the gap
 *     clock set back:    L is shown twice    ->  the first of the two
 *
 * So zone_moment(L) never goes back as L goes on. Its inverse is zone_peak(t): the latest local
 * time that has been shown by t. zone_moment(L) > t if and only if L > zone_peak(t). By this a
 * search for "the first after t" finds its start. All times are whole seconds; offsets are seconds
 * east of UTC. Moments may be anything within the years -200,000 .. 200,000.
 */
#ifndef RECUR_ZONE_H
#define RECUR_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zone;

#define ZONE_ABBREVIATION 16 /* terminated */

/* One stretch: the moments start_s <= t < end_s (INT64_MIN and INT64_MAX where there is no end). */
struct zone_stretch {
    int64_t start_s;
    int64_t end_s;
    int64_t reach_s; /* the local times below this were shown before start_s */
    int32_t offset_s;
    bool is_dst;
    const char *abbreviation; /* lives as long as the zone */
};

/* How a local time exists. */
enum zone_fit {
    ZONE_ONCE,
    ZONE_GAP,   /* not at all: the moment is the end of the gap */
    ZONE_TWICE, /* the moment is the first of the two */
};

int zone_new_utc(struct zone **ret); /* 0 or NOMEM */
void zone_free(struct zone *z);

struct zone_stretch zone_at(const struct zone *z, int64_t utc_s);

/* ret_fit may be NULL. */
int64_t zone_moment(const struct zone *z, int64_t local_s, enum zone_fit *ret_fit);

int64_t zone_peak(const struct zone *z, int64_t utc_s);

/* All offsets that a zone has from a moment on, some perhaps more than once. The i-th is filled in
 * if the zone still uses it then. */
size_t zone_offsets(const struct zone *z);
bool zone_offset(const struct zone *z, size_t i, int64_t since_s, int32_t *ret);

/* Bytes of memory that it takes. */
size_t zone_size(const struct zone *z);

#endif
