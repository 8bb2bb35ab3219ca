/* SPDX-License-Identifier: MIT */
#include "record/settings.h"

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

const struct tenant_settings tenant_defaults = { .weight = 1 };
