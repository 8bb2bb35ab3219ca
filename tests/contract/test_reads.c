/* SPDX-License-Identifier: MIT */
/* The store contract: reading by position, and reading while others read, append and remove. */
#include "support/contract.h"

#include <pthread.h>

enum { COUNT = 400, THREADS = 4 };

/* Element `seq` of generation `log`: its name and number, and more of them in some. */
static size_t body_of(int log, uint64_t seq, char body[4096])
{
    size_t len = (size_t)snprintf(body, 64, "%d:%llu:", log, (unsigned long long)seq);
    size_t more = (size_t)(seq * 37 % 3000);
    memset(body + len, 'a' + (int)(seq % 26), more);
    return len + more;
}

static int append_body(struct store *s, int log, uint64_t seq, bool durable, uint64_t *ret_at)
{
    char name[32];
    char body[4096];
    snprintf(name, sizeof name, "r/log%d", log);
    struct store_append a = { .log = str_of(name),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = { body, body_of(log, seq, body) },
                              .durable = durable,
                              .reserved = durable,
                              .ret_at = ret_at };
    return s->ops->append(s, &a);
}

static void write_log(struct store *s, int log, uint64_t count, uint64_t *ret_at)
{
    for (uint64_t i = 0; i < count; i++) {
        ret_at[i] = 0;
        assert_int_equal(append_body(s, log, i, false, &ret_at[i]), 0);
        assert_int_not_equal(ret_at[i], 0);
    }
    char name[32];
    snprintf(name, sizeof name, "r/log%d", log);
    assert_int_equal(s->ops->sync(s, str_of(name)), 0);
}

/* What a callback is to find; cmocka's asserts are for the main thread only. */
struct expect {
    int log;
    uint64_t next;
    uint64_t stop; /* before this one */
    int wrong;
};

static int check_body(void *arg, uint64_t seq, struct str element)
{
    struct expect *x = arg;
    char body[4096];
    size_t len = body_of(x->log, seq, body);
    x->wrong += seq != x->next || !str_eq(element, (struct str){ body, len });
    x->next = seq + 1;
    return x->next == x->stop ? STOPPED : 0;
}

static int read_body(struct store *s, int log, uint64_t seq, uint64_t at)
{
    struct expect x = { log, seq, seq + 1, 0 };
    char name[32];
    snprintf(name, sizeof name, "r/log%d", log);
    int r = s->ops->read(s, str_of(name), seq, at, check_body, &x, NULL);
    return x.wrong || (r == STOPPED) != (x.next == x.stop) ? 1000 : r;
}

static void element_is_read_by_its_position(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    uint64_t at[COUNT];
    write_log(s, 0, COUNT, at);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(read_body(s, 0, i * 7 % COUNT, at[i * 7 % COUNT]), STOPPED);
}

static void appends_tell_positions_whatever_they_are(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    uint64_t at[6] = { 0 };
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(append_body(s, 0, i, true, &at[i]), 0);
        assert_int_equal(append_body(s, 1, i, i == 1, &at[3 + i]), 0);
    }
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(read_body(s, 0, i, at[i]), STOPPED);
        assert_int_equal(read_body(s, 1, i, at[3 + i]), STOPPED);
    }
    uint64_t untouched = 5;
    assert_int_equal(append_body(s, 0, 7, true, &untouched), BELFRY_CONFLICT);
    assert_int_equal(untouched, 5);
}

static void read_by_position_goes_on_to_the_end(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_tail tail = { 0 };
    uint64_t at[COUNT];
    write_log(s, 0, COUNT, at);
    for (uint64_t from = 0; from < COUNT; from += 57) {
        struct expect x = { 0, from, UINT64_MAX, 0 };
        assert_int_equal(s->ops->read(s, STR("r/log0"), from, at[from], check_body, &x, &tail), 0);
        assert_int_equal(x.wrong, 0);
        assert_int_equal(x.next, COUNT);
        assert_int_equal(tail.elements, COUNT);
        assert_int_equal(tail.torn_bytes, 0);
    }
    assert_int_equal(append_body(s, 0, COUNT, true, NULL), 0);
    assert_int_equal(read_body(s, 0, COUNT, 0), STOPPED);
}

static void wrong_position_is_found_out(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    uint64_t at[COUNT];
    write_log(s, 0, COUNT, at);
    assert_int_equal(read_body(s, 0, 5, at[6]), BELFRY_CORRUPT);
    assert_non_null(strstr(store_detail(), "log0"));
    assert_non_null(strstr(store_detail(), "offset"));
    assert_int_equal(read_body(s, 0, 6, at[5]), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 0, 5, at[5] + 8), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 0, 5, at[5] + 1), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 0, COUNT, at[COUNT - 1]), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 0, 5, UINT64_MAX), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 0, 5, UINT64_C(1) << 40), BELFRY_CORRUPT);
    assert_int_equal(read_body(s, 1, 5, at[5]), BELFRY_NOTFOUND);
    assert_int_equal(read_body(s, 0, 5, at[5]), STOPPED);
}

static void positions_are_the_same_after_reopening(void **state)
{
    struct fixture *x = *state;
    uint64_t at[COUNT];
    if (x->kind != FILES)
        skip();
    write_log(x->s, 0, COUNT, at);
    store_close(x->s);
    open_store(x);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(read_body(x->s, 0, i, at[i]), STOPPED);
}

struct reader {
    struct store *s;
    uint64_t (*at)[COUNT]; /* of each log */
    int logs;
    uint64_t count; /* elements that each has */
    int number;
    int failures;
};

/* Reads all over the logs, mostly with positions. */
static void *read_all_over(void *arg)
{
    struct reader *t = arg;
    for (uint64_t i = 0; i < 600; i++) {
        uint64_t seq = (i * 31 + (uint64_t)t->number * 17) % t->count;
        int log = (int)(i * 13 + (uint64_t)t->number) % t->logs;
        uint64_t at = i % 8 == 7 ? 0 : t->at[log][seq];
        t->failures += read_body(t->s, log, seq, at) != STOPPED;
    }
    return NULL;
}

static void start(struct reader *readers, pthread_t *threads, const struct reader *like)
{
    for (int i = 0; i < THREADS; i++) {
        readers[i] = *like;
        readers[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, read_all_over, &readers[i]), 0);
    }
}

static void finish(struct reader *readers, pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failures, 0);
    }
}

static void log_is_read_by_threads_at_once_while_it_grows(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    uint64_t at[1][COUNT];
    write_log(s, 0, COUNT, at[0]);
    struct reader like = { .s = s, .at = at, .logs = 1, .count = COUNT };
    start(readers, threads, &like);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(append_body(s, 0, COUNT + i, i % 40 == 0, NULL), 0);
        assert_int_equal(append_body(s, 1, i, false, NULL), 0);
    }
    assert_int_equal(s->ops->sync(s, STR("r/log0")), 0);
    finish(readers, threads);
}

static void more_logs_than_are_kept_open_are_read_by_threads(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    enum { LOGS = 160, EACH = 5 };
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    uint64_t(*at)[COUNT] = calloc(LOGS, sizeof(*at));
    for (int i = 0; i < LOGS; i++)
        write_log(s, i, EACH, at[i]);
    struct reader like = { .s = s, .at = at, .logs = LOGS, .count = EACH };
    start(readers, threads, &like);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(append_body(s, LOGS, i, false, NULL), 0);
    finish(readers, threads);
    free(at);
}

/* Like the runs of a partition: one is read while the one before it is removed and the next one is
 * written, perhaps in the same file. */
struct generations {
    struct store *s;
    atomic_int oldest; /* may be there */
    atomic_int newest; /* is complete */
    atomic_bool stop;
    atomic_int seen;                /* elements, by all readers */
    atomic_uint_fast64_t at[8][16]; /* by generation modulo 8 */
};

struct generation_reader {
    struct generations *g;
    int failures;
};

static void *read_generations(void *arg)
{
    struct generation_reader *t = arg;
    for (uint64_t i = 0; !atomic_load(&t->g->stop); i++) {
        int log = atomic_load(&t->g->newest) - (int)(i % 3);
        if (log < 0 || log < atomic_load(&t->g->oldest))
            continue;
        uint64_t at = atomic_load(&t->g->at[log % 8][i % 16]);
        if (atomic_load(&t->g->oldest) > log) /* then `at` may be another's */
            continue;
        int r = read_body(t->g->s, log, i % 16, i % 5 == 4 ? 0 : at);
        t->failures += r != STOPPED && r != BELFRY_NOTFOUND;
        atomic_fetch_add(&t->g->seen, r == STOPPED);
    }
    return NULL;
}

static void write_generation(struct generations *g, int log)
{
    for (uint64_t i = 0; i < 16; i++) {
        uint64_t at;
        assert_int_equal(append_body(g->s, log, i, i == 0, &at), 0);
        atomic_store(&g->at[log % 8][i], at);
    }
    atomic_store(&g->newest, log);
}

static void log_that_is_removed_while_it_is_read_gives_truth_or_nothing(void **state)
{
    static struct generations g;
    struct generation_reader readers[THREADS];
    pthread_t threads[THREADS];
    g.s = ((struct fixture *)*state)->s;
    atomic_store(&g.oldest, 0);
    atomic_store(&g.newest, -1);
    atomic_store(&g.seen, 0);
    atomic_store(&g.stop, false);
    write_generation(&g, 0);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (struct generation_reader){ .g = &g };
        assert_int_equal(pthread_create(&threads[i], NULL, read_generations, &readers[i]), 0);
    }
    for (int log = 1; log < 200 || atomic_load(&g.seen) < 500; log++) {
        char name[32];
        write_generation(&g, log);
        if (log < 3)
            continue;
        snprintf(name, sizeof name, "r/log%d", log - 2);
        atomic_store(&g.oldest, log - 1);
        assert_int_equal(g.s->ops->remove(g.s, str_of(name)), 0);
    }
    atomic_store(&g.stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failures, 0);
    }
}

struct pause {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int step; /* 1: the reader is in its callback, 2: it may go on */
    struct store *s;
    uint64_t at;
    struct expect x;
    int answer;
};

static void set_step(struct pause *p, int step)
{
    pthread_mutex_lock(&p->lock);
    p->step = step;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void await_step(struct pause *p, int step)
{
    pthread_mutex_lock(&p->lock);
    while (p->step != step)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static int pause_in_callback(void *arg, uint64_t seq, struct str element)
{
    struct pause *p = arg;
    int r = check_body(&p->x, seq, element);
    if (seq == 2) {
        set_step(p, 1);
        await_step(p, 2);
        p->x.next = seq;
        check_body(&p->x, seq, element); /* still the same */
    }
    return r;
}

static void *read_with_a_pause(void *arg)
{
    struct pause *p = arg;
    p->answer = p->s->ops->read(p->s, STR("r/log0"), 2, p->at, pause_in_callback, p, NULL);
    return NULL;
}

static void reader_in_its_callback_outlives_its_log(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    for (int hinted = 0; hinted < 2; hinted++) {
        struct pause p = { .s = s, .x = { 0, 2, UINT64_MAX, 0 } };
        uint64_t at[COUNT];
        uint64_t other[COUNT];
        pthread_t thread;
        pthread_mutex_init(&p.lock, NULL);
        pthread_cond_init(&p.changed, NULL);
        write_log(s, 0, COUNT, at);
        p.at = hinted ? at[2] : 0;
        assert_int_equal(pthread_create(&thread, NULL, read_with_a_pause, &p), 0);
        await_step(&p, 1);
        if (hinted) /* waits for nobody */
            assert_int_equal(read_body(s, 0, 1, at[1]), STOPPED);
        assert_int_equal(s->ops->remove(s, STR("r/log0")), 0);
        expect_list(s, "", "");
        assert_int_equal(read_body(s, 0, 1, at[1]), BELFRY_NOTFOUND);
        write_log(s, 1, COUNT, other);
        set_step(&p, 2);
        pthread_join(thread, NULL);
        assert_true(p.answer == 0 || p.answer == BELFRY_NOTFOUND);
        assert_int_equal(p.x.wrong, 0);
        assert_int_equal(s->ops->remove(s, STR("r/log1")), 0);
        pthread_mutex_destroy(&p.lock);
        pthread_cond_destroy(&p.changed);
    }
}

#define TESTS(X)                                                   \
    X(element_is_read_by_its_position)                             \
    X(appends_tell_positions_whatever_they_are)                    \
    X(read_by_position_goes_on_to_the_end)                         \
    X(wrong_position_is_found_out)                                 \
    X(positions_are_the_same_after_reopening)                      \
    X(log_is_read_by_threads_at_once_while_it_grows)               \
    X(more_logs_than_are_kept_open_are_read_by_threads)            \
    X(log_that_is_removed_while_it_is_read_gives_truth_or_nothing) \
    X(reader_in_its_callback_outlives_its_log)

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS(ON_MEMORY) TESTS(ON_FILE) TESTS(ON_FAULTY) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
