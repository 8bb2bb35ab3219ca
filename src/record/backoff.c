/* SPDX-License-Identifier: MIT */
#include "record/backoff.h"

#include "base/error.h"
#include "base/time.h"
#include "record/limits.h"

static struct str cut_word(struct str *rest, char separator)
{
    const char *end = memchr(rest->ptr, separator, rest->len);
    struct str word = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };

    rest->ptr += word.len + (end ? 1 : 0);
    rest->len -= word.len + (end ? 1 : 0);
    return word;
}

static int parse_steps(struct str rest, char separator, struct backoff *b, const char **why)
{
    bool more = true;

    while (more) {
        struct str word;

        if (b->count == BACKOFF_STEPS_MAX) {
            *why = "back-off has more than 32 steps";
            return BELFRY_INVALID;
        }
        more = memchr(rest.ptr, separator, rest.len) != NULL;
        word = cut_word(&rest, separator);
        if (time_parse_duration(word, &b->steps[b->count], why) < 0)
            return BELFRY_INVALID;
        b->count++;
    }
    return 0;
}

int backoff_parse(struct str text, struct backoff *ret, const char **why)
{
    struct backoff b = { 0 };
    int err;

    if (text.len == 0 || text.len > BACKOFF_MAX_BYTES) {
        *why = "expected a back-off like 1m,5m,15m or exp:2s:1h or fixed:20s";
        return BELFRY_INVALID;
    }
    if (str_starts(text, STR("exp:"))) {
        b.exponential = true;
        err = parse_steps((struct str){ text.ptr + 4, text.len - 4 }, ':', &b, why);
        if (!err && (b.count != 2 || b.steps[0] == 0 || b.steps[0] > b.steps[1])) {
            *why = "expected exp:FIRST:LONGEST with 0 < FIRST <= LONGEST, like exp:2s:1h";
            err = BELFRY_INVALID;
        }
    } else if (str_starts(text, STR("fixed:"))) {
        err = parse_steps((struct str){ text.ptr + 6, text.len - 6 }, ':', &b, why);
        if (!err && b.count != 1) {
            *why = "expected fixed:PAUSE, like fixed:20s";
            err = BELFRY_INVALID;
        }
    } else {
        err = parse_steps(text, ',', &b, why);
    }
    if (!err)
        *ret = b;
    return err;
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
