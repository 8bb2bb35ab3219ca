/* SPDX-License-Identifier: MIT */
#include "support/tenants.h"

#include "recur/zonecache.h"

struct engine *e;
struct buf journal;
int64_t wall, mono;
int64_t slow_start_ms;
uint64_t history_bytes;
uint64_t tenant_bytes;
uint64_t memory_bytes = UINT64_C(4) << 30;
int64_t quiet_end_ms;
int zones_asked;

struct delivered delivered;

static void note_delivery(void *owner, struct job *const *jobs, size_t n)
{
    struct job_view v;

    delivered.calls++;
    delivered.jobs += n;
    delivered.owner = owner;
    delivered.at_ms = mono;
    if (n) {
        engine_view(e, jobs[0], &v);
        delivered.id = v.id;
        delivered.token = v.token;
    }
}

deliver_fn *deliver = note_delivery;

void advance(void)
{
    void *owner;

    engine_advance(e, wall, mono);
    while (engine_timeout(e, &owner))
        deliver(owner, NULL, 0);
}

void dispatch(void)
{
    struct delivery d;
    void *owner;

    while (engine_dispatch_next(e, &owner))
        if (engine_dispatch(e, &d))
            deliver(d.owner, d.jobs, d.n);
}

int zone_named(void *arg, struct str name, const struct zone **ret, const char **ret_why)
{
    static struct zonecache zones;

    (void)arg;
    zones_asked++;
    return zonecache_get(&zones, ZONEDIR_DEFAULT, name, ret, ret_why);
}

void be_quiet(const char *tenant, int64_t ms, int64_t spread_ms)
{
    struct tenant_settings s = { .tz = "UTC", .spread_ms = spread_ms };
    int from, to;

    pass((MINUTE - wall % MINUTE) % MINUTE);
    quiet_end_ms = wall + ms;
    from = (int)(wall % DAY / MINUTE);
    to = (int)(quiet_end_ms % DAY / MINUTE);
    snprintf(s.quiet, sizeof(s.quiet), "%02d:%02d-%02d:%02d", from / 60, from % 60, to / 60,
             to % 60);
    assert_int_equal(engine_tenant_set(e, str_of(tenant), &s,
                                       1u << TENANT_QUIET | 1u << TENANT_TZ | 1u << TENANT_SPREAD),
                     0);
}

struct engine *make(uint64_t epoch, uint64_t max_running)
{
    return engine_new(&(struct engine_options){ .epoch = epoch,
                                                .seed = 42,
                                                .memory_bytes = memory_bytes,
                                                .max_running = max_running,
                                                .slow_start_ms = slow_start_ms,
                                                .history_bytes = history_bytes,
                                                .tenant_bytes = tenant_bytes,
                                                .zone = zone_named });
}

void start(uint64_t max_running)
{
    wall = START;
    mono = 1000;
    quiet_end_ms = 0;
    zones_asked = 0;
    memset(&delivered, 0, sizeof(delivered));
    deliver = note_delivery;
    e = make(1, max_running);
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, 1, true, 0);
    engine_start(e, wall, mono, false);
}

int setup(void **state)
{
    (void)state;
    start(0);
    return 0;
}

int teardown(void **state)
{
    (void)state;
    engine_verify(e);
    engine_free(e);
    buf_fini(&journal);
    return 0;
}

void replay(void)
{
    struct buf first = journal;

    engine_verify(e);
    engine_free(e);
    journal = (struct buf){ 0 };
    e = make(2, 0);
    assert_int_equal(engine_replay(e, buf_view(&first), 1), 0);
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, 2, true, 1);
    engine_start(e, wall, mono, false);
    buf_fini(&first);
}

void pass(int64_t ms)
{
    wall += ms;
    mono += ms;
    advance();
    dispatch();
}

struct job_id schedule(const char *queue)
{
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

void schedule_many(const char *queue, int n)
{
    for (int i = 0; i < n; i++)
        schedule(queue);
}

struct lease_request request_for(const struct str *queue, size_t count)
{
    return (struct lease_request){
        .queues = queue, .queue_count = 1, .count = count, .for_ms = 3600000
    };
}

int lease_some(const char *queue, size_t count, struct job **ret)
{
    struct str name = str_of(queue);
    struct lease_request r = request_for(&name, count);

    return engine_lease(e, &r, ret);
}

bool lease(const char *queue, struct job_view *ret)
{
    struct job *job;

    if (lease_some(queue, 1, &job) == 0)
        return false;
    engine_view(e, job, ret);
    return true;
}

void complete(struct job_id id, uint64_t token)
{
    assert_int_equal(engine_complete(e, id, token, (struct str){ 0 }, -1), 0);
    dispatch();
}

struct waiter *wait_at(const char *queue, size_t count)
{
    struct str name = str_of(queue);
    struct lease_request r = request_for(&name, count);
    struct waiter *w;

    assert_int_equal(engine_wait(e, &r, 3600000, (void *)(uintptr_t)queue, &w), 0);
    dispatch();
    return w;
}

void tenant_queue(int i, char ret[32])
{
    snprintf(ret, 32, "t%d@q", i);
}

void set_queue(const char *queue, unsigned field, struct queue_settings s)
{
    assert_int_equal(engine_queue_set(e, str_of(queue), &s, 1u << field), 0);
    dispatch();
}

void set_tenant(const char *name, unsigned field, struct tenant_settings s)
{
    assert_int_equal(engine_tenant_set(e, str_of(name), &s, 1u << field), 0);
    dispatch();
}

enum hold hold_of(const char *queue)
{
    struct queue_view v;

    assert_int_equal(engine_queue_get(e, str_of(queue), &v), 0);
    return v.hold;
}

struct tenant_view tenant(const char *name)
{
    struct tenant_view v;

    assert_int_equal(engine_tenant_get(e, str_of(name), &v), 0);
    return v;
}
