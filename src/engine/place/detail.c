/* SPDX-License-Identifier: MIT */
/* The detail of an error. */
#include "engine/place/detail.h"

#include <stdarg.h>
#include <stdio.h>

int engine_error(struct engine *e, int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(e->detail, sizeof(e->detail), format, args);
    va_end(args);
    return err;
}

int engine_plain(struct engine *e, int err)
{
    e->detail[0] = '\0';
    return err;
}

int engine_scratch(struct engine *e)
{
    bool failed = e->scratch.failed;

    e->scratch.failed = false;
    return failed ? engine_plain(e, BELFRY_NOMEM) : 0;
}

const char *engine_detail(const struct engine *e)
{
    return e->detail;
}
