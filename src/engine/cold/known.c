/* SPDX-License-Identifier: MIT */
/* Facts about jobs on disk, which hold until more jobs go there. */
#include "engine/cold/cold.h"

/* A request about several keys is told of one at a time. Its earlier answers hold while no job has
 * gone to disk. Memory is looked at first anyway. */
bool key_is_absent(const struct engine *e, const struct cold_key *k)
{
    for (size_t i = 0; e->cold.absent.moves == e->cold.moves && i < e->cold.absent.n; i++)
        if (memcmp(e->cold.absent.keys[i], k->bytes, ABSENT_BYTES) == 0)
            return true;
    return false;
}

void key_absent(struct engine *e, struct str queue, struct str order, struct str key)
{
    struct absent *a = &e->cold.absent;
    struct cold_key k;

    cold_key_of_key(&k, &e->naming, queue, order, key);
    if (a->moves != e->cold.moves || a->n == ABSENT_MAX) {
        a->n = 0;
        a->wipes++;
    }
    a->moves = e->cold.moves;
    memcpy(a->keys[a->n++], k.bytes, ABSENT_BYTES);
}

static uint64_t scope_hash(const struct engine *e)
{
    return hash_quick(e->o.secret, e->scope);
}

int past_state(const struct engine *e, struct job_id id)
{
    const struct pasts *p = &e->cold.pasts;

    for (size_t i = 0; p->moves == e->cold.moves && i < p->n; i++)
        if (p->jobs[i].id.seq == id.seq && p->jobs[i].id.due_ms == id.due_ms &&
            p->jobs[i].id.partition == id.partition && p->jobs[i].from_ms <= e->now_ms &&
            p->jobs[i].gone_ms > e->now_ms && p->jobs[i].tenant == scope_hash(e))
            return p->jobs[i].state;
    return PAST_UNKNOWN;
}

void past_note(struct engine *e, struct job_id id, int state, int64_t gone_ms)
{
    struct pasts *p = &e->cold.pasts;

    if (p->moves != e->cold.moves || p->n == PASTS_MAX) {
        p->n = 0;
        p->wipes++;
    }
    p->moves = e->cold.moves;
    p->jobs[p->n].id = id;
    p->jobs[p->n].tenant = scope_hash(e);
    p->jobs[p->n].from_ms = e->now_ms;
    p->jobs[p->n].gone_ms = gone_ms;
    p->jobs[p->n++].state = state;
}

void past_forget(struct engine *e, uint64_t seq)
{
    struct pasts *p = &e->cold.pasts;

    for (size_t i = 0; i < p->n; i++)
        if (p->jobs[i].id.seq == seq)
            p->jobs[i] = p->jobs[--p->n];
}
