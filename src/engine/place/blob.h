/* SPDX-License-Identifier: MIT */
/* Texts in the memory of the engine's pool. */
#ifndef ENGINE_BLOB_H
#define ENGINE_BLOB_H

#include "base/pool.h"
#include "base/str.h"
#include "engine/place/job_data.h"

struct blob *blob_new(struct pool *p, struct str s); /* NULL if empty or out of memory */
void blob_free(struct pool *p, struct blob *b);
static inline struct str blob_str(const struct blob *b)
{
    return b ? (struct str){ b->bytes, b->len } : (struct str){ "", 0 };
}
/* Replaces *slot by a copy of s. False, with nothing changed, if out of memory. */
bool blob_set(struct pool *p, struct blob **slot, struct str s);

#endif
