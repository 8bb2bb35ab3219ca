/* SPDX-License-Identifier: MIT */
#include "cli/call.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/json.h"

int call_connect(const struct cli *cli, struct client *ret)
{
    const char *host = cli->host, *port = cli->port;

    int err = client_open_belfry(ret, host, port, CLIENT_CONNECT_MS);

    if (err == 0)
        return CLI_OK;
    if (err == BELFRY_WRONGPASS || err == BELFRY_INVALID) { /* the server is there */
        cli_say("%s:%s: %s", host, port, ret->why);
        return CLI_ERROR;
    }
    cli_say("cannot reach a server at %s:%s: %s", host, port, ret->why);
    cli_say("start one with `belfryd` or `make run`, or say where it is with --host and --port");
    return CLI_OFFLINE;
}

static int call_lost(const struct client *c)
{
    cli_say("the connection failed: %s", c->why);
    cli_say("whether the command was carried out is not known");
    return CLI_OFFLINE;
}

int call_error(struct str text)
{
    const char *space = memchr(text.ptr, ' ', text.len);
    size_t code = space ? (size_t)(space - text.ptr) : text.len;
    size_t rest = space ? code + 1 : code;
    const struct error_row *row = error_find((struct str){ text.ptr, code });

    cli_say("%.*s: %.*s", (int)code, text.ptr, (int)(text.len - rest), text.ptr + rest);
    if (row && row->hint[0])
        cli_say("%s", row->hint);
    return CLI_ERROR;
}

int call_ask(struct client *c, const struct str *words, size_t n, const struct resp_values **ret)
{
    if (client_call(c, words, n, ret) < 0)
        return call_lost(c);
    return (*ret)->at[0].type == RESP_ERROR ? call_error((*ret)->at[0].text) : CLI_OK;
}

bool call_print(struct buf *out)
{
    bool ok = out->len == 0 || fwrite(out->ptr, 1, out->len, stdout) == out->len;

    out->len = 0;
    return fflush(stdout) == 0 && ok;
}

bool call_show(const struct cli *cli, const struct resp_values *v, size_t at,
               const struct render *r)
{
    struct buf out = { 0 };
    bool printed;

    if (cli->json) {
        json_put(&out, v, at);
        buf_text(&out, "\n");
    } else if (!r->forecast || !forecast_put(&out, v, r)) {
        render_value(&out, v, at, r);
    }
    printed = call_print(&out);
    buf_fini(&out);
    return printed;
}

/* Whether the answer says that there is nothing. */
static bool is_nothing(const struct resp_value *v)
{
    bool is_word = v->type == RESP_SIMPLE || v->type == RESP_BULK;

    return v->type == RESP_NULL || (v->type == RESP_ARRAY && v->children == 0) ||
           (is_word && str_eq(v->text, STR("notfound")));
}

static void say_nothing(const struct verb *verb, const struct resp_value *v)
{
    if (verb->flags & VERB_TAKES)
        cli_say("no work");
    else if (v->type == RESP_ARRAY)
        cli_say("nothing there");
    else
        cli_say("no such %s", verb_thing(verb));
}

static int call_once(const struct cli *cli, struct command *c, struct client *client)
{
    struct render r = render_for(STDOUT_FILENO);
    const struct resp_values *answer;
    const struct resp_value *value;
    int code = call_ask(client, c->words, c->n, &answer);
    bool empty;

    if (code != CLI_OK)
        return code;
    value = &answer->at[0];
    empty = is_nothing(value);
    r.tenants = c->all_tenants;
    r.forecast = strcmp(c->verb->name, "FORECAST") == 0;
    if (empty && !cli->json)
        say_nothing(c->verb, value);
    else if (!call_show(cli, answer, 0, &r))
        return CLI_ERROR;
    /* A queue list that is empty is an answer; a job or work that is not there is not. */
    return empty && (value->type != RESP_ARRAY || c->verb->flags & VERB_TAKES) ? CLI_NOTHING
                                                                               : CLI_OK;
}

static int call_server(const struct cli *cli, struct command *c)
{
    call_fn *run = command_pages(c->verb)                  ? listing_run
                   : command_waits(c->verb) && !c->no_wait ? bulk_run
                                                           : call_once;
    struct client client;
    int code = command_pages(c->verb) ? listing_words(c) : CLI_OK;

    if (code == CLI_OK && command_check(c) < 0)
        code = cli_usage("%s", c->why);
    if (code == CLI_OK)
        code = call_connect(cli, &client);
    if (code != CLI_OK)
        return code;
    code = run(cli, c, &client);
    client_close(&client);
    return code;
}

int call_run(struct cli *cli, const struct verb *v, int argc, char **argv)
{
    struct flag_name name = flag_name(str_of(v->name));
    struct command c;
    int code = CLI_OK;

    if (command_parse(&c, cli, v, argc, argv) < 0) {
        code = cli_usage("%s: %s", name.text, c.why);
        cli_say("see belfry help %s", name.text);
    } else if (cli->help) {
        help_verb(v);
    } else {
        code = call_server(cli, &c);
    }
    command_fini(&c);
    return code;
}
