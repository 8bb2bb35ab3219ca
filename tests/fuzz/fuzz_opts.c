/* SPDX-License-Identifier: MIT */
/* The options in front of a job's payload: whatever stands there, the job can be looked at, waited
 * for, run and ended, and the journal says the same as the engine. */
#include "base/wire.h"
#include "engine/engine.h"
#include "fuzz.h"
#include "record/record.h"
#include "support/verify.h"

#define START INT64_C(1794778020000)
#define STEPS 2000

static int look(void *arg, const struct job_view *v)
{
    (void)arg;
    CHECK(v->labels.tag_count <= TAGS_MAX && v->labels.meta_count <= METAS_MAX &&
          v->after_count <= AFTER_MAX);
    return 0;
}

/* Two jobs of these options: one waits, the other does not. */
static void put(struct buf *out, struct str bytes)
{
    struct buf opts = { 0 };

    wire_put_zigzag(&opts, 0);
    buf_str(&opts, bytes);
    record_head(out, 1, START);
    for (uint64_t seq = 1; seq <= 2; seq++)
        record_put_job(
            out, &(struct job_image){ .seq = seq,
                                      .born_ms = START,
                                      .priority = 3,
                                      .due_ms = START,
                                      .at_ms = seq == 1 ? START : INT64_C(253402300800000),
                                      .queue = seq == 1 ? STR("q") : STR("w"), /* each its key */
                                      .opts = buf_view(&opts),
                                      .payload = STR("payload") });
    buf_fini(&opts);
}

static void work(struct engine *e)
{
    for (int i = 0; i < STEPS && engine_task(e) > 0; i++)
        ;
    engine_verify(e);
}

static void use(struct engine *e)
{
    struct job_id id = { START, 0, 1 }, waiting = { START, 0, 2 };
    struct job_spec spec = { .queue = STR("q"),
                             .due_ms = -1,
                             .priority = 3,
                             .attempts = -1,
                             .lease_ms = -1,
                             .retain_ms = -1,
                             .after = &id,
                             .after_count = 1 };
    struct list_filter f = { .state = -1, .to_ms = INT64_MAX, .tag = STR("t"), .limit = 10 };
    struct list_cursor cursor = { 0 };
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = 1000 };
    struct schedule_result result;
    struct explanation x;
    struct job_view v;
    struct job *job;

    engine_explain(e, waiting, &x);
    engine_list(e, &f, look, NULL, &cursor);
    f.tag = (struct str){ 0 };
    engine_list(e, &f, look, NULL, &cursor);
    engine_schedule(e, &spec, &result);
    work(e);
    while (engine_lease(e, &r, &job) == 1) {
        engine_view(e, job, &v);
        look(NULL, &v);
        CHECK(engine_complete(e, v.id, v.token, STR("done"), -1) == 0);
        work(e);
    }
    engine_cancel(e, waiting);
    work(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct engine_options o = { .epoch = 1, .seed = 1 };
    struct engine *e = engine_new(&o), *again = engine_new(&o);
    struct buf commit = { 0 }, records = { 0 };
    char *copy = fuzz_copy((struct str){ (const char *)data, size });

    put(&commit, (struct str){ copy, size < 60000 ? size : 60000 });
    CHECK(engine_replay(e, buf_view(&commit), 1) == 0);
    engine_direct(e, &records, 1, false, 0);
    engine_start(e, START, 1000, false);
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
