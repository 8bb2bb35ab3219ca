/* SPDX-License-Identifier: MIT */
#include "support/year.h"

static bool at_half_past_one(const struct shown *s)
{
    return s->hour == 1 && s->min == 30;
}

static bool quarters_of_one_and_two(const struct shown *s)
{
    return (s->hour == 1 || s->hour == 2) && (s->min == 15 || s->min == 45);
}

static bool mon_wed_fri_at_nine(const struct shown *s)
{
    return (s->wday == 1 || s->wday == 3 || s->wday == 5) && s->hour == 9 && s->min == 0;
}

/* Of every other week, the first of which begins on Monday 28 December 2026. */
static bool second_weeks(const struct shown *s)
{
    int64_t week = (s->minute + 4 * 1440) / (7 * 1440);

    return week % 2 == 0 && (s->wday == 2 || s->wday == 6) && s->hour == 23 && s->min == 20;
}

static int month_days(int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1];
}

static bool last_friday(const struct shown *s)
{
    return s->wday == 5 && s->mday + 7 > month_days(s->month) && s->hour == 17 && s->min == 0;
}

static bool last_minute_of_month(const struct shown *s)
{
    return s->mday == month_days(s->month) && s->hour == 23 && s->min == 59;
}

static bool sundays_of_march_and_october(const struct shown *s)
{
    return (s->month == 3 || s->month == 10) && s->wday == 0 && s->hour == 1 && s->min == 0;
}

static bool two_and_half_past(const struct shown *s)
{
    return s->hour == 2 && (s->min == 0 || s->min == 30);
}

static bool sundays_quarter_past_two(const struct shown *s)
{
    return s->wday == 0 && s->hour == 2 && s->min == 15;
}

static bool quarter_past(const struct shown *s)
{
    return s->min == 15;
}

static bool quarter_to(const struct shown *s)
{
    return s->min == 45;
}

static bool night_and_office(const struct shown *s)
{
    return s->min % 20 == 0 && (s->hour <= 3 || (s->hour >= 8 && s->hour <= 17)) && s->wday != 6;
}

static bool thirteenth_or_friday(const struct shown *s)
{
    return (s->mday == 13 || s->wday == 5) && s->hour == 12 && s->min == 0;
}

static bool half_past_two(const struct shown *s)
{
    return s->hour == 2 && s->min == 30;
}

/* clang-format off */
const struct plan plans[PLANS] = {
    { LONDON,    EVERY, "1h",  LATE_ALL,  BUSY_ALLOW, true,  false, ELAPSED, NULL, 60, 0 },
    { NEW_YORK,  EVERY, "30m", LATE_LAST, BUSY_ALLOW, true,  false, ELAPSED, NULL, 30, 0 },
    { KATHMANDU, EVERY, "7h",  LATE_LAST, BUSY_SKIP,  false, false, ELAPSED, NULL, 7 * 60, 0 },
    { LONDON,    EVERY, "25h", LATE_SKIP, BUSY_SKIP,  true,  true,  ELAPSED, NULL, 25 * 60, 0 },
    { NEW_YORK,  RRULE, "FREQ=HOURLY;INTERVAL=6",
      LATE_SKIP, BUSY_QUEUE, false, false, ELAPSED, NULL, 6 * 60, 0 },
    { LORD_HOWE, RRULE, "FREQ=HOURLY;BYMINUTE=15",
      LATE_ALL, BUSY_SKIP, false, false, SHOWN, quarter_past, 0, 0 },
    { LONDON,    RRULE, "FREQ=DAILY;BYHOUR=1;BYMINUTE=30",
      LATE_LAST, BUSY_QUEUE, true, false, NAMED, at_half_past_one, 0, 0 },
    { LORD_HOWE, RRULE, "FREQ=DAILY;BYHOUR=1,2;BYMINUTE=15,45",
      LATE_LAST, BUSY_QUEUE, true, false, NAMED, quarters_of_one_and_two, 0, 0 },
    { NEW_YORK,  RRULE, "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=9;BYMINUTE=0",
      LATE_ALL, BUSY_SKIP, true, false, NAMED, mon_wed_fri_at_nine, 0, 0 },
    { KATHMANDU, RRULE, "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SA;BYHOUR=23;BYMINUTE=20",
      LATE_LAST, BUSY_SKIP, true, false, NAMED, second_weeks, 0, 0 },
    { LONDON,    RRULE, "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0",
      LATE_LAST, BUSY_SKIP, false, false, NAMED, last_friday, 0, 0 },
    { NEW_YORK,  RRULE, "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=23;BYMINUTE=59",
      LATE_ALL, BUSY_ALLOW, true, false, NAMED, last_minute_of_month, 0, 0 },
    { LONDON,    RRULE, "FREQ=YEARLY;BYMONTH=3,10;BYDAY=SU;BYHOUR=1;BYMINUTE=0",
      LATE_LAST, BUSY_SKIP, false, true, NAMED, sundays_of_march_and_october, 0, 0 },
    { LONDON,    CRON, "30 1 * * *",
      LATE_ALL, BUSY_SKIP, false, false, NAMED, at_half_past_one, 0, 0 },
    { NEW_YORK,  CRON, "0,30 2 * * *",
      LATE_SKIP, BUSY_ALLOW, true, false, NAMED, two_and_half_past, 0, 0 },
    { LORD_HOWE, CRON, "15 2 * * 0",
      LATE_LAST, BUSY_SKIP, false, true, NAMED, sundays_quarter_past_two, 0, 0 },
    { LORD_HOWE, CRON, "45 * * * *",
      LATE_LAST, BUSY_SKIP, true, false, SHOWN, quarter_to, 0, 0 },
    { LONDON,    CRON, "*/20 0-3,8-17 * * 0-5",
      LATE_SKIP, BUSY_QUEUE, true, false, NAMED, night_and_office, 0, 0 },
    { LONDON,    CRON, "0 12 13 * 5",
      LATE_LAST, BUSY_SKIP, true, true, NAMED, thirteenth_or_friday, 0, 0 },
    { NEW_YORK,  RRULE, "FREQ=DAILY;COUNT=200;BYHOUR=2;BYMINUTE=30",
      LATE_SKIP, BUSY_ALLOW, false, true, NAMED, half_past_two, 0, 200 },
};

/* clang-format on */

struct forecast forecasts[PLANS];
bool is_quiet[SPAN], in_maintenance[SPAN], is_down[SPAN];

struct occurrence *occurrence_at(size_t plan, int nominal)
{
    struct forecast *f = &forecasts[plan];
    int low = 0, high = f->count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (f->all[middle].nominal < nominal)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->count && f->all[low].nominal == nominal ? &f->all[low] : NULL;
}

static void add_nominal(size_t plan, int minute)
{
    struct forecast *f = &forecasts[plan];
    unsigned draw = (unsigned)(minute * 31 + (int)plan) * 2654435761u >> 16;

    if (f->count > 0 && f->all[f->count - 1].nominal == minute)
        return; /* what meets at the end of a gap is one */
    if (plans[plan].count && f->count == plans[plan].count)
        return;
    f->all = realloc(f->all, (size_t)(f->count + 1) * sizeof(*f->all));
    f->all[f->count++] = (struct occurrence){ .nominal = minute,
                                              .deliveries = draw % 7 == 0 ? 2 : 1,
                                              .dies = draw % 31 == 0 };
}

struct shown clock_at(int minute)
{
    time_t at = (time_t)YEAR_S + (time_t)minute * 60;
    struct tm tm;

    localtime_r(&at, &tm);
    return (struct shown){
        minute + tm.tm_gmtoff / 60, tm.tm_mon + 1, tm.tm_mday, tm.tm_wday, tm.tm_hour, tm.tm_min
    };
}

/* A minute of the year in the zone that is set: latest is the latest that its clock has shown. */
static void fill_minute(const char *zone, int minute, const struct shown *s, int64_t latest)
{
    for (size_t i = 0; i < PLANS; i++) {
        const struct plan *p = &plans[i];

        if (strcmp(p->zone, zone) != 0)
            continue;
        if (p->mode == ELAPSED) {
            if (minute % p->period == 0)
                add_nominal(i, minute);
            continue;
        }
        /* What the clock has left out: no gap has a midnight in it. */
        for (int64_t left_out = latest + 1; p->mode == NAMED && left_out < s->minute; left_out++) {
            int back = (int)(s->minute - left_out), of_day = s->hour * 60 + s->min - back;
            struct shown gone = { left_out, s->month, s->mday, s->wday, of_day / 60, of_day % 60 };

            if (p->fits(&gone))
                add_nominal(i, minute);
        }
        if ((p->mode == SHOWN || s->minute > latest) && p->fits(s))
            add_nominal(i, minute);
    }
}

void fill_zone(const char *zone)
{
    struct shown s;
    int64_t latest;

    setenv("TZ", zone, 1);
    tzset();
    latest = clock_at(-1).minute;
    for (int m = 0; m < YEAR; m++) {
        s = clock_at(m);
        fill_minute(zone, m, &s, latest);
        latest = s.minute > latest ? s.minute : latest;
    }
}

void fill_quiet(void)
{
    setenv("TZ", LONDON, 1);
    tzset();
    for (int m = 0; m < SPAN; m++) {
        struct shown s = clock_at(m);

        is_quiet[m] = s.hour >= 22 || s.hour < 7 || s.wday == 0 || s.wday == 6;
    }
}

void fill_span(bool *what, int from, int to)
{
    for (int m = from; m < to; m++)
        what[m] = true;
}

/* ---- Deliveries ---- */

/* The first minute from one on in which a worker may have it. */
static int open_from(const struct plan *p, int m)
{
    while (m < SPAN - 1 &&
           (is_down[m] || (!p->pass && (in_maintenance[m] || (p->notify && is_quiet[m])))))
        m++;
    return m;
}

static void make_at(const struct plan *p, struct occurrence *o, int m)
{
    o->made = m;
    o->delivery[0] = o->end = open_from(p, m);
    if (o->deliveries > 1)
        o->delivery[1] = o->end = open_from(p, o->end + RETRY);
}

struct course {
    const struct plan *p;
    struct forecast *f;
    int next;        /* the first that was not decided about */
    int first, last; /* those from first on, before last, may be queued */
    int queued;
    int running;
};

static void enqueue(struct course *c, struct occurrence *o)
{
    o->made = SPAN;
    if (c->queued++ == 0)
        c->first = (int)(o - c->f->all);
}

/* Those whose time has come, all at once; more than a minute late they were missed. */
static void decide(struct course *c, int m)
{
    const struct plan *p = c->p;
    struct occurrence *all = c->f->all;
    bool any_missed = c->next < c->f->count && m - all[c->next].nominal > 1;
    bool dropping = any_missed && c->queued == 0;

    for (; c->next < c->f->count && all[c->next].nominal <= m; c->next++) {
        struct occurrence *o = &all[c->next];
        bool missed = m - o->nominal > 1;
        bool last = c->next + 1 == c->f->count || all[c->next + 1].nominal > m;

        o->decided = m;
        if ((dropping && p->late == LATE_LAST && !last) ||
            (dropping && p->late == LATE_SKIP && missed)) {
            o->fate = SKIPPED_LATE;
        } else if (c->queued > 0 || c->running == MANY ||
                   (c->running > 0 && (p->busy == BUSY_QUEUE || (missed && p->late == LATE_ALL)))) {
            enqueue(c, o);
        } else if (c->running > 0 && p->busy == BUSY_SKIP) {
            o->fate = SKIPPED_BUSY;
        } else {
            make_at(p, o, m);
            c->running++;
        }
    }
}

/* Those that a worker ends now, and those that have their turn then. */
static void end_and_go_on(struct course *c, int m)
{
    int most = c->p->busy == BUSY_ALLOW && c->p->late != LATE_ALL ? MANY : 1;

    for (int i = c->last; i < c->next; i++) {
        struct occurrence *o = &c->f->all[i];

        if (o->fate == MADE && o->made <= m && o->end == m)
            c->running--;
    }
    while (c->last < c->next && (c->f->all[c->last].fate != MADE ||
                                 (c->f->all[c->last].made <= m && c->f->all[c->last].end <= m)))
        c->last++;
    while (c->running < most && c->queued > 0) {
        struct occurrence *o = &c->f->all[c->first++];

        if (o->fate != MADE || o->made <= m)
            continue;
        c->queued--;
        make_at(c->p, o, m);
        c->running += o->end > m;
    }
}

void foresee(size_t plan)
{
    struct course c = { .p = &plans[plan], .f = &forecasts[plan] };

    for (int m = 0; m < YEAR; m++) {
        if (is_down[m])
            continue;
        decide(&c, m);
        end_and_go_on(&c, m);
    }
}
