/* SPDX-License-Identifier: MIT */
/*
 * Endpoints that fail: a circuit breaker for each tenant and origin (scheme, host and port), so
 * that no tenant can have another's pushes held.
 *
 *     well ── 5 failures in a row ──> open ── a pause ──> half open ── a probe succeeds ──> well
 *                                      ^                     │
 *                                      └── the probe fails: ─┘ a pause twice as long, up to 5 min
 *
 * While a circuit is open nothing is sent there, so that jobs keep their attempts; when it is half
 * open, one request is. Only endpoints that failed are known here, and no more than ENDPOINTS_MAX:
 * beyond that the one that will be tried soonest is forgotten. Moments are of a monotonic clock
 * that the caller reads.
 */
#ifndef SERVER_ENDPOINT_H
#define SERVER_ENDPOINT_H

#include "base/list.h"
#include "base/str.h"
#include "base/table.h"
#include "engine/push.h"

#define ENDPOINTS_MAX       4096
#define ENDPOINT_FAILURES   5
#define ENDPOINT_PAUSE      1000
#define ENDPOINT_PAUSE_MAX  300000
#define ENDPOINT_PROBING_MS 1000 /* when to look again while a probe is on its way */

struct endpoints {
    struct table table;
    struct list all;
    size_t count;
    size_t open; /* circuits that are not closed */
    bool forgot; /* one of these, since endpoints_forgot was asked */
    uint64_t random;
};

/* The name of an endpoint, below. */
struct endpoint_key {
    size_t tenant_len;
    size_t len;
    char text[NAME_MAX_BYTES + 1 + ORIGIN_MAX + 1]; /* tenant, zero, origin, zero */
};

void endpoint_key_make(struct endpoint_key *ret, struct str tenant, struct str origin);
static inline struct str endpoint_key_of(const struct endpoint_key *k)
{
    return (struct str){ k->text, k->len };
}
static inline const char *endpoint_key_origin(const struct endpoint_key *k)
{
    return k->text + k->tenant_len + 1;
}

enum endpoint_change { ENDPOINT_SAME, ENDPOINT_OPENED, ENDPOINT_CLOSED };

void endpoints_init(struct endpoints *eps, uint64_t seed);
void endpoints_fini(struct endpoints *eps);

/* Until when nothing is to be sent there; -1: it may be now. */
int64_t endpoint_until(const struct endpoints *eps, struct str key, int64_t now_ms);

/* A request is to be sent: false if it may not. True: endpoint_end or endpoint_drop must follow. */
bool endpoint_begin(struct endpoints *eps, struct str key, int64_t now_ms);
/* How it went. OPENED: the circuit did just now, for the first time; CLOSED: it is well again. */
enum endpoint_change endpoint_end(struct endpoints *eps, struct str key, int64_t now_ms, bool well);
/* Nobody will know. True: it may have been a probe, and another may be sent now. */
bool endpoint_drop(struct endpoints *eps, struct str key);
/* Whether one that was not well was forgotten since the last call, so that what waits for it has
 * nothing more to wait for. */
bool endpoints_forgot(struct endpoints *eps);

/* When the next circuit becomes half open; INT64_MAX: none. */
int64_t endpoints_next(const struct endpoints *eps, int64_t now_ms);

#endif
