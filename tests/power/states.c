/* SPDX-License-Identifier: MIT */
/* Disks that are opened beside the one that the drill goes on with. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "power/yard.h"
#include "store/file.h"

static const struct store_options options = { .log_bytes = YARD_LOG_BYTES, .reserve = 2 };

/* A disk in the drive, and a store on it. */
struct visit {
    struct calls before;
    struct party *party;
    struct store *store;
};

static int visit_begin(struct visit *v, struct yard *y, struct platter *p)
{
    struct store_options o = options;
    o.mutant = y->o->mutant;
    v->before = calls_insert((struct calls){ .platter = p, .rng = &y->visit_rng });
    v->party = turns_enter(rng_next(&y->visit_rng));
    v->store = NULL;
    return store_open(YARD_DIR, &o, &v->store);
}

static void visit_end(struct visit *v)
{
    store_close(v->store);
    turns_leave(v->party);
    calls_insert(v->before);
}

bool drill_fail(char *why, size_t size, const char *format, ...)
{
    va_list args;
    if (why[0])
        return false;
    va_start(args, format);
    vsnprintf(why, size, format, args);
    va_end(args);
    return false;
}

uint64_t platter_files(const struct platter *p)
{
    uint64_t count = 0;
    for (const struct node *n = p->nodes; n; n = n->next)
        count += !n->dir;
    return count;
}

/* The store goes on, with the spares that it found: what they hold is nobody's. */
static bool use(struct store *store, struct shelf *shelf, char why[512])
{
    char buf[SHELF_BYTES];
    for (unsigned i = 1; i < SHELF_LOGS; i += 2) {
        struct shelf_log *l = &shelf->logs[i];
        int r = store->ops->sync(store, str_of(l->name));
        if (r < 0 && r != BELFRY_NOTFOUND)
            return snprintf(why, 512, "log %.24s: sync: %.400s", l->name, store_detail()), false;
        l->durable = l->count;
        l->life += l->count == 0;
        if (l->count == SHELF_ELEMENTS)
            continue;
        struct store_append a = { .log = str_of(l->name),
                                  .fence = STR("nobody"),
                                  .seq = l->count,
                                  .element = shelf_element(l, l->count, buf),
                                  .durable = true,
                                  .reserved = true };
        r = store->ops->append(store, &a);
        if (r < 0)
            return snprintf(why, 512, "log %.24s: append: %.400s", l->name, store_detail()), false;
        l->durable = ++l->count;
        l->clean = true;
    }
    return true;
}

/* Opens it, looks, uses it, looks again. */
static bool visit(struct yard *y, struct platter *p, struct shelf *shelf, char why[512])
{
    struct visit v;
    bool ok;
    int r = visit_begin(&v, y, p);
    if (r < 0)
        ok = (snprintf(why, 512, "open: %s: %s", error_name(r), store_detail()), false);
    else
        ok = shelf_judge(shelf, v.store, END_POWER, -1, why) && use(v.store, shelf, why) &&
             shelf_judge(shelf, v.store, END_NONE, -1, why);
    visit_end(&v);
    return ok;
}

/* And once more after another loss of power. */
static bool judge(struct yard *y, struct state *s)
{
    char why[512];
    y->visit_rng.state = y->o->seed * 1000003 + s->number; /* whatever was judged before */
    bool ok = visit(y, s->platter, &s->shelf, why);
    if (ok) {
        enum loss again = (enum loss)rng_below(&y->visit_rng, LOSS_COUNT);
        struct platter *p = platter_lose(s->platter, again, &y->visit_rng);
        ok = visit(y, p, &s->shelf, why);
        platter_free(p);
    }
    figures.states++;
    figures.aimed += s->aimed;
    figures.by_loss[s->loss]++;
    figures.files += platter_files(s->platter);
    return ok || yard_fail(y, "state %llu, %s, losing %s: %s", (unsigned long long)s->number,
                           s->where, loss_text(s->loss), why);
}

bool states_judge(struct yard *y)
{
    bool ok = true;
    for (unsigned i = 0; i < y->queued; i++) {
        struct state *s = &y->queue[i];
        if (ok && (y->o->only_state == 0 || y->o->only_state == s->number))
            ok = judge(y, s);
        platter_free(s->platter);
    }
    y->queued = 0;
    return ok;
}

/* ---- Rot ---- */

/* A file of which a bit is flipped: a log's, or a record's. */
static struct node *pick(struct yard *y, struct platter *p, int *ret_log)
{
    char path[128];
    unsigned i = (unsigned)rng_below(&y->rng, SHELF_LOGS + SHELF_RECORDS);
    *ret_log = i < SHELF_LOGS ? (int)i : -1;
    if (i < SHELF_LOGS)
        snprintf(path, sizeof path, YARD_DIR "/logs/%s.log", y->shelf.logs[i].name);
    else
        snprintf(path, sizeof path, YARD_DIR "/records/p%u+owner", i - SHELF_LOGS);
    struct node *n = platter_find(p, path);
    return n && n->size > 0 ? n : NULL;
}

bool states_rot(struct yard *y)
{
    struct shelf shelf = y->shelf;
    struct visit v;
    char why[512];
    int damaged;
    bool ok = true;
    y->visit_rng.state = rng_next(&y->rng);
    struct platter *p = platter_lose(y->platter, LOSS_NONE, &y->rng);
    struct node *n = pick(y, p, &damaged);
    if (n) {
        uint64_t at = rng_below(&y->rng, n->size);
        n->now[at] = (char)(n->now[at] ^ (1 << rng_below(&y->rng, 8)));
        n->kept[at] = n->now[at];
        int r = visit_begin(&v, y, p);
        if (damaged < 0 && r != BELFRY_CORRUPT)
            ok = yard_fail(y, "a damaged record is not noticed");
        else if (damaged >= 0 && r < 0)
            ok = yard_fail(y, "open, with a damaged log: %s", store_detail());
        else if (r == 0 && !shelf_judge(&shelf, v.store, END_POWER, damaged, why))
            ok = yard_fail(y, "bit %llu of log %d was flipped: %s", (unsigned long long)at, damaged,
                           why);
        visit_end(&v);
        figures.rots++;
    }
    platter_free(p);
    return ok;
}
