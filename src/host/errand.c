/* SPDX-License-Identifier: MIT */
#include "host/errand.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "host/host.h"

#define ERRANDS_MAX 16   /* on their way at a time, or back */
#define HEAVY_ASKS  64   /* an errand that looks for more jobs than this is heavy, */
#define HEAVY_MAX   2    /* and so many of those leave threads to chores and to other errands */
#define GROW_SLOTS  4    /* jobs that errands bring to memory at a time */
#define GROUPS_LOOK 64   /* errands among which one of another group is looked for */
#define ERRANDS_US  5000 /* for so long requests are executed again in a turn */

struct errand {
    struct host *host;
    void *owner; /* NULL: the owner went away meanwhile */
    const void *group;
    struct fetch *fetch;
    struct list link; /* in the list of its class, or in errands_back */
    uv_work_t work;
    int64_t begun_us;
    enum errand_class class;
    unsigned slots; /* that it has of its class while it is on its way, or back */
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
    unsigned taken = h->errands[e->class].slots;

    if (e->class == ERRAND_HEAVY)
        return taken < HEAVY_MAX;
    if (e->class == ERRAND_PLAIN)
        return true;
    if (!h->draining && partition_crammed(h->partition))
        return false;
    return taken == 0 || (taken + e->slots <= GROW_SLOTS && !partition_pressed(h->partition));
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

/* The next errand of a class that may be sent, or NULL. */
static struct errand *sendable(const struct host *h, enum errand_class class)
{
    const struct list *waiting = &h->errands[class].waiting;
    struct errand *e;

    if (h->errands_sent >= ERRANDS_MAX || list_empty(waiting))
        return NULL;
    e = next_of(waiting, h->errands[class].last);
    return has_room(h, e) ? e : NULL;
}

static void send_waiting(struct host *h)
{
    for (int class = 0; class < ERRAND_CLASSES; class ++) {
        struct errand *e;

        while ((e = sendable(h, (enum errand_class) class))) {
            list_remove(&e->link);
            e->sent = true;
            h->errands_sent++;
            h->errands[class].slots += e->slots;
            h->errands[class].last = e->group;
            uv_queue_work(h->loop, &e->work, on_run, on_back);
        }
    }
}

static void leave_slots(struct errand *e)
{
    if (e->sent) {
        e->host->errands_sent--;
        e->host->errands[e->class].slots -= e->slots;
    }
    e->sent = false;
}

static void wait_turn(struct errand *e)
{
    leave_slots(e);
    list_append(&e->host->errands[e->class].waiting, &e->link);
}

static void errand_end(struct errand *e)
{
    leave_slots(e);
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
        if (err && !e->result)
            snprintf(e->detail, sizeof(e->detail), "%s", err == BELFRY_BUSY ? store_detail() : "");
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
    return (!list_empty(&h->errands_back) && host_may_execute(h)) || sendable(h, ERRAND_GROWING);
}

static void classify(struct errand *e)
{
    unsigned grows = fetch_grows(e->fetch);

    e->slots = 1;
    if (grows > 0) {
        e->class = ERRAND_GROWING;
        e->slots = grows < GROW_SLOTS ? grows : GROW_SLOTS;
    } else if (fetch_asks(e->fetch) > HEAVY_ASKS) {
        e->class = ERRAND_HEAVY;
    }
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
    classify(e);
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
    bool idle = h->errands_sent == 0;

    for (int class = 0; class < ERRAND_CLASSES; class ++)
        idle = idle && list_empty(&h->errands[class].waiting);
    return idle;
}
