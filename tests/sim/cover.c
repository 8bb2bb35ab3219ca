/* SPDX-License-Identifier: MIT */
#include "sim/cover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

int cover_missed(void)
{
    int missed = 0;

    for (size_t i = 0; i < DOINGS; i++)
        for (int m = 0; m < MOMENTS; m++)
            if (doings[i].counts[m] == 0)
                missed += printf("never %s: %s\n", moments[m], doings[i].name) > 0;

    for (int i = 0; i < FAULT_POINT_COUNT; i++) {
        enum fault_point point = (enum fault_point)i;
        if (crashes[i] == 0)
            missed += printf("never crashed at %s\n", fault_name(point)) > 0;
        if (fault_can_fail(point) && fails[i] == 0)
            missed += printf("never failed at %s\n", fault_name(point)) > 0;
    }
    for (int i = 0; i < EVENT_COUNT; i++)
        if (events[i] == 0)
            missed += printf("never seen: %s\n", texts[i]) > 0;
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
