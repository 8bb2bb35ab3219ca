/* SPDX-License-Identifier: MIT */
#include "server/push/push_share.h"

#include <stdlib.h>

#include "base/named.h"

struct share {
    struct named named; /* first: by its tenant */
    uint64_t count;     /* never 0 */
    uint64_t bytes;
    char tenant[];
};

static struct share *find_share(const struct push_shares *s, struct str tenant)
{
    return (struct share *)named_find(&s->table, tenant);
}

static bool is_full(const struct push_shares *s, const struct share *x)
{
    return x->count >= s->count_max || x->bytes >= s->bytes_max;
}

void push_shares_init(struct push_shares *s, uint64_t count, uint64_t bytes, struct hash_key key)
{
    named_init(&s->table, key);
    s->count_max = count - count / 2; /* of 1 that is 1 */
    s->bytes_max = bytes - bytes / 2;
}

void push_shares_fini(struct push_shares *s)
{
    table_fini(&s->table);
}

bool push_share_is_full(const struct push_shares *s, struct str tenant)
{
    const struct share *x = find_share(s, tenant);

    return x && is_full(s, x);
}

bool push_share_take(struct push_shares *s, struct str tenant, size_t bytes)
{
    struct share *x = find_share(s, tenant);

    if (!x) {
        x = calloc(1, sizeof(*x) + tenant.len);
        if (!x)
            return false;
        named_add(&s->table, &x->named, x->tenant, tenant);
    }
    x->count++;
    x->bytes += bytes;
    return true;
}

bool push_share_return(struct push_shares *s, struct str tenant, size_t bytes)
{
    struct share *x = find_share(s, tenant);
    bool was_full, full;

    if (!x)
        return false;
    was_full = is_full(s, x);
    x->bytes -= bytes;
    x->count--;
    full = x->count > 0 && is_full(s, x);
    if (x->count == 0) {
        table_remove(&s->table, &x->named.node);
        free(x);
    }
    return was_full && !full;
}
