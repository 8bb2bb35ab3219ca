/* SPDX-License-Identifier: MIT */
#include "cli/call.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/json.h"
#include "cli/partial.h"

int call_connect(const struct cli *cli, struct client *ret)
{
    const char *host = cli->host, *port = cli->port;
    int err = client_open_belfry(ret, host, port, CLIENT_CONNECT_MS);

    if (err == 0)
        return CLI_OK;
    if (err == BELFRY_WRONGPASS || err == BELFRY_INVALID)
        return cli_error(CLI_ERROR, error_name(err), 0, NULL, "%s:%s: %s", host, port, ret->why);
    if (ret->reached)
        return cli_error(CLI_OFFLINE, "OFFLINE", 0,
                         client_uses_tls() ? "the server is there: --ca FILE says which "
                                             "certificates to trust; docs/deploy.md has more"
                                           : "if the server wants TLS, say --tls or belfrys://",
                         "cannot talk to the server at %s:%s: %s", host, port, ret->why);
    return cli_error(CLI_OFFLINE, "OFFLINE", 0,
                     "start one with `belfryd` or `make run`, or say where it is with --host and "
                     "--port",
                     "cannot reach a server at %s:%s: %s", host, port, ret->why);
}

static int call_lost(const struct client *c)
{
    return cli_error(CLI_OFFLINE, "INDOUBT", 0, "whether the command was carried out is not known",
                     "the connection failed: %s", c->why);
}

/* A hint about the thing that the verb is about. */
static const char *hint_of(const struct error_row *row, const char *thing)
{
    static const struct {
        int err;
        const char *thing, *hint;
    } hints[] = {
        { BELFRY_NOTFOUND, "queue", "belfry queues shows which there are" },
        { BELFRY_NOTFOUND, "tenant", "belfry tenants shows which there are" },
        { BELFRY_NOTFOUND, "recurrence", "belfry recurrences shows which there are" },
        { BELFRY_NOTFOUND, "token", "belfry token list shows which there are" },
        { BELFRY_NOTFOUND, "bulk", "belfry bulks shows which there are" },
        { BELFRY_STATE, "recurrence", "belfry recurrence NAME shows its state" },
        { BELFRY_STATE, "bulk", "belfry bulks shows its state" },
        { BELFRY_STATE, "token", "belfry token list shows all of them" },
        { BELFRY_STATE, "queue", "belfry queue NAME shows it" },
        { BELFRY_STATE, "tenant", "belfry tenant NAME shows it" },
    };

    for (size_t i = 0; row && i < sizeof(hints) / sizeof(*hints); i++)
        if (hints[i].err == row->err && strcmp(hints[i].thing, thing) == 0)
            return hints[i].hint;
    return row ? row->hint : NULL;
}

int call_error(const struct verb *v, struct str text)
{
    const char *space = memchr(text.ptr, ' ', text.len);
    size_t len = space ? (size_t)(space - text.ptr) : text.len;
    struct str rest = str_from(text, space ? len + 1 : len);
    const struct error_row *row = error_find((struct str){ text.ptr, len });
    char code[32];

    snprintf(code, sizeof(code), "%.*s", (int)len, text.ptr);
    return cli_error(row && row->err == BELFRY_NOTFOUND ? CLI_NOTHING : CLI_ERROR, code,
                     row ? row->status : 500, hint_of(row, verb_thing(v)), "%.*s", STR_ARG(rest));
}

int call_ask(struct client *c, const struct str *words, size_t n, const struct resp_values **ret)
{
    if (client_call(c, words, n, ret) < 0)
        return call_lost(c);
    return (*ret)->at[0].type == RESP_ERROR
               ? call_error(verb_find(verb_table, words[0]), (*ret)->at[0].text)
               : CLI_OK;
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
        json_put_fields(&out, v, at, r->fields);
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

/* Says that there is nothing. A list that is empty is an answer; a job or work that is not there is
 * not. */
static int say_nothing(const struct cli *cli, const struct verb *verb, const struct resp_value *v)
{
    bool takes = verb->flags & VERB_TAKES;

    if (cli->json)
        return v->type != RESP_ARRAY || takes ? CLI_NOTHING : CLI_OK;
    if (takes)
        return cli_error(CLI_NOTHING, "NOTFOUND", 0, NULL, "no work");
    if (v->type == RESP_ARRAY) {
        cli_say("nothing there");
        return CLI_OK;
    }
    return cli_error(CLI_NOTHING, "NOTFOUND", 0,
                     hint_of(error_row(BELFRY_NOTFOUND), verb_thing(verb)), "no such %s",
                     verb_thing(verb));
}

/* Writes the fields as they are, without names: the payload if the user named none. */
static bool show_raw(const struct resp_values *v, const char *fields)
{
    struct buf out = { 0 };
    const char *list = fields ? fields : "payload";
    struct str word;
    bool printed;

    while (render_next_name(&list, &word)) {
        for (size_t key = 1; key < v->at[0].next; key = client_next_key(v, key)) {
            const struct resp_value *value = &v->at[v->at[key].next];
            bool text = value->type == RESP_BULK || value->type == RESP_SIMPLE;

            if (field_is_named(v->at[key].text, word) && text)
                buf_str(&out, value->text);
            else if (field_is_named(v->at[key].text, word) && value->type != RESP_NULL)
                json_put(&out, v, v->at[key].next);
        }
    }
    printed = call_print(&out);
    buf_fini(&out);
    return printed;
}

static bool show_answer(const struct cli *cli, const struct command *c,
                        const struct resp_values *answer)
{
    struct render r = render_for(cli, c->verb, STDOUT_FILENO);
    const struct resp_value *value = &answer->at[0];

    r.tenants = c->all_tenants;
    r.forecast = strcmp(c->verb->name, "FORECAST") == 0;
    if (c->raw && value->type == RESP_MAP)
        return show_raw(answer, cli->fields);
    if (command_is_text(c->verb) && !cli->json && value->type == RESP_BULK) {
        struct buf out = { 0 };
        bool printed;

        buf_str(&out, value->text);
        printed = call_print(&out);
        buf_fini(&out);
        return printed;
    }
    return call_show(cli, answer, 0, &r);
}

static int call_once(const struct cli *cli, struct command *c, struct client *client)
{
    const struct resp_values *answer;
    int code = call_ask(client, c->words, c->n, &answer);
    bool empty = code == CLI_OK && is_nothing(&answer->at[0]);

    if (code == CLI_OK && (!empty || cli->json) && !show_answer(cli, c, answer))
        return CLI_ERROR;
    return empty ? say_nothing(cli, c->verb, &answer->at[0]) : code;
}

/* Every field that the user wants must be one that some verb shows. */
static int check_fields(const struct cli *cli)
{
    const char *list = cli->fields;
    struct str word;

    while (render_next_name(&list, &word)) {
        struct buf ms = { 0 };
        bool known;

        buf_str(&ms, word);
        buf_text(&ms, "_ms");
        known = shape_type_of(word) != SHAPE_END || shape_type_of(buf_view(&ms)) != SHAPE_END;
        buf_fini(&ms);
        if (!known)
            return cli_usage("--fields: there is no field '%.*s'; --wide shows all", STR_ARG(word));
    }
    return CLI_OK;
}

static int call_server(const struct cli *cli, struct command *c)
{
    call_fn *run = command_pages(c->verb)                  ? listing_run
                   : command_waits(c->verb) && !c->no_wait ? bulk_run
                                                           : call_once;
    struct client client;
    int code = check_fields(cli);

    if (code == CLI_OK && command_pages(c->verb))
        code = listing_words(c);
    if (code == CLI_OK && command_check(c) < 0)
        code = cli_usage_hint(c->odd_id ? PARTIAL_HINT : NULL, "%s", c->why);
    if (code == CLI_OK)
        code = call_connect(cli, &client);
    if (code != CLI_OK)
        return code;
    code = partial_resolve(c, &client);
    if (code == CLI_OK)
        code = run(cli, c, &client);
    client_close(&client);
    return code;
}

int call_run(struct cli *cli, const struct verb *v, int argc, char **argv)
{
    struct flag_name name = flag_name(str_of(v->name));
    struct command c;
    char hint[96];
    int code = CLI_OK;

    if (command_parse(&c, cli, v, argc, argv) < 0) {
        snprintf(hint, sizeof(hint), "see belfry help %s", name.text);
        code = cli_usage_hint(hint, "%s: %s", name.text, c.why);
    } else if (cli->help) {
        help_verb(v);
    } else {
        code = call_server(cli, &c);
    }
    command_fini(&c);
    return code;
}
