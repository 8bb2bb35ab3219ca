/* SPDX-License-Identifier: MIT */
#include "host/errand.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "host/host.h"

#define ERRANDS_MAX 64 /* on their way at a time */

struct errand {
    struct host *host;
    void *owner; /* NULL: the owner went away meanwhile */
    struct fetch *fetch;
    struct list link; /* in errands_waiting, while it waits its turn */
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

static void send_waiting(struct host *h)
{
    while (h->errands_sent < ERRANDS_MAX && !list_empty(&h->errands_waiting)) {
        struct errand *e = container_of(h->errands_waiting.next, struct errand, link);

        list_remove(&e->link);
        h->errands_sent++;
        uv_queue_work(h->loop, &e->work, on_run, on_back);
    }
}

static void errand_end(struct errand *e)
{
    partition_fetch_end(e->host->partition, e->fetch);
    free(e);
}

/* Between the fetch's answer and its end only the owner's request is executed. */
static void hand_over(struct errand *e, int err)
{
    struct host *h = e->host;
    void *owner = e->owner;

    hist_add(&h->fetch_us, time_mono_us() - e->begun_us);
    h->ops->fetched(h->user, owner, err, e->detail);
    errand_end(e);
    h->ops->answered(h->user, owner);
}

static void on_back(uv_work_t *work, int status)
{
    struct errand *e = work->data;
    struct host *h = e->host;
    int err;

    (void)status;
    h->errands_sent--;
    host_advance(h); /* before partition_fetched looks at the answer: jobs may move */
    err = e->owner ? partition_fetched(h->partition, e->fetch, e->result) : 0;
    if (err == BELFRY_COLD)
        list_append(&h->errands_waiting, &e->link);
    else if (e->owner)
        hand_over(e, err);
    else
        errand_end(e);
    send_waiting(h);
}

struct errand *errand_begin(struct host *h, void *owner)
{
    struct errand *e = calloc(1, sizeof(*e));

    if (!e || !(e->fetch = partition_fetch(h->partition))) {
        free(e);
        return NULL;
    }
    e->host = h;
    e->owner = owner;
    e->work.data = e;
    e->begun_us = time_mono_us();
    list_append(&h->errands_waiting, &e->link);
    send_waiting(h);
    return e;
}

void errand_drop(struct errand *e)
{
    if (!e)
        return;
    e->owner = NULL;
    if (!list_empty(&e->link)) { /* The errand was not sent yet. */
        list_remove(&e->link);
        errand_end(e);
    }
}

bool errands_idle(const struct host *h)
{
    return h->errands_sent == 0 && list_empty(&h->errands_waiting);
}
