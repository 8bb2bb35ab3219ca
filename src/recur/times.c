/* SPDX-License-Identifier: MIT */
#include "recur/internal.h"

void times_init(struct times *t, uint32_t hours, uint64_t minutes, uint64_t seconds)
{
    int per_minute = bits_count_word(seconds);
    t->hours = hours;
    t->minutes = minutes;
    t->seconds = seconds;
    t->per_hour = bits_count_word(minutes) * per_minute;
    t->count = bits_count_word(hours) * t->per_hour;
}

int times_rank(const struct times *t, int second)
{
    int hour = second / CIVIL_HOUR, minute = second / CIVIL_MINUTE % 60;
    int n = bits_count_word(t->hours & bits_low(hour)) * t->per_hour;
    if (!(t->hours >> (hour & 31) & 1))
        return n;
    n += bits_count_word(t->minutes & bits_low(minute)) * bits_count_word(t->seconds);
    if (t->minutes >> minute & 1)
        n += bits_count_word(t->seconds & bits_low(second % CIVIL_MINUTE));
    return n;
}

int times_select(const struct times *t, int i)
{
    int per_minute = bits_count_word(t->seconds);
    int hour = bits_select_word(t->hours, i / t->per_hour);
    int minute = bits_select_word(t->minutes, i % t->per_hour / per_minute);
    return hour * CIVIL_HOUR + minute * CIVIL_MINUTE + bits_select_word(t->seconds, i % per_minute);
}
