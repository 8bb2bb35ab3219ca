/* SPDX-License-Identifier: MIT */
/* Jobs that use everything: ten tenants, keys, ordering keys, priorities, tags and metadata.
 * Workers serve all tenants. */
#include "cli/driver.h"

#include <stdio.h>

#include "base/id.h"
#include "cli/scan.h"

static int prepare(struct target *t, struct client *c)
{
    int err = 0;

    driver_filler(&t->now, t->payload_bytes);
    for (int i = 0; i < FULL_TENANTS && err == 0; i++) {
        snprintf(t->tenant, sizeof(t->tenant), "t%d", i);
        err = driver_belfry_queue(t, c);
    }
    snprintf(t->tenant, sizeof(t->tenant), "*"); /* jobs of all tenants are taken and dropped */
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

const struct driver driver_belfry_full = {
    .name = "belfry-full",
    .belfry = true,
    .prepare = prepare,
    .greet = driver_belfry_greet,
    .scan = scan_reply,
    .put = put,
    .id_bytes = ID_TEXT,
    .note = driver_belfry_note,
    .drop = driver_belfry_drop,
    .take = driver_belfry_take,
    .finish = driver_belfry_finish,
};
