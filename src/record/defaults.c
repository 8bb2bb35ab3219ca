/* SPDX-License-Identifier: MIT */
#include "record/settings.h"

#include <string.h>

const struct queue_settings queue_defaults = {
    .lease_ms = 60000,
    .attempts = 5,
    .backoff = "exp:2s:1h",
    .retain_ms = INT64_C(86400000),
    .retain_dead_ms = INT64_C(30) * 86400000,
    .key_hold_ms = 0,
    .past_grace_ms = -1,
    .push = { .timeout_ms = 30000, .concurrency = 10 },
};

static bool rates_are_equal(const struct rate *a, const struct rate *b)
{
    return a->count == b->count && (a->count == 0 || a->per_ms == b->per_ms) &&
           a->burst == b->burst;
}

#define SAME_FLAG(member)        a->member == b->member
#define SAME_SIGNED              SAME_FLAG
#define SAME_MOMENT              SAME_FLAG
#define SAME_PLAIN               SAME_FLAG
#define SAME_LIMIT               SAME_FLAG
#define SAME_TEXT(member)        strcmp(a->member, b->member) == 0
#define SAME_BYTES(member)       str_eq(a->member, b->member)
#define SAME_RATE(member)        rates_are_equal(&a->member, &b->member)
#define SAME(name, kind, member) &&(SAME_##kind(member))

bool queue_settings_equal(const struct queue_settings *a, const struct queue_settings *b)
{
    return true QUEUE_FIELDS(SAME);
}

bool queue_settings_are_usual(const struct queue_settings *s)
{
    return queue_settings_equal(s, &queue_defaults);
}

bool tenant_settings_equal(const struct tenant_settings *a, const struct tenant_settings *b)
{
    return true TENANT_FIELDS(SAME);
}

const struct tenant_settings tenant_defaults = { .weight = 1,
                                                 .max_queues = 10000,
                                                 .max_recurrences = 10000 };
