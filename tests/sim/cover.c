/* SPDX-License-Identifier: MIT */
#include "sim/cover.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t events[EVENT_COUNT];
static uint64_t crashes[FAULT_POINT_COUNT];
static uint64_t fails[FAULT_POINT_COUNT];

static const char *const texts[] = {
#define EVENT_TEXT(name, text) text,
    EVENTS(EVENT_TEXT)
#undef EVENT_TEXT
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

int cover_missed(void)
{
    int missed = 0;

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
}
