/* SPDX-License-Identifier: MIT */
#include "host/errand.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "host/host.h"

#define PLAIN_MAX  8    /* plain errands on their way or back at a time */
#define HEAVY_MAX  2    /* heavy ones: they leave threads to chores and to other errands */
#define GROW_MAX   4    /* jobs that growing errands bring to memory at a time */
#define HEAVY_JOBS 64   /* an errand that looks for more jobs than this is heavy */
#define ERRANDS_US 5000 /* for so long requests are executed again in a turn */

struct errand {
    struct host *host;
    void *owner; /* NULL: the owner went away meanwhile */
    const void *group;
    struct fetch *fetch;
    struct list link;      /* in the list of its class, behind its leader, or in errands_back */
    struct list followers; /* errands of its group that wait behind it */
    uv_work_t work;
    int64_t begun_us;
    enum errand_class class;
    unsigned slots; /* that it takes of its class while it is on its way or back */
    bool sent;      /* it is on its way or back */
    int result;
    char detail[256];
};

static void on_run(uv_work_t *work)
{
    struct errand *e = work->data;

    e->result = fetch_run(e->fetch);
    snprintf(e->detail, sizeof(e->detail), "%s", e->result ? store_detail() : "");
}

/* ---- Waiting ---- */

/* The errand waits behind the leader of its group, which came first. Without a leader, the errand
 * becomes the leader. The leaders of all groups take turns. */
static void wait_turn(struct errand *e)
{
    struct list *waiting = &e->host->errands[e->class].waiting, *at = waiting;

    list_each_of (struct errand, leader, waiting, link)
        if (leader->group == e->group) {
            at = &leader->followers;
            break;
        }
    list_append(at, &e->link);
}

/* The next of its group leads the others, and waits until all other groups had their turn. */
static void leave_queue(struct errand *e)
{
    struct errand *heir = container_of(e->followers.next, struct errand, link);

    list_remove(&e->link);
    if (list_empty(&e->followers))
        return;
    list_remove(&heir->link);
    list_splice(&heir->followers, &e->followers);
    list_append(&e->host->errands[e->class].waiting, &heir->link);
}

/* Whether an errand of this size may be sent. Jobs that come to memory wait for room there, as new
 * jobs do; a server that is about to stop makes no more room. One that is alone always finds a
 * slot. */
static bool has_room(const struct host *h, enum errand_class class, unsigned slots)
{
    unsigned taken = h->errands[class].taken;

    switch (class) {
    case ERRAND_PLAIN:
        return taken == 0 || (taken < PLAIN_MAX && !partition_copies_much(h->partition));
    case ERRAND_HEAVY: return taken < HEAVY_MAX;
    default: break;
    }
    if (!h->draining && partition_crammed(h->partition, STR("")))
        return false;
    return taken == 0 || (taken + slots <= GROW_MAX && !partition_pressed(h->partition));
}

/* The next errand of a class, if it may be sent; or NULL. */
static struct errand *sendable(const struct host *h, enum errand_class class)
{
    const struct list *waiting = &h->errands[class].waiting;
    struct errand *e = container_of(waiting->next, struct errand, link);

    return !list_empty(waiting) && has_room(h, class, e->slots) ? e : NULL;
}

static void on_back(uv_work_t *work, int status);

static void send_waiting(struct host *h)
{
    for (enum errand_class class = 0; class < ERRAND_CLASSES; class ++) {
        struct errand *e;

        while ((e = sendable(h, class))) {
            leave_queue(e);
            e->sent = true;
            h->errands[class].taken += e->slots;
            uv_queue_work(h->loop, &e->work, on_run, on_back);
        }
    }
}

static void leave_slots(struct errand *e)
{
    if (e->sent)
        e->host->errands[e->class].taken -= e->slots;
    e->sent = false;
}

/* ---- Coming back ---- */

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

static void on_back(uv_work_t *work, int status)
{
    struct errand *e = work->data;

    (void)status;
    if (e->owner)
        list_append(&e->host->errands_back, &e->link);
    else
        errand_end(e);
}

/* Hands the first over that is back, or has it sent once more. */
static void answer_one(struct host *h)
{
    struct errand *e = container_of(h->errands_back.next, struct errand, link);
    int err = partition_fetched(h->partition, e->fetch, e->result);

    list_remove(&e->link);
    if (err == BELFRY_COLD) {
        leave_slots(e);
        wait_turn(e);
        return;
    }
    if (err && !e->result)
        snprintf(e->detail, sizeof(e->detail), "%s", err == BELFRY_BUSY ? store_detail() : "");
    hand_over(e, err);
}

void errands_answer(struct host *h)
{
    int64_t until_us = h->seen_us + ERRANDS_US;

    if (!list_empty(&h->errands_back))
        host_advance(h); /* before partition_fetched looks at answers: jobs may move */
    while (!list_empty(&h->errands_back) && host_may_execute(h)) {
        answer_one(h);
        if (time_mono_us() >= until_us)
            break;
    }
    send_waiting(h);
}

bool errands_may_go_on(const struct host *h)
{
    return (!list_empty(&h->errands_back) && host_may_execute(h)) || sendable(h, ERRAND_GROWING);
}

/* ---- Beginning and ending ---- */

static void classify(struct errand *e)
{
    size_t grows = fetch_grows(e->fetch);

    e->slots = 1;
    if (grows > 0) {
        e->class = ERRAND_GROWING;
        e->slots = grows < GROW_MAX ? (unsigned)grows : GROW_MAX;
    } else if (fetch_looks(e->fetch) > HEAVY_JOBS) {
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
    lists_init(&e->link, &e->followers);
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
        leave_queue(e);
        errand_end(e);
    }
}

bool errands_idle(const struct host *h)
{
    bool idle = true;

    for (enum errand_class class = 0; class < ERRAND_CLASSES; class ++)
        idle = idle && h->errands[class].taken == 0 && list_empty(&h->errands[class].waiting);
    return idle;
}
