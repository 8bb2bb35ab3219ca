/* SPDX-License-Identifier: MIT */
/* What parses is in range, formats, and parses again as the same. What does not has a reason. */
#include "fuzz.h"

#include "base/error.h"
#include "base/time.h"

typedef int (*parse_fn)(struct str text, int64_t *ret_ms, const char **why);
typedef size_t (*format_fn)(int64_t ms, char ret[TIME_TEXT]);

static void check_number(parse_fn parse, format_fn format, int64_t ms, int64_t max)
{
    char text[TIME_TEXT];
    const char *why;
    int64_t again;
    size_t len = format(ms, text);
    CHECK(len < TIME_TEXT && text[len] == '\0');
    if (ms < 0 || ms > max) {
        CHECK(parse((struct str){ text, len }, &again, &why) == BELFRY_INVALID);
        return;
    }
    CHECK(parse((struct str){ text, len }, &again, &why) == 0);
    CHECK(again == ms);
}

static void check_text(parse_fn parse, format_fn format, struct str text, int64_t max)
{
    const char *why = NULL;
    int64_t ms = -1;
    int code = parse(text, &ms, &why);
    if (code == 0) {
        CHECK(ms >= 0 && ms <= max);
        check_number(parse, format, ms, max);
    } else {
        CHECK(code == BELFRY_INVALID && ms == -1 && why && strlen(why) > 20);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    struct str text = { copy, size };
    int64_t ms;
    check_text(time_parse_duration, time_format_duration, text, TIME_DURATION_MAX);
    check_text(time_parse_moment, time_format_moment, text, TIME_MOMENT_MAX);
    free(copy);
    if (size == 8) {
        memcpy(&ms, data, 8);
        check_number(time_parse_duration, time_format_duration, ms, TIME_DURATION_MAX);
        check_number(time_parse_moment, time_format_moment, ms, TIME_MOMENT_MAX);
    }
    return 0;
}
