/* SPDX-License-Identifier: MIT */
/*
 * Rules, cron and dates: any text is refused with a reason or gives occurrences that rise, are
 * found again from just before them, and come within the bounded number of steps.
 *
 *     kind and zone | seed | start, 4 bytes of seconds | rule \n dates left out \n dates added
 *
 * Hardly any text is a rule. So with the highest bit of the first byte, bytes choose the parts of
 * one: most of these are, and the search is what is tested.
 */
#include "fuzz.h"

#include "base/buf.h"
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

static const struct {
    const char *name;
    int min, max;
    bool back; /* negative ones, too */
} parts[] = {
    { "BYSECOND", 0, 59, false },  { "BYMINUTE", 0, 59, false },  { "BYHOUR", 0, 23, false },
    { "BYMONTHDAY", 1, 31, true }, { "BYYEARDAY", 1, 366, true }, { "BYWEEKNO", 1, 53, true },
    { "BYMONTH", 1, 12, false },   { "BYSETPOS", 1, 366, true },  { "INTERVAL", 1, 400, false },
    { "COUNT", 1, 60000, false },  { "BYDAY", 0, 6, false },
};

#define PARTS (sizeof parts / sizeof *parts)

/* Bytes that choose; zeros when they are used up. */
static unsigned take(struct str *s, size_t n)
{
    unsigned v = 0;
    for (; n > 0 && s->len > 0; n--) {
        v = v << 8 | (unsigned char)s->ptr[0];
        *s = (struct str){ s->ptr + 1, s->len - 1 };
    }
    return v;
}

static void compose_part(struct str *s, size_t i, struct buf *out)
{
    bool list = parts[i].name[0] == 'B';
    unsigned values = list ? 1 + take(s, 1) % 4 : 1;
    buf_printf(out, ";%s=", parts[i].name);
    for (unsigned v = 0; v < values; v++) {
        unsigned drawn = take(s, 2);
        int value = parts[i].min + (int)(drawn % (unsigned)(parts[i].max - parts[i].min + 1));
        if (!strcmp(parts[i].name, "BYDAY"))
            buf_printf(out, "%s%.2s", v ? "," : "", &"MOTUWETHFRSASU"[2 * value]);
        else
            buf_printf(out, "%s%s%d", v ? "," : "", parts[i].back && drawn >> 15 ? "-" : "", value);
    }
    /* Intervals may be much longer: by one digit more for each of these. */
    for (unsigned more = strcmp(parts[i].name, "INTERVAL") ? 0 : take(s, 1) % 7; more > 0; more--)
        buf_printf(out, "%u", take(s, 1) % 10);
}

static void compose(struct str s, struct buf *out)
{
    static const char *const freqs[] = { "SECONDLY", "MINUTELY", "HOURLY", "DAILY",
                                         "WEEKLY",   "MONTHLY",  "YEARLY" };
    unsigned used = 0;
    buf_printf(out, "FREQ=%s", freqs[take(&s, 1) % 7]);
    while (s.len > 0) {
        size_t i = take(&s, 1) % PARTS;
        if (!(used >> i & 1))
            compose_part(&s, i, out);
        used |= 1u << i;
    }
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
    struct buf composed = { 0 };
    struct recur_spec spec = {
        .kind = (enum recur_kind)(data[0] % 3),
        .zone = zone_of(data[0] / 3),
        .seed = data[1],
        .start_ms = start_s * INT64_C(1000) + data[1],
    };
    if (data[0] & 0x80) {
        compose(rest, &composed);
        spec.kind = RECUR_RRULE;
        spec.text = (struct str){ composed.ptr, composed.len };
    } else {
        spec.text = take_line(&rest);
        spec.exdate = take_line(&rest);
        spec.rdate = rest;
    }
    code = recur_new(&spec, &r, &error);
    free(copy); /* nothing of the texts is kept */
    buf_fini(&composed);
    if (code == 0) {
        walk(r, spec.start_ms, spec.start_ms - 1, 4);
        walk(r, spec.start_ms, spec.start_ms + TEN_YEARS_MS / 100, 2);
        code = recur_preview(r, spec.start_ms + TEN_YEARS_MS, 1, &(struct recur_occurrence){ 0 },
                             NULL);
        CHECK(code == 0 || code == 1 || code == BELFRY_INVALID);
    } else {
        CHECK(code == BELFRY_INVALID && !r && error.offset <= RULE_DATES_BYTES &&
              strlen(error.text) > 20);
    }
    recur_free(r);
    return 0;
}
