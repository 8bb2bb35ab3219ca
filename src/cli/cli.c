/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *choose(const char *given, const char *variable, const char *otherwise)
{
    const char *set = getenv(variable);

    if (given)
        return given;
    return set && *set ? set : otherwise;
}

const char *cli_host(const struct cli *c)
{
    return choose(c->host, "BELFRY_HOST", "127.0.0.1");
}

const char *cli_port(const struct cli *c)
{
    return choose(c->port, "BELFRY_PORT", CLI_PORT_DEFAULT);
}

const char *cli_ca(const struct cli *c)
{
    return choose(c->ca, "BELFRY_CA", "");
}

const char *cli_cert(const struct cli *c)
{
    return choose(c->cert, "BELFRY_CERT", "");
}

const char *cli_cert_key(const struct cli *c)
{
    return choose(c->cert_key, "BELFRY_CERT_KEY", "");
}

bool cli_tls(const struct cli *c)
{
    return c->tls || *cli_ca(c) || *cli_cert(c) || *cli_cert_key(c) ||
           strcmp(choose(NULL, "BELFRY_TLS", "off"), "off") != 0;
}

__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    fflush(stdout);
    flockfile(stderr);
    fputs("belfry: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void cli_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

int cli_usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_USAGE;
}
