/* SPDX-License-Identifier: MIT */
#include "sim/look.h"

#include "engine/audit.h"
#include "engine/recurrence.h"
#include "sim/trace.h"

#define TRIES_MAX 20

void look_end(struct look *l)
{
    if (l->fetch)
        partition_fetch_end(l->partition, l->fetch);
    l->fetch = NULL;
}

/* True if what was asked for has been fetched: to be asked for again. */
static bool fetched(struct look *l, int err, int *tries)
{
    if (err != BELFRY_COLD)
        return false;
    CHECK(++*tries <= TRIES_MAX, "a request is COLD again and again");
    look_end(l);
    l->fetch = partition_fetch(l->partition);
    CHECK(l->fetch, "there is no memory to fetch");
    err = partition_fetched(l->partition, l->fetch, fetch_run(l->fetch));
    CHECK(err == 0, "a fetch fails: %s: %s", error_name(err), store_detail());
    return true;
}

int look_get(struct look *l, struct job_id id, struct job_view *ret)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_get(partition_engine(l->partition), id, ret);
    while (fetched(l, err, &tries));
    return err;
}

int look_explain(struct look *l, struct job_id id, struct explanation *ret)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_explain(partition_engine(l->partition), id, ret);
    while (fetched(l, err, &tries));
    return err;
}

int look_key(struct look *l, struct str queue, struct str order, struct str key, struct job_id *ret)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_find_key(partition_engine(l->partition), queue, order, key, ret);
    while (fetched(l, err, &tries));
    return err;
}

int look_list(struct look *l, const struct list_filter *f,
              int (*fn)(void *arg, const struct job_view *v), void *arg, struct list_cursor *cursor)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_list(partition_engine(l->partition), f, fn, arg, cursor);
    while (fetched(l, err, &tries));
    return err;
}

int look_recurrence(struct look *l, struct str tenant, struct str name, struct recurrence_view *ret)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_recurrence_get(partition_engine(l->partition), tenant, name, ret);
    while (fetched(l, err, &tries));
    return err;
}

int look_recurrences(struct look *l, struct str tenant,
                     int (*fn)(void *arg, const struct recurrence_view *v), void *arg,
                     struct list_cursor *cursor)
{
    int err, tries = 0;

    look_end(l);
    do
        err = engine_recurrences(partition_engine(l->partition), tenant, 3, fn, arg, cursor);
    while (fetched(l, err, &tries));
    return err;
}

int look_audits(struct look *l, const struct audit_filter *f,
                int (*fn)(void *arg, const struct audit_entry *a), void *arg,
                struct list_cursor *cursor)
{
    int err, tries = 0;

    do
        err = engine_audits(partition_engine(l->partition), f, fn, arg, cursor);
    while (fetched(l, err, &tries));
    return err;
}

bool look_has(struct partition *p, struct job_id id)
{
    struct look l = { .partition = p };
    struct job_view v;
    int err = look_get(&l, id, &v);

    CHECK(err == 0 || err == BELFRY_NOTFOUND, "GET answers %s", error_name(err));
    look_end(&l);
    return err == 0;
}
