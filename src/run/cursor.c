/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "run/reader.h"

void run_cursor_fini(struct run_cursor *c)
{
    buf_fini(&c->data);
    buf_fini(&c->key);
    buf_fini(&c->before);
    buf_fini(&c->index);
    buf_fini(&c->index_key);
}

/* Where reading stopped in a block. */
static struct wire_reader reader_at(const struct buf *b, size_t offset)
{
    struct str rest = { 0 };
    if (offset < b->len)
        rest = (struct str){ b->ptr + offset, b->len - offset };
    return wire_reader_of(rest);
}

static size_t offset_of(const struct buf *b, const struct wire_reader *r)
{
    return (size_t)((const char *)r->p - b->ptr);
}

static int index_damaged(const struct run_cursor *c, uint64_t i, const char *what)
{
    return run_damaged(c->run, c->run->root.data + i, what);
}

/* Number `i` of the index blocks, from its beginning. */
static int enter_index(struct run_cursor *c, uint64_t i)
{
    const struct block_root *root = &c->run->root;
    int err = run_fetch(c->run, root->data + i, root->names[i].at, &c->index);
    if (err < 0)
        return err;
    struct wire_reader in = reader_at(&c->index, 0);
    bool right = block_is(&in, BLOCK_INDEX);
    c->block_next = wire_varint(&in);
    if (!right || in.bad)
        return index_damaged(c, i, "it is no index of a run");
    c->index_block = i;
    c->index_next = offset_of(&c->index, &in);
    c->index_key.len = 0;
    c->at = 0;
    return 0;
}

/* The name of the next data block: 1, 0 at the end of the index block, or an error. */
static int next_name(struct run_cursor *c)
{
    struct wire_reader in = reader_at(&c->index, c->index_next);
    if (in.p == in.end)
        return 0;
    if (!block_next_name(&in, &c->index_key, &c->at) || c->block_next >= c->run->root.data)
        return index_damaged(c, c->index_block, "a name in the index is damaged");
    c->index_next = offset_of(&c->index, &in);
    c->block = c->block_next++;
    return 1;
}

/* The next entry of this block: 1, 0 at its end, CORRUPT. */
static inline int next_entry(struct run_cursor *c)
{
    struct block_entries entries = { reader_at(&c->data, c->next), c->base };
    int r = block_next_entry(&entries, &c->key, &c->entry);
    if (r > 0)
        c->next = offset_of(&c->data, &entries.in);
    return r >= 0 ? r : run_damaged(c->run, c->block, "an entry is damaged");
}

/* Entries of a block rise (block.h); here: also from block to block. */
static int first_entry(struct run_cursor *c)
{
    int r = next_entry(c);
    if (r == 0)
        return run_damaged(c->run, c->block, "it has no entries");
    if (r > 0 && c->before.len > 0 && str_compare(c->entry.key, buf_view(&c->before)) <= 0)
        return run_damaged(c->run, c->block, "its first key is not behind the block before it");
    return r < 0 ? r : 0;
}

/* To the first entry of the data block that was named last. */
static int enter_block(struct run_cursor *c)
{
    struct block_entries entries;
    if (c->key.len > 0) {
        struct buf last = c->key;
        c->key = c->before;
        c->before = last;
        c->key.len = 0;
    }
    int r = run_fetch(c->run, c->block, c->at, &c->data);
    if (r < 0)
        return r;
    if (!block_entries_init(&entries, buf_view(&c->data)))
        return run_damaged(c->run, c->block, "it is no data of a run");
    c->base = entries.base;
    c->next = offset_of(&c->data, &entries.in);
    r = first_entry(c);
    if (r < 0)
        c->key.len = 0; /* not to be compared with */
    return r;
}

/* 0 if a block may be left out because of `err`. */
static int leave_out(struct run_cursor *c, int err)
{
    if (err != BELFRY_CORRUPT || !c->skips_damage)
        return err;
    const char *detail = store_detail();
    size_t len = strlen(detail);
    c->damaged++;
    /* The end of a long one says more than its beginning, which is a path. */
    size_t cut = len < sizeof c->where ? 0 : len + 1 - sizeof c->where;
    snprintf(c->where, sizeof c->where, "%s", detail + cut);
    return 0;
}

/* To the first index block behind this one, or to the end. */
static int next_index(struct run_cursor *c)
{
    const struct block_root *root = &c->run->root;
    uint64_t expected = c->block_next;
    if (!str_eq(buf_view(&c->index_key), block_root_key(root, c->index_block)))
        return index_damaged(c, c->index_block, "it does not end with the key that the root has");
    if (c->index_block + 1 == root->index) {
        c->at_end = expected == root->data;
        return c->at_end ? 0
                         : index_damaged(c, c->index_block, "the index ends before the data does");
    }
    int r = enter_index(c, c->index_block + 1);
    if (r == 0 && c->block_next != expected)
        r = index_damaged(c, c->index_block, "it does not go on where the index before it ends");
    return r;
}

/* To the first entry of the next data block that can be read, or to the end. */
static int next_block(struct run_cursor *c)
{
    for (;;) {
        int r = next_name(c);
        if (r == 0) {
            r = next_index(c);
            if (r < 0 || c->at_end)
                return r;
            continue;
        }
        if (r < 0) /* without its names nothing is known of the blocks behind */
            return r;
        r = enter_block(c);
        if (r == 0 || (r = leave_out(c, r)) < 0)
            return r;
    }
}

static int advance(struct run_cursor *c)
{
    int r = next_entry(c);
    if (r > 0)
        return 0;
    if (r == 0 && !str_eq(buf_view(&c->key), buf_view(&c->index_key)))
        r = run_damaged(c->run, c->block, "it does not end with the key that the index has");
    if (r < 0)
        r = leave_out(c, r);
    return r < 0 ? r : next_block(c);
}

int run_next(struct run_cursor *c)
{
    if (c->failed < 0 || c->at_end)
        return c->failed;
    return c->failed = advance(c);
}

/* Whether an entry with this key is before the wanted key. */
static bool is_before(struct str key, struct str wanted, bool or_equal)
{
    int order = str_compare(key, wanted);
    return order < 0 || (order == 0 && !or_equal);
}

/* The first index block whose last key is not before. */
static uint64_t find_index(const struct block_root *root, struct str key, bool or_equal)
{
    uint64_t lo = 0;
    uint64_t hi = root->index;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (is_before(block_root_key(root, mid), key, or_equal))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* To the data block that has the wanted key if any has. */
static int find_block(struct run_cursor *c, struct str key, bool or_equal)
{
    uint64_t i = find_index(&c->run->root, key, or_equal);
    if (i == c->run->root.index) {
        c->at_end = true;
        return 0;
    }
    int r = enter_index(c, i);
    if (r < 0)
        return r;
    do {
        r = next_name(c);
        if (r == 0)
            r = index_damaged(c, i, "it is not the index that the root has");
        if (r < 0)
            return r;
    } while (is_before(buf_view(&c->index_key), key, or_equal));
    r = enter_block(c);
    if (r == 0 || (r = leave_out(c, r)) < 0)
        return r;
    return next_block(c);
}

static int seek(struct run_cursor *c, struct str key, bool or_equal)
{
    if (!buf_reserve(&c->key, RUN_KEY_MAX) || !buf_reserve(&c->before, RUN_KEY_MAX) ||
        !buf_reserve(&c->index_key, RUN_KEY_MAX))
        return store_fail(BELFRY_NOMEM, "no memory to read a run");
    int r = find_block(c, key, or_equal);
    while (r == 0 && !c->at_end && is_before(c->entry.key, key, or_equal))
        r = advance(c);
    return r;
}

int run_seek_to(struct run_cursor *c, struct run *r, struct str key, bool or_equal)
{
    c->run = r;
    c->at_end = false;
    c->entry = (struct run_entry){ 0 };
    c->data.len = c->key.len = c->before.len = c->index.len = c->index_key.len = 0;
    return c->failed = seek(c, key, or_equal);
}

int run_seek(struct run_cursor *c, struct run *r, struct str after)
{
    return run_seek_to(c, r, after, false);
}
