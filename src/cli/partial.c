/* SPDX-License-Identifier: MIT */
#include "cli/partial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/id.h"
#include "base/time.h"
#include "cli/call.h"

#define HITS_SHOWN 5
#define PAGE_JOBS  "1000"
#define GIVE_WHOLE "give the whole id"

struct hit {
    char id[ID_TEXT];
    char about[2 * NAME_MAX_BYTES + 64]; /* queue and state */
};

/* One part, and the jobs that fit. */
struct part {
    size_t word; /* the index of its word */
    size_t len;
    char text[ID_TEXT];
    struct hit hits[HITS_SHOWN];
    size_t n; /* jobs that fit; only the first ones are in hits */
};

struct search {
    struct part *parts;
    size_t n;
    uint64_t looked;  /* jobs */
    int64_t until_ms; /* monotonic */
    struct buf cursor;
    bool crowded; /* a part fits more jobs than are shown */
};

bool partial_is(struct str text)
{
    char spelled[ID_TEXT];

    return text.len >= PARTIAL_LEAST && text.len < ID_TEXT && id_spell(text, spelled);
}

static bool part_fits(const struct part *p, const char *id)
{
    return memcmp(id, p->text, p->len) == 0 || memcmp(id + ID_TEXT - p->len, p->text, p->len) == 0;
}

/* LIST may show a job twice. */
static bool part_has(const struct part *p, const char *id)
{
    for (size_t i = 0; i < p->n && i < HITS_SHOWN; i++)
        if (memcmp(p->hits[i].id, id, ID_TEXT) == 0)
            return true;
    return false;
}

static void part_take(struct part *p, struct str id, const struct resp_values *v, size_t job)
{
    struct str queue = client_text(v, job, "queue"), state = client_text(v, job, "state");

    if (!part_fits(p, id.ptr) || part_has(p, id.ptr))
        return;
    if (p->n < HITS_SHOWN) {
        struct hit *h = &p->hits[p->n];

        memcpy(h->id, id.ptr, ID_TEXT);
        snprintf(h->about, sizeof(h->about), "queue %.*s, %.*s", STR_ARG(queue), STR_ARG(state));
    }
    p->n++;
}

static int search_fail(void)
{
    return cli_error(CLI_ERROR, "PROTOCOL", 0, GIVE_WHOLE,
                     "the server's answer is not a page of a list");
}

static int take_page(struct search *s, const struct resp_values *v)
{
    const struct resp_value *jobs = client_field(v, 0, "jobs");
    const struct resp_value *cursor = client_field(v, 0, "cursor");
    size_t at;

    if (!jobs || !cursor || jobs->type != RESP_ARRAY)
        return search_fail();
    at = (size_t)(jobs - v->at);
    for (size_t job = at + 1; job < jobs->next; job = v->at[job].next) {
        struct str id = client_text(v, job, "id");

        for (size_t i = 0; id.len == ID_TEXT && i < s->n; i++) {
            part_take(&s->parts[i], id, v, job);
            s->crowded = s->crowded || s->parts[i].n > HITS_SHOWN;
        }
    }
    s->looked += jobs->children;
    s->cursor.len = 0;
    if (cursor->type == RESP_BULK || cursor->type == RESP_SIMPLE)
        buf_str(&s->cursor, cursor->text);
    return CLI_OK;
}

static int ask_page(struct search *s, struct str tenant, struct client *client)
{
    struct str words[] = { STR("LIST"), STR("LIMIT"), STR(PAGE_JOBS), STR(""),
                           STR(""),     STR(""),      STR("") };
    const struct resp_values *v;
    size_t n = 3;
    int code;

    if (tenant.len > 0) {
        words[n++] = STR("TENANT");
        words[n++] = tenant;
    }
    if (s->cursor.len > 0) {
        words[n++] = STR("CURSOR");
        words[n++] = buf_view(&s->cursor);
    }
    code = call_ask(client, words, n, &v);
    if (code == CLI_OK)
        return take_page(s, v);
    if (code != CLI_OFFLINE)
        cli_say("the rest of the id is looked for among the jobs of LIST; " GIVE_WHOLE);
    return code;
}

/* Looks at all jobs, or at as many as there is time for. */
static int search_run(struct search *s, struct str tenant, struct client *client)
{
    int code;

    s->until_ms = time_mono_ms() + PARTIAL_MS;
    do {
        code = ask_page(s, tenant, client);
    } while (code == CLI_OK && s->cursor.len > 0 && !s->crowded && s->looked < PARTIAL_JOBS &&
             time_mono_ms() < s->until_ms);
    return code;
}

static int say_several(const struct part *p)
{
    bool json = cli_speaks_json();
    struct buf list = { 0 };
    int code;

    for (size_t i = 0; i < p->n && i < HITS_SHOWN; i++)
        buf_printf(&list, "%s%.*s (%s)", json ? (i ? ", " : " ") : "\n  ", ID_TEXT, p->hits[i].id,
                   p->hits[i].about);
    if (p->n > HITS_SHOWN)
        buf_text(&list, json ? ", and more" : "\n  and more");
    code = cli_error(CLI_USAGE, "AMBIGUOUS", 0, "give more characters of the id",
                     "the ids of several jobs begin or end with %.*s:%.*s", (int)p->len, p->text,
                     (int)list.len, list.ptr);
    buf_fini(&list);
    return code;
}

static int say_incomplete(const struct search *s, const struct part *p)
{
    char found[sizeof(p->hits[0].about) + ID_TEXT + 32] = "";

    if (p->n == 1)
        snprintf(found, sizeof(found), "; so far only %.*s fits (%s)", ID_TEXT, p->hits[0].id,
                 p->hits[0].about);
    return cli_error(CLI_USAGE, "INCOMPLETE", 0, GIVE_WHOLE,
                     "there are too many jobs to look for %.*s: %" PRIu64 " were looked at%s",
                     (int)p->len, p->text, s->looked, found);
}

/* Puts the id of the one job that fits into its word, or says why not. */
static int part_settle(struct command *c, const struct search *s, const struct part *p)
{
    if (s->cursor.len > 0)
        return say_incomplete(s, p);
    if (p->n == 0)
        return cli_error(CLI_NOTHING, "NOTFOUND", 0,
                         "belfry list shows the jobs of a tenant (--tenant); a key is given "
                         "with --key",
                         "no job's id begins or ends with %.*s", (int)p->len, p->text);
    c->words[p->word] = (struct str){ c->ids.ptr + c->ids.len, ID_TEXT };
    buf_append(&c->ids, p->hits[0].id, ID_TEXT); /* there is room: nothing moves */
    if (isatty(STDERR_FILENO))
        cli_say("%.*s is %.*s (%s)", (int)p->len, p->text, ID_TEXT, p->hits[0].id,
                p->hits[0].about);
    return CLI_OK;
}

static int settle_all(struct command *c, const struct search *s)
{
    int code = CLI_OK;

    if (!buf_reserve(&c->ids, s->n * ID_TEXT))
        return cli_error(CLI_ERROR, "NOMEM", 0, NULL, "out of memory");
    for (size_t i = 0; i < s->n; i++)
        if (s->parts[i].n > 1) /* certain, though the search may have stopped there */
            return say_several(&s->parts[i]);
    for (size_t i = 0; code == CLI_OK && i < s->n; i++)
        code = part_settle(c, s, &s->parts[i]);
    return code;
}

static size_t count_parts(const struct command *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->parts[i].len > 0;
    return n;
}

int partial_resolve(struct command *c, struct client *client)
{
    size_t n = count_parts(c);
    struct search s = { .parts = calloc(n ? n : 1, sizeof(struct part)) };
    int code;

    if (!s.parts)
        return cli_error(CLI_ERROR, "NOMEM", 0, NULL, "out of memory");
    for (size_t i = 0; i < c->n; i++) {
        struct part *p = &s.parts[s.n];

        if (c->parts[i].len == 0)
            continue;
        p->word = i;
        p->len = c->parts[i].len;
        id_spell(c->parts[i], p->text); /* partial_is() has seen it */
        s.n++;
    }
    code = n ? search_run(&s, c->tenant, client) : CLI_OK;
    if (code == CLI_OK && n)
        code = settle_all(c, &s);
    buf_fini(&s.cursor);
    free(s.parts);
    return code;
}
