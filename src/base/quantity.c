/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <stdio.h>

struct quantity quantity_count(int64_t n)
{
    struct quantity q = { "" };
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);
    int first = digits[0] == '-';
    char *p = q.text;

    for (int i = 0; i < len; i++) {
        if (i > first && (len - i) % 3 == 0)
            *p++ = ',';
        *p++ = digits[i];
    }
    return q;
}

struct quantity quantity_bytes(int64_t n)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    struct quantity q;
    double v = (double)n;
    size_t unit = 0;

    while (v >= 1024 && unit < 6) {
        v /= 1024;
        unit++;
    }
    snprintf(q.text, sizeof(q.text), "%.*f %s",
             unit == 0 || v >= 100 ? 0
             : v < 10              ? 2
                                   : 1,
             v, units[unit]);
    return q;
}
