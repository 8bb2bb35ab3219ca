/* SPDX-License-Identifier: MIT */
#include "power/shelf.h"

#include <stdio.h>
#include <string.h>

#include "sim/rng.h"

uint64_t shelf_looked;

void shelf_init(struct shelf *s)
{
    *s = (struct shelf){ 0 };
    for (unsigned i = 0; i < SHELF_LOGS; i++)
        snprintf(s->logs[i].name, sizeof s->logs[i].name, "p%u/%s/%u", i % 3,
                 i % 2 ? "journal" : "run", i);
    for (unsigned i = 0; i < SHELF_RECORDS; i++)
        snprintf(s->records[i].name, sizeof s->records[i].name, "p%u/owner", i);
}

struct str shelf_element(const struct shelf_log *l, uint64_t seq, char *buf)
{
    struct rng r = { seq * 1000003 + l->life * 257 + (uint64_t)l->name[strlen(l->name) - 1] };
    size_t len = (size_t)rng_below(&r, 400) + 1;
    if (rng_chance(&r, 12))
        len = (size_t)rng_below(&r, 6000) + 1;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = rng_next(&r);
        memcpy(buf + i, &word, 8);
    }
    return (struct str){ buf, len };
}

struct str shelf_value(const struct shelf_record *r, uint64_t version, char buf[64])
{
    int n = snprintf(buf, 64, "%s at %llu", r->name, (unsigned long long)version);
    return (struct str){ buf, (size_t)n };
}

/* ---- Logs ---- */

struct look {
    const struct shelf_log *log;
    uint64_t next;
    bool wrong;
    bool torn;
};

static int look_at(void *arg, uint64_t seq, struct str element)
{
    struct look *k = arg;
    char buf[SHELF_BYTES];
    if (seq != k->next || !str_eq(element, shelf_element(k->log, seq, buf)))
        k->wrong = true;
    k->next = seq + 1;
    shelf_looked++;
    return k->wrong ? 1 : 0;
}

#define FAIL(...) (snprintf(why, 512, __VA_ARGS__), false)

static bool judge_read(struct store *store, struct shelf_log *l, bool damaged, struct look *ret,
                       bool *ret_there, char why[512])
{
    struct store_tail tail = { 0 };
    *ret = (struct look){ .log = l };
    int r = store->ops->read(store, str_of(l->name), 0, 0, look_at, ret, &tail);
    if (ret->wrong)
        return FAIL("log %s: element %llu is not what was written", l->name,
                    (unsigned long long)ret->next - 1);
    *ret_there = r != BELFRY_NOTFOUND;
    ret->torn = tail.torn_bytes > 0;
    if (r == BELFRY_NOTFOUND || (r == BELFRY_CORRUPT && damaged))
        return true;
    if (r < 0)
        return FAIL("log %s: %s: %s", l->name, error_name(r), store_detail());
    if (damaged && tail.torn_bytes == 0 && ret->next < l->durable)
        return FAIL("log %s: damage is taken for its end", l->name);
    return true;
}

static bool judge_log(struct shelf_log *l, struct store *store, enum end end, bool damaged,
                      char why[512])
{
    struct look k;
    bool there;
    uint64_t least = end == END_POWER ? l->durable : l->count;
    uint64_t most = l->count + (l->maybe > 0 || (l->ghost && end == END_POWER));
    if (!judge_read(store, l, damaged, &k, &there, why))
        return false;
    if (damaged)
        return true;
    if (there && k.torn && l->clean)
        return FAIL("log %s ends torn though nothing was under way", l->name);
    if (!there && least > 0 && !l->leaving)
        return FAIL("log %s is lost, with %llu elements", l->name, (unsigned long long)least);
    if (there && most == 0)
        return FAIL("log %s is there: it was removed, or never made", l->name);
    if (there && (k.next < least || k.next > most))
        return FAIL("log %s has %llu elements, not %llu to %llu", l->name,
                    (unsigned long long)k.next, (unsigned long long)least,
                    (unsigned long long)most);
    for (uint64_t i = l->count; there && i < k.next; i++)
        l->at[i] = 0; /* an append that was in doubt did not tell */
    l->count = there ? k.next : 0;
    l->durable = l->durable < l->count ? l->durable : l->count;
    /* What is not there now was perhaps just not kept in memory: until a sync it may be back. */
    l->ghost = (l->ghost || l->maybe > 0) && l->durable < most;
    l->maybe = 0;
    l->leaving = false;
    return true;
}

bool shelf_judge_log(struct shelf_log *l, struct store *store, enum end end, char why[512])
{
    return judge_log(l, store, end, false, why);
}

struct names_check {
    const struct shelf *shelf;
    bool unknown;
};

static int check_name(void *arg, struct str name)
{
    struct names_check *c = arg;
    for (unsigned i = 0; i < SHELF_LOGS; i++) {
        const struct shelf_log *l = &c->shelf->logs[i];
        if (str_eq(name, str_of(l->name)) && l->count + l->maybe + l->ghost > 0)
            return 0;
    }
    c->unknown = true;
    return 0;
}

/* ---- Records ---- */

bool shelf_judge_record(struct shelf_record *m, struct store *store, char why[512])
{
    char value[STORE_VALUE_MAX];
    char expected[64];
    struct store_cell r = { 0 };
    int err = store_get(store, str_of(m->name), value, sizeof value, &r);
    if (err < 0 && err != BELFRY_NOTFOUND)
        return FAIL("record %s: %s: %s", m->name, error_name(err), store_detail());
    uint64_t version = err == 0 ? r.version : 0;
    if (version != m->version && (version != m->maybe || version == 0))
        return FAIL("record %s has version %llu, not %llu", m->name, (unsigned long long)version,
                    (unsigned long long)m->version);
    if (version > 0 && !str_eq(r.value, shelf_value(m, version, expected)))
        return FAIL("record %s has another value", m->name);
    m->version = version; /* what was shown lasts */
    m->maybe = 0;
    return true;
}

bool shelf_judge(struct shelf *s, struct store *store, enum end end, int damaged, char why[512])
{
    struct names_check names = { s, false };
    int r = store->ops->list(store, STR(""), check_name, &names);
    if (r < 0)
        return FAIL("list: %s: %s", error_name(r), store_detail());
    if (names.unknown)
        return FAIL("there is a log that was removed, or never made");
    for (unsigned i = 0; i < SHELF_LOGS; i++) {
        if (!judge_log(&s->logs[i], store, end, (int)i == damaged, why))
            return false;
    }
    for (unsigned i = 0; i < SHELF_RECORDS; i++) {
        if (!shelf_judge_record(&s->records[i], store, why))
            return false;
    }
    return true;
}
