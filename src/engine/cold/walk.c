/* SPDX-License-Identifier: MIT */
/* Walks over jobs in memory and on disk, and the jobs that they may miss because they move. */
#include "engine/cold/cold.h"

uint32_t walk_begin(struct engine *e)
{
    if (e->cold.walk_loaded)
        e->cold.walk = e->cold.walk % WALKS + 1;
    e->cold.walk_loaded = false;
    for (int i = 0; i < 2; i++) /* before the circle is closed */
        if ((e->cold.walk - e->cold.refed[i] + WALKS) % WALKS > WALKS / 4)
            e->cold.refed[i] = 0;
    return e->cold.walk;
}

void walk_misses(struct engine *e, const struct job *j, char family)
{
    uint32_t *mark = &e->cold.refed[family == FAMILY_ASIDE];

    if (!j->again || !j->loaded || (family != FAMILY_BACKLOG && family != FAMILY_ASIDE))
        return;
    if (family == FAMILY_ASIDE && !spot_of(j)->back)
        return; /* from B to A, as walks go */
    if (!*mark || walk_is_since(j->loaded, *mark))
        *mark = j->loaded;
}

bool walk_missed(const struct engine *e, uint32_t walk)
{
    return walk_is_since(e->cold.refed[0], walk) || walk_is_since(e->cold.refed[1], walk);
}
