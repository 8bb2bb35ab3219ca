/* SPDX-License-Identifier: MIT */
/* Damaged runs: each damage is told or left out as asked, and nothing wrong is ever given. */
#include "support/runs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/element.h"
#include "support/fault.h"

/* A small run with several index blocks, and its file. */
struct victim {
    struct model m;
    struct run_info info;
    struct run *r;
    int fd;
    uint64_t size;
};

static struct victim make_victim(struct fixture *x, size_t entries, size_t block_bytes)
{
    struct victim v = { 0 };
    struct stat st;
    char path[512];
    fill_model(&v.m, entries, 7, 0);
    v.r = write_run(x->s, "r/a", &v.m, block_bytes, &v.info);
    snprintf(path, sizeof path, "%s/logs/r/a.log", x->dir);
    v.fd = open(path, O_RDWR);
    assert_true(v.fd >= 0);
    assert_int_equal(fstat(v.fd, &st), 0);
    v.size = (uint64_t)st.st_size;
    return v;
}

static void victim_fini(struct fixture *x, struct victim *v)
{
    drop_run(x->s, "r/a", v->r);
    model_fini(&v->m);
    close(v->fd);
}

static void flip(struct victim *v, uint64_t offset, unsigned char with)
{
    unsigned char byte;
    assert_int_equal(pread(v->fd, &byte, 1, (off_t)offset), 1);
    byte ^= with;
    assert_int_equal(pwrite(v->fd, &byte, 1, (off_t)offset), 1);
}

struct outcome {
    int open;
    int answer; /* of the cursor */
    uint64_t damaged;
    size_t given;
    size_t missing;
};

/* Reads everything that can be read. What is given must be in the model, in its order. */
static struct outcome read_victim(struct fixture *x, struct victim *v, bool skips_damage)
{
    struct outcome o = { 0 };
    struct run_cursor c = { .skips_damage = skips_damage };
    struct run *r = NULL;
    size_t at = 0;
    o.open = run_open(x->s, STR("r/a"), &v->info.place, &r);
    if (o.open < 0)
        return o;
    o.answer = run_seek(&c, r, STR(""));
    while (o.answer == 0 && !c.at_end) {
        while (at < v->m.n && !str_eq(v->m.entries[at].key, c.entry.key))
            at++, o.missing++;
        assert_true(at < v->m.n);
        expect_entry(&c.entry, &v->m.entries[at++]);
        o.given++;
        o.answer = run_next(&c);
    }
    if (o.answer == 0)
        o.missing += v->m.n - at;
    else
        assert_int_equal(run_next(&c), o.answer); /* and stays */
    o.damaged = c.damaged;
    if (c.damaged > 0) {
        assert_non_null(strstr(c.where, "a"));
        assert_non_null(strstr(c.where, "element"));
    }
    run_cursor_fini(&c);
    run_close(r);
    return o;
}

static void flipped_byte_is_told_or_does_not_matter(void **state)
{
    struct fixture *x = *state;
    struct victim v = make_victim(x, 80, 400);
    uint64_t told = 0;
    uint64_t skipped = 0;
    assert_true(v.info.place.elements > 10);
    for (uint64_t offset = LOG_START; offset < v.size; offset += 3) {
        flip(&v, offset, (unsigned char)(1 << offset % 8));
        struct outcome strict = read_victim(x, &v, false);
        struct outcome loose = read_victim(x, &v, true);
        assert_true(strict.open == 0 || strict.open == BELFRY_CORRUPT);
        assert_int_equal(loose.open, strict.open);
        if (strict.open == 0) {
            assert_true(strict.answer == 0 || strict.answer == BELFRY_CORRUPT);
            assert_int_equal(strict.answer == 0, loose.answer == 0 && loose.damaged == 0);
            assert_int_equal(loose.answer == 0 && loose.damaged > 0, loose.missing > 0);
            if (strict.answer == 0)
                assert_int_equal(strict.given, v.m.n);
        }
        told += strict.open < 0 || strict.answer < 0;
        skipped += loose.damaged;
        flip(&v, offset, (unsigned char)(1 << offset % 8));
    }
    /* All but the zeros at the very end. */
    assert_true(told * 3 + 3 >= v.size - LOG_START - ELEMENT_HEADER);
    assert_true(skipped > 0);
    assert_int_equal(read_victim(x, &v, false).given, v.m.n);
    victim_fini(x, &v);
}

/* Overwrites whole data blocks: a stretch of them, the first, the last. */
static void lost_blocks_are_left_out_and_counted(void **state)
{
    struct fixture *x = *state;
    for (int place = 0; place < 3; place++) {
        struct victim v = make_victim(x, 400, 300);
        static const char zeros[3000];
        uint64_t end = v.info.place.root_at / 2; /* within the data */
        uint64_t from = place == 0 ? LOG_START : place == 1 ? LOG_START + 5000 : end;
        assert_int_equal(pwrite(v.fd, zeros, sizeof zeros, (off_t)from), sizeof zeros);
        struct outcome o = read_victim(x, &v, true);
        assert_int_equal(o.answer, 0);
        assert_true(o.damaged >= 2 && o.damaged < 40);
        assert_true(o.missing >= 4 && o.missing < 100);
        assert_int_equal(o.given + o.missing, v.m.n);
        assert_int_equal(read_victim(x, &v, false).answer, BELFRY_CORRUPT);
        victim_fini(x, &v);
    }
}

static void damage_does_not_keep_seeks_from_what_is_whole(void **state)
{
    struct fixture *x = *state;
    struct victim v = make_victim(x, 400, 300);
    struct run_cursor c = { .skips_damage = true };
    struct buf hold = { 0 };
    struct run_entry e;
    size_t lost = 0;
    flip(&v, LOG_START + 4000, 0xff);
    for (size_t i = 0; i < v.m.n; i++) {
        int r = run_find(v.r, v.m.entries[i].key, &hold, &e);
        assert_true(r == 0 || r == BELFRY_CORRUPT);
        if (r == 0)
            expect_entry(&e, &v.m.entries[i]);
        lost += r < 0;
        assert_int_equal(run_seek(&c, v.r, v.m.entries[i].key), 0);
        if (!c.at_end) /* the next one that is whole */
            assert_true(str_compare(c.entry.key, v.m.entries[i].key) > 0);
    }
    assert_true(lost > 0 && lost < 20);
    assert_true(c.damaged > 0);
    run_cursor_fini(&c);
    buf_fini(&hold);
    victim_fini(x, &v);
}

static void merge_goes_on_without_damaged_blocks(void **state)
{
    struct fixture *x = *state;
    struct victim v = make_victim(x, 400, 300);
    struct model other = { 0 };
    struct run_merge merge;
    size_t n = 0;
    fill_model(&other, 300, 9, 0);
    struct run *runs[2] = { v.r, write_run(x->s, "r/b", &other, 300, NULL) };
    flip(&v, LOG_START + 4000, 0xff);
    assert_int_equal(run_merge_init(&merge, runs, 2, STR(""), true), 0);
    for (; merge.now; n++)
        assert_int_equal(run_merge_next(&merge), 0);
    assert_int_equal(merge.cursors[0].damaged, 1);
    assert_int_equal(merge.cursors[1].damaged, 0);
    assert_true(n > other.n + v.m.n / 2);
    run_merge_fini(&merge);
    int r = run_merge_init(&merge, runs, 2, STR(""), false);
    while (r == 0 && merge.now)
        r = run_merge_next(&merge);
    assert_int_equal(r, BELFRY_CORRUPT);
    run_merge_fini(&merge);
    model_fini(&other);
    drop_run(x->s, "r/b", runs[1]);
    victim_fini(x, &v);
}

/* A log's elements in memory, to be changed before they are written as another log. */
struct elements {
    struct buf items[64];
    size_t n;
};

static int keep_element(void *arg, uint64_t seq, struct str element)
{
    struct elements *e = arg;
    assert_true(seq < 64);
    buf_str(&e->items[seq], element);
    e->n++;
    return 0;
}

static struct run_place write_elements(struct store *s, const struct elements *e)
{
    struct run_place place = { 0 };
    s->ops->remove(s, STR("r/b"));
    for (size_t i = 0; i < e->n; i++) {
        struct store_append a = { .log = STR("r/b"),
                                  .fence = STR("owner"),
                                  .seq = i,
                                  .element = buf_view(&e->items[i]),
                                  .ret_at = &place.root_at };
        assert_int_equal(s->ops->append(s, &a), 0);
    }
    place.elements = e->n;
    return place;
}

/* Whatever is asked of it: an error or keys that rise. */
static int read_anything(struct store *s, const struct run_place *place)
{
    struct run_cursor c = { 0 };
    struct buf key = { 0 };
    struct run *r = NULL;
    int err = run_open(s, STR("r/b"), place, &r);
    if (err < 0) {
        assert_int_equal(err, BELFRY_CORRUPT);
        return err;
    }
    err = run_seek(&c, r, STR(""));
    while (err == 0 && !c.at_end) {
        assert_true(str_compare(c.entry.key, buf_view(&key)) > 0);
        key.len = 0;
        buf_str(&key, c.entry.key);
        err = run_next(&c);
    }
    if (err < 0)
        assert_int_equal(err, BELFRY_CORRUPT);
    run_filter_load(r, &key);
    run_cursor_fini(&c);
    buf_fini(&key);
    run_close(r);
    return err;
}

/* Bytes that are wrong although their checksum is right: our own bugs, or a newer format. */
static void elements_that_no_writer_writes_are_refused(void **state)
{
    struct fixture *x = *state;
    struct elements e = { 0 };
    struct model m = { 0 };
    unsigned refused = 0;
    unsigned tried = 0;
    fill_model(&m, 60, 8, 0);
    struct run *r = write_run(x->s, "r/a", &m, 700, NULL);
    assert_int_equal(x->s->ops->read(x->s, STR("r/a"), 0, 0, keep_element, &e, NULL), 0);
    struct run_place place = write_elements(x->s, &e);
    assert_int_equal(read_anything(x->s, &place), 0);
    for (size_t i = 0; i < e.n; i++) {
        for (size_t at = 0; at < e.items[i].len; at += 1 + at / 20) {
            for (int bit = 0; bit < 8; bit += 3, tried++) {
                e.items[i].ptr[at] = (char)(e.items[i].ptr[at] ^ (1 << bit));
                place = write_elements(x->s, &e);
                refused += read_anything(x->s, &place) < 0;
                e.items[i].ptr[at] = (char)(e.items[i].ptr[at] ^ (1 << bit));
            }
        }
        size_t len = e.items[i].len;
        for (; e.items[i].len > 1; e.items[i].len -= 1 + e.items[i].len / 9) {
            place = write_elements(x->s, &e);
            assert_int_equal(read_anything(x->s, &place) < 0, e.items[i].len < len);
        }
        e.items[i].len = len;
    }
    assert_true(refused > tried / 4); /* most of the others are in values */
    for (size_t i = 0; i < e.n; i++)
        buf_fini(&e.items[i]);
    drop_run(x->s, "r/a", r);
    model_fini(&m);
}

static void filter_that_is_damaged_is_told(void **state)
{
    struct fixture *x = *state;
    struct run_options o = {
        .store = x->s, .log = STR("r/a"), .fence = STR("owner"), .filter_items = 1000
    };
    struct run_entry e = { .key = STR("k") };
    struct victim v = { 0 };
    struct buf filter = { 0 };
    struct run_writer *w;
    char path[512];
    assert_int_equal(run_writer_new(&o, &w), 0);
    assert_int_equal(run_writer_add(w, &e), 0);
    assert_int_equal(run_writer_end(w, &v.info), 0);
    run_writer_free(w);
    assert_int_equal(run_open(x->s, o.log, &v.info.place, &v.r), 0);
    snprintf(path, sizeof path, "%s/logs/r/a.log", x->dir);
    v.fd = open(path, O_RDWR);
    flip(&v, v.info.place.root_at - 100, 1);
    assert_int_equal(run_filter_load(v.r, &filter), BELFRY_CORRUPT);
    flip(&v, v.info.place.root_at - 100, 1);
    assert_int_equal(run_filter_load(v.r, &filter), 0);
    buf_fini(&filter);
    victim_fini(x, &v);
}

/* Fails the read with this number, counted from 0. */
static int failing;

static enum fault_action fail_one(void *arg, enum fault_point point)
{
    (void)arg;
    if (point != FAULT_READ_FAIL)
        return FAULT_GO;
    return failing-- == 0 ? FAULT_FAIL : FAULT_GO;
}

/* Everything that reads: 0, or the first error. */
static int read_in_every_way(struct store *s, const struct model *m, const struct run_place *place)
{
    struct run_cursor c = { .skips_damage = true };
    struct run_merge merge = { 0 };
    struct buf hold = { 0 };
    struct run_entry e;
    struct run *r = NULL;
    int err = run_open(s, STR("r/a"), place, &r);
    if (err == 0)
        err = run_find(r, m->entries[m->n / 2].key, &hold, &e);
    if (err == 0)
        err = run_filter_load(r, &hold);
    if (err == 0) {
        err = run_seek(&c, r, STR(""));
        while (err == 0 && !c.at_end)
            err = run_next(&c);
        if (err < 0)
            assert_int_equal(run_next(&c), err); /* and does not go on behind what it missed */
    }
    assert_int_equal(c.damaged, 0); /* it may be there the next time */
    if (err == 0) {
        err = run_merge_init(&merge, &r, 1, STR(""), true);
        while (err == 0 && merge.now)
            err = run_merge_next(&merge);
    }
    run_merge_fini(&merge);
    run_cursor_fini(&c);
    buf_fini(&hold);
    run_close(r);
    return err;
}

static void read_that_fails_is_told_and_is_no_damage(void **state)
{
    struct fixture *x = *state;
    struct store *faulty = NULL;
    struct model m = { 0 };
    struct run_info info;
    int reads = 0;
    fill_model(&m, 100, 8, 0);
    run_close(write_run(x->s, "r/a", &m, 500, &info));
    assert_int_equal(fault_new(x->s, 1, fail_one, NULL, &faulty), 0);
    for (int err = BELFRY_IO; err < 0; reads++) {
        failing = reads;
        err = read_in_every_way(faulty, &m, &info.place);
        assert_true(err == 0 || err == BELFRY_IO);
    }
    assert_true(reads > 20);
    store_close(faulty);
    model_fini(&m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_file, teardown)
    const struct CMUnitTest tests[] = {
        TEST(flipped_byte_is_told_or_does_not_matter),
        TEST(lost_blocks_are_left_out_and_counted),
        TEST(damage_does_not_keep_seeks_from_what_is_whole),
        TEST(merge_goes_on_without_damaged_blocks),
        TEST(filter_that_is_damaged_is_told),
        cmocka_unit_test_setup_teardown(elements_that_no_writer_writes_are_refused, setup_memory,
                                        teardown),
        cmocka_unit_test_setup_teardown(read_that_fails_is_told_and_is_no_damage, setup_memory,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
