/* SPDX-License-Identifier: MIT */
#include "server/errand.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "server/client.h"

#define ERRANDS_MAX 64 /* on their way at a time */
#define TELL_MS     1000

struct errand {
    struct server *server;
    struct client *client; /* NULL: closed meanwhile */
    struct fetch *fetch;
    struct list link; /* while it waits its turn */
    uv_work_t work;
    int64_t begun_us;
    int result;
    char detail[256];
};

static void on_run(uv_work_t *work)
{
    struct errand *e = work->data;

    e->result = fetch_run(e->fetch);
    snprintf(e->detail, sizeof(e->detail), "%s", e->result ? store_detail() : "");
}

static void on_back(uv_work_t *work, int status);

static void send_waiting(struct server *s)
{
    while (s->errands < ERRANDS_MAX && !list_empty(&s->errands_waiting)) {
        struct errand *e = container_of(s->errands_waiting.next, struct errand, link);

        list_remove(&e->link);
        s->errands++;
        uv_queue_work(&s->loop, &e->work, on_run, on_back);
    }
}

static void end(struct errand *e)
{
    partition_fetch_end(e->server->partition, e->fetch);
    free(e);
}

/* Not each time: a client may ask again and again. */
static void tell(const struct errand *e, int err)
{
    struct server *s = e->server;
    int64_t now = time_mono_us() / 1000;

    if ((err != BELFRY_CORRUPT && err != BELFRY_IO) || now < s->errands_tell_ms)
        return;
    s->errands_tell_ms = now + TELL_MS;
    log_line(&s->log, LOG_LEVEL_ERROR, "a job could not be read from disk", "error",
             error_text(err), "detail", e->detail, "next", "belfry check shows what is damaged",
             NULL);
}

/* The request is executed between the answer and its end, and nothing else is. */
static void hand_over(struct errand *e, int err)
{
    struct server *s = e->server;
    struct client *c = e->client;

    tell(e, err);
    hist_add(&s->fetch_us, time_mono_us() - e->begun_us);
    client_fetched(c, err, e->detail);
    end(e);
    client_flush(c);
}

static void on_back(uv_work_t *work, int status)
{
    struct errand *e = work->data;
    struct server *s = e->server;
    int err;

    (void)status;
    s->errands--;
    server_advance(s); /* before the answer is looked at: jobs may move */
    err = e->client ? partition_fetched(s->partition, e->fetch, e->result) : 0;
    if (err == BELFRY_COLD)
        list_append(&s->errands_waiting, &e->link);
    else if (e->client)
        hand_over(e, err);
    else
        end(e);
    send_waiting(s);
}

struct errand *errand_begin(struct server *s, struct client *c)
{
    struct errand *e = calloc(1, sizeof(*e));

    if (!e || !(e->fetch = partition_fetch(s->partition))) {
        free(e);
        return NULL;
    }
    e->server = s;
    e->client = c;
    e->work.data = e;
    e->begun_us = time_mono_us();
    list_init(&e->link);
    list_append(&s->errands_waiting, &e->link);
    send_waiting(s);
    return e;
}

void errand_drop(struct errand *e)
{
    if (!e)
        return;
    e->client = NULL;
    if (!list_empty(&e->link)) { /* it was not sent yet */
        list_remove(&e->link);
        end(e);
    }
}

bool errands_idle(const struct server *s)
{
    return s->errands == 0 && list_empty(&s->errands_waiting);
}
