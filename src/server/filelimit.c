/* SPDX-License-Identifier: MIT */
#include "server/filelimit.h"

#include <sys/resource.h>

#define OWN_FILES INT64_C(64) /* what the journal and the loop need */

void filelimit_fit(struct server *s)
{
    struct rlimit files;
    char number[LOG_NUMBER];
    int64_t most, own = OWN_FILES + s->options.push.max;
    int64_t each = s->options.tls.mode == TLS_OFF ? 1 : 3; /* with TLS also the pair of sockets */

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    most = files.rlim_max > INT32_MAX ? INT32_MAX : (int64_t)files.rlim_max;
    most = (most > 2 * own ? most - own : OWN_FILES) / each;
    if (s->options.max_connections <= most)
        return;
    s->options.max_connections = most;
    log_line(&s->log, LOG_LEVEL_WARN,
             "max_connections is lowered: the limit on open files (ulimit -n) is too low",
             "max_connections", log_number(most, number), NULL);
}
