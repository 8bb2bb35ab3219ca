/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name, const char *otherwise)
{
    const char *set = getenv(name);

    return set && *set ? set : otherwise;
}

void cli_init(struct cli *c)
{
    *c = (struct cli){ .host = variable("BELFRY_HOST", "127.0.0.1"),
                       .port = variable("BELFRY_PORT", "2355"),
                       .ca = variable("BELFRY_CA", ""),
                       .cert = variable("BELFRY_CERT", ""),
                       .cert_key = variable("BELFRY_CERT_KEY", ""),
                       .tls = strcmp(variable("BELFRY_TLS", "off"), "off") != 0 };
}

void cli_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fflush(stdout);
    flockfile(stderr);
    fputs("belfry: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
}
