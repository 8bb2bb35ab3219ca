/* SPDX-License-Identifier: MIT */
#include "server/lograte.h"

#include <string.h>

#define THOUSAND INT64_C(1000)

static struct lograte_kind *lograte_kind_of(struct lograte *r, const char *message, int64_t full,
                                            int64_t mono_ms)
{
    struct lograte_kind *k = r->kinds;

    for (; k < &r->kinds[LOGRATE_KINDS - 1] && k->message; k++)
        if (k->message == message || strcmp(k->message, message) == 0)
            return k;
    if (!k->message)
        *k = (struct lograte_kind){ k == &r->kinds[LOGRATE_KINDS - 1] ? "all others" : message,
                                    full, mono_ms, 0, 0 };
    return k;
}

bool lograte_takes(struct lograte *r, const char *message, int64_t rate, int64_t mono_ms)
{
    int64_t full = rate * LOGRATE_BURST_S * THOUSAND;
    struct lograte_kind *k;

    if (rate == 0)
        return true;
    k = lograte_kind_of(r, message, full, mono_ms);
    /* N lines in a second are N thousandths of a line in a millisecond. */
    if (mono_ms - k->filled_ms >= LOGRATE_BURST_S * THOUSAND)
        k->credit = full;
    else
        k->credit += (mono_ms - k->filled_ms) * rate;
    k->credit = k->credit < full ? k->credit : full;
    k->filled_ms = mono_ms;
    if (k->credit >= THOUSAND) {
        k->credit -= THOUSAND;
        return true;
    }
    if (k->untold++ == 0 && k->tell_ms < mono_ms + THOUSAND)
        k->tell_ms = mono_ms + THOUSAND; /* one line then tells of many */
    r->left_out++;
    return false;
}

const char *lograte_untold(struct lograte *r, int64_t mono_ms, uint64_t *ret)
{
    for (size_t i = 0; i < LOGRATE_KINDS && r->kinds[i].message; i++) {
        struct lograte_kind *k = &r->kinds[i];

        if (!k->untold || mono_ms < k->tell_ms)
            continue;
        *ret = k->untold;
        k->untold = 0;
        k->tell_ms = mono_ms + (mono_ms < INT64_MAX ? LOGRATE_TELL_MS : 0);
        return k->message;
    }
    return NULL;
}
