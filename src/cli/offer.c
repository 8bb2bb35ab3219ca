/* SPDX-License-Identifier: MIT */
#include "cli/offer.h"

#include "base/time.h"

#define LEASE_MIN_MS 1000
#define LEASE_MAX_MS 60000

static void read_metas(const struct resp_values *v, size_t at, struct task_job *ret)
{
    const struct resp_value *map = client_field(v, at, "meta");

    if (!map || map->type != RESP_MAP)
        return;
    for (size_t key = (size_t)(map - v->at) + 1; key < map->next && ret->meta_count < TASK_METAS;
         key = client_next_key(v, key))
        ret->metas[ret->meta_count++] =
            (struct task_meta){ v->at[key].text, v->at[v->at[key].next].text };
}

void offer_read(const struct resp_values *v, size_t at, struct task_job *ret)
{
    *ret = (struct task_job){ .payload = client_text(v, at, "payload") };
#define READ_TEXT(name, variable) ret->name = client_text(v, at, #name);
    TASK_TEXTS(READ_TEXT)
#undef READ_TEXT
#define READ_NUMBER(name, variable, otherwise) ret->name = client_int(v, at, #name, otherwise);
    TASK_NUMBERS(READ_NUMBER)
#undef READ_NUMBER
    read_metas(v, at, ret);
}

int64_t offer_lease_ms(const struct resp_values *v, size_t at)
{
    int64_t left = client_int(v, at, "until_ms", 0) - time_wall_ms();

    if (left < LEASE_MIN_MS || left > LEASE_MAX_MS)
        left = left < LEASE_MIN_MS ? LEASE_MIN_MS : LEASE_MAX_MS;
    return client_int(v, at, "lease_ms", left);
}
