/* SPDX-License-Identifier: MIT */
#include "sim/backoffs.h"

#include <stddef.h>

static const struct {
    const char *text;
    bool exponential;
    int64_t steps[4]; /* ends with 0; exponential: first, longest */
} backoffs[BACKOFFS] = {
    { "", false, { 0 } },
    { "exp:2s:1h", true, { 2000, 3600000 } },
    { "fixed:20s", false, { 20000 } },
    { "fixed:400ms", false, { 400 } },
    { "1s,5s,15s", false, { 1000, 5000, 15000 } },
    { "1m,5m", false, { 60000, 300000 } },
    { "exp:100ms:3s", true, { 100, 3000 } },
    { "exp:1s:1s", true, { 1000, 1000 } },
    { "30ms", false, { 30 } },
};

const char *backoffs_text(unsigned number)
{
    return backoffs[number].text;
}

void backoffs_range(unsigned number, uint32_t failures, int64_t *ret_low, int64_t *ret_high)
{
    const int64_t *steps = backoffs[number].steps;
    if (backoffs[number].exponential) {
        int64_t pause = steps[0];
        for (uint32_t i = 1; i < failures && pause < steps[1]; i++)
            pause *= 2;
        pause = pause < steps[1] ? pause : steps[1];
        *ret_low = pause / 2;
        *ret_high = pause;
        return;
    }
    size_t i = 0;
    while (i + 1 < failures && i < 3 && steps[i + 1] != 0)
        i++;
    *ret_low = steps[i] - steps[i] / 10;
    *ret_high = steps[i] + steps[i] / 10;
}
