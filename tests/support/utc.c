/* SPDX-License-Identifier: MIT */
#include "support/utc.h"

#include <stdlib.h>
#include <time.h>

int utc(void **state)
{
    (void)state;
    setenv("TZ", "UTC0", 1);
    tzset();
    return 0;
}
