/* SPDX-License-Identifier: MIT */
/*
 * The birth of a data directory. The process that makes it is killed at each of its calls. A second
 * process writes a first element, and the power goes at each of its calls. Each disk that this
 * leaves must open, with the element if it was acknowledged.
 */
#include <inttypes.h>
#include <stdio.h>

#include "power/drill.h"
#include "power/turns.h"

#define DIR        PLATTER_ROOT "/var/lib/data"
#define STATES_MAX 400
#define CALLS_MAX  1000

struct birth {
    const struct drill_options *o;
    struct rng rng;
    struct platter *platter;
    uint64_t kill_in;  /* 0: not */
    bool losing;       /* each call leaves a state */
    bool acknowledged; /* the element is */
    struct seed_state {
        struct platter *platter;
        bool acknowledged;
        enum loss loss;
    } states[STATES_MAX];
    size_t count;
};

static void watch(void *arg, struct call *c, bool done)
{
    struct birth *b = arg;
    (void)c;
    if (done)
        return;
    figures.calls++;
    if (b->kill_in > 0 && --b->kill_in == 0) {
        b->platter->dead = true;
        figures.kills++;
    }
    if (!b->losing || b->count == STATES_MAX)
        return;
    enum loss loss = (enum loss)rng_below(&b->rng, LOSS_COUNT);
    b->states[b->count++] =
        (struct seed_state){ platter_lose(b->platter, loss, &b->rng), b->acknowledged, loss };
}

/* Opens the store, for as long as it lives, and writes or looks. */
static int live(struct birth *b, struct platter *p, bool watched, bool write, bool *ret_found)
{
    struct store_options so = { .log_bytes = 4096, .reserve = 1, .mutant = b->o->mutant };
    struct store_append a = { .log = STR("p0/journal/1"),
                              .fence = STR("nobody"),
                              .element = STR("first"),
                              .durable = true,
                              .reserved = true };
    struct store_tail tail = { 0 };
    struct store *s = NULL;
    b->platter = p;
    struct calls before = calls_insert(
        (struct calls){ .platter = p, .watch = watched ? watch : NULL, .arg = b, .rng = &b->rng });
    struct party *party = turns_enter(rng_next(&b->rng));
    int r = store_open(DIR, &so, &s);
    if (r == 0 && write) {
        r = s->ops->append(s, &a);
        if (r == BELFRY_CONFLICT) /* that of the process before */
            r = s->ops->sync(s, a.log);
        b->acknowledged = r == 0;
    } else if (r == 0) {
        r = s->ops->read(s, a.log, UINT64_MAX, 0, NULL, NULL, &tail);
        *ret_found = r == 0 && tail.elements == 1;
        r = r == BELFRY_NOTFOUND ? 0 : r;
    }
    store_close(s);
    turns_leave(party);
    calls_insert(before);
    return r;
}

static bool judge(struct birth *b, struct seed_state *s, char why[1024])
{
    bool found = false;
    int r = live(b, s->platter, false, false, &found);
    figures.states++;
    figures.by_loss[s->loss]++;
    figures.files += platter_files(s->platter);
    figures.looked += s->acknowledged;
    if (r == 0 && (found || !s->acknowledged))
        return true;
    snprintf(why, 1024, "losing %s: %s", loss_text(s->loss),
             r < 0 ? store_detail() : "the first element is lost");
    return false;
}

/* With the first process killed at its call `at`. *ret_lived: it had not so many. */
static bool birth(struct birth *b, uint64_t at, bool *ret_lived, char why[1024])
{
    bool ok = true;
    struct platter *p = platter_new(rng_next(&b->rng));
    *b = (struct birth){ .o = b->o, .rng = b->rng, .kill_in = at };
    live(b, p, true, true, NULL);
    *ret_lived = !p->dead;
    p->dead = false;
    b->losing = true;
    if (b->acknowledged)
        b->kill_in = 0;
    else if (live(b, p, true, true, NULL) < 0)
        ok = (snprintf(why, 1024, "after a kill: %.900s", store_detail()), false);
    for (size_t i = 0; i < b->count; i++) {
        if (ok)
            ok = judge(b, &b->states[i], why);
        platter_free(b->states[i].platter);
    }
    platter_free(p);
    return ok;
}

bool drill_birth(const struct drill_options *o, uint64_t states, char why[1024])
{
    static struct birth b; /* large */
    char what[1024];
    bool lived = false;
    (void)states; /* as many as there are */
    b = (struct birth){ .o = o, .rng = { o->seed } };
    calls_now_ms = CALLS_START_MS;
    for (uint64_t at = 1; !lived && at < CALLS_MAX; at++) {
        if (!birth(&b, at, &lived, what)) {
            snprintf(why, 1024, "killed at call %" PRIu64 ", then %.900s", at, what);
            return false;
        }
    }
    figures.drills++;
    return true;
}
