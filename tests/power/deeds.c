/* SPDX-License-Identifier: MIT */
/* What the users of a store do, and what they make of its answers. */
#include <inttypes.h>
#include <string.h>

#include "power/yard.h"
#include "store/element.h"
#include "store/file.h"

/* Whether a failure is the disk's fault. */
static bool excused(const struct yard *y)
{
    return yard_faulted || y->ended;
}

static struct store_append append_of(const struct shelf_log *l, bool durable, char *buf)
{
    return (struct store_append){ .log = str_of(l->name),
                                  .fence = STR("nobody"),
                                  .seq = l->count,
                                  .element = shelf_element(l, l->count, buf),
                                  .durable = durable,
                                  .reserved = strstr(l->name, "journal") != NULL };
}

static void made_durable(struct shelf_log *l)
{
    l->durable = l->count;
    l->ghost = false;
    l->clean = true;
}

static bool appended(struct yard *y, struct shelf_log *l, int r, bool durable, uint64_t at)
{
    if (r == 0) {
        l->at[l->count++] = at;
        l->maybe = 0;
        if (durable)
            made_durable(l);
        return true;
    }
    if (r == BELFRY_FULL) {
        l->maybe = 0;
        l->ghost = l->count > 0;
        return excused(y) || y->platter->capacity > 0 ||
               yard_fail(y, "log %s: FULL though there is room: %s", l->name, store_detail());
    }
    return (r == BELFRY_IO && (excused(y) || l->doubtful)) ||
           yard_fail(y, "log %s: append: %s: %s", l->name, error_name(r), store_detail());
}

/* After a failure the log must be synced, and looked at, before anything else. */
static bool settle(struct yard *y, struct shelf_log *l)
{
    if (l->leaving)
        return deed_remove(y, l);
    if (l->maybe > 0)
        return deed_sync(y, l);
    return true;
}

bool deed_append(struct yard *y, struct shelf_log *l, bool durable)
{
    char buf[SHELF_BYTES];
    uint64_t at = 0;
    if (!settle(y, l))
        return false;
    if (l->maybe > 0 || l->leaving || l->count == SHELF_ELEMENTS || y->ended)
        return true;
    l->life += l->count == 0;
    yard_doing = l->count == 0 ? DEED_CREATE : durable ? DEED_APPEND : DEED_LOOSE;
    struct store_append a = append_of(l, durable, buf);
    a.ret_at = &at;
    l->maybe = 1;
    l->clean = false;
    return appended(y, l, y->store->ops->append(y->store, &a), durable, at);
}

/* The elements are as they should be. */
static bool look(struct yard *y, struct shelf_log *l)
{
    char why[512];
    return shelf_judge_log(l, y->store, END_NONE, why) || excused(y) || yard_fail(y, "%s", why);
}

bool deed_sync(struct yard *y, struct shelf_log *l)
{
    yard_doing = DEED_SYNC;
    int r = y->store->ops->sync(y->store, str_of(l->name));
    if (r == BELFRY_NOTFOUND && (l->count == 0 || l->leaving)) {
        l->maybe = 0;
        return true;
    }
    l->doubtful = l->doubtful || r < 0;
    if (r < 0)
        return (r == BELFRY_IO && excused(y)) || (r == BELFRY_FULL && excused(y)) ||
               yard_fail(y, "log %s: sync: %s: %s", l->name, error_name(r), store_detail());
    l->doubtful = false;
    if (l->maybe > 0 && !look(y, l))
        return false;
    if (l->maybe == 0)
        made_durable(l);
    return true;
}

bool deed_remove(struct yard *y, struct shelf_log *l)
{
    if (l->maybe > 0 && !deed_sync(y, l))
        return false;
    yard_doing = DEED_REMOVE;
    l->leaving = l->count + l->maybe > 0;
    unsigned spares = store_spares(y->store);
    int r = y->store->ops->remove(y->store, str_of(l->name));
    if (r < 0)
        return excused(y) ||
               yard_fail(y, "log %s: remove: %s: %s", l->name, error_name(r), store_detail());
    figures.recycled += store_spares(y->store) > spares;
    l->count = l->durable = l->maybe = 0;
    l->leaving = l->ghost = false;
    return true;
}

struct one {
    const struct shelf_log *log;
    uint64_t seq;
    bool wrong;
};

static int look_at_one(void *arg, uint64_t seq, struct str element)
{
    struct one *o = arg;
    char buf[SHELF_BYTES];
    o->wrong = seq != o->seq || !str_eq(element, shelf_element(o->log, seq, buf));
    return 1;
}

bool deed_read(struct yard *y, struct shelf_log *l)
{
    yard_doing = DEED_READ;
    if (l->count == 0 || l->leaving)
        return true;
    uint64_t seq = rng_below(&y->rng, l->count);
    struct one o = { l, seq, false };
    int r = y->store->ops->read(y->store, str_of(l->name), seq, l->at[seq], look_at_one, &o, NULL);
    if (r == 1)
        return !o.wrong ||
               yard_fail(y, "log %s: element %" PRIu64 " is not what was written", l->name, seq);
    return excused(y) || yard_fail(y, "log %s: element %" PRIu64 ": %s: %s", l->name, seq,
                                   error_name(r), store_detail());
}

static int count_name(void *arg, struct str name)
{
    (void)name;
    ++*(unsigned *)arg;
    return 0;
}

bool deed_list(struct yard *y)
{
    unsigned found = 0;
    unsigned least = 0;
    unsigned most = 0;
    yard_doing = DEED_LIST;
    for (unsigned i = 0; i < SHELF_LOGS; i++) {
        const struct shelf_log *l = &y->shelf.logs[i];
        if (l->busy)
            return true;
        least += l->count > 0 && !l->leaving;
        most += l->count + l->maybe > 0;
    }
    int r = y->store->ops->list(y->store, STR(""), count_name, &found);
    if (r < 0)
        return excused(y) || yard_fail(y, "list: %s: %s", error_name(r), store_detail());
    return (found >= least && found <= most) ||
           yard_fail(y, "%u logs are listed, not %u to %u", found, least, most);
}

bool deed_cas(struct yard *y, struct shelf_record *m)
{
    char buf[64];
    char why[512];
    yard_doing = DEED_CAS;
    if (m->maybe > 0 && !shelf_judge_record(m, y->store, why))
        return excused(y) || yard_fail(y, "%s", why);
    if (y->ended)
        return true;
    uint64_t next = m->version + 1;
    struct store_cas c = { .name = str_of(m->name),
                           .expect = m->version,
                           .next = next,
                           .value = shelf_value(m, next, buf) };
    m->maybe = next;
    int r = y->store->ops->cas(y->store, &c);
    if (r == 0)
        m->version = next;
    if (r != BELFRY_INDOUBT && !y->ended)
        m->maybe = 0;
    if (r == BELFRY_INDOUBT && !y->ended && rng_chance(&y->rng, 70)) {
        y->window = 0;
        y->crash_in = rng_below(&y->rng, 30) + 1;
        return deed_get(y, m); /* what is shown now lasts */
    }
    return r == 0 || excused(y) || (r == BELFRY_FULL && y->platter->capacity > 0) ||
           yard_fail(y, "record %s: %s: %s", m->name, error_name(r), store_detail());
}

bool deed_get(struct yard *y, struct shelf_record *m)
{
    char why[512];
    yard_doing = DEED_SCAN;
    return shelf_judge_record(m, y->store, why) || excused(y) || yard_fail(y, "%s", why);
}

/* Writes as much to one log as it was said to need. */
static bool fill_one(struct yard *y, struct shelf_log *l)
{
    char buf[SHELF_BYTES];
    uint64_t bytes = 0;
    for (;;) {
        struct shelf_log next = *l;
        next.life += l->count == 0;
        bytes += element_span(shelf_element(&next, l->count, buf).len);
        if (bytes > YARD_LOG_BYTES || l->count == SHELF_ELEMENTS)
            return true;
        uint64_t before = l->count;
        if (!deed_append(y, l, true))
            return false;
        if (l->count == before)
            return excused(y) ||
                   yard_fail(y, "the reserve has no room for log %s: %" PRIu64 " of %u bytes: %s",
                             l->name, bytes, YARD_LOG_BYTES, store_detail());
    }
}

bool deed_fill(struct yard *y)
{
    bool ok = true;
    hands_join(y);
    unsigned spares = store_spares(y->store);
    if (y->ended || y->window > 0 || spares == 0)
        return true;
    y->platter->capacity = platter_used(y->platter);
    for (unsigned i = 1; ok && i < SHELF_LOGS && spares > 0; i += 2) {
        struct shelf_log *l = &y->shelf.logs[i];
        if (l->count + l->maybe > 0 || l->leaving)
            continue;
        ok = fill_one(y, l);
        spares--;
        figures.fills++;
    }
    y->platter->capacity = 0;
    return ok;
}

/* ---- Hands ---- */

static void *work(void *arg)
{
    struct hand *h = arg;
    if (h->deed == DEED_REMOVE)
        deed_remove(h->yard, h->log);
    for (int i = 0; h->deed == DEED_APPEND && i < 6 && !h->yard->ended; i++)
        deed_append(h->yard, h->log, true);
    h->log->busy = false;
    return NULL;
}

void hand_start(struct yard *y, struct shelf_log *l, enum deed deed)
{
    for (unsigned i = 0; i < YARD_HANDS; i++) {
        struct hand *h = &y->hands[i];
        if (h->thread)
            continue;
        l->busy = true;
        *h = (struct hand){ .yard = y, .log = l, .deed = deed };
        h->thread = turns_start(work, h);
        return;
    }
}

void hands_join(struct yard *y)
{
    for (unsigned i = 0; i < YARD_HANDS; i++) {
        if (y->hands[i].thread)
            turns_join(y->hands[i].thread);
        y->hands[i].thread = NULL;
    }
}
