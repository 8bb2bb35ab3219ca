/* SPDX-License-Identifier: MIT */
/* Lists of jobs on disk that requests ask for, and what the answer at hand says about each. */
#include <stdlib.h>

#include "engine/place/detail.h"
#include "engine/work/work.h"

#define ASKS_KEEP 65536 /* bytes of the list that are kept for the next request */

int ask_compare(const void *a, const void *b)
{
    const struct cold_ask *x = a, *y = b;

    if (x->by_key != y->by_key)
        return x->by_key - y->by_key;
    if (x->by_key)
        return memcmp(x->name, y->name, ASK_NAME_BYTES);
    if (x->id.seq != y->id.seq)
        return x->id.seq < y->id.seq ? -1 : 1;
    return x->id.due_ms < y->id.due_ms ? -1 : x->id.due_ms > y->id.due_ms;
}

int ask_one(struct engine *e, const struct cold_ask *ask, bool grows)
{
    asks_begin(e);
    buf_append(&e->cold.asking.asks, ask, sizeof(*ask));
    e->cold.asking.unanswered = true;
    int err = asks_end(e);
    e->cold.want.grows = grows;
    return err;
}

int want_grows(struct engine *e, int err)
{
    e->cold.want.grows = err == BELFRY_COLD;
    return err;
}

void asks_begin(struct engine *e)
{
    struct asking *a = &e->cold.asking;

    buf_reset(&a->asks, ASKS_KEEP);
    a->grows = a->unanswered = a->too_large = false;
}

int asks_end(struct engine *e)
{
    struct asking *a = &e->cold.asking;

    if (a->asks.failed) {
        buf_reset(&a->asks, 0);
        return engine_plain(e, BELFRY_NOMEM);
    }
    if (!a->unanswered)
        return a->too_large ? ask_too_large(e) : 0;
    e->cold.want = (struct cold_want){ .kind = WANT_JOBS,
                                       .grows = a->grows,
                                       .asks = (struct cold_ask *)(void *)a->asks.ptr,
                                       .ask_count = a->asks.len / sizeof(struct cold_ask) };
    return BELFRY_COLD;
}

int ask_too_large(struct engine *e)
{
    return engine_error(e, BELFRY_TOOLARGE,
                        "the jobs on disk that it replaces or waits for are too large to come to "
                        "memory together; name them in several requests");
}

const struct cold_ask *ask_answered(const struct engine *e, const struct cold_ask *ask)
{
    const struct cold_answer *a = e->cold.answer;

    if (!a || a->want->kind != WANT_JOBS)
        return NULL;
    return bsearch(ask, a->want->asks, a->want->ask_count, sizeof(*ask), ask_compare);
}

void ask_note(struct engine *e, const struct cold_ask *ask, const struct cold_ask *answered,
              bool cut)
{
    struct asking *a = &e->cold.asking;

    if (MUTANT(e->o.mutant, ASK_LOST) && a->asks.len > 0)
        return;
    cut = cut && !MUTANT(e->o.mutant, CUT_TAKEN);
    buf_append(&a->asks, ask, sizeof(*ask));
    a->grows = a->grows || ask->whole;
    if (!answered || (cut && !answered->whole))
        a->unanswered = true;
    else if (cut)
        a->too_large = true;
}
