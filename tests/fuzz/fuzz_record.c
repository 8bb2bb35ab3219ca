/* SPDX-License-Identifier: MIT */
/* Records: any bytes as a commit are refused or applied without harm; what was applied survives
 * being written again and replayed. */
#include "engine/engine.h"
#include "fuzz.h"
#include "record/record.h"
#include "support/verify.h"

static struct engine *make(void)
{
    return engine_new(&(struct engine_options){ .epoch = 1, .seed = 1 });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t head[] = { COMMIT_VERSION, 1, 0 };
    struct engine *e = make(), *again = make();
    struct buf commit = { 0 }, copies = { 0 };

    /* Mostly past the head, which has little in it. */
    if (size && data[0] != COMMIT_VERSION)
        buf_append(&commit, head, sizeof(head));
    buf_append(&commit, data, size);
    if (engine_replay(e, buf_view(&commit), 1) == 0) {
        engine_direct(e, &copies, 2, true, 1);
        engine_start(e, 1000000, 1000, false);
        engine_verify(e);
        engine_copy_forward(e, buf_view(&commit), 1);
        CHECK(engine_replay(again, buf_view(&copies), 2) == 0);
    }
    engine_free(e);
    engine_free(again);
    buf_fini(&commit);
    buf_fini(&copies);
    return 0;
}
