/* SPDX-License-Identifier: MIT */
/*
 * loadgen: `belfry bench` with drivers of Belfry's peers besides, so that one generator measures
 * all of them. bench/run and bench/deep run it; it is not installed.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/program.h"
#include "loadgen/peers.h"

static const struct driver *const drivers[] = { &driver_belfry,     &driver_belfry_full,
                                                &driver_redis,      &driver_redis_full,
                                                &driver_beanstalkd, NULL };

static int print_help(void)
{
    printf("Usage: loadgen [options]\n\n"
           "Takes the options of belfry bench, and these drivers:");
    for (size_t i = 0; drivers[i]; i++)
        printf(" %s", drivers[i]->name);
    puts(
        "\nThe drivers that end in -full add jobs that use tenants, priorities, keys and ordering\n"
        "keys. The operations late, drain and ping are for the driver belfry alone.");
    return CLI_OK;
}

int main(int argc, char **argv)
{
    struct cli cli;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return print_help();
    signal(SIGPIPE, SIG_IGN);
    cli_init(&cli);
    client_tls_use(&cli);
    return bench_measure(&cli, drivers, argc - 1, argv + 1);
}
