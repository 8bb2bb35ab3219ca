/* SPDX-License-Identifier: MIT */
/*
 * A slab allocator for many objects of mixed sizes, without a header per object: the caller that
 * frees says the size. Not thread-safe; one pool per owner.
 *
 * Sizes are rounded up to classes: steps of 16 up to 512, then eight classes per doubling up to
 * 32 KiB. Larger objects come from malloc. A page of 64 KiB holds objects of one class; pages are
 * cut from chunks of 4 MiB, aligned to that size:
 *
 *     chunk  | headers of pages | page 1 | page 2 | ... | page 63 |
 *
 * So the address of an object gives the header of its page. A page without objects goes back to the
 * system, with two exceptions. Each class keeps one, so that an object that comes and goes costs no
 * system call. The pool keeps as many as pool_init was told, for the next class that needs a page.
 *
 * Under AddressSanitizer every object comes from malloc, so that a use after free is found.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

#include "base/list.h"

#define POOL_CLASSES    80
#define POOL_OBJECT_MAX (32u << 10)
#define POOL_PAGE       (64u << 10)

struct pool_page;

struct pool_class {
    struct list open;        /* pages with room */
    struct pool_page *empty; /* the one page that is kept without objects, or NULL */
    size_t pages;
};

struct pool {
    struct pool_class classes[POOL_CLASSES];
    struct list chunks_open; /* chunks with a free page */
    struct list chunks_full;
    struct list large; /* objects from malloc */
    size_t used_bytes; /* in objects, by their classes */
    size_t held_bytes; /* taken from the system for them */
    size_t keep_bytes; /* the most memory without objects that is not given back */
    size_t kept_bytes; /* memory without objects that was not given back */
};

/* A pool must not be moved once initialised. It keeps this much memory without objects. */
void pool_init(struct pool *p, size_t keep_bytes);
/* Frees every object there is. */
void pool_fini(struct pool *p);

/* Aligned to 16, not cleared; NULL if memory ran out. A size of 0 is taken as 1. */
void *pool_alloc(struct pool *p, size_t size);
/* `size` is the requested size, or any other size of its class. NULL is ignored. */
void pool_free(struct pool *p, void *ptr, size_t size);

/* How many bytes an object of this size really takes. */
size_t pool_size(size_t size);

#endif
