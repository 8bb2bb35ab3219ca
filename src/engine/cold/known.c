/* SPDX-License-Identifier: MIT */
/* Facts about jobs on disk, which hold until more jobs go there. */
#include "engine/cold/cold.h"

/* A request about several keys is told of one at a time. Its earlier answers hold while no job has
 * gone to disk. Memory is looked at first anyway. */
bool key_is_absent(const struct engine *e, const struct cold_key *k)
{
    for (size_t i = 0; e->cold.absent.moves == e->cold.moves && i < e->cold.absent.n; i++)
        if (memcmp(e->cold.absent.keys[i], k->bytes, ASK_BYTES) == 0)
            return true;
    return false;
}

void key_absent(struct engine *e, struct str queue, struct str order, struct str key)
{
    struct absent *a = &e->cold.absent;
    struct cold_key k;

    cold_key_of_key(&k, queue, order, key);
    if (a->moves != e->cold.moves || a->n == ABSENT_MAX)
        a->n = 0;
    a->moves = e->cold.moves;
    memcpy(a->keys[a->n++], k.bytes, ASK_BYTES);
}
