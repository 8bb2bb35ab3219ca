/* SPDX-License-Identifier: MIT */
#include "engine/place/job.h"

struct blob *blob_new(struct pool *p, struct str s)
{
    if (s.len == 0)
        return NULL;
    struct blob *b = pool_alloc(p, sizeof(*b) + s.len);
    if (b) {
        b->len = (uint32_t)s.len;
        memcpy(b->bytes, s.ptr, s.len);
    }
    return b;
}

void blob_free(struct pool *p, struct blob *b)
{
    if (b)
        pool_free(p, b, sizeof(*b) + b->len);
}

bool blob_set(struct pool *p, struct blob **slot, struct str s)
{
    struct blob *b = blob_new(p, s);

    if (!b && s.len > 0)
        return false;
    blob_free(p, *slot);
    *slot = b;
    return true;
}
