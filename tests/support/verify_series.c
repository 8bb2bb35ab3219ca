/* SPDX-License-Identifier: MIT */
#include "support/verify_series.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "engine/place/queue.h"

#define CHECK(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            fprintf(stderr, "series_verify: %s:%d: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

uint64_t series_hash(const struct engine *e)
{
    uint64_t sum = 0;

    for (int kind = 0; kind < STEP_KINDS; kind++) {
        const struct steps *all = &e->place.pulses.steps[kind];

        for (size_t i = 0; i < all->count; i++)
            sum += XXH3_64bits(all->all[i]->bytes, all->all[i]->len) *
                   (uint64_t)(2 * all->all[i]->at_ms + kind + 1);
    }
    return sum;
}

static void add(uint64_t *sum, const struct series_row *row)
{
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++)
        sum[i] += row->counts[i];
}

/* The server's row is the sum of the tenants' rows, and that of the queues' rows. */
static void verify_step(const struct step *s)
{
    uint64_t server[SERIES_COUNT_TOTAL] = { 0 }, tenants[SERIES_COUNT_TOTAL] = { 0 };
    uint64_t queues[SERIES_COUNT_TOTAL] = { 0 };
    struct series_reader r = series_reader_of(step_figures(s));
    struct series_row row;

    CHECK(series_valid(step_figures(s)));
    while (series_next(&r)) {
        struct str tenant, queue;

        CHECK(series_get_row(r.body, &row));
        scope_split(series_name(&r), &tenant, &queue);
        add(r.name_len == 0 ? server : str_eq(queue, STR("*")) ? tenants : queues, &row);
    }
    CHECK(r.left_out > 0 || memcmp(server, tenants, sizeof(server)) == 0);
    CHECK(r.left_out > 0 || memcmp(server, queues, sizeof(server)) == 0);
}

void series_verify(const struct engine *e)
{
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        const struct steps *all = &e->place.pulses.steps[kind];
        int64_t length_ms = kind == STEP_MINUTES ? SERIES_MINUTE_MS : SERIES_HOUR_MS;
        uint64_t bytes = 0;

        for (size_t i = 0; i < all->count; i++) {
            CHECK(all->all[i]->at_ms % length_ms == 0);
            CHECK(i == 0 || all->all[i]->at_ms > all->all[i - 1]->at_ms);
            verify_step(all->all[i]);
            bytes += sizeof(struct step) + all->all[i]->len;
        }
        CHECK(bytes == all->bytes);
    }
}

static void add_pulses(const struct minute *m, uint64_t *sum)
{
    list_each_of (const struct tenant, t, &m->tenants, sums.gauges.pulse.link) {
#define DIFFERENCE(name) \
    sum[SERIES_##name] += t->sums.counters.name - t->sums.gauges.pulse.base[SERIES_##name];
        SERIES_COUNTS(DIFFERENCE)
#undef DIFFERENCE
    }
    add(sum, &m->server);
}

void series_total(const struct engine *e, bool hours, uint64_t ret[SERIES_COUNT_TOTAL])
{
    const struct steps *all = &e->place.pulses.steps[hours ? STEP_HOURS : STEP_MINUTES];
    struct series_row row;
    bool left_out;

    memset(ret, 0, SERIES_COUNT_TOTAL * sizeof(*ret));
    for (size_t i = 0; i < all->count; i++)
        if (series_find(step_figures(all->all[i]), STR(""), &row, &left_out))
            add(ret, &row);
    add_pulses(&e->place.pulses.running, ret);
    add_pulses(&e->place.pulses.ending, ret);
}
