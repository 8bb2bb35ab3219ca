/* SPDX-License-Identifier: MIT */
#include "host/errand.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "host/host.h"

#define ERRANDS_MAX 16   /* on their way at a time, or back */
#define GROW_SLOTS  8    /* jobs that they bring to memory */
#define GROUPS_LOOK 64   /* errands among which one of another group is looked for */
#define ERRANDS_US  5000 /* for so long requests are executed again in a turn */

struct errand {
    struct host *host;
    void *owner; /* NULL: the owner went away meanwhile */
    const void *group;
    struct fetch *fetch;
    struct list link; /* in errands_waiting or errands_growing, or in errands_back */
    uv_work_t work;
    int64_t begun_us;
    unsigned slots; /* of GROW_SLOTS; 0: it brings no job to memory */
    bool sent;      /* it is on its way, or back */
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

/* Jobs that come to memory wait for room there, as new jobs do. One that is alone always finds a
 * slot. A server that is about to stop makes no more room. */
static bool has_room(const struct host *h, const struct errand *e)
{
    if (e->slots == 0)
        return true;
    if (!h->draining && partition_crammed(h->partition))
        return false;
    if (h->errands_slots == 0)
        return true;
    return h->errands_slots + e->slots <= GROW_SLOTS && !partition_pressed(h->partition);
}

/* The next errand: of another group than the last one, if there is one. */
static struct errand *next_of(const struct list *waiting, const void *last)
{
    int n = 0;

    list_each_of (struct errand, e, waiting, link)
        if (e->group != last || n++ == GROUPS_LOOK)
            return e;
    return container_of(waiting->next, struct errand, link);
}

static void send_of(struct host *h, const struct list *waiting, const void **last)
{
    while (h->errands_sent < ERRANDS_MAX && !list_empty(waiting)) {
        struct errand *e = next_of(waiting, *last);

        if (!has_room(h, e))
            return;
        list_remove(&e->link);
        *last = e->group;
        e->sent = true;
        h->errands_sent++;
        h->errands_slots += e->slots;
        uv_queue_work(h->loop, &e->work, on_run, on_back);
    }
}

static void send_waiting(struct host *h)
{
    send_of(h, &h->errands_waiting, &h->errands_last);
    send_of(h, &h->errands_growing, &h->errands_last_growing);
}

static void wait_turn(struct errand *e)
{
    struct host *h = e->host;

    if (e->sent) {
        h->errands_sent--;
        h->errands_slots -= e->slots;
    }
    e->sent = false;
    list_append(e->slots ? &h->errands_growing : &h->errands_waiting, &e->link);
}

static void errand_end(struct errand *e)
{
    if (e->sent) {
        e->host->errands_sent--;
        e->host->errands_slots -= e->slots;
    }
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

/* Many may be back at once: they have their part of the turn, as other requests do. */
static void on_back(uv_work_t *work, int status)
{
    struct errand *e = work->data;

    (void)status;
    if (e->owner)
        list_append(&e->host->errands_back, &e->link);
    else
        errand_end(e);
}

void errands_answer(struct host *h)
{
    int64_t until_us = h->seen_us + ERRANDS_US;

    if (!list_empty(&h->errands_back))
        host_advance(h); /* before partition_fetched looks at the answers: jobs may move */
    while (!list_empty(&h->errands_back) && host_may_execute(h)) {
        struct errand *e = container_of(h->errands_back.next, struct errand, link);
        int err = partition_fetched(h->partition, e->fetch, e->result);

        list_remove(&e->link);
        if (err == BELFRY_COLD)
            wait_turn(e);
        else
            hand_over(e, err);
        if (time_mono_us() >= until_us)
            break;
    }
    send_waiting(h);
}

bool errands_may_go_on(const struct host *h)
{
    const struct list *growing = &h->errands_growing;

    if (!list_empty(&h->errands_back) && host_may_execute(h))
        return true;
    return !list_empty(growing) && h->errands_sent < ERRANDS_MAX &&
           has_room(h, next_of(growing, h->errands_last_growing));
}

struct errand *errand_begin(struct host *h, void *owner, const void *group)
{
    struct errand *e = calloc(1, sizeof(*e));

    if (!e || !(e->fetch = partition_fetch(h->partition))) {
        free(e);
        return NULL;
    }
    e->host = h;
    e->owner = owner;
    e->group = group;
    e->work.data = e;
    e->begun_us = time_mono_us();
    e->slots = fetch_grows(e->fetch) < GROW_SLOTS ? fetch_grows(e->fetch) : GROW_SLOTS;
    wait_turn(e);
    send_waiting(h);
    return e;
}

void errand_drop(struct errand *e)
{
    if (!e)
        return;
    e->owner = NULL;
    if (!list_empty(&e->link)) { /* The errand was not sent yet, or is back. */
        list_remove(&e->link);
        errand_end(e);
    }
}

bool errands_idle(const struct host *h)
{
    return h->errands_sent == 0 && list_empty(&h->errands_waiting) &&
           list_empty(&h->errands_growing);
}
