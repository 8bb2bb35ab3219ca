/* SPDX-License-Identifier: MIT */
/* Any bytes as the elements of a run are refused or read without harm. Keys rise. If a cursor reads
 * a run to its end without an error, each of its entries is found by its key as well. */
#include "fuzz.h"
#include "run/run.h"
#include "store/memory.h"

/* An input is elements, each behind two bytes of its length; what is left at the end is the last.
 */
static uint64_t write_elements(struct store *s, const uint8_t *data, size_t size)
{
    uint64_t n = 0;
    while (size > 0) {
        size_t len = size > 2 ? data[0] + 256u * data[1] : 0;
        bool last = len == 0 || len > size - 2;
        struct str element = { (const char *)data + (last ? 0 : 2), last ? size : len };
        char *copy = fuzz_copy(element);
        struct store_append a = {
            .log = STR("run"), .fence = STR("o"), .seq = n++, .element = { copy, element.len }
        };
        CHECK(s->ops->append(s, &a) == 0);
        free(copy);
        size_t used = last ? size : len + 2;
        data += used;
        size -= used;
    }
    return n;
}

/* Reads it all; the entries' number if there was no error. */
static int read_through(struct run *r, bool skips_damage, struct buf *key)
{
    struct run_cursor c = { .skips_damage = skips_damage };
    int n = 0;
    int err = run_seek(&c, r, STR(""));
    while (err == 0 && !c.at_end) {
        CHECK(c.entry.key.len > 0 && c.entry.key.len <= RUN_KEY_MAX);
        CHECK(str_compare(c.entry.key, buf_view(key)) > 0);
        CHECK(!c.entry.grave || c.entry.value.len == 0);
        buf_reset(key, SIZE_MAX);
        buf_str(key, c.entry.key);
        n++;
        err = run_next(&c);
    }
    CHECK(err == 0 || err == BELFRY_CORRUPT);
    if (c.damaged > 0)
        err = BELFRY_CORRUPT;
    run_cursor_fini(&c);
    buf_reset(key, SIZE_MAX);
    return err < 0 ? err : n;
}

/* A run that is whole: gets and seeks agree with reading through it. */
static void look_up(struct run *r)
{
    struct run_cursor all = { 0 };
    struct run_cursor c = { 0 };
    struct buf hold = { 0 };
    struct run_entry e;
    CHECK(run_seek(&all, r, STR("")) == 0);
    while (!all.at_end) {
        CHECK(run_find(r, all.entry.key, &hold, &e) == 0);
        CHECK(str_eq(e.key, all.entry.key) && str_eq(e.value, all.entry.value));
        CHECK(run_seek(&c, r, all.entry.key) == 0);
        CHECK(run_next(&all) == 0);
        CHECK(c.at_end == all.at_end && (c.at_end || str_eq(c.entry.key, all.entry.key)));
    }
    run_cursor_fini(&all);
    run_cursor_fini(&c);
    buf_fini(&hold);
}

static void read_run(struct run *r)
{
    struct buf key = { 0 };
    if (read_through(r, false, &key) >= 0)
        look_up(r);
    read_through(r, true, &key);
    if (run_filter_load(r, &key) == 0)
        run_filter_has(buf_view(&key), UINT64_C(0x0123456789abcdef) * (key.len + 1));
    buf_fini(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *s = NULL;
    struct run *r;
    CHECK(store_open("memory:", NULL, &s) == 0);
    uint64_t n = write_elements(s, data, size);
    /* The memory store's position of an element is its number from 1. */
    struct run_place place = { n, n };
    if (n >= 3 && run_open(s, STR("run"), &place, &r) == 0) {
        read_run(r);
        run_close(r);
    }
    store_close(s);
    return 0;
}
