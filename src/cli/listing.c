/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/json_quote.h"
#include "cli/call.h"
#include "cli/json.h"
#include "cli/render.h"

#define LISTING_LIMIT 100
#define LISTING_PAGE  500 /* jobs asked for at a time */

struct listing {
    const struct cli *cli;
    int64_t left; /* jobs still to be shown */
    uint64_t shown;
    struct buf cursor; /* empty: none */
    struct render render;
    struct render_pages pages;
    struct buf out;
};

int listing_words(struct command *c)
{
    size_t n = 0;

    c->limit = c->all ? INT64_MAX : LISTING_LIMIT;
    for (size_t i = 0; i < c->n; i++) {
        bool pair = i % 2 == 1 && i + 1 < c->n; /* such verbs have no positional arguments */
        if (pair && str_ieq(c->words[i], "limit")) {
            struct flags f = { .value = c->words[++i].ptr };
            if (!flag_int(&f, 1, INT64_MAX, &c->limit))
                return cli_usage("list: --limit: %s", f.why);
        } else if (pair && str_ieq(c->words[i], "cursor")) {
            c->cursor = c->words[++i];
        } else {
            c->words[n++] = c->words[i];
        }
    }
    c->n = n;
    return CLI_OK;
}

static int ask(struct listing *l, const struct command *c, struct client *client,
               const struct resp_values **ret)
{
    struct str words[COMMAND_WORDS_MAX + 4];
    size_t n = c->n;
    char limit[24];

    memcpy(words, c->words, n * sizeof(*words));
    snprintf(limit, sizeof(limit), "%lld",
             (long long)(l->left < LISTING_PAGE ? l->left : LISTING_PAGE));
    words[n++] = STR("LIMIT");
    words[n++] = str_of(limit);
    if (l->cursor.len > 0) {
        words[n++] = STR("CURSOR");
        words[n++] = buf_view(&l->cursor);
    }
    return call_ask(client, words, n, ret);
}

static void put_json(struct listing *l, const struct resp_values *v, size_t at)
{
    for (size_t job = at + 1; job < v->at[at].next; job = v->at[job].next) {
        buf_text(&l->out, l->shown > 0 || job > at + 1 ? ",\n" : "");
        json_put_fields(&l->out, v, job, l->cli->fields);
    }
}

/* The array of an answer, which comes first: jobs, or whatever it lists. */
static const struct resp_value *rows_of(const struct resp_values *v)
{
    return v->at[0].type == RESP_MAP && v->at[0].children > 0 ? &v->at[2] : NULL;
}

/* Shows one page and takes over its cursor. */
static int take_page(struct listing *l, const struct resp_values *v)
{
    const struct resp_value *jobs = rows_of(v);
    const struct resp_value *cursor = client_field(v, 0, "cursor");

    if (!jobs || !cursor || jobs->type != RESP_ARRAY)
        return cli_error(CLI_ERROR, "PROTOCOL", 0, NULL,
                         "the server's answer is not a page of a list");
    if (l->cli->json)
        put_json(l, v, (size_t)(jobs - v->at));
    else
        render_page(&l->pages, &l->out, v, (size_t)(jobs - v->at), &l->render, 0);
    l->shown += jobs->children;
    l->left -= jobs->children;
    l->cursor.len = 0;
    if (cursor->type == RESP_BULK || cursor->type == RESP_SIMPLE)
        buf_str(&l->cursor, cursor->text);
    return call_print(&l->out) ? CLI_OK : CLI_ERROR;
}

static void finish(struct listing *l)
{
    struct str cursor = buf_view(&l->cursor);

    if (l->cli->json) {
        buf_text(&l->out, "],\"cursor\":");
        if (cursor.len > 0)
            json_quote(&l->out, cursor);
        buf_text(&l->out, cursor.len > 0 ? "}\n" : "null}\n");
    } else {
        render_pages_end(&l->pages, &l->out, &l->render);
    }
    call_print(&l->out);
    if (!l->cli->json && l->shown == 0)
        cli_say("nothing there");
    else if (!l->cli->json && cursor.len > 0)
        cli_say("there may be more: --all shows everything, --cursor %.*s goes on from here",
                STR_ARG(cursor));
}

static int follow(struct listing *l, const struct command *c, struct client *client)
{
    const struct resp_values *v;
    bool first = true;
    int code;

    do {
        code = ask(l, c, client, &v);
        if (code == CLI_OK && first && l->cli->json)
            json_quote_in(&l->out, "{", rows_of(v) ? v->at[1].text : STR("jobs"), ":[");
        first = false;
        if (code == CLI_OK)
            code = take_page(l, v);
    } while (code == CLI_OK && l->cursor.len > 0 && l->left > 0);
    if (code == CLI_OK)
        finish(l);
    return code;
}

int listing_run(const struct cli *cli, struct command *c, struct client *client)
{
    struct listing l = { .cli = cli,
                         .left = c->limit,
                         .render = render_for(cli, c->verb, STDOUT_FILENO) };
    int code;

    l.render.tenants = c->all_tenants;
    buf_str(&l.cursor, c->cursor);
    code = follow(&l, c, client);
    grid_fini(&l.pages.grid);
    buf_fini(&l.cursor);
    buf_fini(&l.out);
    return code;
}
