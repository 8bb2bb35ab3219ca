/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdlib.h>

/* Makes room for one more item of `size` bytes behind the first `count`. Answers the array, or NULL
 * if memory ran out; then the old one stays as it is. */
static inline void *array_grow(void *items, size_t count, size_t *cap, size_t size)
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
