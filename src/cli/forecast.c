/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/quantity.h"
#include "cli/call.h"
#include "cli/term.h"

#define BAR_COLUMNS 40 /* at most */

struct step {
    int64_t from_ms;
    int64_t to_ms;
    int64_t jobs;
    int64_t recurring;
    bool partial; /* there may be more jobs */
};

struct scale {
    int64_t most; /* jobs in a step */
    int count_columns;
    size_t bar_columns;
    bool seconds; /* steps are so short that they are shown */
};

static bool read_step(const struct resp_values *v, size_t at, struct step *ret)
{
    const struct resp_value *from = client_field(v, at, "from_ms");
    const struct resp_value *to = client_field(v, at, "to_ms");
    const struct resp_value *jobs = client_field(v, at, "jobs");
    const struct resp_value *recurring = client_field(v, at, "recurring"); /* NULL: an old server */
    const struct resp_value *partial = client_field(v, at, "partial");

    if (!from || !to || !jobs || jobs->type != RESP_INT)
        return false;
    *ret = (struct step){ from->number, to->number, jobs->number, recurring ? recurring->number : 0,
                          partial && partial->number };
    return true;
}

static void put_moment(struct buf *out, int64_t ms, bool seconds)
{
    time_t whole = (time_t)(ms / 1000);
    struct tm tm;
    char text[40];

    if (!localtime_r(&whole, &tm)) {
        buf_int(out, ms);
        return;
    }
    buf_append(out, text,
               strftime(text, sizeof(text), seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm));
    if (seconds && ms % 1000)
        buf_printf(out, ".%03d", (int)(ms % 1000));
}

/* In eighths of a column, and something for any jobs at all. */
static void put_bar(struct buf *out, int64_t jobs, int64_t most, size_t columns)
{
    static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    size_t eighths = (size_t)((double)jobs / (double)most * (double)(8 * columns) + 0.5);

    if (eighths == 0 && jobs > 0)
        eighths = 1;
    for (size_t i = 0; i < eighths / 8; i++)
        buf_text(out, "█");
    buf_text(out, parts[eighths % 8]);
}

static void put_step(struct buf *out, const struct step *s, const struct scale *scale,
                     const struct render *r)
{
    put_moment(out, s->from_ms, scale->seconds);
    buf_printf(out, "  %*s", scale->count_columns, quantity_count(s->jobs).text);
    buf_text(out, s->partial ? "+" : "");
    if (s->jobs > 0) {
        buf_text(out, r->colour ? "  " TERM_CYAN : "  ");
        put_bar(out, s->jobs, scale->most, scale->bar_columns);
        buf_text(out, r->colour ? TERM_PLAIN : "");
    }
    buf_text(out, "\n");
}

bool forecast_put(struct buf *out, const struct resp_values *v, const struct render *r)
{
    struct scale scale = { .most = 1 };
    struct step s = { 0 };
    int64_t all = 0, recurring = 0;
    bool partial = false;

    for (size_t i = 0, at = 1; i < v->at[0].children; i++, at = v->at[at].next) {
        if (v->at[0].type != RESP_ARRAY || !read_step(v, at, &s))
            return false;
        scale.most = s.jobs > scale.most ? s.jobs : scale.most;
        scale.seconds = scale.seconds || s.to_ms - s.from_ms < 60000;
        all += s.jobs;
        recurring += s.recurring;
        partial = partial || s.partial;
    }
    scale.count_columns = (int)strlen(quantity_count(scale.most).text);
    scale.bar_columns = r->width && r->width < BAR_COLUMNS + 40 ? r->width / 3 : BAR_COLUMNS;
    for (size_t i = 0, at = 1; i < v->at[0].children; i++, at = v->at[at].next) {
        read_step(v, at, &s);
        put_step(out, &s, &scale, r);
    }
    put_moment(out, s.to_ms, scale.seconds);
    buf_printf(out, "  %s jobs in all", quantity_count(all).text);
    if (recurring > 0)
        buf_printf(out, ", %s of them by recurrences", quantity_count(recurring).text);
    buf_text(out, partial ? "; + means that there are more than could be counted\n" : "\n");
    return true;
}
