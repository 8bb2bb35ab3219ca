/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/time.h"
#include "cli/call.h"
#include "cli/driver.h"
#include "cli/help.h"
#include "cli/late.h"
#include "cli/load.h"
#include "cli/text.h"

enum { DRIVER, OP, CONNECTIONS, IN_FLIGHT, JOBS, PAYLOAD, BATCH, KEEP };

const struct flag_row bench_flags[] = {
    [DRIVER] = { .name = "driver",
                 .value = "NAME",
                 .help = "the kind of server: belfry (the default), redis or beanstalkd",
                 .words = "belfry|redis|beanstalkd" },
    [OP] = { .name = "op",
             .value = "OP[,OP...]",
             .help = "what to measure: schedule, lease, lone, late",
             .words = "schedule|lease|lone|late" },
    [CONNECTIONS] = { .name = "connections", .value = "N", .help = "connections; 4 if not given" },
    [IN_FLIGHT] = { .name = "in-flight",
                    .value = "N",
                    .help = "commands under way per connection; 256 if not given" },
    [JOBS] = { .name = "jobs",
               .value = "N",
               .help = "jobs; 100000 if not given, 2000 for lone, 1000 for late" },
    [PAYLOAD] = { .name = "payload-bytes",
                  .value = "N",
                  .help = "size of a payload; 100 if not given" },
    [BATCH] = { .name = "batch", .value = "N", .help = "jobs taken at a time; 100 if not given" },
    [KEEP] = { .name = "keep", .help = "leave scheduled jobs behind" },
    { 0 },
};

struct bench {
    struct cli *cli;
    struct load_options load;
    struct target target;
    struct client client; /* for what is not measured */
    const char *ops;
    int64_t jobs; /* 0: not given */
    bool keep;
    char *ids; /* of jobs to drop afterwards */
    uint64_t ids_n;
    bool printed; /* a result, in JSON */
};

/* ---- Results ---- */

static void put_us(struct buf *out, uint64_t us)
{
    if (us < 1000)
        buf_printf(out, "%lluµs", (unsigned long long)us);
    else if (us < 1000000)
        buf_printf(out,
                   us < 10000    ? "%.2fms"
                   : us < 100000 ? "%.1fms"
                                 : "%.0fms",
                   (double)us / 1e3);
    else
        buf_printf(out, "%.2fs", (double)us / 1e6);
}

static void put_hist(struct buf *out, const struct hist *h, bool json)
{
    static const struct {
        const char *name;
        double share;
    } rows[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p999", 0.999 } };

    for (size_t i = 0; i < 4; i++) {
        buf_printf(out, json ? "\"%s\":" : "%s ", rows[i].name);
        if (json)
            buf_int(out, (int64_t)hist_quantile(h, rows[i].share));
        else
            put_us(out, hist_quantile(h, rows[i].share));
        buf_text(out, json ? "," : "  ");
    }
    buf_text(out, json ? "\"max\":" : "max ");
    if (json)
        buf_int(out, (int64_t)h->max);
    else
        put_us(out, h->max);
}

/* Results are an array in JSON, so the first one opens it. */
static void begin_json(struct bench *b, struct buf *out, const char *op)
{
    buf_printf(out, "%s{\"op\":\"%s\",\"driver\":\"%s\"", b->printed ? ",\n" : "[", op,
               b->target.driver->name);
    b->printed = true;
}

static void show(struct bench *b, const char *op, const struct load_result *r)
{
    double rate = (double)r->jobs / (r->seconds > 0 ? r->seconds : 1e-6);
    double share = 100 * r->cpu_seconds / (r->seconds > 0 ? r->seconds : 1e-6);
    struct buf out = { 0 };

    if (b->cli->json) {
        begin_json(b, &out, op);
        buf_printf(&out,
                   ",\"jobs\":%llu,\"payload_bytes\":%zu,\"connections\":%u,\"in_flight\":%u,"
                   "\"batch\":%u,\"seconds\":%.6f,\"rate\":%.1f,\"generator_cpu_seconds\":%.3f,"
                   "\"latency_us\":{",
                   (unsigned long long)r->jobs, b->target.payload_bytes, b->load.connections,
                   b->load.in_flight, b->load.batch, r->seconds, rate, r->cpu_seconds);
        put_hist(&out, &r->latency, true);
        buf_text(&out, "}}");
    } else {
        buf_printf(&out, "%-9s ", op);
        text_count(&out, (int64_t)rate);
        buf_text(&out, " jobs/s  (");
        text_count(&out, (int64_t)r->jobs);
        buf_printf(&out, " jobs of %zu bytes in %.2fs, %u connections, ", b->target.payload_bytes,
                   r->seconds, b->load.connections);
        if (strcmp(op, "lease") == 0)
            buf_printf(&out, "%u at a time; this generator took %.0f%% of a core)\n", b->load.batch,
                       share);
        else
            buf_printf(&out, "%u in flight each; this generator took %.0f%% of a core)\n",
                       b->load.in_flight, share);
        buf_printf(&out, "%-9s %s  ", "", strcmp(op, "lease") == 0 ? "round" : "reply");
        put_hist(&out, &r->latency, false);
        buf_text(&out, "\n");
    }
    call_print(&out);
    buf_fini(&out);
}

static void show_late(struct bench *b, const struct late_result *r)
{
    struct buf out = { 0 };

    if (b->cli->json) {
        begin_json(b, &out, "late");
        buf_printf(&out, ",\"jobs\":%llu,\"early\":%llu,\"earliest_us\":%lld,\"late_us\":{",
                   (unsigned long long)r->jobs, (unsigned long long)r->early,
                   (long long)r->earliest_us);
        put_hist(&out, &r->late, true);
        buf_text(&out, "},\"timer_us\":{");
        put_hist(&out, &r->timer, true);
        buf_text(&out, "}}");
    } else {
        buf_text(&out, "late      job    ");
        put_hist(&out, &r->late, false);
        buf_text(&out, "\n          timer  ");
        put_hist(&out, &r->timer, false);
        buf_printf(&out, "\n          %llu jobs over %d s; ", (unsigned long long)r->jobs,
                   LATE_SPAN_MS / 1000);
        if (r->early > 0)
            buf_printf(&out, "%llu EARLY, by up to %lldµs\n", (unsigned long long)r->early,
                       (long long)-r->earliest_us);
        else
            buf_text(&out, "none was early\n");
    }
    call_print(&out);
    buf_fini(&out);
}

/* ---- Operations ---- */

static int failed(const struct bench *b, const char *op, const char *why)
{
    cli_say("bench: %s at %s:%s: %s: %s", b->target.driver->name, b->load.host, b->load.port, op,
            why);
    return CLI_ERROR;
}

static void make_later(void *arg, struct buf *out, uint64_t n)
{
    struct bench *b = arg;

    b->target.driver->put(&b->target, out, n, false);
}

static void make_due(void *arg, struct buf *out, uint64_t n)
{
    struct bench *b = arg;

    b->target.driver->put(&b->target, out, n, true);
}

static void note_id(void *arg, struct str reply)
{
    struct bench *b = arg;

    b->target.driver->note(reply, b->ids + b->ids_n++ * b->target.driver->id_bytes);
}

static void make_drop(void *arg, struct buf *out, uint64_t n)
{
    struct bench *b = arg;

    b->target.driver->drop(&b->target, out, b->ids + n * b->target.driver->id_bytes);
}

/* Removes the jobs that were scheduled for later; not measured. */
static int clean_up(struct bench *b)
{
    struct load_options o = b->load;
    struct load_result r;
    int code = CLI_OK;

    o.stoppable = false;
    o.connections = o.connections < 4 ? 4 : o.connections;
    o.in_flight = o.in_flight < 256 ? 256 : o.in_flight;
    if (b->ids && load_stream(&o, "clean up", b->ids_n, make_drop, NULL, b, &r) < 0)
        code = failed(b, "cleaning up", r.why);
    if (b->target.driver->wipe && !b->keep)
        b->target.driver->wipe(&b->target, &b->client);
    free(b->ids);
    b->ids = NULL;
    b->ids_n = 0;
    return code;
}

static int run_schedule(struct bench *b, const char *op)
{
    struct load_options o = b->load;
    bool lone = strcmp(op, "lone") == 0;
    uint64_t jobs = b->jobs ? (uint64_t)b->jobs : lone ? 2000 : 100000;
    bool drop = b->target.driver->id_bytes > 0 && !b->keep;
    struct load_result r;

    if (lone)
        o.connections = o.in_flight = 1;
    if (drop)
        b->ids = calloc(jobs, b->target.driver->id_bytes);
    if (load_stream(&o, op, jobs, make_later, b->ids ? note_id : NULL, b, &r) < 0) {
        clean_up(b);
        return failed(b, op, r.why);
    }
    struct load_options before = b->load;
    b->load = o;
    show(b, op, &r);
    b->load = before;
    return clean_up(b);
}

static int run_lease(struct bench *b, const char *op)
{
    uint64_t jobs = b->jobs ? (uint64_t)b->jobs : 100000;
    struct load_result r;

    if (load_stream(&b->load, "fill", jobs, make_due, NULL, b, &r) < 0)
        return failed(b, "fill", r.why);
    if (load_rounds(&b->load, op, r.jobs, &r) < 0)
        return failed(b, op, r.why);
    show(b, op, &r);
    return CLI_OK;
}

static int run_late(struct bench *b, const char *op)
{
    struct late_result r;

    if (b->target.driver != &driver_belfry)
        return failed(b, op, "is for belfry only");
    if (late_measure(b->load.host, b->load.port, b->target.queue,
                     b->jobs ? (uint64_t)b->jobs : 1000, b->load.quiet, &r) < 0)
        return failed(b, op, r.why);
    show_late(b, &r);
    return r.early ? CLI_ERROR : CLI_OK;
}

static const struct {
    const char *name;
    int (*run)(struct bench *b, const char *op);
} operations[] = {
    { "schedule", run_schedule },
    { "lease", run_lease },
    { "lone", run_schedule },
    { "late", run_late },
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

/* The next name of a list with commas; the index of its operation, OPERATIONS if unknown. */
static size_t next_operation(const char **ops)
{
    size_t len = strcspn(*ops, ","), i = 0;

    while (i < OPERATIONS &&
           (strlen(operations[i].name) != len || memcmp(operations[i].name, *ops, len) != 0))
        i++;
    *ops += len + ((*ops)[len] == ',');
    return i;
}

static void on_interrupt(int number)
{
    (void)number;
    load_interrupt();
}

static int run_all(struct bench *b)
{
    /* The first one ends in order, the second at once. */
    struct sigaction act = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
    const char *ops = b->ops;
    int code = CLI_OK;

    sigaction(SIGINT, &act, NULL);
    while (*ops && code == CLI_OK && !load_interrupted()) {
        size_t i = next_operation(&ops);
        code = operations[i].run(b, operations[i].name);
    }
    if (b->printed)
        puts("]");
    return code == CLI_OK && load_interrupted() ? CLI_ERROR : code;
}

/* ---- Setting up ---- */

static bool take_flag(struct bench *b, struct flags *f, int which)
{
    int64_t n = 0;

    switch (which) {
    case DRIVER:
        b->target.driver = driver_find(f->value);
        if (!b->target.driver)
            snprintf(f->why, sizeof(f->why), "no driver '%s'; there are belfry, redis, beanstalkd",
                     f->value);
        return b->target.driver;
    case OP: b->ops = f->value; return true;
    case KEEP: b->keep = true; return true;
    case CONNECTIONS:
        if (flag_int(f, 1, LOAD_CONNECTIONS_MAX, &n))
            b->load.connections = (unsigned)n;
        return n > 0;
    case IN_FLIGHT:
        if (flag_int(f, 1, LOAD_IN_FLIGHT_MAX, &n))
            b->load.in_flight = (unsigned)n;
        return n > 0;
    case JOBS: return flag_int(f, 1, INT64_C(1000000000), &b->jobs);
    case PAYLOAD:
        if (!flag_int(f, 0, 1 << 20, &n))
            return false;
        b->target.payload_bytes = (size_t)n;
        return true;
    default:
        if (flag_int(f, 1, LOAD_BATCH_MAX, &n))
            b->load.batch = (unsigned)n;
        return n > 0;
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
        if (next_operation(&ops) == OPERATIONS)
            return cli_usage("bench: unknown operation '%.*s'; there are schedule, lease, lone "
                             "and late",
                             (int)strcspn(name, ","), name);
    }
    return CLI_OK;
}

/* Belfry's own connection is greeted; the peers speak first by themselves. */
static int connect_target(struct bench *b, struct client *c)
{
    if (b->target.driver == &driver_belfry)
        return call_connect(b->cli, c);
    if (client_open(c, b->load.host, b->load.port, CLIENT_CONNECT_MS) == 0)
        return CLI_OK;
    cli_say("cannot reach %s at %s:%s: %s", b->target.driver->name, b->load.host, b->load.port,
            c->why);
    return CLI_OFFLINE;
}

int bench_run(struct cli *cli, int argc, char **argv)
{
    struct bench b = { .cli = cli, .ops = "schedule,lease,late" };
    int code;

    b.target.driver = &driver_belfry;
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
    b.load.quiet = cli->json;
    b.load.host = cli_host(cli);
    b.load.port = b.target.driver == &driver_belfry ? cli_port(cli)
                  : cli->port                       ? cli->port
                                                    : b.target.driver->port;
    code = connect_target(&b, &b.client);
    if (code != CLI_OK)
        return code;
    if (b.target.driver->prepare(&b.target, &b.client) < 0)
        code = failed(&b, "preparing", b.client.why);
    if (code == CLI_OK)
        code = run_all(&b);
    client_close(&b.client);
    buf_fini(&b.target.now);
    buf_fini(&b.target.later);
    return code;
}
