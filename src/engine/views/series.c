/* SPDX-License-Identifier: MIT */
#include "engine/series.h"

#include "engine/place/queue.h"

/* Bytes of figures that one page looks through: about 3 ms. A page ends behind them, and the cursor
 * leads on. */
#define LOOK_BYTES ((size_t)4 << 20)

/* The name of the rows that are asked for. */
static struct str row_name(const struct series_filter *f, char text[QUEUE_MAX_BYTES])
{
    if (f->queue.len > 0)
        return f->queue;
    if (str_eq(f->tenant, STR(TENANT_ALL)))
        return (struct str){ "", 0 };
    memcpy(text, f->tenant.ptr, f->tenant.len);
    memcpy(text + f->tenant.len, "@*", 2);
    return (struct str){ text, f->tenant.len + 2 };
}

/* Shows a step, if it has the row, or left it out. */
static int step_show(const struct step *s, const struct series_filter *f, struct str name,
                     int (*fn)(void *arg, const struct series_step *s), void *arg)
{
    struct series_step v = {
        .from_ms = s->at_ms,
        .to_ms = s->at_ms + (f->hours ? SERIES_HOUR_MS : SERIES_MINUTE_MS),
    };
    bool leaves_out, found = series_find(step_figures(s), name, &v.row, &leaves_out);

    if (!found && !leaves_out)
        return 0;
    if (!found)
        v.row = (struct series_row){ 0 };
    v.left_out = !found;
    v.oldest_ms = (int64_t)v.row.waited_ms - 1;
    series_hist_of(&v.row, &v.lateness);
    return fn(arg, &v);
}

int engine_series(struct engine *e, const struct series_filter *f,
                  int (*fn)(void *arg, const struct series_step *s), void *arg,
                  struct list_cursor *cursor)
{
    const struct steps *all = &e->pulses.steps[f->hours ? STEP_HOURS : STEP_MINUTES];
    int64_t from_ms = cursor->more ? cursor->due_ms : f->from_ms;
    char text[QUEUE_MAX_BYTES];
    struct str name = row_name(f, text);
    size_t i = step_seek(all, from_ms), looked = 0, shown = 0;
    int answer = 0;

    for (; i < all->count && all->all[i]->at_ms < f->to_ms; i++) {
        const struct step *s = all->all[i];

        if (answer || shown >= f->limit || looked >= LOOK_BYTES) {
            *cursor = (struct list_cursor){ .more = true, .due_ms = s->at_ms };
            return 0;
        }
        looked += s->len;
        answer = step_show(s, f, name, fn, arg);
        if (answer < 0)
            return answer;
        shown++;
    }
    *cursor = (struct list_cursor){ 0 };
    return 0;
}
