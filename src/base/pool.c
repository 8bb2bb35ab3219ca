/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/warm.h"

#if defined(__SANITIZE_ADDRESS__)
#define POOL_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_PLAIN 1
#endif
#endif
#ifndef POOL_PLAIN
#define POOL_PLAIN 0
#endif

#define POOL_GROWING     4
#define POOL_WARM        ((size_t)16 << 20) /* one that holds less does not grow fast */
#define POOL_CHUNK       ((size_t)4 << 20)
#define POOL_CHUNK_PAGES (POOL_CHUNK / POOL_PAGE)
#define POOL_AHEAD       16u /* pages that are warmed in one go, when half as many are left */
#define POOL_SMALL       512u
#define POOL_SMALL_STEPS (POOL_SMALL / 16)

struct pool_object {
    struct pool_object *next;
};

struct pool_page {
    struct list link;         /* in its class's `open`, if not full */
    struct pool_object *free; /* objects given back */
    uint32_t used;            /* objects in use */
    uint32_t fresh;           /* objects never given out: memory not touched yet */
    uint32_t capacity;
    uint32_t size;
    char *base; /* kept rather than computed: bump allocation needs it */
    char pad[16];
};

struct pool_chunk {
    struct list link;
    uint64_t free;   /* bit i: page i is free; page 0 never is, it holds the headers */
    uint64_t kept;   /* bit i: it is free, but its memory was not given back */
    unsigned warmed; /* pages before this one: once each, not again when it was given back */
    char pad[28];
    struct pool_page pages[POOL_CHUNK_PAGES - 1];
};

_Static_assert(sizeof(struct pool_page) == 64, "a header is a cache line");
_Static_assert(sizeof(struct pool_chunk) == 4096, "headers fill one page of the system");

#define POOL_CHUNK_FREE (~UINT64_C(1))

/* Headers at one offset in every chunk would share few lines of the cache. So a header is in one of
 * 16 places within page 0. */
static struct pool_chunk *chunk_of(uintptr_t address)
{
    uintptr_t base = address & ~(POOL_CHUNK - 1);
    return (struct pool_chunk *)(base + (base / POOL_CHUNK % 16) * sizeof(struct pool_chunk));
}

static struct pool_page *page_of(void *ptr)
{
    uintptr_t address = (uintptr_t)ptr;
    return &chunk_of(address)->pages[address / POOL_PAGE % POOL_CHUNK_PAGES - 1];
}

static inline unsigned class_of(size_t size)
{
    if (size <= POOL_SMALL)
        return (unsigned)((size + (size == 0) + 15) / 16 - 1);
    unsigned long last = size - 1;
    unsigned exponent = 63 - (unsigned)__builtin_clzl(last); /* 9 .. 14 */
    return POOL_SMALL_STEPS + (exponent - 9) * 8 + (unsigned)(last >> (exponent - 3) & 7);
}

static inline uint32_t class_size(unsigned class)
{
    if (class < POOL_SMALL_STEPS)
        return (class + 1) * 16;
    unsigned doubling = (class - POOL_SMALL_STEPS) / 8;
    return (9 + (class - POOL_SMALL_STEPS) % 8) << (6 + doubling);
}

void pool_init(struct pool *p, size_t keep_bytes)
{
    *p = (struct pool){ .keep_bytes = keep_bytes };
    for (unsigned i = 0; i < POOL_CLASSES; i++)
        list_init(&p->classes[i].open);
    lists_init(&p->chunks_open, &p->chunks_full, &p->large);
}

static char *chunk_base(const struct pool_chunk *chunk)
{
    return (char *)((uintptr_t)chunk & ~(POOL_CHUNK - 1));
}

static void chunk_unmap(struct pool_chunk *chunk)
{
    munmap(chunk_base(chunk), POOL_CHUNK);
}

void pool_fini(struct pool *p)
{
    struct list *node, *after;
    if (!p || !p->large.next)
        return;
    list_each_safe (node, after, &p->large)
        free(node);
    list_splice(&p->chunks_open, &p->chunks_full);
    list_each_safe (node, after, &p->chunks_open)
        chunk_unmap(container_of(node, struct pool_chunk, link));
    memset(p, 0, sizeof *p);
}

static struct pool_chunk *chunk_map(struct pool *p)
{
    char *got = mmap(NULL, 2 * POOL_CHUNK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    /* Twice the size holds an aligned chunk somewhere; the rest goes back at once. */
    size_t before = (size_t)(-(uintptr_t)got & (POOL_CHUNK - 1));
    if (before > 0)
        munmap(got, before);
    munmap(got + before + POOL_CHUNK, POOL_CHUNK - before);
    struct pool_chunk *chunk = chunk_of((uintptr_t)(got + before));
    chunk->free = POOL_CHUNK_FREE;
    list_append(&p->chunks_open, &chunk->link);
    return chunk;
}

/* Page `at` of a chunk is about to be used: the next pages probably, too. */
static void warm_ahead(const struct pool *p, struct pool_chunk *chunk, unsigned at)
{
    if (p->held_bytes < POOL_WARM || at + POOL_AHEAD / 2 < chunk->warmed ||
        at + 1 >= POOL_CHUNK_PAGES || chunk->warmed >= POOL_CHUNK_PAGES)
        return;
    unsigned from = at < chunk->warmed ? chunk->warmed : at + 1;
    unsigned to = from + POOL_AHEAD < POOL_CHUNK_PAGES ? from + POOL_AHEAD : POOL_CHUNK_PAGES;
    warm(chunk_base(chunk) + (size_t)from * POOL_PAGE, (size_t)(to - from) * POOL_PAGE);
    chunk->warmed = to;
}

static struct pool_page *page_new(struct pool *p, unsigned class)
{
    struct pool_chunk *chunk = list_empty(&p->chunks_open)
                                   ? chunk_map(p)
                                   : container_of(p->chunks_open.next, struct pool_chunk, link);
    if (!chunk)
        return NULL;
    bool kept = chunk->kept != 0;
    unsigned at = (unsigned)__builtin_ctzll(kept ? chunk->kept : chunk->free);
    chunk->free &= ~(UINT64_C(1) << at);
    if (!chunk->free)
        list_move(&p->chunks_full, &chunk->link);
    struct pool_page *page = &chunk->pages[at - 1];
    uint32_t size = class_size(class);
    *page = (struct pool_page){
        .fresh = POOL_PAGE / size,
        .capacity = POOL_PAGE / size,
        .size = size,
        .base = chunk_base(chunk) + at * (size_t)POOL_PAGE,
    };
    /* A class that grows gets its pages in one go, not by sixteen faults. */
    if (p->classes[class].pages++ >= POOL_GROWING && !kept) {
        warm_ahead(p, chunk, at);
        warm_now(page->base, POOL_PAGE);
    }
    list_append(&p->classes[class].open, &page->link);
    p->classes[class].empty = page;
    if (kept) {
        chunk->kept &= ~(UINT64_C(1) << at);
        p->kept_bytes -= POOL_PAGE;
    } else {
        p->held_bytes += POOL_PAGE;
    }
    return page;
}

static void page_release(struct pool *p, struct pool_page *page)
{
    struct pool_chunk *chunk = chunk_of((uintptr_t)page->base);
    uint64_t bit = UINT64_C(1) << ((uintptr_t)page->base / POOL_PAGE % POOL_CHUNK_PAGES);
    bool keep = p->kept_bytes < p->keep_bytes;
    list_remove(&page->link);
    p->classes[class_of(page->size)].pages--;
    if (!chunk->free || keep) { /* one with pages that were kept is the first to be used */
        list_remove(&chunk->link);
        list_append(keep ? p->chunks_open.next : &p->chunks_open, &chunk->link);
    }
    chunk->free |= bit;
    if (keep) {
        chunk->kept |= bit;
        p->kept_bytes += POOL_PAGE;
        return;
    }
    p->held_bytes -= POOL_PAGE;
    if (!chunk->kept && chunk->free == POOL_CHUNK_FREE &&
        p->chunks_open.next != p->chunks_open.prev) {
        list_remove(&chunk->link);
        chunk_unmap(chunk);
    } else {
        madvise(page->base, POOL_PAGE, MADV_DONTNEED);
    }
}

static void *large_alloc(struct pool *p, size_t size)
{
    struct list *node =
        size <= PTRDIFF_MAX - sizeof(struct list) ? malloc(sizeof *node + size) : NULL;
    if (!node)
        return NULL;
    list_append(&p->large, node);
    p->used_bytes += pool_size(size);
    p->held_bytes += pool_size(size);
    return node + 1;
}

static void large_free(struct pool *p, void *ptr, size_t size)
{
    struct list *node = (struct list *)ptr - 1;
    list_remove(node);
    p->used_bytes -= pool_size(size);
    p->held_bytes -= pool_size(size);
    free(node);
}

/* The object that the next call gives was freed long ago, so it is in no cache. */
static inline void prefetch_object(const struct pool_page *page)
{
    const char *line = (const char *)page->free;

    if (line) {
        __builtin_prefetch(line, 1);
        __builtin_prefetch(line + 64, 1);
        __builtin_prefetch(line + 128, 1);
    }
}

void *pool_alloc(struct pool *p, size_t size)
{
    if (POOL_PLAIN || size > POOL_OBJECT_MAX)
        return large_alloc(p, size);
    unsigned class = class_of(size);
    struct pool_class *c = &p->classes[class];
    struct pool_page *page = list_empty(&c->open)
                                 ? page_new(p, class)
                                 : container_of(c->open.next, struct pool_page, link);
    if (!page)
        return NULL;
    void *object = page->free;
    if (object) {
        page->free = page->free->next;
        prefetch_object(page);
    } else {
        object = page->base + (size_t)(page->capacity - page->fresh--) * page->size;
    }
    if (page->used++ == 0)
        c->empty = NULL; /* only one page of a class may be empty, so it was this one */
    if (page->used == page->capacity)
        list_remove(&page->link);
    p->used_bytes += page->size;
    return object;
}

/* A page lost its last object: it is the one to keep, or the one too many. */
static void page_emptied(struct pool *p, struct pool_class *c, struct pool_page *page)
{
    if (c->empty) {
        page_release(p, page);
        return;
    }
    c->empty = page;
    /* Last in line, so that it stays empty while others have room. */
    list_move(&c->open, &page->link);
}

void pool_free(struct pool *p, void *ptr, size_t size)
{
    if (!ptr)
        return;
    if (POOL_PLAIN || size > POOL_OBJECT_MAX) {
        large_free(p, ptr, size);
        return;
    }
    struct pool_page *page = page_of(ptr);
    struct pool_class *c = &p->classes[class_of(size)];
    struct pool_object *object = ptr;
    assert(page->used > 0 && page->size == class_size(class_of(size)));
    if (page->used == page->capacity)
        list_append(&c->open, &page->link);
    object->next = page->free;
    page->free = object;
    p->used_bytes -= page->size;
    if (--page->used == 0)
        page_emptied(p, c, page);
}

size_t pool_size(size_t size)
{
    return size <= POOL_OBJECT_MAX ? class_size(class_of(size)) : size;
}
