/* SPDX-License-Identifier: MIT */
/* Zone files: any bytes are refused with a reason or are a zone in which zone.h's laws hold. */
#include "fuzz.h"

#include "base/error.h"
#include "recur/tzfile.h"

static void check_at(const struct zone *z, int64_t t)
{
    struct zone_stretch s = zone_at(z, t);
    int64_t local = t + s.offset_s, peak = zone_peak(z, t);
    enum zone_fit fit;
    int64_t back = zone_moment(z, local, &fit);
    CHECK(s.start_s <= t && t < s.end_s && strlen(s.abbreviation) < ZONE_ABBREVIATION);
    CHECK(back <= t && fit <= ZONE_TWICE);
    CHECK(peak >= local && zone_moment(z, peak, NULL) <= t);
    CHECK(zone_moment(z, peak + 1, NULL) > t);
    CHECK(zone_moment(z, local + 1, NULL) >= back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    struct zone *z = NULL;
    const char *why = NULL;
    int code = tzfile_parse((struct str){ copy, size }, &z, &why);
    int64_t t = -5000000000;
    free(copy);
    if (code != 0) {
        CHECK((code == BELFRY_CORRUPT || code == BELFRY_INVALID) && !z && why && strlen(why) > 20);
        return 0;
    }
    CHECK(zone_size(z) <= TZFILE_BYTES_MAX);
    for (int i = 0; i < 40 && t < INT64_C(20000000000); i++) {
        struct zone_stretch s = zone_at(z, t);
        check_at(z, t - 1);
        check_at(z, t);
        check_at(z, t + 1800);
        t = s.end_s < t + INT64_C(500000000) ? s.end_s : t + INT64_C(500000000);
    }
    zone_free(z);
    return 0;
}
