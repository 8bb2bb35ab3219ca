/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/call.h"
#include "cli/help.h"
#include "cli/operation.h"
#include "cli/program.h"

#define FIRST_MS     3600000 /* from now to the first job for later */
#define SPAN_MS      3600000 /* from the first job for later to the last */
#define EVERY_MS     5       /* from ping to ping */
#define JOBS_LIMIT   1000000000
#define MOMENT_LIMIT INT64_C(9999999999999) /* the last moment that drivers have digits for */

static bool take_driver(struct flags *f, void *ret)
{
    struct bench *b = ret;
    int len = snprintf(f->why, sizeof(f->why), "no driver '%.64s'; it is one of", f->value);

    for (size_t i = 0; b->drivers[i]; i++) {
        if (strcmp(b->drivers[i]->name, f->value) == 0) {
            b->target.driver = b->drivers[i];
            return true;
        }
        len += snprintf(f->why + len, sizeof(f->why) - (size_t)len, "%s%s", i ? "|" : " ",
                        b->drivers[i]->name);
    }
    return false;
}

static bool take_moment(struct flags *f, void *ret)
{
    const char *why = "too far away";
    int64_t ms;

    if (time_parse_moment(str_of(f->value), &ms, &why) < 0 || ms > MOMENT_LIMIT)
        return flag_refuse(f, "'%s': %s", f->value, why);
    *(int64_t *)ret = ms;
    return true;
}

static bool take_name(struct flags *f, void *ret)
{
    size_t n = strlen(f->value);

    if (n == 0 || n >= f->row->size)
        return flag_refuse(f, "'%s' is not a name of 1 to %zu characters", f->value,
                           f->row->size - 1);
    memcpy(ret, f->value, n + 1);
    return true;
}

const struct flag_row bench_flags[] = {
    { "driver", "NAME",
      "the kind of jobs: belfry (the default) or belfry-full, whose jobs use tenants, priorities, "
      "keys and ordering keys",
      .words = "belfry|belfry-full", .take = take_driver },
    { "op", "OP[,OP...]", "what to measure: schedule, lease, lone, late, fill, drain, ping",
      .words = OPERATION_NAMES, FLAG_TEXT(struct bench, ops) },
    { "connections", "N", "connections; 4 if not given",
      FLAG_INT(struct bench, load.connections, 1, LOAD_CONNECTIONS_MAX) },
    { "in-flight", "N", "commands under way per connection; 256 if not given",
      FLAG_INT(struct bench, load.in_flight, 1, LOAD_IN_FLIGHT_MAX) },
    { "jobs", "N", "jobs, or pings; 100000 if not given, 2000 for lone and ping, 1000 for late",
      FLAG_INT(struct bench, jobs, 1, JOBS_LIMIT) },
    { "payload-bytes", "N", "size of a payload; 100 if not given",
      FLAG_INT(struct bench, target.payload_bytes, 0, 1 << 20) },
    { "batch", "N", "jobs taken at a time; 100 if not given",
      FLAG_INT(struct bench, load.batch, 1, LOAD_BATCH_MAX) },
    { "queue", "NAME", "instead of a queue of its own", .take = take_name,
      FLAG_MEMBER(struct bench, target.queue) },
    { "tenant", "NAME",
      "whose jobs, for the driver belfry and not for late; if not given the token's, or default",
      .take = take_name, FLAG_MEMBER(struct bench, target.tenant) },
    { "at", "MOMENT",
      "when the first job of schedule is due; in an hour if not given. For drain: what schedule "
      "was given",
      .take = take_moment, FLAG_MEMBER(struct bench, at_ms) },
    { "span", "DURATION", "over how long jobs are due; 1h if not given, 10s for late",
      FLAG_DURATION(struct bench, span_ms, 1) },
    { "every", "DURATION", "from ping to ping; 5ms if not given",
      FLAG_DURATION(struct bench, every_ms, 1) },
    { "progress", "N", "say how fast each N jobs were",
      FLAG_INT(struct bench, load.every, 1, JOBS_LIMIT) },
    { "sample", "N", "with --json: show about so many of the jobs that schedule added",
      FLAG_INT(struct bench, sample, 1, 1000000) },
    { "keep", NULL, "leave scheduled jobs behind", FLAG_SET(struct bench, keep) },
    { 0 },
};

static void on_interrupt(int number)
{
    (void)number;
    load_interrupt();
}

static int run_all(struct bench *b)
{
    /* The first SIGINT ends the benchmark in order, the second at once. */
    struct sigaction act = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
    const char *ops = b->ops;
    int code = CLI_OK;

    sigaction(SIGINT, &act, NULL);
    while (*ops && code == CLI_OK && !load_interrupted())
        code = operation_run(b, operation_next(&ops));
    result_end(&b->result);
    return code == CLI_OK && load_interrupted() ? CLI_ERROR : code;
}

static int read_flags(struct bench *b, int argc, char **argv)
{
    struct flags f = { .cli = b->cli, .rows = bench_flags, .argc = argc, .argv = argv };
    int which = flag_read(&f, b);

    if (which == FLAG_WORD)
        return cli_usage("bench: unexpected argument '%s'", f.value);
    if (which == FLAG_BAD)
        return cli_usage("bench: %s", f.why);
    for (const char *ops = b->ops; *ops;) {
        const char *name = ops;
        const struct operation *op = operation_next(&ops);

        if (!op)
            return cli_usage("bench: unknown operation '%.*s'; there are " OPERATION_NAMES,
                             (int)strcspn(name, ","), name);
        if (b->target.tenant[0] && (b->target.driver != &driver_belfry || !op->tenant))
            return cli_usage("bench: --tenant is for the driver belfry, and not for late");
    }
    return CLI_OK;
}

static int connect_target(struct bench *b, struct client *c)
{
    if (b->target.driver->belfry)
        return call_connect(b->cli, c);
    if (client_open(c, b->load.host, b->load.port, CLIENT_CONNECT_MS) == 0)
        return CLI_OK;
    cli_say("cannot reach %s at %s:%s: %s", b->target.driver->name, b->load.host, b->load.port,
            c->why);
    return CLI_OFFLINE;
}

int bench_run(struct cli *cli, int argc, char **argv)
{
    static const struct driver *const drivers[] = { &driver_belfry, &driver_belfry_full, NULL };

    return bench_measure(cli, drivers, argc, argv);
}

int bench_measure(struct cli *cli, const struct driver *const *drivers, int argc, char **argv)
{
    struct bench b = { .cli = cli,
                       .drivers = drivers,
                       .ops = "schedule,lease,late",
                       .at_ms = -1,
                       .every_ms = EVERY_MS };
    const char *port = cli->port; /* of Belfry; stays if no option gives another */
    int code;

    b.target.driver = drivers[0];
    b.target.payload_bytes = 100;
    b.target.base_ms = time_wall_ms();
    snprintf(b.target.queue, sizeof(b.target.queue), "bench.%d", (int)getpid());
    b.load = (struct load_options){
        .target = &b.target, .connections = 4, .in_flight = 256, .batch = 100, .stoppable = true
    };
    code = read_flags(&b, argc, argv);
    if (code != CLI_OK)
        return code;
    if (cli->help)
        return help_topic("bench");
    b.target.first_ms = b.at_ms >= 0 ? b.at_ms : b.target.base_ms + FIRST_MS;
    b.target.span_ms = b.span_ms ? b.span_ms : SPAN_MS;
    b.result = (struct result){ .json = cli->json, .target = &b.target };
    b.load.quiet = cli->json || b.load.every;
    b.load.host = cli->host;
    b.load.port = b.target.driver->belfry || cli->port != port ? cli->port : b.target.driver->port;
    code = connect_target(&b, &b.client);
    if (code != CLI_OK)
        return code;
    if (b.target.driver->prepare(&b.target, &b.client) < 0)
        code = operation_failed(&b, "preparing", b.client.why);
    if (code == CLI_OK)
        code = run_all(&b);
    client_close(&b.client);
    buf_fini(&b.target.now);
    buf_fini(&b.target.later);
    return code;
}
