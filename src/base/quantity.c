/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <stdio.h>

void quantity_count(struct buf *out, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);
    int first = digits[0] == '-';

    for (int i = 0; i < len; i++) {
        if (i > first && (len - i) % 3 == 0)
            buf_text(out, ",");
        buf_append(out, &digits[i], 1);
    }
}

void quantity_bytes(struct buf *out, int64_t n)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double v = (double)n;
    size_t unit = 0;

    while (v >= 1024 && unit < 6) {
        v /= 1024;
        unit++;
    }
    if (unit == 0)
        buf_printf(out, "%lld B", (long long)n);
    else
        buf_printf(out, v < 10 ? "%.2f %s" : v < 100 ? "%.1f %s" : "%.0f %s", v, units[unit]);
}
