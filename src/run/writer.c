/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "run/block.h"
#include "run/run.h"

#define FILTER_PIECE (1u << 20)
#define VALUE_MAX    (STORE_ELEMENT_MAX - RUN_KEY_MAX - 64)

/* An index block that is complete: it is written behind the data, the root needs its last key. */
struct done_index {
    size_t len;
    size_t key_len; /* bytes of both follow */
};

struct run_writer {
    struct run_options o;
    struct run_info info;
    struct buf block; /* the data block being filled */
    uint32_t base;
    uint64_t in_block; /* entries of the data block */
    struct buf key;    /* key of the last entry */
    struct buf index;  /* the index block being filled */
    struct block_names names;
    struct buf done; /* struct done_index with its bytes, one after the other */
    uint64_t done_count;
    uint64_t data;
    struct buf filter;
    int failed; /* sticky: nothing may be written behind a hole */
};

int run_writer_new(const struct run_options *o, struct run_writer **ret)
{
    struct run_writer *w = calloc(1, sizeof(*w));
    if (w) {
        w->o = *o;
        w->names.out = &w->index;
        w->o.block_bytes = o->block_bytes ? o->block_bytes : RUN_BLOCK;
    }
    if (!w || !buf_reserve(&w->key, RUN_KEY_MAX) || !buf_reserve(&w->block, w->o.block_bytes) ||
        (o->filter_items > 0 && !filter_init(&w->filter, o->filter_items))) {
        run_writer_free(w);
        return store_fail(BELFRY_NOMEM, "%.*s: no memory to write it", STR_ARG(o->log));
    }
    *ret = w;
    return 0;
}

void run_writer_free(struct run_writer *w)
{
    if (!w)
        return;
    buf_fini(&w->block);
    buf_fini(&w->key);
    buf_fini(&w->index);
    buf_fini(&w->names.last);
    buf_fini(&w->done);
    buf_fini(&w->filter);
    free(w);
}

static int no_memory(const struct run_writer *w)
{
    return store_fail(BELFRY_NOMEM, "%.*s: no memory to write it", STR_ARG(w->o.log));
}

static int append(struct run_writer *w, struct str element, uint64_t *ret_at)
{
    struct store_append a = { .log = w->o.log,
                              .fence = w->o.fence,
                              .epoch = w->o.epoch,
                              .seq = w->info.place.elements,
                              .element = element,
                              .ret_at = ret_at };
    int r = w->o.store->ops->append(w->o.store, &a);
    if (r < 0)
        return r;
    w->info.place.elements++;
    w->info.bytes += element.len;
    return 0;
}

static int finish_index(struct run_writer *w)
{
    struct done_index d = { w->index.len, w->names.last.len };
    buf_append(&w->done, &d, sizeof d);
    buf_str(&w->done, buf_view(&w->index));
    buf_str(&w->done, buf_view(&w->names.last));
    w->done_count++;
    w->index.len = 0;
    return w->done.failed || w->index.failed || w->names.last.failed ? no_memory(w) : 0;
}

/* Index blocks are smaller than data blocks: half of the names are decoded to find one. */
static int add_to_index(struct run_writer *w, uint64_t at)
{
    if (w->index.len == 0) {
        wire_put_u8(&w->index, BLOCK_INDEX);
        wire_put_varint(&w->index, w->data - 1);
        w->names.last.len = 0;
        w->names.at = 0;
    }
    block_put_name(&w->names, buf_view(&w->key), at);
    return w->index.len < w->o.block_bytes / 8 ? 0 : finish_index(w);
}

static int finish_block(struct run_writer *w)
{
    uint64_t at;
    if (w->in_block == 0)
        return 0;
    if (w->block.failed)
        return no_memory(w);
    int r = append(w, buf_view(&w->block), &at);
    if (r < 0)
        return r;
    w->data++;
    w->in_block = 0;
    buf_reset(&w->block, w->o.block_bytes * 2);
    return add_to_index(w, at);
}

static int refuse(struct run_writer *w, int err, const char *why)
{
    return store_fail(err, "%.*s: entry %llu: %s", STR_ARG(w->o.log),
                      (unsigned long long)w->info.entries, why);
}

static int check(struct run_writer *w, const struct run_entry *e)
{
    if (w->failed)
        return w->failed;
    if (e->key.len == 0 || e->key.len > RUN_KEY_MAX || (e->grave && e->value.len > 0))
        return refuse(w, BELFRY_INVALID, "no key, or a grave with a value");
    if (e->value.len > VALUE_MAX)
        return refuse(w, BELFRY_TOOLARGE, "its value is too large");
    if (w->info.entries > 0 && str_compare(e->key, buf_view(&w->key)) <= 0)
        return refuse(w, BELFRY_INVALID, "its key does not rise");
    return 0;
}

int run_writer_add(struct run_writer *w, const struct run_entry *e)
{
    int r = check(w, e);
    if (r < 0)
        return r;
    if (w->in_block > 0 && w->block.len + block_entry_max(e) > w->o.block_bytes) {
        r = finish_block(w);
        if (r < 0)
            return w->failed = r;
    }
    if (w->in_block == 0) {
        w->base = e->version;
        wire_put_u8(&w->block, BLOCK_DATA);
        wire_put_varint(&w->block, w->base);
        w->key.len = 0;
    }
    block_put_entry(&w->block, w->base, buf_view(&w->key), e);
    if (w->block.failed)
        return w->failed = no_memory(w);
    memcpy(w->key.ptr, e->key.ptr, e->key.len);
    w->key.len = e->key.len;
    w->in_block++;
    w->info.entries++;
    w->info.graves += e->grave;
    return 0;
}

void run_writer_filter(struct run_writer *w, uint64_t hash)
{
    if (w->filter.len > 0)
        filter_add(&w->filter, hash);
}

uint64_t run_writer_bytes(const struct run_writer *w)
{
    return w->info.bytes + w->block.len;
}

/* Writes the index blocks and names them in the root. */
static int write_index(struct run_writer *w, struct block_names *root)
{
    const char *p = w->done.ptr;
    for (uint64_t i = 0; i < w->done_count; i++) {
        struct done_index d;
        uint64_t at;
        memcpy(&d, p, sizeof d);
        p += sizeof d;
        int r = append(w, (struct str){ p, d.len }, &at);
        if (r < 0)
            return r;
        block_put_name(root, (struct str){ p + d.len, d.key_len }, at);
        p += d.len + d.key_len;
    }
    return 0;
}

/* Writes the filter in pieces and puts their positions behind the names in the root. */
static int write_filter(struct run_writer *w, struct buf *positions)
{
    struct buf piece = { 0 };
    uint64_t before = 0;
    int r = 0;
    for (size_t done = 0; r == 0 && done < w->filter.len;) {
        size_t n = w->filter.len - done < FILTER_PIECE ? w->filter.len - done : FILTER_PIECE;
        uint64_t at;
        piece.len = 0;
        wire_put_u8(&piece, BLOCK_FILTER);
        buf_append(&piece, w->filter.ptr + done, n);
        r = piece.failed ? no_memory(w) : append(w, buf_view(&piece), &at);
        if (r == 0) {
            wire_put_zigzag(positions, (int64_t)(at - before));
            before = at;
        }
        done += n;
    }
    buf_fini(&piece);
    return r;
}

static void put_root(struct run_writer *w, uint64_t filters, struct buf *ret)
{
    const uint64_t counts[] = { w->data,         w->done_count,  filters,      w->filter.len,
                                w->info.entries, w->info.graves, w->info.bytes };

    wire_put_u8(ret, BLOCK_ROOT);
    wire_put_u8(ret, BLOCK_FORMAT);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        wire_put_varint(ret, counts[i]);
}

static int write_root(struct run_writer *w)
{
    struct buf tail = { 0 }; /* names and positions */
    struct buf root = { 0 };
    struct block_names names = { .out = &tail };
    int r = write_index(w, &names);
    uint64_t index_end = w->info.place.elements;
    if (r == 0)
        r = write_filter(w, &tail);
    if (r == 0) {
        put_root(w, w->info.place.elements - index_end, &root);
        buf_str(&root, buf_view(&tail));
        if (root.failed || tail.failed || names.last.failed)
            r = no_memory(w);
        else
            r = append(w, buf_view(&root), &w->info.place.root_at);
    }
    buf_fini(&names.last);
    buf_fini(&tail);
    buf_fini(&root);
    return r;
}

int run_writer_end(struct run_writer *w, struct run_info *ret)
{
    int r = w->failed;
    if (r == 0 && w->info.entries == 0)
        r = refuse(w, BELFRY_INVALID, "there is none");
    if (r == 0)
        r = finish_block(w);
    if (r == 0 && w->index.len > 0)
        r = finish_index(w);
    if (r == 0)
        r = write_root(w);
    if (r == 0)
        r = w->o.store->ops->sync(w->o.store, w->o.log);
    if (r < 0)
        return w->failed = r;
    *ret = w->info;
    return 0;
}
