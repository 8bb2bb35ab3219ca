/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "run/run.h"

/* A binary heap of the cursors that have an entry, the next to be given at its top. Cursors with
 * the key of the top are moved on with the top. So no key that was given has to be remembered. */

/* Keys rise; of equal keys the highest version is first, of equal versions the earlier run. */
static bool precedes(const struct run_cursor *a, const struct run_cursor *b)
{
    int order = str_compare(a->entry.key, b->entry.key);
    if (order != 0)
        return order < 0;
    if (a->entry.version != b->entry.version)
        return a->entry.version > b->entry.version;
    return a < b;
}

static size_t better_child(const struct run_merge *m, size_t i)
{
    size_t child = 2 * i + 1;
    if (child + 1 < m->live && precedes(m->heap[child + 1], m->heap[child]))
        child++;
    return child;
}

static void sift_down(struct run_merge *m, size_t i)
{
    struct run_cursor *c = m->heap[i];
    for (;;) {
        size_t child = better_child(m, i);
        if (child >= m->live || !precedes(m->heap[child], c))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = c;
}

/* Moves the cursor at place i of the heap on. */
static int move_on(struct run_merge *m, size_t i)
{
    int r = run_next(m->heap[i]);
    if (r < 0)
        return r;
    if (m->heap[i]->at_end)
        m->heap[i] = m->heap[--m->live];
    if (i < m->live)
        sift_down(m, i);
    return 0;
}

static void set_now(struct run_merge *m)
{
    m->now = m->live > 0 ? m->heap[0] : NULL;
}

/* The cursor of run i is set behind afters[i * step]. */
static int merge_init(struct run_merge *m, struct run *const *runs, size_t n,
                      const struct str *afters, size_t step, bool skips_damage)
{
    *m = (struct run_merge){ .n = n };
    if (n == 0)
        return 0;
    m->cursors = calloc(n, sizeof(*m->cursors));
    m->heap = calloc(n, sizeof(*m->heap));
    if (!m->cursors || !m->heap)
        return store_fail(BELFRY_NOMEM, "no memory to merge %zu runs", n);
    for (size_t i = 0; i < n; i++) {
        struct run_cursor *c = &m->cursors[i];
        c->skips_damage = skips_damage;
        int r = run_seek(c, runs[i], afters[i * step]);
        if (r < 0)
            return r;
        if (!c->at_end)
            m->heap[m->live++] = c;
    }
    for (size_t i = m->live / 2; i-- > 0;)
        sift_down(m, i);
    set_now(m);
    return 0;
}

int run_merge_init(struct run_merge *m, struct run *const *runs, size_t n, struct str after,
                   bool skips_damage)
{
    return merge_init(m, runs, n, &after, 0, skips_damage);
}

int run_merge_init_each(struct run_merge *m, struct run *const *runs, size_t n,
                        const struct str *afters, bool skips_damage)
{
    return merge_init(m, runs, n, afters, 1, skips_damage);
}

int run_merge_next(struct run_merge *m)
{
    int r = 0;
    while (r == 0 && m->live > 1) {
        size_t second = better_child(m, 0);
        if (!str_eq(m->heap[second]->entry.key, m->heap[0]->entry.key))
            break;
        r = move_on(m, second);
    }
    if (r == 0 && m->live > 0)
        r = move_on(m, 0);
    if (r == 0)
        set_now(m);
    return r;
}

void run_merge_fini(struct run_merge *m)
{
    for (size_t i = 0; m->cursors && i < m->n; i++)
        run_cursor_fini(&m->cursors[i]);
    free(m->cursors);
    free(m->heap);
    *m = (struct run_merge){ 0 };
}
