/* SPDX-License-Identifier: MIT */
/* A data directory with runs of every family but the backlog, written by a real partition, and
 * damage to them. */
#ifndef TESTS_COLD_H
#define TESTS_COLD_H

#include "support/check.h"

#include "fsck/journal.h"
#include "fsck/runs.h"
#include "support/drive.h"
#include "run/block.h"

#define JOBS   6000 /* scheduled, every third with a key */
#define ENDED  5000 /* half of them done, half dead */
#define MEMORY (2u << 20)

/* ---- A directory with runs of a real partition ---- */

struct host {
    struct store *s;
    struct partition *p;
};

static inline struct host open_host(const struct fixture *x)
{
    static uint64_t drawn; /* each open has another secret, and the first one stays */
    struct partition_options o = { .durable = true,
                                   .memory_bytes = MEMORY,
                                   .secret = { ++drawn, 4 } };
    struct store_options so = { .log_bytes = 1 << 20, .reserve = 1 };
    struct partition_report report;
    struct host h;

    assert_int_equal(store_open(x->dir, &so, &h.s), 0);
    if (partition_open(h.s, &o, NOW, 0, &h.p, &report) < 0)
        fail_msg("%s", store_detail());
    commit_all(h.p);
    return h;
}

static inline void close_host(struct host *h)
{
    commit_all(h->p);
    partition_close(h->p);
    store_close(h->s);
}

static inline void expect_well(void *arg, const char *name, int err)
{
    (void)arg;
    if (err < 0)
        fail_msg("%s: %s", name, store_detail());
}

/* Everything that goes on besides requests, until nothing does. */
static inline void settle(struct host *h)
{
    assert_int_equal(drive_settle(h->p, 10000, expect_well, NULL), 0);
}

static inline void schedule(struct host *h, const struct job_spec *spec)
{
    struct engine *e = partition_engine(h->p);
    struct schedule_result result;
    struct fetch *f = NULL;
    int err;

    while ((err = engine_schedule(e, spec, &result)) == BELFRY_COLD)
        assert_int_equal(drive_fetch(h->p, &f), 0);
    assert_int_equal(err, 0);
    drive_fetch_end(h->p, &f);
}

static inline void schedule_many(struct host *h, const char *queue, int count, int64_t due_ms)
{
    char payload[150], key[16];

    memset(payload, '.', sizeof(payload));
    for (int i = 0; i < count; i++) {
        struct job_spec spec = { .queue = str_of(queue),
                                 .payload = { payload, sizeof(payload) },
                                 .due_ms = due_ms < 0 ? -1 : due_ms + (i * 7919 % count) * 1000,
                                 .priority = 3,
                                 .attempts = -1,
                                 .lease_ms = -1,
                                 .retain_ms = -1 };

        snprintf(key, sizeof(key), "job-%d", i);
        if (i % 3 == 0)
            spec.key = str_of(key);
        schedule(h, &spec);
        if (i % 200 == 0)
            settle(h);
    }
    settle(h);
}

static inline void end_all(struct host *h, const char *queue, int count)
{
    struct engine *e = partition_engine(h->p);
    struct str name = str_of(queue);

    for (int done = 0; done < count;) {
        struct job *jobs[100];
        struct lease_request r = {
            .queues = &name, .queue_count = 1, .count = 100, .for_ms = 60000
        };
        int n = engine_lease(e, &r, jobs);

        for (int i = 0; i < n; i++, done++) {
            struct fail_result failed;
            struct job_view v;

            engine_view(e, jobs[i], &v);
            if (i % 2)
                assert_int_equal(engine_complete(e, v.id, v.token, STR("well"), -1), 0);
            else
                assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &failed), 0);
        }
        settle(h);
    }
}

static inline int setup(void **state)
{
    struct fixture *x = fixture_new();
    struct host h = open_host(x);

    schedule_many(&h, "later", JOBS, NOW + 86400000);
    schedule_many(&h, "now", ENDED, -1);
    end_all(&h, "now", ENDED);
    close_host(&h);
    *state = x;
    return 0;
}

/* ---- Its runs ---- */

struct victim {
    struct run_desc d; /* without its keys */
    char log[64];
};

/* The largest run of a family. */
static inline struct victim find_run(const struct fixture *x, char family)
{
    struct victim v = { 0 };
    struct journal j;
    struct store *s;
    uint16_t partitions;
    struct list *node;

    assert_int_equal(journal_store(x->dir, &s, &partitions), 0);
    assert_int_equal(journal_load(&j, s, x->dir, 0), 0);
    list_each (node, engine_runs(j.engine)) {
        const struct run_desc *d = &container_of(node, struct cold_run, link)->d;

        if (d->family == family && d->entries > v.d.entries)
            v.d = *d;
    }
    if (v.d.entries == 0)
        fail_msg("no run of family %c", family);
    snprintf(v.log, sizeof(v.log), "p0000/run/%010u", v.d.file);
    journal_fini(&j);
    store_close(s);
    return v;
}

/* The nth block of a kind in a run. */
static inline struct spot find_block(const struct fixture *x, const struct victim *v,
                                     enum block_kind kind, uint64_t n)
{
    for (uint64_t i = 0; i < v->d.elements; i++) {
        struct spot s = spot_of(x, v->log, i);

        if (s.kind == kind && n-- == 0)
            return s;
    }
    fail_msg("no such block in %s, which has %llu entries of family %c", v->log,
             (unsigned long long)v->d.entries, v->d.family);
    return (struct spot){ 0 };
}

static inline void flip(const struct fixture *x, const struct victim *v, uint64_t offset)
{
    unsigned char byte;
    char path[256];
    int fd;

    log_path(x, v->log, path);
    fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= 0x41;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

/* In the midst of its body; again, and it is whole. */
static inline void flip_spot(const struct fixture *x, const struct victim *v, struct spot s)
{
    flip(x, v, s.offset + ELEMENT_HEADER + (s.span - ELEMENT_HEADER) / 2);
}

static inline void flip_block(const struct fixture *x, const struct victim *v, enum block_kind kind,
                              uint64_t n)
{
    flip_spot(x, v, find_block(x, v, kind, n));
}

static inline struct buf bytes_of(const struct fixture *x, const char *log)
{
    struct buf b = { 0 };
    struct stat st;
    char path[256];
    int fd;

    log_path(x, log, path);
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(buf_reserve(&b, (size_t)st.st_size));
    b.len = (size_t)read(fd, b.ptr, (size_t)st.st_size);
    assert_int_equal(b.len, st.st_size);
    close(fd);
    return b;
}

static inline bool exists(const struct fixture *x, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", x->dir, name);
    return access(path, F_OK) == 0;
}

static inline void expect_place(struct fixture *x, const struct victim *v, struct spot s,
                                const char *what)
{
    char place[200];

    snprintf(place, sizeof(place), "%s/logs/%s.log: offset %llu: %s", x->dir, v->log,
             (unsigned long long)s.offset, what);
    expect_text(x, place);
}

/* The number behind a name in JSON; the first of it. */
static inline uint64_t number_of(const struct fixture *x, const char *name)
{
    char quoted[64];
    const char *at;

    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    at = strstr(x->text, quoted);
    if (!at)
        fail_msg("no %s in: %s", quoted, x->text);
    return strtoull(at + strlen(quoted), NULL, 10);
}

#endif
