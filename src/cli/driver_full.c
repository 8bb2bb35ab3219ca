/* SPDX-License-Identifier: MIT */
/* Belfry with everything in use: jobs of ten tenants with a key, an ordering key, a priority, a tag
 * and metadata, taken by workers who serve all tenants. */
#include "cli/driver.h"

#include <stdio.h>

#include "base/id.h"
#include "cli/scan.h"

/* Nothing is kept of jobs that have ended. */
static int prepare(struct target *t, struct client *c)
{
    int err = 0;

    driver_filler(&t->now, t->payload_bytes);
    for (int i = 0; i < FULL_TENANTS && err == 0; i++) {
        char tenant[16];
        struct str words[] = { STR("QUEUE"), str_of(t->queue), STR("RETAIN"),
                               STR("0"),     STR("TENANT"),    str_of(tenant) };
        const struct resp_values *v;

        snprintf(tenant, sizeof(tenant), "t%d", i);
        words[5] = str_of(tenant);
        err = driver_ask(c, words, 6, &v);
    }
    return err;
}

static void put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    resp_array(out, due ? 16 : 18);
    resp_bulk(out, STR("SCHEDULE"));
    resp_bulk(out, str_of(t->queue));
    driver_payload(t, out, n);
    resp_bulk(out, STR("TENANT"));
    driver_word(out, "t", n % FULL_TENANTS);
    resp_bulk(out, STR("PRIORITY"));
    driver_word(out, "", 1 + n / FULL_TENANTS % 5);
    resp_bulk(out, STR("KEY"));
    driver_word(out, "key-", n);
    resp_bulk(out, STR("ORDER"));
    driver_word(out, "lane-", n / FULL_TENANTS % FULL_LANES);
    resp_bulk(out, STR("TAG"));
    resp_bulk(out, STR("bench"));
    resp_bulk(out, STR("META"));
    resp_bulk(out, STR("source"));
    resp_bulk(out, STR("belfry-bench"));
    if (!due) {
        resp_bulk(out, STR("AT"));
        driver_word(out, "", (uint64_t)driver_due_ms(t, n));
    }
}

static void drop(const struct target *t, struct buf *out, const char *id)
{
    (void)t;
    client_put(out, CLIENT_WORDS(STR("CANCEL"), { id, ID_TEXT }, STR("TENANT"), STR("*")));
}

static unsigned take(const struct target *t, struct buf *out, unsigned count)
{
    resp_array(out, 8);
    resp_bulk(out, STR("LEASE"));
    resp_bulk(out, str_of(t->queue));
    resp_bulk(out, STR("COUNT"));
    driver_word(out, "", count);
    resp_bulk(out, STR("WAIT"));
    resp_bulk(out, STR("1s"));
    resp_bulk(out, STR("TENANT"));
    resp_bulk(out, STR("*"));
    return 1;
}

const struct driver driver_belfry_full = {
    .name = "belfry-full",
    .belfry = true,
    .prepare = prepare,
    .greet = driver_belfry_greet,
    .scan = scan_reply,
    .put = put,
    .id_bytes = ID_TEXT,
    .note = driver_belfry_note,
    .drop = drop,
    .take = take,
    .finish = driver_belfry_finish,
};
