/* SPDX-License-Identifier: MIT */
#include "power/platter.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW(items, count, cap)                                   \
    do {                                                          \
        if ((count) == (cap)) {                                   \
            (cap) = (cap) ? (cap)*2 : 8;                          \
            (items) = realloc((items), (cap) * sizeof(*(items))); \
            assert(items);                                        \
        }                                                         \
    } while (0)

/* ---- Entries ---- */

static struct entry *find_entry(const struct entries *e, const char *name)
{
    for (size_t i = 0; i < e->count; i++) {
        if (strcmp(e->items[i].name, name) == 0)
            return &e->items[i];
    }
    return NULL;
}

struct node *entries_find(const struct entries *e, const char *name)
{
    struct entry *found = find_entry(e, name);
    return found ? found->node : NULL;
}

/* Node NULL: the name goes. */
static void set_entry(struct entries *e, const char *name, struct node *node)
{
    struct entry *found = find_entry(e, name);
    if (!found && !node)
        return;
    if (!found) {
        GROW(e->items, e->count, e->cap);
        e->items[e->count++] = (struct entry){ strdup(name), node };
    } else if (node) {
        found->node = node;
    } else {
        free(found->name);
        *found = e->items[--e->count];
    }
}

static void free_entries(struct entries *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->items[i].name);
    free(e->items);
}

/* ---- Nodes ---- */

static struct node *new_node(struct platter *p, bool dir)
{
    struct node *n = calloc(1, sizeof(*n));
    assert(n);
    n->ino = p->next_ino++;
    n->dir = dir;
    n->next = p->nodes;
    p->nodes = n;
    return n;
}

static void free_patches(struct node *n)
{
    for (size_t i = 0; i < n->patch_count; i++)
        free(n->patches[i].bytes);
    n->patch_count = 0;
}

static void free_changes(struct node *n)
{
    for (size_t i = 0; i < n->change_count; i++)
        free(n->changes[i].name);
    n->change_count = 0;
}

static void free_node(struct node *n)
{
    free_patches(n);
    free_changes(n);
    free_entries(&n->names);
    free_entries(&n->kept_names);
    free(n->patches);
    free(n->changes);
    free(n->now);
    free(n->kept);
    free(n);
}

struct platter *platter_new(uint64_t seed)
{
    struct platter *p = calloc(1, sizeof(*p));
    assert(p);
    p->next_ino = 2;
    p->salt.state = seed;
    p->root = new_node(p, true);
    p->root->links = 1;
    return p;
}

void platter_free(struct platter *p)
{
    if (!p)
        return;
    for (struct node *n = p->nodes; n;) {
        struct node *next = n->next;
        free_node(n);
        n = next;
    }
    free(p);
}

static void reach(struct node *n)
{
    if (!n || n->reached)
        return;
    n->reached = true;
    for (size_t i = 0; i < n->names.count; i++)
        reach(n->names.items[i].node);
    for (size_t i = 0; i < n->kept_names.count; i++)
        reach(n->kept_names.items[i].node);
    for (size_t i = 0; i < n->change_count; i++)
        reach(n->changes[i].node);
}

void platter_sweep(struct platter *p)
{
    for (struct node *n = p->nodes; n; n = n->next)
        n->reached = false;
    reach(p->root);
    for (struct node **at = &p->nodes; *at;) {
        struct node *n = *at;
        if (n->reached || n->opened > 0) {
            at = &n->next;
        } else {
            *at = n->next;
            free_node(n);
        }
    }
}

/* ---- Names ---- */

/* The directory that a path's last part is in, and that part. */
static struct node *walk(struct platter *p, const char *path, char last[NAME_MAX + 1])
{
    struct node *at = p->root;
    size_t skip = strlen(PLATTER_ROOT);
    assert(strncmp(path, PLATTER_ROOT, skip) == 0);
    path += skip;
    last[0] = '\0';
    while (*path) {
        while (*path == '/')
            path++;
        size_t n = strcspn(path, "/");
        if (last[0]) {
            at = entries_find(&at->names, last);
            if (!at || !at->dir)
                return NULL;
        }
        assert(n > 0 && n <= NAME_MAX);
        memcpy(last, path, n);
        last[n] = '\0';
        path += n;
    }
    return at;
}

struct node *platter_find(struct platter *p, const char *path)
{
    char last[NAME_MAX + 1];
    struct node *dir = walk(p, path, last);
    return dir && last[0] ? entries_find(&dir->names, last) : dir;
}

static void change(struct platter *p, struct node *dir, const char *name, struct node *node)
{
    struct node *before = entries_find(&dir->names, name);
    if (before)
        before->links--;
    if (node)
        node->links++;
    set_entry(&dir->names, name, node);
    GROW(dir->changes, dir->change_count, dir->change_cap);
    dir->changes[dir->change_count++] = (struct change){ ++p->tick, strdup(name), node };
}

int platter_create(struct platter *p, const char *path, bool dir, struct node **ret)
{
    char last[NAME_MAX + 1];
    struct node *in = walk(p, path, last);
    if (!in)
        return -ENOENT;
    if (!last[0] || entries_find(&in->names, last))
        return -EEXIST;
    *ret = new_node(p, dir);
    change(p, in, last, *ret);
    return 0;
}

int platter_rename(struct platter *p, const char *from, const char *to)
{
    char old[NAME_MAX + 1];
    char new[NAME_MAX + 1];
    struct node *in = walk(p, from, old);
    struct node *out = walk(p, to, new);
    struct node *n = in ? entries_find(&in->names, old) : NULL;
    if (!n || !out)
        return -ENOENT;
    if (entries_find(&out->names, new) == n)
        return 0;
    change(p, out, new, n);
    change(p, in, old, NULL);
    return 0;
}

int platter_unlink(struct platter *p, const char *path)
{
    char last[NAME_MAX + 1];
    struct node *in = walk(p, path, last);
    if (!in || !entries_find(&in->names, last))
        return -ENOENT;
    change(p, in, last, NULL);
    return 0;
}

int platter_link(struct platter *p, const char *path, const char *second)
{
    char last[NAME_MAX + 1];
    struct node *n = platter_find(p, path);
    struct node *in = walk(p, second, last);
    if (!n || !in)
        return -ENOENT;
    if (entries_find(&in->names, last))
        return -EEXIST;
    change(p, in, last, n);
    return 0;
}

/* ---- Bytes ---- */

uint64_t platter_used(const struct platter *p)
{
    uint64_t used = 0;
    for (const struct node *n = p->nodes; n; n = n->next)
        used += n->links > 0 || n->opened > 0 ? n->size : 0;
    return used;
}

static void set_size(struct node *n, uint64_t size)
{
    if (size > n->room) {
        n->room = size + size / 4;
        n->now = realloc(n->now, n->room);
        assert(n->now);
    }
    if (size > n->size)
        memset(n->now + n->size, 0, size - n->size);
    n->size = size;
}

static void add_patch(struct platter *p, struct node *n, struct patch patch)
{
    patch.tick = ++p->tick;
    patch.size = n->size;
    GROW(n->patches, n->patch_count, n->patch_cap);
    n->patches[n->patch_count++] = patch;
}

long platter_write(struct platter *p, struct node *n, const void *bytes, size_t len,
                   uint64_t offset)
{
    uint64_t used = p->capacity ? platter_used(p) : 0;
    uint64_t room = p->capacity > used ? p->capacity - used : 0;
    if (p->capacity && offset + len > n->size && offset + len - n->size > room) {
        if (offset >= n->size + room)
            return -ENOSPC;
        len = (size_t)(n->size + room - offset);
    }
    if (offset + len > n->size)
        set_size(n, offset + len);
    memcpy(n->now + offset, bytes, len);
    struct patch patch = { .offset = offset, .len = len, .bytes = malloc(len) };
    assert(patch.bytes);
    memcpy(patch.bytes, bytes, len);
    add_patch(p, n, patch);
    return (long)len;
}

int platter_resize(struct platter *p, struct node *n, uint64_t size)
{
    if (p->capacity && size > n->size && size - n->size + platter_used(p) > p->capacity)
        return -ENOSPC;
    set_size(n, size);
    add_patch(p, n, (struct patch){ .offset = size });
    return 0;
}

static void keep_size(struct node *n, uint64_t size)
{
    n->kept = realloc(n->kept, size + 1);
    assert(n->kept);
    if (size > n->kept_size)
        memset(n->kept + n->kept_size, 0, size - n->kept_size);
    n->kept_size = size;
}

/* Only the patches: what an earlier sync has dropped is seen, and is not safe. */
static void keep_bytes(struct node *n)
{
    for (size_t i = 0; i < n->patch_count; i++) {
        const struct patch *w = &n->patches[i];
        if (!w->bytes || w->size > n->kept_size)
            keep_size(n, w->size);
        if (w->bytes)
            memcpy(n->kept + w->offset, w->bytes, w->len);
    }
    free_patches(n);
}

void platter_sync(struct node *n)
{
    if (!n->dir) {
        if (n->patch_count > 0)
            keep_bytes(n);
        return;
    }
    for (size_t i = 0; i < n->change_count; i++)
        set_entry(&n->kept_names, n->changes[i].name, n->changes[i].node);
    free_changes(n);
}

void platter_sync_badly(struct node *n, struct rng *r)
{
    if (n->dir) /* its changes are in the file system's journal, which is tried again */
        return;
    for (size_t i = 0; i < n->patch_count; i++) {
        const struct patch *w = &n->patches[i];
        if (!w->bytes || rng_chance(r, 50) || w->offset + w->len > n->kept_size)
            continue;
        memcpy(n->kept + w->offset, w->bytes, w->len);
    }
    keep_size(n, n->size); /* no data: the file system's journal has it */
    free_patches(n);
}

bool platter_names_open(const struct platter *p)
{
    for (const struct node *n = p->nodes; n; n = n->next) {
        if (n->change_count > 0)
            return true;
    }
    return false;
}
