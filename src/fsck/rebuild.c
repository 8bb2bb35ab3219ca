/* SPDX-License-Identifier: MIT */
#include "fsck/runs.h"

#include "run/block.h"
#include "store/element.h"
#include "store/salvage.h"

#define FILTER_FRAME 24 /* bytes that an element takes besides a piece of a filter */

/* A store for the writer of a run, which appends and, at the end, syncs. Elements have the
 * positions that they have in any log. */
struct sink {
    struct store base;
    struct salvage *to; /* NULL: only measured */
    uint64_t at;
};

static int sink_append(struct store *s, const struct store_append *a)
{
    struct sink *k = (struct sink *)s;
    int err = k->to ? salvage_put(k->to, a->element) : 0;

    if (err)
        return err;
    if (a->ret_at)
        *a->ret_at = k->at;
    k->at += element_span(a->element.len);
    return 0;
}

static int sink_sync(struct store *s, struct str log)
{
    (void)s;
    (void)log;
    return 0; /* salvage_commit does */
}

static const struct store_ops sink_ops = { .append = sink_append, .sync = sink_sync };

struct copy {
    struct run_writer *writer;
    char family;
    struct buf key;
    uint64_t entries;
    bool refused; /* no run has entries like these */
};

/* Data blocks stand in the order of their keys; all other elements are made anew. */
static int copy_element(void *arg, uint64_t seq, struct str element)
{
    struct copy *c = arg;
    struct block_entries in;
    struct run_entry e;
    int more = block_entries_init(&in, element);

    (void)seq;
    c->key.len = 0;
    while (more > 0 && (more = block_next_entry(&in, &c->key, &e)) > 0) {
        int err = run_writer_add(c->writer, &e);

        if (err == BELFRY_INVALID || err == BELFRY_TOOLARGE) {
            c->refused = true;
            return 0;
        }
        if (err)
            return err;
        if (c->family == FAMILY_LOCATOR)
            run_writer_filter(c->writer, cold_key_hash(e.key));
        c->entries++;
    }
    return 0;
}

/* Writes the entries of the data blocks. CORRUPT: no run has these; *ret_entries is right even
 * then. */
static int write_anew(const struct rebuild *r, struct salvage *to, uint64_t *ret_entries,
                      struct run_info *ret)
{
    struct sink sink = { .base = { .ops = &sink_ops }, .to = to, .at = LOG_START };
    struct run_options o = { .store = &sink.base, .log = r->log, .filter_items = r->filter_items };
    struct copy c = { .family = r->d->family };
    int err = run_writer_new(&o, &c.writer);

    if (!err && !buf_reserve(&c.key, RUN_KEY_MAX))
        err = BELFRY_NOMEM;
    if (!err)
        err = store_salvage(r->dir, r->log, copy_element, NULL, &c);
    if (!err && (c.refused || c.entries == 0))
        err = BELFRY_CORRUPT;
    if (!err)
        err = run_writer_end(c.writer, ret);
    *ret_entries = c.entries;
    run_writer_free(c.writer);
    buf_fini(&c.key);
    return err;
}

static bool is_as_described(const struct run_info *i, const struct run_desc *d)
{
    return i->entries == d->entries && i->bytes == d->bytes && i->place.elements == d->elements &&
           i->place.root_at == d->root_at;
}

/* A filter's size does not follow from the entries. But it stands right before the root. So its
 * bytes are the distance between the real root and the root of this run without a filter. 0: that
 * makes no sense. */
static uint64_t filter_items_of(const struct run_desc *d, const struct run_info *bare)
{
    uint64_t pieces = d->elements - bare->place.elements;
    uint64_t ahead = d->root_at - bare->place.root_at;
    uint64_t blocks;

    if (bare->entries != d->entries || d->elements <= bare->place.elements ||
        d->root_at <= bare->place.root_at || ahead < pieces * FILTER_FRAME + FILTER_BLOCK)
        return 0;
    blocks = (ahead - pieces * FILTER_FRAME) / FILTER_BLOCK;
    return blocks == 1 ? 1 : ((blocks - 1) * FILTER_BLOCK * 8 + FILTER_BITS - 1) / FILTER_BITS;
}

int rebuild_look(struct rebuild *r)
{
    struct run_info info;
    uint64_t entries;
    int err = write_anew(r, NULL, &r->whole, &info);

    r->possible = false;
    if (!err && r->d->family == FAMILY_LOCATOR) {
        r->filter_items = filter_items_of(r->d, &info);
        if (r->filter_items)
            err = write_anew(r, NULL, &entries, &info);
    }
    r->possible = !err && is_as_described(&info, r->d);
    return err == BELFRY_CORRUPT ? 0 : err;
}

int rebuild_run(const struct rebuild *r, char ret_kept[PATH_MAX])
{
    struct salvage *to;
    struct run_info info;
    uint64_t entries;
    int err = salvage_new(r->dir, r->log, &to);

    if (err)
        return err;
    err = write_anew(r, to, &entries, &info);
    if (!err && !is_as_described(&info, r->d))
        err = store_fail(BELFRY_CORRUPT, "%.*s: it changed while it was read", STR_ARG(r->log));
    if (!err)
        err = salvage_commit(to, ret_kept);
    salvage_free(to);
    return err;
}
