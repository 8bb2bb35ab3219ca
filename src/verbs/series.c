/* SPDX-License-Identifier: MIT */
/* SERIES. */
#include "engine/series.h"

#include "verbs/handlers.h"
#include "verbs/page.h"

/* clang-format off */
#define OF struct series_step
const struct shape_field series_fields[] = {
    SHOW_MOMENT("from_ms", from_ms), SHOW_MOMENT("to_ms", to_ms),
#define SHOW_COUNTED(name) SHOW_INT(#name, row.counts[SERIES_##name]),
    SERIES_COUNTS(SHOW_COUNTED)
#undef SHOW_COUNTED
    SHOW_INT("ready", row.ready), SHOW_INT("running", row.running),
    SHOW_DURATION("oldest_age_ms", oldest_ms, OR_NULL),
    SHOW_HIST("lateness", "ms", lateness), SHOW_BOOL("left_out", left_out), { 0 },
};
/* clang-format on */

const struct shape_field series_page_fields[] = {
    SHOW_PAGE("steps", "SeriesStep"),
    { 0 },
};

static int series_add(void *page, const struct series_step *s)
{
    return page_add(page, s);
}

/* The tenant that the figures are of. A queue without a tenant is one of the tenant `default`. */
static bool series_tenant(struct verb_call *c, struct str queue, struct str *ret)
{
    *ret = c->tenant;
    if (queue.len == 0 || !str_eq(c->tenant, STR(TENANT_ALL)))
        return true;
    if (arg_of(c, "tenant")->set) {
        verb_refuse(c, BELFRY_INVALID,
                    "tenant: expected one tenant with QUEUE, because figures of queues of one name "
                    "are not added");
        return false;
    }
    *ret = STR(TENANT_DEFAULT);
    return true;
}

void run_series(struct verb_call *c)
{
    struct series_filter f = { .to_ms = INT64_MAX, .limit = 1000 };
    struct page page = { .call = c, .fields = series_fields, .map = series_page_fields };
    const struct list_cursor *at = &page.next;
    char name[QUEUE_MAX_BYTES];
    struct str tenant;

    args_store(c, &f);
    if (!series_tenant(c, f.queue, &tenant))
        return;
    f.tenant = tenant;
    if (f.queue.len > 0)
        full_name(tenant, f.queue, name, &f.queue);
    int err = page_seek(&page);
    if (at->phase || at->stripes_log2 || at->key_len)
        err = BELFRY_INVALID;
    if (!err)
        err = engine_series(c->engine, &f, series_add, &page, &page.next);
    page_end(&page, err, "");
}
