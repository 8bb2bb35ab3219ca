/* SPDX-License-Identifier: MIT */
#include "server/slow.h"

#include "server/server.h"

#define TELL_MS 1000

void slow_note(struct server *s, const char *what, int64_t took_us, uint64_t client)
{
    struct slow *slow = &s->slow;
    int64_t now;

    if (took_us < SLOW_US)
        return;
    slow->count++;
    now = time_mono_ms();
    if (now < slow->tell_ms) {
        slow->untold++;
        return;
    }
    log_warn(&s->log, "a piece of work was slow", "what", what, "us", LOG_INT(took_us), "client",
             LOG_INT(client), "others", LOG_INT(slow->untold));
    slow->tell_ms = now + TELL_MS;
    slow->untold = 0;
}
