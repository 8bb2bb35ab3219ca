/* SPDX-License-Identifier: MIT */
/* Quiet hours: any text is refused with a reason, or has windows that end, in any zone. */
#include "fuzz.h"

#include "base/error.h"
#include "recur/quiet.h"
#include "recur/zonedir.h"

#define MOMENT_MAX INT64_C(253402300799999)

/* The first byte chooses. */
static const char *const names[] = {
    "UTC",          "Europe/London",     "America/New_York",  "Australia/Lord_Howe",
    "Pacific/Apia", "Africa/Casablanca", "America/Sao_Paulo", "Antarctica/Troll"
};

static const struct zone *zone_of(uint8_t choice)
{
    static struct zone *zones[8];
    struct zone **z = &zones[choice % 8];
    if (!*z)
        CHECK(zonedir_load(ZONEDIR_DEFAULT, str_of(names[choice % 8]), z, NULL) == 0);
    return *z;
}

/* The clock shows a time of a window, asked of the spans in another way than the code does. */
static bool shows(const struct quiet *q, const struct zone *z, int64_t ms)
{
    int64_t utc_s = ms / 1000 - (ms % 1000 < 0);
    int64_t local = utc_s + zone_at(z, utc_s).offset_s;
    int64_t minute = ((local + 3 * 86400) % 604800 + 604800) % 604800 / 60;
    for (size_t i = 0; i < q->n; i++)
        for (int64_t m = minute; m <= minute + 10080; m += 10080)
            if (m >= q->spans[i].from && m < q->spans[i].to)
                return true;
    return false;
}

static void check_at(const struct quiet *q, const struct zone *z, int64_t ms)
{
    int64_t until = quiet_until(q, z, ms);
    CHECK((until >= 0) == shows(q, z, ms));
    if (until < 0)
        return;
    CHECK(until > ms && until < ms + INT64_C(40) * 7 * 86400000);
    CHECK(!shows(q, z, until) && quiet_until(q, z, until) < 0);
    CHECK(shows(q, z, until - 1) && quiet_until(q, z, until - 1) == until);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quiet q;
    struct rule_error error = { 0 };
    uint64_t at = 0;
    if (size < 9)
        return 0;
    const struct zone *z = zone_of(data[0]);
    memcpy(&at, data + 1, 8);
    char *copy = fuzz_copy((struct str){ (const char *)data + 9, size - 9 });
    int err = quiet_parse((struct str){ copy, size - 9 }, &q, &error);
    free(copy);
    if (err) {
        CHECK(err == BELFRY_INVALID && strstr(error.text, "expected") && error.offset <= size);
        return 0;
    }
    CHECK(q.n > 0 && q.n <= QUIET_SPANS);
    int64_t ms = (int64_t)(at % (uint64_t)MOMENT_MAX);
    for (int i = 0; i < 200; i++, ms += INT64_C(3599877))
        check_at(&q, z, ms);
    return 0;
}
