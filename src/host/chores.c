/* SPDX-License-Identifier: MIT */
#include "host/chores.h"

#include <stdio.h>

#include "base/time.h"
#include "host/host.h"

#define CHORE_PAUSE_MS 1000 /* A chore that failed begins anew after this time. */

static void on_run(uv_work_t *work)
{
    struct host_chore *slot = work->data;

    slot->result = chore_run(slot->chore);
    snprintf(slot->detail, sizeof(slot->detail), "%s", slot->result ? store_detail() : "");
}

static void on_done(uv_work_t *work, int status)
{
    struct host_chore *slot = work->data;
    struct host *h = slot->host;
    struct chore *chore = slot->chore;
    const char *name = chore_name(chore);
    int err;

    (void)status;
    slot->chore = NULL;
    if (!host_is_up(h))
        return;
    err = partition_chore_done(h->partition, chore, slot->result);
    if (err)
        slot->after_ms = time_mono_ms() + CHORE_PAUSE_MS;
    if (err && err != slot->told) /* else the disk stays full or damaged */
        h->ops->chore_failed(h->user, name, err, slot->detail);
    slot->told = err;
}

void chores_start(struct host *h)
{
    int64_t now = time_mono_ms();

    for (size_t i = 0; i < CHORE_KINDS; i++) {
        struct host_chore *slot = &h->chores[i];

        if (slot->chore || now < slot->after_ms ||
            !(slot->chore = partition_chore(h->partition, (enum chore_kind)i)))
            continue;
        slot->host = h;
        slot->work.data = slot;
        uv_queue_work(h->loop, &slot->work, on_run, on_done);
    }
}

bool chores_idle(const struct host *h)
{
    for (size_t i = 0; i < CHORE_KINDS; i++)
        if (h->chores[i].chore)
            return false;
    return true;
}
