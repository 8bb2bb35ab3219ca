/* SPDX-License-Identifier: MIT */
/* The store contract (src/store/store.h), the same suite for every kind of store. */
#include "support/contract.h"

#include <pthread.h>
#include <sys/stat.h>

static void elements_are_read_back_in_order(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    assert_int_equal(append(s, "p0/log", 0, "zero"), 0);
    assert_int_equal(append(s, "p0/log", 1, "one"), 0);
    assert_int_equal(append(s, "p0/log", 2, "two"), 0);
    expect_read(s, "p0/log", 0, "0=zero;1=one;2=two;", 3);
    expect_read(s, "p0/log", 2, "2=two;", 3);
    expect_read(s, "p0/log", 3, "", 3);
    expect_read(s, "p0/log", 100, "", 3);
    assert_int_equal(append(s, "p0/log", 3, "three"), 0);
    expect_read(s, "p0/log", 2, "2=two;3=three;", 4);
}

static void reading_stops_when_the_callback_says_so(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct text t = { .stop_after = 1 };
    struct store_tail tail = { .elements = 99 };
    append(s, "log", 0, "a");
    append(s, "log", 1, "b");
    append(s, "log", 2, "c");
    assert_int_equal(s->ops->read(s, STR("log"), 0, 0, add_element, &t, &tail), STOPPED);
    assert_string_equal(t.text, "0=a;1=b;");
    assert_int_equal(tail.elements, 99);
    expect_read(s, "log", 1, "1=b;2=c;", 3);
    expect_read(s, "log", 2, "2=c;", 3);
}

static void log_that_is_not_there_is_not_found(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct text t = { .stop_after = -1 };
    assert_int_equal(s->ops->read(s, STR("no"), 0, 0, add_element, &t, NULL), BELFRY_NOTFOUND);
    assert_int_equal(s->ops->sync(s, STR("no")), BELFRY_NOTFOUND);
    assert_int_equal(s->ops->remove(s, STR("no")), 0);
    assert_int_equal(s->ops->remove(s, STR("no/such/dir")), 0);
    expect_list(s, "", "");
}

static void append_at_the_wrong_number_conflicts_and_writes_nothing(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    assert_int_equal(append(s, "log", 1, "x"), BELFRY_CONFLICT);
    expect_list(s, "", "");
    assert_int_equal(append(s, "log", 0, "a"), 0);
    assert_int_equal(append(s, "log", 0, "x"), BELFRY_CONFLICT);
    assert_int_equal(append(s, "log", 2, "x"), BELFRY_CONFLICT);
    assert_string_not_equal(store_detail(), "");
    expect_read(s, "log", 0, "0=a;", 1);
    assert_int_equal(append(s, "log", 1, "b"), 0);
}

static void bad_names_and_sizes_are_invalid(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    static const char *const bad[] = { "",  ".",    "..",  "a/../b", "/a",  "a/",
                                       "A", "a//b", "a_b", "a/./b",  "a b", "a+b" };
    char longest[202];
    memset(longest, 'x', sizeof longest);
    longest[201] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(append(s, bad[i], 0, "x"), BELFRY_INVALID);
        assert_int_equal(put(s, bad[i], 0, 1, "x", 0), BELFRY_INVALID);
    }
    assert_int_equal(append(s, longest, 0, "x"), BELFRY_INVALID);
    assert_int_equal(put(s, longest, 0, 1, "x", 0), BELFRY_INVALID);
    longest[200] = '\0';
    assert_int_equal(append(s, longest, 0, "x"), 0);
    assert_int_equal(put(s, longest, 0, 1, "x", 0), 0);
    assert_int_equal(append(s, "empty", 0, ""), BELFRY_INVALID);
    assert_int_equal(put(s, "r", 0, 0, "x", 0), BELFRY_INVALID);
    assert_int_equal(put(s, "r", 2, 1, "x", 0), BELFRY_INVALID);
}

static void names_that_contain_each_other_are_different_logs(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    static const char *const names[] = { "a", "a/b", "a.log/b", "a.log", "a/b.log/c", "a-b" };
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(append(s, names[i], 0, names[i]), 0);
    expect_list(s, "", "a;a-b;a.log;a.log/b;a/b;a/b.log/c;");
    expect_list(s, "a.log", "a.log;a.log/b;");
    expect_list(s, "a.log/", "a.log/b;");
    expect_read(s, "a.log/b", 0, "0=a.log/b;", 1);
    expect_read(s, "a", 0, "0=a;", 1);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(put(s, names[i], 0, i + 1, names[i], 0), 0);
    expect_scan(s, "a/", "a/b@2=a/b;a/b.log/c@5=a/b.log/c;");
}

static void logs_are_listed_sorted_and_by_prefix(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    static const char *const names[] = { "p1/j/10", "p1/j/2", "p0/j/1", "p10/j/1", "p1/r/x", "z" };
    struct text t = { .stop_after = 1 };
    for (size_t i = 0; i < 6; i++)
        append(s, names[i], 0, "x");
    expect_list(s, "", "p0/j/1;p1/j/10;p1/j/2;p1/r/x;p10/j/1;z;");
    expect_list(s, "p1", "p1/j/10;p1/j/2;p1/r/x;p10/j/1;");
    expect_list(s, "p1/", "p1/j/10;p1/j/2;p1/r/x;");
    expect_list(s, "p1/j/1", "p1/j/10;");
    expect_list(s, "p1/j/10", "p1/j/10;");
    expect_list(s, "p2/", "");
    expect_list(s, "../", "");
    assert_int_equal(s->ops->list(s, STR(""), add_name, &t), STOPPED);
    assert_string_equal(t.text, "p0/j/1;p1/j/10;");
}

static void removed_log_is_gone_and_can_be_made_again(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct text t = { .stop_after = -1 };
    for (int round = 0; round < 10; round++) {
        assert_int_equal(append(s, "log", 0, "first"), 0);
        assert_int_equal(append(s, "log", 1, "second"), 0);
        expect_read(s, "log", 0, "0=first;1=second;", 2);
        assert_int_equal(s->ops->remove(s, STR("log")), 0);
        assert_int_equal(s->ops->read(s, STR("log"), 0, 0, add_element, &t, NULL), BELFRY_NOTFOUND);
        expect_list(s, "", "");
        assert_int_equal(append(s, "log", 2, "x"), BELFRY_CONFLICT);
        assert_int_equal(append(s, "log", 0, "fresh"), 0);
        expect_read(s, "log", 0, "0=fresh;", 1);
        assert_int_equal(s->ops->remove(s, STR("log")), 0);
    }
}

static int remove_named(void *arg, struct str name)
{
    struct store *s = arg;
    return s->ops->remove(s, name);
}

static void callback_of_list_may_remove(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    append(s, "a/1", 0, "x");
    append(s, "a/2", 0, "x");
    append(s, "b", 0, "x");
    assert_int_equal(s->ops->list(s, STR("a/"), remove_named, s), 0);
    expect_list(s, "", "b;");
}

static void sync_makes_loose_appends_stay(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_append a = { .log = STR("run"), .fence = STR("o"), .element = STR("block") };
    for (a.seq = 0; a.seq < 3; a.seq++)
        assert_int_equal(s->ops->append(s, &a), 0);
    assert_int_equal(s->ops->sync(s, STR("run")), 0);
    assert_int_equal(s->ops->sync(s, STR("run")), 0);
    a.durable = true;
    assert_int_equal(s->ops->append(s, &a), 0);
    expect_read(s, "run", 0, "0=block;1=block;2=block;3=block;", 4);
}

struct sizes {
    const char *bytes;
    const size_t *sizes;
    size_t count;
};

static int check_size(void *arg, uint64_t seq, struct str element)
{
    struct sizes *x = arg;
    assert_int_equal(element.len, x->sizes[seq]);
    assert_memory_equal(element.ptr, x->bytes, element.len);
    x->count++;
    return 0;
}

static void elements_of_any_size_up_to_the_largest(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    static const size_t sizes[] = { 1, 7,     8, 9, 4079, 4080, 65536, 1u << 20, STORE_ELEMENT_MAX,
                                    5, 300000 };
    char *bytes = malloc(STORE_ELEMENT_MAX + 1);
    for (size_t i = 0; i <= STORE_ELEMENT_MAX; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    struct sizes x = { bytes, sizes, 0 };
    struct store_append a = { .log = STR("big"), .fence = STR("o"), .durable = true };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        a.seq = i;
        a.element = (struct str){ bytes, sizes[i] };
        assert_int_equal(s->ops->append(s, &a), 0);
    }
    a.seq++;
    a.element.len = STORE_ELEMENT_MAX + 1;
    assert_int_equal(s->ops->append(s, &a), BELFRY_INVALID);
    assert_int_equal(s->ops->read(s, STR("big"), 0, 0, check_size, &x, NULL), 0);
    assert_int_equal(x.count, 11);
    assert_int_equal(s->ops->read(s, STR("big"), 9, 0, check_size, &x, NULL), 0);
    assert_int_equal(x.count, 13);
    free(bytes);
}

static void many_logs_are_used_in_turn(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_append a = { .fence = STR("o"), .element = STR("x") };
    char name[32];
    for (a.seq = 0; a.seq < 3; a.seq++) {
        for (int i = 0; i < 300; i++) { /* more than a store would keep open */
            snprintf(name, sizeof name, "d%d/log%d", i % 7, i);
            a.log = str_of(name);
            a.durable = i % 3 == 0;
            assert_int_equal(s->ops->append(s, &a), 0);
        }
    }
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "d%d/log%d", i % 7, i);
        expect_read(s, name, 1, "1=x;2=x;", 3);
        assert_int_equal(s->ops->remove(s, str_of(name)), 0);
    }
    expect_list(s, "", "");
}

static int check_number(void *arg, uint64_t seq, struct str element)
{
    uint64_t *next = arg;
    uint64_t number;
    assert_int_equal(seq, *next);
    memcpy(&number, element.ptr, sizeof number);
    assert_int_equal(number, seq);
    ++*next;
    return 0;
}

static void long_log_can_be_read_from_any_place(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    enum { COUNT = 3000 };
    char body[1000] = { 0 };
    struct store_append a = { .log = STR("log"),
                              .fence = STR("o"),
                              .element = { body, sizeof body } };
    for (a.seq = 0; a.seq < COUNT; a.seq++) {
        memcpy(body, &a.seq, sizeof a.seq);
        assert_int_equal(s->ops->append(s, &a), 0);
    }
    for (uint64_t from = 0; from < COUNT; from = from * 2 + 1) {
        uint64_t next = from;
        assert_int_equal(s->ops->read(s, a.log, from, 0, check_number, &next, NULL), 0);
        assert_int_equal(next, COUNT);
        next = COUNT - from;
        assert_int_equal(s->ops->read(s, a.log, next, 0, check_number, &next, NULL), 0);
        assert_int_equal(next, COUNT);
    }
}

struct worker {
    struct store *s;
    int number;
};

/* cmocka's asserts are for the main thread only. */
static void *work(void *arg)
{
    struct worker *w = arg;
    char name[32];
    int failures = 0;
    snprintf(name, sizeof name, "w%d/log", w->number);
    for (uint64_t i = 0; i < 100; i++) {
        struct text t = { .stop_after = -1 };
        failures += append(w->s, name, i % 10, "x") != 0;
        failures += put(w->s, name, i, i + 1, "v", 0) != 0;
        failures += w->s->ops->read(w->s, str_of(name), i % 10, 0, add_element, &t, NULL) != 0;
        failures += w->s->ops->list(w->s, STR("w"), add_name, &t) != 0;
        if (i % 10 == 9)
            failures += w->s->ops->remove(w->s, str_of(name)) != 0;
    }
    w->number = failures;
    return NULL;
}

static void different_logs_and_records_are_used_by_threads_at_once(void **state)
{
    struct worker workers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){ ((struct fixture *)*state)->s, i };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].number, 0);
    }
}

/* Leaves a half-written element, as a crash would, and opens the store again. */
static void tear(struct fixture *x)
{
    char path[400];
    struct stat st;
    if (x->kind != FILES) {
        assert_int_equal(memory_tear(x->inner ? x->inner : x->s, STR("log"), 5), 0);
        return;
    }
    store_close(x->s);
    snprintf(path, sizeof path, "%s/logs/log.log", x->dir);
    assert_int_equal(stat(path, &st), 0);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    /* Behind three elements of one byte, which begin at 4160 and have 24 bytes each. */
    fseek(f, 4160 + 3 * 24, SEEK_SET);
    fputs("half of an element", f);
    fclose(f);
    open_store(x);
}

static void torn_tail_is_reported_and_cut_by_sync(void **state)
{
    struct fixture *x = *state;
    struct text t = { .stop_after = -1 };
    struct store_tail tail;
    append(x->s, "log", 0, "a");
    append(x->s, "log", 1, "b");
    append(x->s, "log", 2, "c");
    tear(x);
    assert_int_equal(x->s->ops->read(x->s, STR("log"), 0, 0, add_element, &t, &tail), 0);
    assert_string_equal(t.text, "0=a;1=b;2=c;");
    assert_int_equal(tail.elements, 3);
    assert_true(tail.torn_bytes > 0);
    assert_non_null(strstr(tail.where, "log"));
    assert_int_equal(append(x->s, "log", 3, "d"), BELFRY_IO);
    assert_int_equal(x->s->ops->sync(x->s, STR("log")), 0);
    expect_read(x->s, "log", 0, "0=a;1=b;2=c;", 3);
    assert_int_equal(append(x->s, "log", 3, "d"), 0);
    expect_read(x->s, "log", 2, "2=c;3=d;", 4);
}

static void everything_is_there_after_reopening(void **state)
{
    struct fixture *x = *state;
    if (x->kind != FILES)
        skip();
    put(x->s, "owner", 0, 4, "me", 0);
    put(x->s, "p/owner", 0, 2, "p", x->s->ops->now_ms(x->s) + 100000);
    struct store_append a = {
        .log = STR("p/log"), .fence = STR("owner"), .epoch = 4, .element = STR("e"), .durable = true
    };
    for (a.seq = 0; a.seq < 4; a.seq++) {
        a.durable = a.seq % 2 == 0;
        assert_int_equal(x->s->ops->append(x->s, &a), 0);
    }
    store_close(x->s);
    open_store(x);
    expect_scan(x->s, "", "owner@4=me;p/owner@2=p;");
    expect_list(x->s, "", "p/log;");
    a.epoch = 3;
    assert_int_equal(x->s->ops->append(x->s, &a), BELFRY_FENCED);
    a.epoch = 4;
    assert_int_equal(x->s->ops->append(x->s, &a), 0); /* without a read or sync before */
    expect_read(x->s, "p/log", 0, "0=e;1=e;2=e;3=e;4=e;", 5);
    assert_int_equal(x->s->ops->remove(x->s, a.log), 0);
    store_close(x->s);
    open_store(x);
    expect_list(x->s, "", "");
}

static void unknown_kind_of_store_is_invalid(void **state)
{
    struct store *s = NULL;
    (void)state;
    assert_int_equal(store_open("floppy:disk", NULL, &s), BELFRY_INVALID);
    assert_non_null(strstr(store_detail(), "floppy"));
    assert_int_equal(store_open("memory:x", NULL, &s), BELFRY_INVALID);
    assert_int_equal(store_open("file:", NULL, &s), BELFRY_INVALID);
    assert_null(s);
    store_close(NULL);
}

#define TESTS(X)                                               \
    X(elements_are_read_back_in_order)                         \
    X(reading_stops_when_the_callback_says_so)                 \
    X(log_that_is_not_there_is_not_found)                      \
    X(append_at_the_wrong_number_conflicts_and_writes_nothing) \
    X(bad_names_and_sizes_are_invalid)                         \
    X(names_that_contain_each_other_are_different_logs)        \
    X(logs_are_listed_sorted_and_by_prefix)                    \
    X(removed_log_is_gone_and_can_be_made_again)               \
    X(callback_of_list_may_remove)                             \
    X(sync_makes_loose_appends_stay)                           \
    X(elements_of_any_size_up_to_the_largest)                  \
    X(many_logs_are_used_in_turn)                              \
    X(long_log_can_be_read_from_any_place)                     \
    X(different_logs_and_records_are_used_by_threads_at_once)  \
    X(torn_tail_is_reported_and_cut_by_sync)                   \
    X(everything_is_there_after_reopening)                     \
    X(unknown_kind_of_store_is_invalid)

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS(ON_MEMORY) TESTS(ON_FILE) TESTS(ON_FAULTY) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
