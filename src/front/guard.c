/* SPDX-License-Identifier: MIT */
#include "front/guard.h"

#include <arpa/inet.h>
#include <stdio.h>

/* A hash of the address; 0: it is not watched. */
static uint64_t key_of(const struct guard *g, struct str address)
{
    struct in6_addr v6;
    char host[64];
    const char *end;
    size_t len;
    uint64_t key;

    if (address.len == 0)
        return 0;
    if (address.ptr[0] == '[') {
        end = memchr(address.ptr, ']', address.len);
        len = end ? (size_t)(end - address.ptr) - 1 : address.len - 1;
        snprintf(host, sizeof(host), "%.*s", (int)len, address.ptr + 1);
        if (inet_pton(AF_INET6, host, &v6) == 1) {
            /* An IPv4 address that is mapped into IPv6 counts as a whole. */
            key = hash_quick(g->key,
                             (struct str){ (const char *)&v6, IN6_IS_ADDR_V4MAPPED(&v6) ? 16 : 8 });
            return key ? key : 1;
        }
    }
    end = memrchr(address.ptr, ':', address.len);
    len = end ? (size_t)(end - address.ptr) : address.len;
    key = hash_quick(g->key, (struct str){ address.ptr, len });
    return key ? key : 1;
}

static struct guard_slot *set_of(struct guard *g, uint64_t key)
{
    return g->slots[key >> 32 & (GUARD_SETS - 1)];
}

static struct guard_slot *find(struct guard *g, uint64_t key, int64_t mono_ms)
{
    struct guard_slot *set = set_of(g, key);

    for (size_t i = 0; i < GUARD_WAYS; i++)
        if (set[i].key == key && mono_ms - set[i].since_ms < GUARD_MS)
            return &set[i];
    return NULL;
}

bool guard_admits(struct guard *g, struct str address, int64_t mono_ms)
{
    uint64_t key = key_of(g, address);
    const struct guard_slot *s = key ? find(g, key, mono_ms) : NULL;
    bool ok = !s || s->failures < GUARD_FAILURES;

    g->refused += !ok;
    return ok;
}

uint32_t guard_failed(struct guard *g, struct str address, int64_t mono_ms)
{
    uint64_t key = key_of(g, address);
    struct guard_slot *set, *s;

    g->failures++;
    if (!key)
        return 1;
    s = find(g, key, mono_ms);
    if (!s) { /* in its own old slot, an empty one, or that of the oldest failure */
        set = set_of(g, key);
        s = &set[0];
        for (size_t i = 0; i < GUARD_WAYS; i++) {
            if (set[i].key == key || set[i].key == 0) {
                s = &set[i];
                break;
            }
            if (set[i].since_ms < s->since_ms)
                s = &set[i];
        }
        *s = (struct guard_slot){ key, mono_ms, 0 };
    }
    return ++s->failures;
}
