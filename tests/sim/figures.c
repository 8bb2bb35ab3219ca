/* SPDX-License-Identifier: MIT */
/* Figures over time: all that the engine counts since it was opened is in them, once. */
#include <inttypes.h>

#include "engine/series.h"
#include "sim/steps.h"
#include "support/verify.h"

static const char *const names[] = {
#define NAME(name) #name,
    SERIES_COUNTS(NAME)
#undef NAME
};

static void counters_of(const struct world *w, uint64_t ret[SERIES_COUNT_TOTAL])
{
    struct engine_stats s;

    engine_stats(w->engine, &s);
#define COUNTED(name) ret[SERIES_##name] = s.counters.name;
    SERIES_COUNTS(COUNTED)
#undef COUNTED
}

void figures_begin(struct world *w)
{
    uint64_t counted[SERIES_COUNT_TOTAL];

    series_total(w->engine, true, w->figures);
    counters_of(w, counted);
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++)
        w->figures[i] -= counted[i];
}

void figures_compare(struct world *w)
{
    uint64_t hours[SERIES_COUNT_TOTAL], minutes[SERIES_COUNT_TOTAL], counted[SERIES_COUNT_TOTAL];

    series_verify(w->engine);
    series_total(w->engine, true, hours);
    series_total(w->engine, false, minutes);
    counters_of(w, counted);
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++) {
        CHECK(hours[i] == w->figures[i] + counted[i],
              "the figures over time say %" PRIu64 " %s, expected %" PRIu64, hours[i], names[i],
              w->figures[i] + counted[i]);
        CHECK(minutes[i] == hours[i], "minutes say %" PRIu64 " %s, but hours %" PRIu64, minutes[i],
              names[i], hours[i]);
    }
}

/* ---- SERIES ---- */

struct seen {
    uint64_t counts[SERIES_COUNT_TOTAL];
    size_t steps;
    int64_t last_ms;
    bool left_out;
};

static int note_step(void *arg, const struct series_step *s)
{
    struct seen *seen = arg;

    CHECK(s->from_ms > seen->last_ms, "steps are not in order");
    seen->last_ms = s->from_ms;
    seen->left_out = seen->left_out || s->left_out;
    seen->steps++;
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++)
        seen->counts[i] += s->row.counts[i];
    return 0;
}

/* Looks at all figures of a queue, in pages of so many steps. */
static struct seen look(struct world *w, unsigned queue, bool hours, int64_t limit)
{
    char text[TEXT_MAX];
    struct series_filter f = { .queue = text_make(TEXT_QUEUE, queue, text),
                               .hours = hours,
                               .to_ms = INT64_MAX,
                               .limit = (size_t)limit };
    struct list_cursor cursor = { 0 };
    struct seen seen = { .last_ms = INT64_MIN };

    do
        CHECK(engine_series(w->engine, &f, note_step, &seen, &cursor) == 0, "SERIES fails");
    while (cursor.more);
    return seen;
}

/* Pages of any length show the same, and the minutes of a queue are its hours. */
void step_series(struct world *w)
{
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    struct seen minutes = look(w, q, false, 1000);
    struct seen some = look(w, q, false, rng_between(&w->rng, 1, 20));
    struct seen hours = look(w, q, true, 1000);

    CHECK(memcmp(minutes.counts, some.counts, sizeof(some.counts)) == 0 &&
              minutes.steps == some.steps,
          "short pages of q%u show %zu steps, expected %zu", q, some.steps, minutes.steps);
    CHECK(minutes.left_out || hours.left_out ||
              memcmp(minutes.counts, hours.counts, sizeof(hours.counts)) == 0,
          "minutes and hours of q%u differ", q);
}
