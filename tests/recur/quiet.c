/* SPDX-License-Identifier: MIT */
/*
 * Quiet hours for tests/e2e/test_quiet.py. A line of standard input is, with tabs between,
 *
 *     windows  zone  moment_ms ...
 *
 * and gives a line with the end for each moment, -1 if it is not quiet; or "! " and what is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "recur/quiet.h"
#include "recur/zonecache.h"

int main(void)
{
    static struct zonecache zones;
    char *line = NULL, *save, *word;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        const char *windows = strtok_r(line, "\t\n", &save), *name = strtok_r(NULL, "\t\n", &save);
        struct rule_error error = { 0, "too few words" };
        const char *why = NULL;
        const struct zone *zone;
        struct quiet q;

        if (!windows || !name || quiet_parse(str_of(windows), &q, &error) != 0) {
            printf("! %s\n", error.text);
            continue;
        }
        if (zonecache_get(&zones, ZONEDIR_DEFAULT, str_of(name), &zone, &why) != 0) {
            printf("! %s\n", why);
            continue;
        }
        while ((word = strtok_r(NULL, "\t\n", &save)))
            printf("%" PRId64 " ", quiet_until(&q, zone, strtoll(word, NULL, 10)));
        putchar('\n');
    }
    zonecache_fini(&zones);
    free(line);
    return 0;
}
