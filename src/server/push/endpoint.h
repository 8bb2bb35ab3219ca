/* SPDX-License-Identifier: MIT */
/*
 * Endpoints that fail: a circuit breaker for each tenant and origin (scheme, host and port), so
 * that no tenant can have another's pushes held.
 *
 *     well ── 5 failures in a row ──> open ── a pause ──> half open ── a probe succeeds ──> well
 *                                      ^                     │
 *                                      └── the probe fails: ─┘ a pause twice as long, up to 5 min
 *
 * While a circuit is open, the server sends nothing to the endpoint, so that jobs keep their
 * attempts. While it is half open, the server sends one request. Only endpoints that failed are
 * known here, and no more than ENDPOINTS_MAX. Beyond that, the one that will be tried soonest is
 * forgotten. Moments are of a monotonic clock that the caller reads.
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
    size_t open;                /* circuits that are not closed */
    struct endpoint_key forgot; /* an open one, since the last endpoints_forgot; len 0: none */
    uint64_t random;
};

enum endpoint_change { ENDPOINT_SAME, ENDPOINT_OPENED, ENDPOINT_CLOSED };

void endpoints_init(struct endpoints *eps, uint64_t seed, struct hash_key key);
void endpoints_fini(struct endpoints *eps);

/* Until when nothing is to be sent there; -1: it may be now. */
int64_t endpoint_until(const struct endpoints *eps, struct str key, int64_t now_ms);

/* A request is to be sent: false if it may not. True: endpoint_end or endpoint_drop must follow. */
bool endpoint_begin(struct endpoints *eps, struct str key, int64_t now_ms);
/* The request ended. OPENED: the circuit was closed until now; CLOSED: the endpoint is well again.
 */
enum endpoint_change endpoint_end(struct endpoints *eps, struct str key, int64_t now_ms, bool well);
/* The outcome stays unknown. True: the request may have been a probe, and another may be sent now.
 */
bool endpoint_drop(struct endpoints *eps, struct str key);
/* Whether an endpoint that was not well was forgotten since the last call. Its key is *ret. */
bool endpoints_forgot(struct endpoints *eps, struct endpoint_key *ret);

/* Calls fn for each circuit that is not closed, with the moment until which nothing is to be sent
 * there; -1: it is half open. While a probe is on its way that moment is now_ms. */
void endpoints_each(const struct endpoints *eps, int64_t now_ms,
                    void (*fn)(void *arg, struct str key, int64_t until_ms), void *arg);

/* When the next circuit becomes half open; INT64_MAX: none. */
int64_t endpoints_next(const struct endpoints *eps, int64_t now_ms);

#endif
