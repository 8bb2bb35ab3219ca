/* SPDX-License-Identifier: MIT */
/* Requests to a server on the same loop, which answers by the path that it is asked for. */
#include "server/outgoing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"

#define ANSWER_MAX 1000

static uv_loop_t loop;
static uv_tcp_t listener;
static uv_timer_t tick; /* uv_run looks at timers first, and then waits for something else */
static struct outgoing *out;
static int port;
static bool let_through;
static unsigned connections;

/* ---- The other side ---- */

struct peer {
    uv_tcp_t tcp;
    struct buf in;
    uv_write_t write;
};

static void on_peer_closed(uv_handle_t *handle)
{
    struct peer *p = handle->data;

    buf_fini(&p->in);
    free(p);
}

static void peer_answer(struct peer *p, const char *text)
{
    uv_buf_t b = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

    p->in.len = 0;
    uv_write(&p->write, (uv_stream_t *)&p->tcp, &b, 1, NULL);
}

static char long_answer[6000], long_head[200000];

static void peer_look(struct peer *p)
{
    buf_append(&p->in, "", 1);
    p->in.len--;
    if (!strstr(p->in.ptr, "\r\n\r\nbody"))
        return;
    assert_non_null(strstr(p->in.ptr, "X-Test: 1\r\n"));
    if (strstr(p->in.ptr, "POST /ok"))
        peer_answer(p, "HTTP/1.1 200 OK\r\nretry-after:  7 \r\nContent-Length: 5\r\n\r\nhello");
    else if (strstr(p->in.ptr, "POST /redirect"))
        peer_answer(p, "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n");
    else if (strstr(p->in.ptr, "POST /long"))
        peer_answer(p, long_answer);
    else if (strstr(p->in.ptr, "POST /head"))
        peer_answer(p, long_head);
    else if (strstr(p->in.ptr, "POST /nonsense"))
        peer_answer(p, "hello, who is there?\r\n\r\n");
}

static void on_peer_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    static char bytes[65536];

    (void)handle;
    (void)size;
    *ret = uv_buf_init(bytes, sizeof(bytes));
}

static void on_peer_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct peer *p = stream->data;

    if (n < 0) {
        uv_close((uv_handle_t *)stream, on_peer_closed);
        return;
    }
    buf_append(&p->in, b->base, (size_t)n);
    peer_look(p);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct peer *p = calloc(1, sizeof(*p));

    assert_int_equal(status, 0);
    connections++;
    p->tcp.data = p;
    uv_tcp_init(&loop, &p->tcp);
    assert_int_equal(uv_accept(stream, (uv_stream_t *)&p->tcp), 0);
    uv_read_start((uv_stream_t *)&p->tcp, on_peer_alloc, on_peer_read);
}

/* ---- This side ---- */

static bool allowed(void *arg, const struct sockaddr *address)
{
    assert_ptr_equal(arg, &let_through);
    assert_int_equal(address->sa_family, AF_INET);
    return let_through;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static int setup(void **state)
{
    struct sockaddr_in a;
    int len = sizeof(a);

    (void)state;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &tick);
    uv_timer_start(&tick, on_tick, 5, 5);
    uv_tcp_init(&loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &a);
    assert_int_equal(uv_tcp_bind(&listener, (struct sockaddr *)&a, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&listener, 16, on_connection), 0);
    uv_tcp_getsockname(&listener, (struct sockaddr *)&a, &len);
    port = ntohs(a.sin_port);
    let_through = true;
    connections = 0;
    snprintf(long_answer, sizeof(long_answer),
             "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n%05000d", 1);
    snprintf(long_head, sizeof(long_head), "HTTP/1.1 200 OK\r\nX: %0*d\r\n\r\n", 90000, 1);
    assert_int_equal(outgoing_new(&loop,
                                  &(struct outgoing_options){
                                      .max_transfers = 3, .allowed = allowed, .arg = &let_through },
                                  &out),
                     0);
    return 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, handle->type == UV_TCP && handle->data ? on_peer_closed : NULL);
}

static int teardown(void **state)
{
    (void)state;
    outgoing_free(out);
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

struct seen {
    int calls;
    struct outgoing_answer answer;
    char body[ANSWER_MAX + 1];
    char retry_after[32];
    char error[300];
};

static void on_done(void *arg, const struct outgoing_answer *a)
{
    struct seen *s = arg;

    s->calls++;
    s->answer = *a;
    snprintf(s->body, sizeof(s->body), "%.*s", STR_ARG(a->body));
    snprintf(s->retry_after, sizeof(s->retry_after), "%s", a->retry_after);
    snprintf(s->error, sizeof(s->error), "%s", a->error);
}

static int begin(const char *path, int64_t timeout_ms, struct seen *s,
                 struct outgoing_transfer **ret)
{
    char url[100];

    *s = (struct seen){ 0 };
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, path);
    return outgoing_start(out,
                          &(struct outgoing_request){ .url = url,
                                                      .headers = STR("X-Test: 1\0"),
                                                      .body = STR("body"),
                                                      .timeout_ms = timeout_ms,
                                                      .answer_bytes = ANSWER_MAX,
                                                      .done = on_done,
                                                      .arg = s },
                          ret);
}

static void finish(struct seen *s)
{
    while (!s->calls)
        uv_run(&loop, UV_RUN_ONCE);
}

static struct seen ask(const char *path, int64_t timeout_ms)
{
    struct outgoing_transfer *t;
    struct seen s;

    assert_int_equal(begin(path, timeout_ms, &s, &t), 0);
    assert_int_equal(s.calls, 0);
    finish(&s);
    assert_int_equal(outgoing_count(out), 0);
    return s;
}

static void an_answer_comes_whole_and_connections_are_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct seen s = ask("/ok", 20000);

        assert_int_equal(s.answer.outcome, OUTGOING_ANSWERED);
        assert_int_equal(s.answer.status, 200);
        assert_string_equal(s.body, "hello");
        assert_string_equal(s.retry_after, "7");
        assert_string_equal(s.error, "");
        assert_false(s.answer.cut);
    }
    assert_int_equal(connections, 1);
}

static void a_redirect_is_an_answer(void **state)
{
    struct seen s = ask("/redirect", 20000);

    (void)state;
    assert_int_equal(s.answer.status, 302);
}

static void what_is_too_long_is_cut(void **state)
{
    struct seen s = ask("/long", 20000);

    (void)state;
    assert_int_equal(s.answer.outcome, OUTGOING_ANSWERED);
    assert_int_equal(s.answer.status, 200);
    assert_true(s.answer.cut);
    assert_int_equal(s.answer.body.len, ANSWER_MAX);
    s = ask("/head", 20000);
    assert_int_equal(s.answer.outcome, OUTGOING_UNREACHABLE);
}

static void no_answer_is_told_apart(void **state)
{
    struct seen s = ask("/silence", 50);

    (void)state;
    assert_int_equal(s.answer.outcome, OUTGOING_TIMEOUT);
    assert_true(s.error[0] != '\0');
    assert_int_equal(ask("/nonsense", 20000).answer.outcome, OUTGOING_UNREACHABLE);
}

static void an_address_that_is_not_allowed_is_not_connected_to(void **state)
{
    struct seen s;

    (void)state;
    let_through = false;
    s = ask("/ok", 20000);
    assert_int_equal(s.answer.outcome, OUTGOING_REFUSED);
    assert_int_equal(connections, 0);
}

static void there_are_no_more_than_may_be(void **state)
{
    struct outgoing_transfer *t[4];
    struct seen s[4];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(begin("/silence", 20000, &s[i], &t[i]), 0);
    assert_int_equal(begin("/ok", 20000, &s[3], &t[3]), BELFRY_BUSY);
    outgoing_cancel(t[1]);
    assert_int_equal(begin("/ok", 20000, &s[3], &t[3]), 0);
    finish(&s[3]);
    assert_int_equal(s[0].calls + s[1].calls + s[2].calls, 0);
    assert_int_equal(outgoing_count(out), 2); /* which teardown drops */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(an_answer_comes_whole_and_connections_are_kept),
        TEST(a_redirect_is_an_answer),
        TEST(what_is_too_long_is_cut),
        TEST(no_answer_is_told_apart),
        TEST(an_address_that_is_not_allowed_is_not_connected_to),
        TEST(there_are_no_more_than_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
