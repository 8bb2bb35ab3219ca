/* SPDX-License-Identifier: MIT */
/* Walks over jobs in memory and on disk, and the jobs that they may miss because they move. */
#include "engine/cold/cold.h"

#include <string.h>

const char walk_families[WALK_FAMILIES] = { FAMILY_DUE, FAMILY_BACKLOG, FAMILY_ASIDE, FAMILY_PAST,
                                            FAMILY_KEPT };

uint32_t walk_begin(struct engine *e)
{
    if (e->cold.walk_loaded)
        e->cold.walk = e->cold.walk % WALKS + 1;
    e->cold.walk_loaded = false;
    for (int i = 0; i < WALK_FAMILIES; i++) /* before the circle is closed */
        if ((e->cold.walk - e->cold.refed[i] + WALKS) % WALKS > WALKS / 4)
            e->cold.refed[i] = 0;
    return e->cold.walk;
}

uint32_t walk_newest(const struct engine *e)
{
    uint32_t newest = 0;

    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        newest = r->d.number > newest ? r->d.number : newest;
    return newest;
}

static void walk_mark(struct engine *e, const struct job *j, char family)
{
    const char *at = memchr(walk_families, family, WALK_FAMILIES);
    uint32_t *refed = &e->cold.refed[at - walk_families];

    if (!*refed || walk_is_since(j->loaded, *refed))
        *refed = j->loaded;
}

void walk_loads(struct engine *e, struct job *j, char family)
{
    j->loaded = e->cold.walk & WALKS;
    e->cold.walk_loaded = true;
    j->again = family_is_backlog(family);
    if (family_is_history(family)) /* it has ended, and may begin anew */
        for (int i = 0; i < WALK_FAMILIES; i++)
            walk_mark(e, j, walk_families[i]);
}

void walk_misses(struct engine *e, const struct job *j, char family)
{
    /* A job that was set aside came from there, not from the backlog, if it is `back`. */
    bool misses = family == FAMILY_DUE || (family == FAMILY_BACKLOG && j->again) ||
                  (family == FAMILY_ASIDE && j->again && spot_of(j)->back);

    if (misses && j->loaded)
        walk_mark(e, j, family);
}

char walk_missed(const struct engine *e, uint32_t walk)
{
    for (int i = 0; i < WALK_FAMILIES && !MUTANT(e->o.mutant, WALK_BLIND); i++)
        if (walk_is_since(e->cold.refed[i], walk))
            return walk_families[i];
    return 0;
}
