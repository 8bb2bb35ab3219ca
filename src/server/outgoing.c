/* SPDX-License-Identifier: MIT */
#include "server/outgoing.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time.h"

#define HEAD_MAX   (64u << 10) /* of an answer; more is no answer */
#define VALUE_MAX  256         /* kept of a header's value */
#define CONNECT_MS 10000L
#define USER_AGENT "belfry/" BELFRY_VERSION

struct outgoing {
    struct outgoing_options o;
    CURLM *multi;
    uv_loop_t *loop;
    uv_timer_t timer;
    struct list transfers;
    unsigned count;
};

struct outgoing_transfer {
    struct outgoing *owner;
    struct list link;
    CURL *easy;
    struct curl_slist *headers;
    outgoing_done_fn *done;
    void *arg;
    int64_t begun_us;
    size_t answer_bytes;
    size_t head_bytes;
    struct buf body;
    bool cut;
    bool refused; /* The guard refused an address. */
    bool tried;   /* The guard allowed an address. */
    char retry_after[VALUE_MAX];
    char location[VALUE_MAX];
    char error[CURL_ERROR_SIZE];
};

/* A socket that curl wants to hear of. It is freed when its handle is closed. */
struct watch {
    uv_poll_t poll;
    struct outgoing *owner;
    curl_socket_t fd;
};

/* ---- curl on the loop ---- */

static void transfer_finish(struct outgoing_transfer *t, CURLcode result);

/* Tells of done requests outside of curl's own calls, where the callee may start others. */
static void collect_done(struct outgoing *o)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(o->multi, &left))) {
        char *private = NULL;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
        transfer_finish((struct outgoing_transfer *)(void *)private, m->data.result);
    }
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct watch *w = handle->data;
    struct outgoing *o = w->owner;
    int running, what = 0;

    if (status < 0)
        what = CURL_CSELECT_ERR;
    if (events & UV_READABLE)
        what |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        what |= CURL_CSELECT_OUT;
    curl_multi_socket_action(o->multi, w->fd, what, &running);
    collect_done(o);
}

static void on_timer(uv_timer_t *timer)
{
    struct outgoing *o = timer->data;
    int running;

    curl_multi_socket_action(o->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    collect_done(o);
}

/* Passes a timeout of 0 on as it is. If 0 became a millisecond, each step of a request would wait
 * that long, and the server would do hundreds of requests a second, not thousands. */
static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct outgoing *o = arg;

    (void)multi;
    if (timeout_ms < 0)
        uv_timer_stop(&o->timer);
    else
        uv_timer_start(&o->timer, on_timer, (uint64_t)timeout_ms, 0);
    return 0;
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct watch *watch_new(struct outgoing *o, curl_socket_t fd)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->owner = o;
    w->fd = fd;
    w->poll.data = w;
    if (uv_poll_init_socket(o->loop, &w->poll, fd) < 0) {
        free(w);
        return NULL;
    }
    curl_multi_assign(o->multi, fd, w);
    return w;
}

static int set_watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct outgoing *o = arg;
    struct watch *w = socket_arg;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w) {
            curl_multi_assign(o->multi, fd, NULL);
            uv_poll_stop(&w->poll);
            uv_close((uv_handle_t *)&w->poll, on_watch_closed);
        }
        return 0;
    }
    if (!w && !(w = watch_new(o, fd)))
        return -1;
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    uv_poll_start(&w->poll, events, on_poll);
    return 0;
}

int outgoing_new(uv_loop_t *loop, const struct outgoing_options *options, struct outgoing **ret)
{
    struct outgoing *o = calloc(1, sizeof(*o));

    if (!o || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(o);
        return BELFRY_NOMEM;
    }
    o->o = *options;
    o->loop = loop;
    o->multi = curl_multi_init();
    list_init(&o->transfers);
    o->timer.data = o;
    uv_timer_init(loop, &o->timer);
    if (!o->multi) {
        outgoing_free(o);
        return BELFRY_NOMEM;
    }
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, set_watch);
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, (long)options->max_transfers);
    curl_multi_setopt(o->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    *ret = o;
    return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
    curl_global_cleanup();
}

void outgoing_free(struct outgoing *o)
{
    if (!o)
        return;
    while (!list_empty(&o->transfers))
        outgoing_cancel(container_of(o->transfers.next, struct outgoing_transfer, link));
    curl_multi_cleanup(o->multi); /* closes kept connections, and so their watches */
    uv_close((uv_handle_t *)&o->timer, on_timer_closed);
}

unsigned outgoing_count(const struct outgoing *o)
{
    return o->count;
}

/* ---- One request ---- */

/* Takes the transfer away from curl and out of the count, so that another may be started. */
static void transfer_detach(struct outgoing_transfer *t)
{
    if (t->easy)
        curl_multi_remove_handle(t->owner->multi, t->easy);
    list_remove(&t->link);
    t->owner->count--;
}

static void transfer_free(struct outgoing_transfer *t)
{
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    buf_fini(&t->body);
    free(t);
}

void outgoing_cancel(struct outgoing_transfer *t)
{
    transfer_detach(t);
    transfer_free(t);
}

static enum outgoing_outcome outcome_of(const struct outgoing_transfer *t, CURLcode result,
                                        long status)
{
    if (result == CURLE_OK || (t->cut && status > 0))
        return OUTGOING_ANSWERED;
    if ((t->refused && !t->tried) || result == CURLE_COULDNT_RESOLVE_HOST)
        return OUTGOING_REFUSED;
    return result == CURLE_OPERATION_TIMEDOUT ? OUTGOING_TIMEOUT : OUTGOING_UNREACHABLE;
}

static void transfer_finish(struct outgoing_transfer *t, CURLcode result)
{
    long status = 0;
    struct outgoing_answer a = {
        .body = buf_view(&t->body),
        .cut = t->cut,
        .retry_after = t->retry_after,
        .location = t->location,
        .error = "",
        .took_us = time_mono_us() - t->begun_us,
    };

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    a.outcome = outcome_of(t, result, status);
    if (a.outcome == OUTGOING_ANSWERED)
        a.status = (int)status;
    else if (a.outcome == OUTGOING_REFUSED)
        a.error = "it has no address that the server may connect to";
    else
        a.error = t->error[0] ? t->error : curl_easy_strerror(result);
    transfer_detach(t);
    t->done(t->arg, &a);
    transfer_free(t);
}

static size_t on_body(char *data, size_t one, size_t len, void *arg)
{
    struct outgoing_transfer *t = arg;
    size_t room = t->answer_bytes - t->body.len;

    (void)one;
    buf_append(&t->body, data, len < room ? len : room);
    if (len <= room)
        return t->body.failed ? 0 : len;
    t->cut = true;
    return 0; /* ends the transfer: the rest is not wanted */
}

static void keep_value(struct str line, const char *name, char ret[VALUE_MAX])
{
    size_t n = strlen(name);

    if (line.len <= n || strncasecmp(line.ptr, name, n) != 0 || line.ptr[n] != ':')
        return;
    line = str_trim((struct str){ line.ptr + n + 1, line.len - n - 1 }, " \t\r\n");
    snprintf(ret, VALUE_MAX, "%.*s", line.len < VALUE_MAX ? (int)line.len : 0, line.ptr);
}

static size_t on_header(char *data, size_t one, size_t len, void *arg)
{
    struct outgoing_transfer *t = arg;

    (void)one;
    t->head_bytes += len;
    if (t->head_bytes > HEAD_MAX)
        return 0;
    keep_value((struct str){ data, len }, "retry-after", t->retry_after);
    keep_value((struct str){ data, len }, "location", t->location);
    return len;
}

/* The guard sees the address of each connection: a name may resolve to another one from call to
 * call. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct outgoing_transfer *t = arg;
    const struct outgoing_options *o = &t->owner->o;

    (void)purpose;
    if (o->allowed && !o->allowed(o->arg, &a->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    t->tried = true;
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static bool add_header(struct outgoing_transfer *t, const char *line)
{
    struct curl_slist *more = curl_slist_append(t->headers, line);

    if (more)
        t->headers = more;
    return more;
}

static bool add_headers(struct outgoing_transfer *t, struct str lines)
{
    size_t len;

    for (; lines.len > 0; lines = (struct str){ lines.ptr + len, lines.len - len }) {
        len = strlen(lines.ptr) + 1;
        if (!add_header(t, lines.ptr))
            return false;
    }
    /* Without this curl asks first whether a large body is welcome, and waits for the answer. */
    return add_header(t, "Expect:");
}

static void set_fixed(CURL *c, struct outgoing_transfer *t)
{
    curl_easy_setopt(c, CURLOPT_PRIVATE, (char *)t);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* no waiting for a name that takes too long */
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, USER_AGENT);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t);
    if (t->owner->o.ca_file)
        curl_easy_setopt(c, CURLOPT_CAINFO, t->owner->o.ca_file);
}

static bool set_request(CURL *c, struct outgoing_transfer *t, const struct outgoing_request *r)
{
    long ms = (long)r->timeout_ms;

    return !curl_easy_setopt(c, CURLOPT_URL, r->url) && !curl_easy_setopt(c, CURLOPT_POST, 1L) &&
           !curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len) &&
           !curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body.len ? r->body.ptr : "") &&
           !curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) &&
           !curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, ms) &&
           !curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : CONNECT_MS);
}

int outgoing_start(struct outgoing *o, const struct outgoing_request *r,
                   struct outgoing_transfer **ret)
{
    struct outgoing_transfer *t;

    if (o->count >= o->o.max_transfers)
        return BELFRY_BUSY;
    t = calloc(1, sizeof(*t));
    if (!t)
        return BELFRY_NOMEM;
    t->owner = o;
    t->done = r->done;
    t->arg = r->arg;
    t->answer_bytes = r->answer_bytes;
    t->begun_us = time_mono_us();
    list_append(&o->transfers, &t->link);
    o->count++;
    t->easy = curl_easy_init();
    if (t->easy)
        set_fixed(t->easy, t);
    if (!t->easy || !add_headers(t, r->headers) || !set_request(t->easy, t, r) ||
        curl_multi_add_handle(o->multi, t->easy) != CURLM_OK) {
        outgoing_cancel(t);
        return BELFRY_NOMEM;
    }
    *ret = t;
    return 0;
}
