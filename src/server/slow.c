/* SPDX-License-Identifier: MIT */
#include "server/slow.h"

#include "server/server.h"

#define LINES_PER_S 1 /* log lines in a second for each kind of work */

#define STAGE_TEXT(name, text) text,
static const char *const stages[] = { SLOW_STAGES(STAGE_TEXT) };

void slow_note(struct server *s, const char *what, enum slow_stage stage, int64_t took_us,
               uint64_t client)
{
    struct slow *slow = &s->slow;

    if (took_us < s->options.slow_work_ms * 1000)
        return;
    slow->count++;
    if (!lograte_takes(&slow->rate, what, LINES_PER_S, time_mono_ms())) {
        slow->untold++;
        return;
    }
    log_warn(&s->log, "a piece of work was slow", "what", what, "when", stages[stage], "us",
             LOG_INT(took_us), "client", LOG_INT(client), "others", LOG_INT(slow->untold));
    slow->untold = 0;
}
