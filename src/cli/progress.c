/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/quantity.h"
#include "base/time.h"
#include "cli/term.h"

#define EVERY_US  100000
#define BAR_WIDTH 30

void progress_begin(struct progress *p, const char *name, uint64_t total, bool quiet)
{
    struct term t = term_look(STDERR_FILENO);

    *p = (struct progress){ .name = name, .total = total, .begun_us = time_mono_us() };
    p->on = t.tty && t.width >= 70 && !quiet;
}

void progress_show(struct progress *p, uint64_t done)
{
    int64_t now = p->on ? time_mono_us() : 0;
    struct buf out = { 0 };
    uint64_t share;

    if (!p->on || now - p->shown_us < EVERY_US)
        return;
    p->shown_us = now;
    share = p->total ? done * BAR_WIDTH / p->total : 0;
    buf_printf(&out, "\r%-10s ", p->name);
    for (uint64_t i = 0; i < BAR_WIDTH; i++)
        buf_text(&out, i < share ? "█" : "░");
    buf_printf(
        &out, " %3d%%  %s/s\033[K", (int)(p->total ? done * 100 / p->total : 0),
        quantity_count((int64_t)((double)done * 1e6 / (double)(now - p->begun_us + 1))).text);
    fwrite(out.ptr, 1, out.len, stderr);
    fflush(stderr);
    buf_fini(&out);
}

void progress_end(struct progress *p)
{
    if (p->on)
        fputs("\r\033[K", stderr);
}
