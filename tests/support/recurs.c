/* SPDX-License-Identifier: MIT */
#include "support/recurs.h"

struct zone *zone_named(const char *name)
{
    struct zone *z = NULL;
    const char *why = "";
    if (zonedir_load(ZONEDIR_DEFAULT, str_of(name), &z, &why) != 0)
        fail_msg("%s: %s", name, why);
    return z;
}

int64_t moment_of(const char *text)
{
    int64_t ms = 0;
    const char *why;
    if (time_parse_moment(str_of(text), &ms, &why) != 0)
        fail_msg("%s: %s", text, why);
    return ms;
}

struct recur *recur_of(enum recur_kind kind, const char *text, const struct zone *z,
                       const char *start)
{
    struct recur_spec spec = { kind, str_of(text), z, moment_of(start), 0, { 0 }, { 0 } };
    struct rule_error error;
    struct recur *r = NULL;
    if (recur_new(&spec, &r, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    return r;
}
