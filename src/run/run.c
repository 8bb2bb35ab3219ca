/* SPDX-License-Identifier: MIT */
#include "run/run.h"

#include <stdlib.h>

#include "run/reader.h"

enum { FETCHED = 1 };

static int take_element(void *arg, uint64_t seq, struct str element)
{
    struct buf *b = arg;
    (void)seq;
    buf_str(b, element);
    return b->failed ? store_fail(BELFRY_NOMEM, "no memory to read a run") : FETCHED;
}

int run_fetch(const struct run *r, uint64_t seq, uint64_t at, struct buf *ret)
{
    ret->len = 0;
    ret->failed = false;
    int err = r->store->ops->read(r->store, str_of(r->log), seq, at, take_element, ret, NULL);
    if (err == 0)
        return run_damaged(r, seq, "it is not there");
    return err < 0 ? err : 0;
}

int run_damaged(const struct run *r, uint64_t seq, const char *what)
{
    return store_fail(BELFRY_CORRUPT, "%s: element %llu: %s", r->log, (unsigned long long)seq,
                      what);
}

static int read_root(struct run *r)
{
    struct buf element = { 0 };
    uint64_t seq = r->info.place.elements - 1;
    int err = run_fetch(r, seq, r->info.place.root_at, &element);
    if (err == 0) {
        err = block_root_decode(buf_view(&element), &r->root);
        if (err == BELFRY_NOMEM)
            store_fail(err, "%s: no memory to read it", r->log);
        else if (err < 0)
            err = run_damaged(r, seq, "it is no root of a run");
    }
    const struct block_root *root = &r->root;
    /* None of them is more than there are elements, or the sum might come round. */
    if (err == 0 && (root->data > seq || root->index > seq || root->filters > seq ||
                     root->data + root->index + root->filters != seq))
        err = run_damaged(r, seq, "the root is that of another run");
    if (err == 0)
        r->info = (struct run_info){ r->info.place, root->entries, root->graves,
                                     root->bytes + element.len };
    buf_fini(&element);
    return err;
}

int run_open(struct store *store, struct str log, const struct run_place *place, struct run **ret)
{
    if (log.len > STORE_NAME_MAX || place->elements < 3)
        return store_fail(BELFRY_INVALID, "%.*s: no place of a run", STR_ARG(log));
    struct run *r = calloc(1, sizeof(*r));
    if (!r)
        return store_fail(BELFRY_NOMEM, "%.*s: no memory to read it", STR_ARG(log));
    r->store = store;
    r->info.place = *place;
    memcpy(r->log, log.ptr, log.len);
    int err = read_root(r);
    if (err < 0) {
        run_close(r);
        return err;
    }
    *ret = r;
    return 0;
}

void run_close(struct run *r)
{
    if (!r)
        return;
    block_root_fini(&r->root);
    free(r);
}

const struct run_info *run_about(const struct run *r)
{
    return &r->info;
}

static int copy_entry(const struct run_entry *e, struct buf *hold, struct run_entry *ret)
{
    buf_reset(hold, SIZE_MAX);
    buf_str(hold, e->key);
    buf_str(hold, e->value);
    if (hold->failed)
        return store_fail(BELFRY_NOMEM, "no memory for an entry of a run");
    *ret = *e;
    ret->key = (struct str){ hold->ptr, e->key.len };
    ret->value = (struct str){ hold->ptr + e->key.len, e->value.len };
    return 0;
}

int run_find(struct run *r, struct str key, struct buf *hold, struct run_entry *ret)
{
    struct run_cursor c = { 0 };
    int err = run_seek_to(&c, r, key, true);
    if (err == 0 && (c.at_end || !str_eq(c.entry.key, key)))
        err = store_fail(BELFRY_NOTFOUND, "%s: no such key", r->log);
    if (err == 0)
        err = copy_entry(&c.entry, hold, ret);
    run_cursor_fini(&c);
    return err;
}

/* Appends one piece of the filter. */
static int load_piece(struct run *r, uint64_t i, struct buf *piece, struct buf *ret)
{
    uint64_t seq = r->root.data + r->root.index + i;
    int err = run_fetch(r, seq, r->root.filter_at[i], piece);
    if (err < 0)
        return err;
    if (piece->ptr[0] != BLOCK_FILTER || piece->len - 1 > r->root.filter_bytes - ret->len)
        return run_damaged(r, seq, "it is no piece of a filter");
    buf_append(ret, piece->ptr + 1, piece->len - 1);
    return 0;
}

int run_filter_load(struct run *r, struct buf *ret)
{
    struct buf piece = { 0 };
    int err = 0;
    buf_reset(ret, SIZE_MAX);
    for (uint64_t i = 0; err == 0 && i < r->root.filters; i++)
        err = load_piece(r, i, &piece, ret);
    if (err == 0 && ret->failed)
        err = store_fail(BELFRY_NOMEM, "%s: no memory for its filter", r->log);
    if (err == 0 && (ret->len != r->root.filter_bytes || ret->len % FILTER_BLOCK != 0))
        err = run_damaged(r, r->info.place.elements - 1, "the filter has another size");
    buf_fini(&piece);
    return err;
}
