/* SPDX-License-Identifier: MIT */
/*
 * Rules, cron and dates: any text is refused with a reason or gives occurrences that rise, are
 * found again from just before them, and come within the bounded number of steps.
 *
 *     kind and zone | seed | start, 4 bytes of seconds | rule \n dates left out \n dates added
 */
#include "fuzz.h"

#include "base/error.h"
#include "base/time.h"
#include "recur/recur.h"
#include "recur/zonedir.h"

#define HEADER           6
#define TEN_YEARS_MS     INT64_C(315576000000)
#define TWO_CENTURIES_MS (20 * TEN_YEARS_MS)

static const struct zone *zone_of(unsigned n)
{
    static const char *const names[] = { "UTC", "Europe/London", "Australia/Lord_Howe",
                                         "America/Sao_Paulo", "Pacific/Apia" };
    static struct zone *zones[5];
    n %= 5;
    if (!zones[n])
        CHECK(zonedir_load(ZONEDIR_DEFAULT, str_of(names[n]), &zones[n], NULL) == 0);
    return zones[n];
}

static struct str take_line(struct str *s)
{
    const char *end = s->len ? memchr(s->ptr, '\n', s->len) : NULL;
    struct str line = { s->ptr, end ? (size_t)(end - s->ptr) : s->len };
    size_t used = end ? line.len + 1 : line.len;
    *s = (struct str){ s->ptr + used, s->len - used };
    return line;
}

static bool same(const struct recur_occurrence *a, const struct recur_occurrence *b)
{
    return a->at_ms == b->at_ms && a->nominal_ms == b->nominal_ms && a->offset_s == b->offset_s &&
           a->note == b->note;
}

static void walk(const struct recur *r, int64_t start_ms, int64_t after_ms, int n)
{
    struct recur_state state = { 0 };
    struct recur_occurrence o, again;
    for (; n > 0; n--) {
        char text[RECUR_TEXT], note[RECUR_NOTE];
        int found = recur_next(r, after_ms, &state, &o);
        CHECK(state.steps <= RECUR_STEPS_MAX);
        /* Only COUNT, long after START, may take too many steps to know. */
        CHECK(found >= 0 || after_ms > start_ms + TWO_CENTURIES_MS);
        if (found <= 0)
            return;
        CHECK(o.at_ms > after_ms && o.at_ms >= start_ms && o.at_ms <= TIME_MOMENT_MAX);
        CHECK(recur_format(&o, text) == strlen(text) && strlen(text) < RECUR_TEXT);
        CHECK(recur_note(&o, note) == strlen(note) && strlen(note) < RECUR_NOTE);
        found = recur_next(r, after_ms, NULL, &again);
        CHECK(found < 0 ? after_ms > start_ms + TWO_CENTURIES_MS : found && same(&o, &again));
        found = recur_next(r, o.at_ms - 1, NULL, &again);
        CHECK(found < 0 ? o.at_ms > start_ms + TWO_CENTURIES_MS : found && again.at_ms == o.at_ms);
        after_ms = o.at_ms;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rule_error error = { SIZE_MAX, "" };
    struct recur *r = NULL;
    uint32_t start_s;
    int code;
    if (size < HEADER)
        return 0;
    memcpy(&start_s, data + 2, 4);
    char *copy = fuzz_copy((struct str){ (const char *)data + HEADER, size - HEADER });
    struct str rest = { copy, size - HEADER };
    struct recur_spec spec = {
        .kind = (enum recur_kind)(data[0] % 3),
        .zone = zone_of(data[0] / 3),
        .seed = data[1],
        .start_ms = start_s * INT64_C(1000) + data[1],
    };
    spec.text = take_line(&rest);
    spec.exdate = take_line(&rest);
    spec.rdate = rest;
    code = recur_new(&spec, &r, &error);
    free(copy); /* nothing of the texts is kept */
    if (code == 0) {
        walk(r, spec.start_ms, spec.start_ms - 1, 4);
        walk(r, spec.start_ms, spec.start_ms + TEN_YEARS_MS / 100, 2);
        code = recur_preview(r, spec.start_ms + TEN_YEARS_MS, 1, &(struct recur_occurrence){ 0 });
        CHECK(code == 0 || code == 1);
    } else {
        CHECK(code == BELFRY_INVALID && !r && error.offset <= size && strlen(error.text) > 20);
    }
    recur_free(r);
    return 0;
}
