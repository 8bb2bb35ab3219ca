/* SPDX-License-Identifier: MIT */
/* Arrays that grow by doubling. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* Makes room for one item more behind `count` items of `size` bytes each. Returns the array, which
 * may have moved, or NULL if memory ran out; then the array is as it was. */
static inline void *array_room(void *items, size_t count, size_t *cap, size_t size)
{
    size_t more = *cap ? 2 * *cap : 16;
    void *grown;

    if (count < *cap)
        return items;
    grown = realloc(items, more * size);
    if (grown)
        *cap = more;
    return grown;
}

#endif
