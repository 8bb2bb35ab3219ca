/* SPDX-License-Identifier: MIT */
#include "sim/cover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEEDS_FOR_COVER 500  /* a run of this many seeds must meet every usual event */
#define SEEDS_FOR_RARE  5000 /* a run of this many seeds must meet every rare event, too */

static uint64_t events[EVENT_COUNT];
static uint64_t crashes[FAULT_POINT_COUNT];
static uint64_t fails[FAULT_POINT_COUNT];

static const char *const texts[] = {
#define EVENT_TEXT(name, text) text,
    EVENTS(EVENT_TEXT)
#undef EVENT_TEXT
};

static struct {
    const char *name;
    uint64_t counts[MOMENTS];
} doings[] = {
    { .name = "reading the journal's oldest segment" },
    { .name = "removing the journal's oldest segment" },
    { .name = "removing a run" },
    { .name = "writing jobs from memory to runs" },
    { .name = "loading jobs from runs" },
    { .name = "merging runs" },
    { .name = "looking up jobs that wait for others, or recurrences" },
    { .name = DOING_FETCH },
};

#define DOINGS (sizeof(doings) / sizeof(doings[0]))

static const char *const moments[MOMENTS] = {
    [MOMENT_ENDED] = "ended",          [MOMENT_CRASHED] = "crashed inside",
    [MOMENT_FAILED] = "failed inside", [MOMENT_BEGUN] = "crashed when begun",
    [MOMENT_RAN] = "crashed when run",
};

void cover_event(enum event e)
{
    events[e]++;
}

void cover_fault(enum fault_point point, enum fault_action action)
{
    if (action == FAULT_CRASH)
        crashes[point]++;
    else
        fails[point]++;
}

void cover_doing(const char *name, enum moment moment)
{
    for (size_t i = 0; i < DOINGS; i++)
        if (strcmp(doings[i].name, name) == 0)
            doings[i].counts[moment]++;
}

const char *cover_name(uint64_t any)
{
    return doings[any % DOINGS].name;
}

/* Seen ten times or less in 500 seeds: so many may miss one of these by chance. */
static const char *const rare[] = {
    "never seen: the key of a job that expired on disk was free",
    "never seen: a bulk met a job that it could not change",
    "never crashed inside: reading the journal's oldest segment",
    "never failed inside: reading the journal's oldest segment",
    "never crashed when run: reading the journal's oldest segment",
    "never failed inside: removing the journal's oldest segment",
    "never crashed inside: removing a run",
    "never failed inside: removing a run",
    "never failed inside: loading jobs from runs",
    "never crashed inside: merging runs",
    "never failed inside: merging runs",
    "never crashed inside: looking up jobs that wait for others, or recurrences",
    "never failed inside: looking up jobs that wait for others, or recurrences",
    "never crashed at remove.after",
    "never crashed at cas.before",
    "never crashed at cas.after",
    "never crashed at cas.indoubt_applied",
    "never crashed at sync.before",
    "never crashed at list.before",
};

static bool is_rare(const char *what)
{
    for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
        if (strcmp(rare[i], what) == 0)
            return true;
    return false;
}

/* Tells what was not seen; 1 if so many seeds should have. */
static int miss(uint64_t seeds, const char *how, const char *what)
{
    char text[200];
    bool due;

    snprintf(text, sizeof(text), "never %s%s", how, what);
    due = seeds >= (is_rare(text) ? SEEDS_FOR_RARE : SEEDS_FOR_COVER);
    if (due || seeds >= SEEDS_FOR_COVER)
        printf("%s%s\n", text, due ? "" : ", which is rare");
    return due;
}

static int miss_fault(uint64_t seeds, enum fault_point point)
{
    int missed = 0;

    if (crashes[point] == 0)
        missed += miss(seeds, "crashed at ", fault_name(point));
    if (fault_can_fail(point) && fails[point] == 0)
        missed += miss(seeds, "failed at ", fault_name(point));
    return missed;
}

int cover_missed(uint64_t seeds)
{
    int missed = 0;

    for (size_t i = 0; i < DOINGS; i++)
        for (int m = 0; m < MOMENTS; m++) {
            char how[40];

            snprintf(how, sizeof(how), "%s: ", moments[m]);
            if (doings[i].counts[m] == 0)
                missed += miss(seeds, how, doings[i].name);
        }
    for (int i = 0; i < FAULT_POINT_COUNT; i++)
        missed += miss_fault(seeds, (enum fault_point)i);
    for (int i = 0; i < EVENT_COUNT; i++)
        if (events[i] == 0)
            missed += miss(seeds, "seen: ", texts[i]);
    return missed;
}

void cover_print(void)
{
    for (int i = 0; i < FAULT_POINT_COUNT; i++)
        printf("%8" PRIu64 " crashes %8" PRIu64 " failures  %s\n", crashes[i], fails[i],
               fault_name((enum fault_point)i));
    for (int i = 0; i < EVENT_COUNT; i++)
        printf("%8" PRIu64 "  %s\n", events[i], texts[i]);
    for (size_t i = 0; i < DOINGS; i++) {
        for (int m = 0; m < MOMENTS; m++)
            printf("%8" PRIu64 " %s", doings[i].counts[m], moments[m]);
        printf("  %s\n", doings[i].name);
    }
}
