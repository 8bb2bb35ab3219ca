/* SPDX-License-Identifier: MIT */
#include "record/backoff.h"

#include "base/error.h"
#include "base/time.h"
#include "record/limits.h"

static int backoff_refuse(const char **why, const char *text)
{
    *why = text;
    return BELFRY_INVALID;
}

static int parse_steps(struct str rest, char separator, struct backoff *b, const char **why)
{
    for (bool more = true; more;) {
        const char *end = memchr(rest.ptr, separator, rest.len);
        struct str word = { rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len };

        if (b->count == BACKOFF_STEPS_MAX)
            return backoff_refuse(why, "back-off has more than 32 steps");
        if (time_parse_duration(word, &b->steps[b->count], why) < 0)
            return BELFRY_INVALID;
        b->count++;
        more = end != NULL;
        if (more)
            rest = (struct str){ end + 1, rest.len - word.len - 1 };
    }
    return 0;
}

int backoff_parse(struct str text, struct backoff *ret, const char **why)
{
    struct backoff b = { .exponential = str_starts(text, STR("exp:")) };
    bool fixed = str_starts(text, STR("fixed:"));
    size_t prefix = b.exponential ? 4 : fixed ? 6 : 0;

    if (text.len == 0 || text.len > BACKOFF_MAX_BYTES)
        return backoff_refuse(why, "expected a back-off like 1m,5m,15m or exp:2s:1h or fixed:20s");
    int err = parse_steps((struct str){ text.ptr + prefix, text.len - prefix }, prefix ? ':' : ',',
                          &b, why);
    if (err)
        return err;
    if (b.exponential && (b.count != 2 || b.steps[0] == 0 || b.steps[0] > b.steps[1]))
        return backoff_refuse(
            why, "expected exp:FIRST:LONGEST with 0 < FIRST <= LONGEST, like exp:2s:1h");
    if (fixed && b.count != 1)
        return backoff_refuse(why, "expected fixed:PAUSE, like fixed:20s");
    *ret = b;
    return 0;
}

int64_t backoff_pause(const struct backoff *b, uint32_t failures, uint64_t random)
{
    uint64_t step, low, width;

    if (b->exponential) {
        uint32_t doublings = failures - 1;

        step = (uint64_t)b->steps[0];
        while (doublings-- > 0 && step < (uint64_t)b->steps[1])
            step *= 2;
        if (step > (uint64_t)b->steps[1])
            step = (uint64_t)b->steps[1];
        low = step / 2;
        width = step - low;
    } else {
        step = (uint64_t)b->steps[failures <= b->count ? failures - 1 : b->count - 1];
        low = step - step / 10;
        width = step / 10 * 2;
    }
    return (int64_t)(low + random % (width + 1));
}
