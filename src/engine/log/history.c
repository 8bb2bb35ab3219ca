/* SPDX-License-Identifier: MIT */
#include "engine/log/log.h"

#include <stdlib.h>

#include "engine/place/job.h"
#include "record/attempts.h"

#define ENTRY_ERROR_BYTES 256

void history_append(struct buf *out, const struct job *j, uint32_t kept, int64_t end_ms,
                    unsigned outcome, struct str error)
{
    const struct trail *t = j->trail;

    if (error.len > ENTRY_ERROR_BYTES)
        error.len = ENTRY_ERROR_BYTES;
    attempts_append(out, blob_str(t->history),
                    &(struct attempt){
                        .number = j->attempt,
                        .start_ms = t->start_ms,
                        .end_ms = end_ms,
                        .late_ms = t->late_ms,
                        .outcome = outcome,
                        .worker = blob_str(t->worker),
                        .error = error,
                    },
                    kept);
}

static int by_end(const void *a, const void *b)
{
    const struct trail *x = *(struct trail *const *)a;
    const struct trail *y = *(struct trail *const *)b;

    if (x->ended_ms != y->ended_ms)
        return x->ended_ms < y->ended_ms ? -1 : 1;
    return x->job->seq < y->job->seq ? -1 : 1;
}

/* Sorts trails by their links, which are at this place in them. */
static void sort_by_end(struct list *head, size_t link)
{
    size_t n = list_length(head);
    struct trail **all = n > 1 ? malloc(n * sizeof(struct trail *)) : NULL;

    if (!all)
        return; /* out of memory: an order that is not quite right does no harm */
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct trail *)((uintptr_t)head->next - link);
        list_remove(head->next);
    }
    qsort(all, n, sizeof(struct trail *), by_end);
    for (size_t i = 0; i < n; i++)
        list_append(head, (struct list *)((uintptr_t)all[i] + link));
    free(all);
}

void past_sort(struct queue *q)
{
    sort_by_end(&q->past, offsetof(struct trail, link));
    sort_by_end(&q->dead, offsetof(struct trail, link));
    sort_by_end(&q->logged, offsetof(struct trail, timer.link));
}
