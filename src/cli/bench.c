/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/call.h"
#include "cli/help.h"
#include "cli/operation.h"

#define FIRST_MS     3600000                /* from now to the first job for later */
#define SPAN_MS      3600000                /* from the first job for later to the last */
#define EVERY_MS     5                      /* from ping to ping */
#define MOMENT_LIMIT INT64_C(9999999999999) /* the last moment that drivers have digits for */

enum {
    DRIVER,
    OP,
    CONNECTIONS,
    IN_FLIGHT,
    JOBS,
    PAYLOAD,
    BATCH,
    QUEUE,
    TENANT,
    AT,
    SPAN,
    EVERY,
    PROGRESS,
    SAMPLE,
    KEEP
};

const struct flag_row bench_flags[] = {
    [DRIVER] = { .name = "driver",
                 .value = "NAME",
                 .help = "the kind of jobs: belfry (the default) or belfry-full, whose jobs use "
                         "tenants, priorities, keys and ordering keys",
                 .words = "belfry|belfry-full" },
    [OP] = { .name = "op",
             .value = "OP[,OP...]",
             .help = "what to measure: schedule, lease, lone, late, fill, drain, ping",
             .words = OPERATION_NAMES },
    [CONNECTIONS] = { .name = "connections", .value = "N", .help = "connections; 4 if not given" },
    [IN_FLIGHT] = { .name = "in-flight",
                    .value = "N",
                    .help = "commands under way per connection; 256 if not given" },
    [JOBS] = { .name = "jobs",
               .value = "N",
               .help =
                   "jobs, or pings; 100000 if not given, 2000 for lone and ping, 1000 for late" },
    [PAYLOAD] = { .name = "payload-bytes",
                  .value = "N",
                  .help = "size of a payload; 100 if not given" },
    [BATCH] = { .name = "batch", .value = "N", .help = "jobs taken at a time; 100 if not given" },
    [QUEUE] = { .name = "queue", .value = "NAME", .help = "instead of a queue of its own" },
    [TENANT] = { .name = "tenant",
                 .value = "NAME",
                 .help = "whose jobs, for the driver belfry and not for late; if not given the "
                         "token's, or default" },
    [AT] = { .name = "at",
             .value = "MOMENT",
             .help = "when the first job of schedule is due; in an hour if not given. For drain: "
                     "what schedule was given" },
    [SPAN] = { .name = "span",
               .value = "DURATION",
               .help = "over how long jobs are due; 1h if not given, 10s for late" },
    [EVERY] = { .name = "every",
                .value = "DURATION",
                .help = "from ping to ping; 5ms if not given" },
    [PROGRESS] = { .name = "progress", .value = "N", .help = "say how fast each N jobs were" },
    [SAMPLE] = { .name = "sample",
                 .value = "N",
                 .help = "with --json: show about so many of the jobs that schedule added" },
    [KEEP] = { .name = "keep", .help = "leave scheduled jobs behind" },
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

/* ---- Setting up ---- */

static bool take_driver(struct bench *b, struct flags *f)
{
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

static bool take_moment(struct flags *f, int64_t *ret_ms)
{
    const char *why = "too far away";

    if (time_parse_moment(str_of(f->value), ret_ms, &why) == 0 && *ret_ms <= MOMENT_LIMIT)
        return true;
    snprintf(f->why, sizeof(f->why), "'%s': %s", f->value, why);
    return false;
}

#define NAME_BYTES sizeof((struct target){ 0 }.queue)

static bool take_name(struct flags *f, char ret[static NAME_BYTES])
{
    size_t n = strlen(f->value);

    if (n > 0 && n < NAME_BYTES) {
        memcpy(ret, f->value, n + 1);
        return true;
    }
    snprintf(f->why, sizeof(f->why), "'%s' is not a name of 1 to %zu characters", f->value,
             NAME_BYTES - 1);
    return false;
}

static bool take_span(struct flags *f, int64_t *ret_ms)
{
    if (!flag_duration(f, ret_ms))
        return false;
    if (*ret_ms > 0)
        return true;
    snprintf(f->why, sizeof(f->why), "'%s' is no time at all", f->value);
    return false;
}

static bool take_unsigned(struct flags *f, int64_t max, unsigned *ret)
{
    int64_t n;

    if (!flag_int(f, 1, max, &n))
        return false;
    *ret = (unsigned)n;
    return true;
}

static bool take_flag(struct bench *b, struct flags *f, int which)
{
    int64_t n = 0;

    switch (which) {
    case DRIVER: return take_driver(b, f);
    case OP: b->ops = f->value; return true;
    case KEEP: b->keep = true; return true;
    case CONNECTIONS: return take_unsigned(f, LOAD_CONNECTIONS_MAX, &b->load.connections);
    case IN_FLIGHT: return take_unsigned(f, LOAD_IN_FLIGHT_MAX, &b->load.in_flight);
    case BATCH: return take_unsigned(f, LOAD_BATCH_MAX, &b->load.batch);
    case JOBS: return flag_int(f, 1, INT64_C(1000000000), &b->jobs);
    case QUEUE: return take_name(f, b->target.queue);
    case TENANT: return take_name(f, b->target.tenant);
    case AT: return take_moment(f, &b->at_ms);
    case SPAN: return take_span(f, &b->span_ms);
    case EVERY: return take_span(f, &b->every_ms);
    case SAMPLE: return flag_int(f, 1, 1000000, &b->sample);
    case PROGRESS:
        if (!flag_int(f, 1, INT64_C(1000000000), &n))
            return false;
        b->load.every = (uint64_t)n;
        return true;
    default:
        if (!flag_int(f, 0, 1 << 20, &n))
            return false;
        b->target.payload_bytes = (size_t)n;
        return true;
    }
}

static int read_flags(struct bench *b, int argc, char **argv)
{
    struct flags f = { .cli = b->cli, .rows = bench_flags, .argc = argc, .argv = argv };
    int which;

    while ((which = flag_next(&f)) != FLAG_END) {
        if (which == FLAG_WORD)
            return cli_usage("bench: unexpected argument '%s'", f.value);
        if (which == FLAG_BAD || !take_flag(b, &f, which))
            return cli_usage("bench: %s", f.why);
    }
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
    b.load.host = cli_host(cli);
    b.load.port = b.target.driver->belfry ? cli_port(cli)
                  : cli->port             ? cli->port
                                          : b.target.driver->port;
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
