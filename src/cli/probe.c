/* SPDX-License-Identifier: MIT */
/* `belfry version` and `belfry ping`: is there a server, and which? */
#include <stdio.h>
#include <unistd.h>

#include "base/json_quote.h"
#include "base/time.h"
#include "cli/call.h"
#include "cli/help.h"
#include "cli/program.h"

struct probe {
    int64_t count;
};

const struct flag_row ping_flags[] = {
    { "count", "N", "how many times, a second apart; 1 if not given", .letter = 'c',
      FLAG_INT(struct probe, count, 1, 1000000000) },
    { 0 },
};

/* Reads options. -1 to go on; or an exit code, with messages written. */
static int read_options(struct flags *f, const char *name, struct probe *ret)
{
    int which = flag_read(f, ret);

    if (which != FLAG_END)
        return cli_usage("%s: %s", name, which == FLAG_BAD ? f->why : "unexpected argument");
    return f->cli->help ? help_topic(name) : -1;
}

/* Asks the server for its version, which HELLO tells. */
static bool ask_version(struct client *c, struct buf *ret)
{
    const struct resp_values *v;

    if (client_call(c, CLIENT_WORDS(STR("HELLO"), STR("3")), &v) < 0)
        return false;
    buf_str(ret, client_text(v, 0, "version"));
    return ret->len > 0;
}

int version_run(struct cli *cli, int argc, char **argv)
{
    struct flags f = { .cli = cli, .argc = argc, .argv = argv };
    struct buf version = { 0 }, out = { 0 };
    struct client client;
    int code = read_options(&f, "version", NULL);
    bool there;

    if (code >= 0)
        return code;
    there = client_open_belfry(&client, cli->host, cli->port, 1000) == 0 &&
            ask_version(&client, &version);
    if (cli->json) {
        buf_text(&out, "{\"belfry\":\"" BELFRY_VERSION "\",\"server\":");
        if (there)
            json_quote(&out, buf_view(&version));
        buf_text(&out, there ? "}\n" : "null}\n");
    } else {
        buf_text(&out, "belfry " BELFRY_VERSION "\n");
        if (there)
            buf_printf(&out, "server %.*s at %s:%s\n", STR_ARG(buf_view(&version)), cli->host,
                       cli->port);
        else
            buf_printf(&out, "server not known: %s:%s: %s\n", cli->host, cli->port, client.why);
    }
    call_print(&out);
    client_close(&client);
    buf_fini(&version);
    buf_fini(&out);
    return CLI_OK;
}

static int ping_once(const struct cli *cli, struct client *c)
{
    const struct resp_values *v;
    int64_t began_us = time_mono_us();
    int code = call_ask(c, CLIENT_WORDS(STR("PING")), &v);
    double ms = (double)(time_mono_us() - began_us) / 1000;

    if (code != CLI_OK)
        return code;
    if (cli->json)
        printf("{\"host\":\"%s\",\"port\":%s,\"ms\":%.3f}\n", cli->host, cli->port, ms);
    else
        printf("%s:%s answered in %.2fms\n", cli->host, cli->port, ms);
    return fflush(stdout) == 0 ? CLI_OK : CLI_ERROR;
}

int ping_run(struct cli *cli, int argc, char **argv)
{
    struct flags f = { .cli = cli, .rows = ping_flags, .argc = argc, .argv = argv };
    struct probe p = { .count = 1 };
    struct client client;
    int code = read_options(&f, "ping", &p);

    if (code >= 0)
        return code;
    code = call_connect(cli, &client);
    if (code != CLI_OK)
        return code;
    for (int64_t i = 0; code == CLI_OK && i < p.count; i++) {
        if (i > 0)
            sleep(1);
        code = ping_once(cli, &client);
    }
    client_close(&client);
    return code;
}
