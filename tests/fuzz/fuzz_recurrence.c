/* SPDX-License-Identifier: MIT */
/* Recurrences as bytes: any are refused or read, and what was read is written as it was. An engine
 * that finds them in its journal does no harm to itself, whatever is asked of it. */
#include "base/wire.h"
#include "engine/engine.h"
#include "engine/recurrence.h"
#include "fuzz.h"
#include "record/record.h"
#include "recur/zonecache.h"
#include "support/verify.h"

#define START INT64_C(1794778020000)
#define STEPS 40

static struct zonecache zones;

/* Only one that needs no file. */
static int zone_of(void *arg, struct str name, const struct zone **ret, const char **ret_why)
{
    (void)arg;
    if (str_eq(name, STR("UTC")))
        return zonecache_get(&zones, "/nonexistent", name, ret, ret_why);
    *ret_why = "no such zone";
    return BELFRY_NOTFOUND;
}

static void check_bytes(struct str bytes)
{
    static struct recurrence r, again;
    struct buf a = { 0 }, b = { 0 };

    if (!recurrence_decode(bytes, 0, &r))
        return;
    recurrence_encode(&a, &r);
    CHECK(recurrence_decode(buf_view(&a), 0, &again));
    recurrence_encode(&b, &again);
    CHECK(str_eq(buf_view(&a), buf_view(&b)));
    ledger_skip(&again, START, START, 1, LEDGER_PAUSED);
    if (again.range_count == 0 || again.ranges[again.range_count - 1].n < QUEUED_MAX)
        ledger_enqueue(&again, START);
    CHECK(again.ledger_count <= LEDGER_MAX && again.range_count <= QUEUE_RANGES);
    b.len = 0;
    recurrence_encode(&b, &again);
    CHECK(recurrence_decode(buf_view(&b), 0, &again));
    buf_fini(&a);
    buf_fini(&b);
}

/* A commit that has a recurrence `r` of these bytes. */
static void put(struct buf *out, struct str bytes)
{
    struct buf opts = { 0 };

    wire_put_zigzag(&opts, 0);
    wire_put_u8(&opts, 1); /* its key */
    wire_put_bytes(&opts, STR("r"));
    record_head(out, 1, START);
    record_put_job(out, &(struct job_image){ .seq = 1,
                                             .born_ms = START,
                                             .priority = 1,
                                             .due_ms = START,
                                             .at_ms = START,
                                             .queue = hidden_rows[HIDDEN_RECURRENCE].name,
                                             .opts = buf_view(&opts),
                                             .payload = bytes });
    buf_fini(&opts);
}

static void use(struct engine *e)
{
    static struct recurrence_view v;
    struct str tenant = STR("default"), name = STR("r");
    struct job_id id;

    for (int i = 0; i < STEPS && engine_task(e) > 0; i++)
        ;
    CHECK(engine_recurrence_get(e, tenant, name, &v) == 0);
    engine_recurrence_run(e, tenant, name, &id);
    engine_recurrence_pause(e, tenant, name, true);
    engine_recurrence_pause(e, tenant, name, false);
    for (int i = 0; i < STEPS && engine_task(e) > 0; i++)
        ;
    engine_verify(e);
    CHECK(engine_recurrence_delete(e, tenant, name) == 0);
    engine_verify(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct engine_options o = { .epoch = 1, .seed = 1, .zone = zone_of };
    struct str bytes = { (const char *)data, size };
    char *copy = fuzz_copy(bytes);
    struct engine *e = engine_new(&o), *again = engine_new(&o);
    struct buf commit = { 0 }, records = { 0 };

    bytes.ptr = copy;
    check_bytes(bytes);
    put(&commit, bytes);
    CHECK(engine_replay(e, buf_view(&commit), 1) == 0);
    engine_direct(e, &records, 1, false, 0);
    engine_start(e, START + 3600000, 1000, false);
    use(e);
    CHECK(engine_replay(again, buf_view(&commit), 1) == 0);
    CHECK(engine_replay(again, buf_view(&records), 1) == 0);
    engine_free(e);
    engine_free(again);
    buf_fini(&commit);
    buf_fini(&records);
    free(copy);
    return 0;
}
