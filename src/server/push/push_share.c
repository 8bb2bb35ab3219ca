/* SPDX-License-Identifier: MIT */
#include "server/push/push_share.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/list.h"

struct share {
    struct table_node node;
    uint64_t count; /* never 0 */
    uint64_t bytes;
    size_t len;
    char tenant[];
};

static uint64_t hash_of(const struct table_node *node)
{
    const struct share *x = container_of(node, struct share, node);

    return XXH3_64bits(x->tenant, x->len);
}

static bool share_matches(const struct table_node *node, const void *arg)
{
    const struct share *x = container_of(node, struct share, node);

    return str_eq((struct str){ x->tenant, x->len }, *(const struct str *)arg);
}

static struct share *find_share(const struct push_shares *s, struct str tenant)
{
    struct table_node *node =
        table_find(&s->table, XXH3_64bits(tenant.ptr, tenant.len), share_matches, &tenant);

    return node ? container_of(node, struct share, node) : NULL;
}

static bool is_full(const struct push_shares *s, const struct share *x)
{
    return x->count >= s->count_max || x->bytes >= s->bytes_max;
}

void push_shares_init(struct push_shares *s, uint64_t count, uint64_t bytes)
{
    table_init(&s->table, hash_of);
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
        x->len = tenant.len;
        memcpy(x->tenant, tenant.ptr, tenant.len);
        table_add(&s->table, &x->node);
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
        table_remove(&s->table, &x->node);
        free(x);
    }
    return was_full && !full;
}
