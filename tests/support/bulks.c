/* SPDX-License-Identifier: MIT */
#include "support/bulks.h"

struct bulk_spec bulk_of(enum bulk_action action, const char *queue)
{
    return (struct bulk_spec){ .tenant = STR("default"),
                               .action = action,
                               .queue = str_of(queue),
                               .state = -1,
                               .from_ms = -1,
                               .to_ms = -1,
                               .due_ms = -1 };
}
