/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "cli/call.h"
#include "cli/progress.h"

#define POLL_FIRST_MS 20
#define POLL_MS       500
#define BULK          1 /* index of the bulk in the answer of BULKS */

/* A bulk that is asked for again and again. */
struct following {
    struct client *client;
    char id[ID_TEXT + 1];
    struct str tenant; /* empty: the default */
    struct progress progress;
};

static bool is_state(const struct resp_values *v, struct str state)
{
    return str_eq(client_text(v, BULK, "state"), state);
}

static struct str tenant_of(const struct command *c)
{
    for (size_t i = 2; i + 1 < c->n; i += 2)
        if (str_ieq(c->words[i], "tenant"))
            return c->words[i + 1];
    return (struct str){ 0 };
}

/* About how many jobs the bulk looks at. */
static uint64_t jobs_of(struct following *f)
{
    const struct resp_values *v;

    if (client_call(f->client, CLIENT_WORDS(STR("STATS")), &v) < 0)
        return 0;
    return (uint64_t)(client_int(v, 0, "hot_jobs", 0) + client_int(v, 0, "cold_jobs", 0));
}

/* Asks once; the bulk's map is at index BULK. */
static int ask(struct following *f, const struct resp_values **ret)
{
    struct str words[] = { STR("BULKS"), STR("ID"), str_of(f->id), STR("TENANT"), f->tenant };
    int code = call_ask(f->client, words, f->tenant.len ? 5 : 3, ret);

    if (code != CLI_OK || ((*ret)->at[0].type == RESP_ARRAY && (*ret)->at[0].children > 0))
        return code;
    return cli_error(CLI_ERROR, "PROTOCOL", 0, NULL, "the server's answer is not about the bulk");
}

static int follow(const struct cli *cli, struct following *f)
{
    const struct resp_values *v;
    int wait = POLL_FIRST_MS, code;
    uint64_t total = jobs_of(f);
    struct render r = render_for(cli, NULL, STDOUT_FILENO);

    progress_begin(&f->progress, "bulk", total, cli->json);
    for (;;) {
        uint64_t looked;

        code = ask(f, &v);
        if (code != CLI_OK || !is_state(v, STR("running")))
            break;
        looked = (uint64_t)client_int(v, BULK, "looked_at", 0);
        progress_show(&f->progress, looked < total ? looked : total);
        usleep((useconds_t)wait * 1000);
        wait = wait * 2 < POLL_MS ? wait * 2 : POLL_MS;
    }
    progress_end(&f->progress);
    if (code == CLI_OK && (!call_show(cli, v, BULK, &r) || is_state(v, STR("failed"))))
        code = CLI_ERROR;
    return code;
}

int bulk_run(const struct cli *cli, struct command *c, struct client *client)
{
    struct following f = { .client = client, .tenant = tenant_of(c) };
    const struct resp_values *v;
    struct str id;
    int code = call_ask(client, c->words, c->n, &v);

    if (code != CLI_OK)
        return code;
    id = client_text(v, 0, "id");
    if (id.len != ID_TEXT)
        return cli_error(CLI_ERROR, "PROTOCOL", 0, NULL, "the server's answer is not about a bulk");
    memcpy(f.id, id.ptr, ID_TEXT);
    return follow(cli, &f);
}
