/* SPDX-License-Identifier: MIT */
#include "server/push/push.h"

#include <stdlib.h>

#include "base/time.h"
#include "engine/push.h"
#include "server/outgoing.h"
#include "server/push/endpoint.h"
#include "server/push/push_answer.h"
#include "server/push/push_guard.h"
#include "server/push/push_request.h"
#include "server/push/push_share.h"

#define TURN_MAX     256         /* jobs taken in one turn of the loop */
#define BYTES_MAX    (64u << 20) /* payload under way, beyond which none is taken */
#define AGAIN_MS     1000        /* a push that could not be begun is tried again after this */
#define NO_URL_MS    60000 /* the pause of a job without a URL: the queue must get one first */
#define SLOW_DISK_MS (PUSH_MARGIN_MS / 2)

struct push {
    struct list link; /* in waiting or running */
    struct pusher *pusher;
    struct job_id id;
    uint64_t token;
    uint64_t lsn; /* Its lease is durable with this record. */
    int64_t leased_ms;
    int64_t timeout_ms;
    struct push_request request;
    struct outgoing_transfer *transfer;
    struct endpoint_key key;
};

struct pusher {
    struct server *server;
    struct outgoing *outgoing;
    struct push_guard guard;
    struct endpoints endpoints;
    struct push_shares shares;
    struct list waiting;
    struct list running;
    size_t bytes;
    uv_timer_t wake; /* rings when a circuit becomes half open */
    struct push_stats stats;
};

static struct engine *engine_of(struct pusher *p)
{
    struct server *s = p->server;

    if (!host_is_up(&s->host))
        return NULL;
    engine_scope(s->host.engine, STR(TENANT_ALL));
    return s->host.engine;
}

/* ---- Circuits ---- */

/* Tells the engine until when an endpoint is left alone; -1: it is not. */
static void tell_until(void *pusher, struct str key, int64_t until_ms)
{
    const struct pusher *p = pusher;

    if (p->server->host.engine)
        engine_endpoint_set(p->server->host.engine, key, until_ms);
}

static void tell_endpoint(struct pusher *p, const struct endpoint_key *key)
{
    struct str name = endpoint_key_of(key);
    int64_t until_ms = endpoint_until(&p->endpoints, name, time_mono_ms());

    tell_until(p, name, until_ms);
    if (until_ms < 0) /* Jobs may have waited for it. */
        host_wake(&p->server->host);
}

static void tell_all(struct pusher *p)
{
    endpoints_each(&p->endpoints, time_mono_ms(), tell_until, p);
    host_wake(&p->server->host);
}

static void on_wake(uv_timer_t *timer);

static void arm_wake(struct pusher *p)
{
    int64_t now = time_mono_ms(), next = endpoints_next(&p->endpoints, now);

    p->stats.circuits = p->endpoints.open;
    if (next == INT64_MAX ||
        (uv_is_active((uv_handle_t *)&p->wake) && uv_timer_get_due_in(&p->wake) == 0))
        return; /* None is to come, or the moment of one has come already. */
    uv_update_time(&p->server->loop);
    uv_timer_start(&p->wake, on_wake, (uint64_t)(next - now), 0);
}

static void on_wake(uv_timer_t *timer)
{
    struct pusher *p = timer->data;

    tell_all(p);
    arm_wake(p);
}

void push_opened(struct server *s)
{
    if (s->pusher)
        tell_all(s->pusher);
}

static void note_end(struct push *x, bool well)
{
    struct pusher *p = x->pusher;
    struct endpoint_key forgotten;
    enum endpoint_change change =
        endpoint_end(&p->endpoints, endpoint_key_of(&x->key), time_mono_ms(), well);

    if (change == ENDPOINT_CLOSED || !well)
        tell_endpoint(p, &x->key);
    if (endpoints_forgot(&p->endpoints, &forgotten)) /* neither a timer nor a probe is for it now */
        tell_endpoint(p, &forgotten);
    if (change == ENDPOINT_OPENED)
        log_warn(&p->server->log,
                 "an endpoint fails: it is left alone, and tried again after a pause", "endpoint",
                 endpoint_key_origin(&x->key), "tenant", x->key.text);
    if (change == ENDPOINT_CLOSED)
        log_info(&p->server->log, "an endpoint is well again", "endpoint",
                 endpoint_key_origin(&x->key), "tenant", x->key.text);
    if (change != ENDPOINT_SAME || p->endpoints.open > 0)
        arm_wake(p);
}

/* ---- One push ---- */

static struct str tenant_of(const struct push *x)
{
    return (struct str){ x->key.text, x->key.tenant_len };
}

static void push_end(struct push *x)
{
    struct pusher *p = x->pusher;

    if (x->transfer)
        outgoing_cancel(x->transfer);
    list_remove(&x->link);
    if (push_share_return(&p->shares, tenant_of(x), x->request.body.len) &&
        p->server->host.engine) {
        engine_pushes_set(p->server->host.engine, tenant_of(x), false);
        host_wake(&p->server->host);
    }
    p->bytes -= x->request.body.len;
    p->stats.running--;
    push_request_fini(&x->request);
    free(x);
}

/* Ends a push that was not sent, or whose outcome is unknown. */
static void push_drop(struct push *x)
{
    /* No timer is set for an endpoint while it is probed. Without this call, queues that wait for
     * it would wait for ever. */
    if (endpoint_drop(&x->pusher->endpoints, endpoint_key_of(&x->key)))
        tell_endpoint(x->pusher, &x->key);
    push_end(x);
}

/* Tells the engine the outcome. An error such as STALE means that the lease ended before the answer
 * came. Then the job no longer belongs to this push. */
static void settle_push(struct engine *e, const struct push *x, const struct push_verdict *v,
                        const struct outgoing_answer *a)
{
    struct fail_result ignored;

    if (v->outcome == PUSH_delivered)
        engine_complete(e, x->id, x->token, a->body, -1);
    else if (v->outcome == PUSH_postponed)
        engine_release(e, x->id, x->token, v->in_ms);
    else
        engine_fail(e, x->id, x->token, v->error, -1, v->outcome == PUSH_gone, &ignored);
}

static void on_done(void *arg, const struct outgoing_answer *a)
{
    struct push *x = arg;
    struct pusher *p = x->pusher;
    struct engine *e;
    struct push_verdict v;

    x->transfer = NULL;
    push_judge(a, time_wall_ms(), &v);
    p->stats.outcomes[v.outcome]++;
    hist_add(&p->stats.took_us, a->took_us);
    host_advance(&p->server->host);
    e = engine_of(p);
    if (e)
        settle_push(e, x, &v, a);
    note_end(x, v.well);
    push_end(x);
}

/* False: the lease has ended. */
static bool still_leased(struct engine *e, const struct push *x)
{
    struct extend_result ignored;

    if (time_mono_ms() - x->leased_ms < SLOW_DISK_MS)
        return true;
    return engine_extend(e, x->id, x->token, &(struct extend_spec){ .for_ms = -1, .progress = -1 },
                         &ignored) == 0;
}

static void push_start(struct engine *e, struct push *x)
{
    struct pusher *p = x->pusher;
    struct outgoing_request r = {
        .url = x->request.url,
        .headers = buf_view(&x->request.lines),
        .body = buf_view(&x->request.body),
        .timeout_ms = x->timeout_ms,
        .answer_bytes = RESULT_MAX_BYTES,
        .done = on_done,
        .arg = x,
    };

    if (!still_leased(e, x)) {
        push_drop(x);
        return;
    }
    if (outgoing_start(p->outgoing, &r, &x->transfer) < 0) {
        engine_release(e, x->id, x->token, AGAIN_MS);
        push_drop(x);
        return;
    }
    list_move(&p->running, &x->link);
}

void push_flush(struct server *s)
{
    struct pusher *p = s->pusher;
    struct engine *e = p && !list_empty(&p->waiting) ? engine_of(p) : NULL;

    if (!e)
        return;
    list_each_of_safe (struct push, x, &p->waiting, link) {
        if (x->lsn > s->host.durable_lsn)
            break;
        push_start(e, x);
    }
}

/* ---- Taking jobs ---- */

/* Copies everything: slices of the view last only until the engine's next call. */
static struct push *push_new(struct pusher *p, const struct job_view *v, struct str url,
                             const struct push_settings *settings, const struct endpoint_key *key)
{
    struct push *x = calloc(1, sizeof(*x));

    if (!x || push_request_init(&x->request, v, url, settings, time_wall_ms()) < 0) {
        free(x);
        return NULL;
    }
    x->key = *key;
    if (!push_share_take(&p->shares, tenant_of(x), v->payload.len)) {
        push_request_fini(&x->request);
        free(x);
        return NULL;
    }
    x->pusher = p;
    x->id = v->id;
    x->token = v->token;
    x->leased_ms = time_mono_ms();
    x->timeout_ms = settings->timeout_ms;
    p->bytes += v->payload.len;
    p->stats.running++;
    list_append(&p->waiting, &x->link);
    return x;
}

static void take_job(struct pusher *p, struct engine *e, const struct job *job)
{
    const struct push_settings *settings;
    struct str url = engine_push_url(e, job, &settings);
    int64_t now = time_mono_ms(), until;
    struct fail_result ignored;
    struct endpoint_key key;
    struct push_url u;
    struct job_view v;
    struct push *x = NULL;
    const char *why;

    engine_view(e, job, &v);
    if (!push_url_parse(url, &u, &why)) {
        /* The job was there before the queue's URL became `job`, and is kept. */
        if (url.len == 0)
            engine_release(e, v.id, v.token, NO_URL_MS);
        else
            engine_fail(e, v.id, v.token, str_of(why), -1, true, &ignored);
        return;
    }
    endpoint_key_of_url(&key, v.tenant, &u);
    until = endpoint_until(&p->endpoints, endpoint_key_of(&key), now);
    if (until < 0)
        x = push_new(p, &v, url, settings, &key);
    if (!x) { /* its endpoint is left alone, or there is no memory: that costs no attempt */
        engine_release(e, v.id, v.token, until > now + AGAIN_MS ? until - now : AGAIN_MS);
        return;
    }
    x->lsn = engine_lsn(e);
    if (push_share_is_full(&p->shares, tenant_of(x)))
        engine_pushes_set(e, tenant_of(x), true);
    endpoint_begin(&p->endpoints, endpoint_key_of(&x->key), now);
    if (endpoint_until(&p->endpoints, endpoint_key_of(&x->key), now) >= 0) /* It is a probe. */
        engine_endpoint_set(e, endpoint_key_of(&x->key), now);
}

/* Leases jobs one by one, so that a circuit that is half open lets one of them pass. */
void push_turn(struct server *s)
{
    struct pusher *p = s->pusher;
    struct engine *e = p && !s->stopping ? engine_of(p) : NULL;
    struct job *job;
    int n = 0;

    while (e && p->stats.running < (uint64_t)s->options.push.max && p->bytes < BYTES_MAX) {
        if (engine_push_lease(e, 1, &job) <= 0)
            return;
        take_job(p, e, job);
        if (++n == TURN_MAX) {
            host_wake(&s->host);
            return;
        }
    }
}

/* ---- Beginning and ending ---- */

static bool allowed(void *arg, const struct sockaddr *address)
{
    return push_guard_allows(arg, address);
}

static int refuse_option(struct server *s, const char *what, struct str bad, const char *expected)
{
    char word[128];

    snprintf(word, sizeof(word), "%.*s", bad.len < 100 ? (int)bad.len : 100, bad.ptr);
    log_error(&s->log, what, "value", word, "expected", expected);
    return BELFRY_INVALID;
}

static int parse_guard(struct server *s, struct push_guard *ret)
{
    struct str bad;

    if (!push_guard_parse(str_of(s->options.push.allow), ret, &bad))
        return refuse_option(
            s, "push_allow is not valid", bad,
            "networks such as 10.1.0.0/16, addresses, `private` or `loopback`, with "
            "commas between, 64 at most");
    if (!push_guard_ports(str_of(s->options.push.ports), ret, &bad))
        return refuse_option(s, "push_ports is not valid", bad,
                             "ports and ranges such as 80,443,8000-8999, 32 at most");
    return 0;
}

int push_check(struct server *s)
{
    struct push_guard guard;

    return parse_guard(s, &guard);
}

int push_open(struct server *s)
{
    struct pusher *p = calloc(1, sizeof(*p));
    struct outgoing_options o = {
        .max_transfers = (unsigned)s->options.push.max,
        .ca_file = s->options.push.ca_file[0] ? s->options.push.ca_file : NULL,
        .allowed = allowed,
    };
    int err;

    if (!p)
        return BELFRY_NOMEM;
    err = parse_guard(s, &p->guard);
    if (err) {
        free(p);
        return err;
    }
    o.arg = &p->guard;
    if (outgoing_new(&s->loop, &o, &p->outgoing) < 0) {
        free(p);
        return BELFRY_NOMEM;
    }
    p->server = s;
    lists_init(&p->waiting, &p->running);
    push_shares_init(&p->shares, (uint64_t)s->options.push.max, BYTES_MAX, s->hash_key);
    endpoints_init(&p->endpoints, (uint64_t)time_mono_us() * UINT64_C(0x9e3779b97f4a7c15),
                   s->hash_key);
    p->wake.data = p;
    uv_timer_init(&s->loop, &p->wake);
    s->pusher = p;
    return 0;
}

static void drop_all(struct list *pushes)
{
    while (!list_empty(pushes))
        push_drop(container_of(pushes->next, struct push, link));
}

void push_reset(struct server *s)
{
    if (!s->pusher)
        return;
    drop_all(&s->pusher->waiting);
    drop_all(&s->pusher->running);
}

/* Gives back the jobs that were not sent. So they need not wait for the end of their leases. */
void push_drain(struct server *s)
{
    struct pusher *p = s->pusher;
    struct engine *e = p ? engine_of(p) : NULL;

    if (!p)
        return;
    if (e)
        list_each_of (struct push, x, &p->waiting, link)
            engine_release(e, x->id, x->token, 0);
    drop_all(&p->waiting);
}

/* Jobs that were sent fail, as attempts, so that they need not wait for the end of their leases. */
void push_give_up(struct server *s)
{
    struct pusher *p = s->pusher;
    struct engine *e = p ? engine_of(p) : NULL;
    struct fail_result ignored;

    if (!e)
        return;
    list_each_of (struct push, x, &p->running, link)
        engine_fail(e, x->id, x->token, STR("the server was stopped before the endpoint answered"),
                    -1, false, &ignored);
    push_reset(s);
}

bool push_idle(const struct server *s)
{
    return !s->pusher || s->pusher->stats.running == 0;
}

static void on_wake_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void push_free(struct server *s)
{
    struct pusher *p = s->pusher;

    if (!p)
        return;
    push_reset(s);
    s->pusher = NULL;
    outgoing_free(p->outgoing);
    endpoints_fini(&p->endpoints);
    push_shares_fini(&p->shares);
    uv_close((uv_handle_t *)&p->wake, on_wake_closed);
}

const struct push_stats *push_stats(const struct server *s)
{
    static const struct push_stats none;

    return s->pusher ? &s->pusher->stats : &none;
}
