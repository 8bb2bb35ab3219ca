/* SPDX-License-Identifier: MIT */
/*
 * Expands rules for tests/e2e/test_recur.py. A line of standard input is a rule, with tabs between
 *
 *     rrule|cron|every  text  zone  start_ms  from_ms  count  exdate  rdate  seed
 *
 * and gives a line with "at_ms:nominal_ms:offset_s:note" for each occurrence at or after from_ms,
 * then "end" if there is none after the last, "unknown" if it would take too many steps to know; or
 * "! " and what is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "recur/recur.h"
#include "recur/zonedir.h"

enum { KIND, TEXT, ZONE, START, FROM, COUNT, EXDATE, RDATE, SEED, FIELDS };

#define ZONES 1024

static struct {
    char name[ZONEDIR_NAME_MAX + 1];
    struct zone *zone;
} zones[ZONES];

static const struct zone *zone_of(const char *name)
{
    const char *why = "too many zones";
    for (size_t i = 0; i < ZONES; i++) {
        if (strcmp(zones[i].name, name) == 0)
            return zones[i].zone;
        if (zones[i].zone)
            continue;
        if (zonedir_load(ZONEDIR_DEFAULT, str_of(name), &zones[i].zone, &why) != 0)
            break;
        snprintf(zones[i].name, sizeof zones[i].name, "%s", name);
        return zones[i].zone;
    }
    printf("! %s: %s\n", name, why);
    return NULL;
}

static void print_occurrences(const struct recur *r, int64_t from_ms, long count)
{
    struct recur_state state = { 0 };
    struct recur_occurrence o;
    int64_t after_ms = from_ms - 1;
    for (; count > 0; count--) {
        int found = recur_next(r, after_ms, &state, &o);
        if (found <= 0) {
            printf(found < 0 ? "unknown" : "end");
            break;
        }
        printf("%" PRId64 ":%" PRId64 ":%d:%d ", o.at_ms, o.nominal_ms, o.offset_s, (int)o.note);
        after_ms = o.at_ms;
    }
    putchar('\n');
}

static void expand(char *fields[FIELDS])
{
    struct rule_error error;
    struct recur *r;
    struct recur_spec spec = {
        .kind = fields[KIND][0] == 'r'   ? RECUR_RRULE
                : fields[KIND][0] == 'c' ? RECUR_CRON
                                         : RECUR_EVERY,
        .text = str_of(fields[TEXT]),
        .zone = zone_of(fields[ZONE]),
        .start_ms = strtoll(fields[START], NULL, 10),
        .seed = strtoull(fields[SEED], NULL, 10),
        .exdate = str_of(fields[EXDATE]),
        .rdate = str_of(fields[RDATE]),
    };
    if (!spec.zone)
        return;
    if (recur_new(&spec, &r, &error) != 0) {
        printf("! %s\n", error.text);
        return;
    }
    print_occurrences(r, strtoll(fields[FROM], NULL, 10), strtol(fields[COUNT], NULL, 10));
    recur_free(r);
}

int main(void)
{
    static char line[1 << 15];
    while (fgets(line, sizeof line, stdin)) {
        char *fields[FIELDS], *rest = line;
        size_t n = 0;
        line[strcspn(line, "\n")] = '\0';
        while (n < FIELDS && rest)
            fields[n++] = strsep(&rest, "\t");
        if (n < FIELDS)
            printf("! %zu fields, not %d\n", n, FIELDS);
        else
            expand(fields);
    }
    for (size_t i = 0; i < ZONES; i++)
        zone_free(zones[i].zone);
    return 0;
}
