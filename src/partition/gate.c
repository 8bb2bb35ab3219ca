/* SPDX-License-Identifier: MIT */
/* Quiet hours, for the engine, which reads no zone files. */
#include "partition/internal.h"
#include "recur/quiet.h"

/* A zone is read once, which blocks for some tens of microseconds. If its file is gone, the zone is
 * taken for UTC, so that jobs go on. */
int64_t partition_quiet_until(void *arg, struct str quiet, struct str tz, int64_t now_ms)
{
    struct partition *p = arg;
    struct rule_error error;
    const struct zone *zone;
    struct quiet q;

    if (p->o.quiet_until)
        return p->o.quiet_until(p->o.host, quiet, tz, now_ms);
    if (quiet_parse(quiet, &q, &error) < 0 ||
        (zonecache_get(&p->zones, ZONEDIR_DEFAULT, tz.len ? tz : STR("UTC"), &zone, NULL) < 0 &&
         zonecache_get(&p->zones, ZONEDIR_DEFAULT, STR("UTC"), &zone, NULL) < 0))
        return -1;
    return quiet_until(&q, zone, now_ms);
}
