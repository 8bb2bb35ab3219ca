/* SPDX-License-Identifier: MIT */
#include "server/chores.h"

#include "base/time.h"

#define CHORE_PAUSE_MS 1000 /* after an error; it is then that the sweep turns the loop */

static void on_run(uv_work_t *work)
{
    struct server_lane *lane = work->data;

    lane->result = chore_run(lane->chore);
    snprintf(lane->detail, sizeof(lane->detail), "%s", lane->result ? store_detail() : "");
}

/* A disk that stays full or damaged is told of once. */
static void tell(struct server_lane *lane, const char *name, int err)
{
    if (err && err != lane->told)
        log_line(&lane->server->log, LOG_LEVEL_ERROR, "a chore failed", "chore", name, "error",
                 error_text(err), "detail", lane->detail, "next",
                 err == BELFRY_CORRUPT ? "belfry check shows what is damaged" : "tried again soon",
                 NULL);
    lane->told = err;
}

static void on_done(uv_work_t *work, int status)
{
    struct server_lane *lane = work->data;
    struct server *s = lane->server;
    struct chore *chore = lane->chore;
    const char *name = chore_name(chore);
    int err;

    (void)status;
    lane->chore = NULL;
    if (!s->partition || s->failed)
        return;
    err = partition_chore_done(s->partition, chore, lane->result);
    if (err)
        lane->after_ms = time_mono_us() / 1000 + CHORE_PAUSE_MS;
    tell(lane, name, err);
}

void chores_start(struct server *s)
{
    int64_t now = time_mono_us() / 1000;

    for (size_t i = 0; i < LANES; i++) {
        struct server_lane *lane = &s->lanes[i];

        if (lane->chore || now < lane->after_ms ||
            !(lane->chore = partition_chore(s->partition, (enum lane)i)))
            continue;
        lane->server = s;
        lane->work.data = lane;
        uv_queue_work(&s->loop, &lane->work, on_run, on_done);
    }
}

bool chores_idle(const struct server *s)
{
    for (size_t i = 0; i < LANES; i++)
        if (s->lanes[i].chore)
            return false;
    return true;
}
