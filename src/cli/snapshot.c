/* SPDX-License-Identifier: MIT */
#include "cli/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

int64_t figures_int(const struct figures *f, const char *name)
{
    return client_int(f->v, f->at, name, 0);
}

struct str figures_text(const struct figures *f, const char *name)
{
    return client_text(f->v, f->at, name);
}

static void drop_reply(struct snapshot_reply *r)
{
    buf_fini(&r->bytes);
    resp_values_fini(&r->values);
}

void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    drop_reply(&s->stats);
    drop_reply(&s->list);
    free(s->queues);
    free(s);
}

static bool keep_reply(struct client *c, enum resp_type expected, struct snapshot_reply *ret)
{
    const struct resp_values *v;
    size_t used;

    if (client_read(c, &v) < 0)
        return false;
    if (v->at[0].type != expected)
        return cli_fail(c->why, false, "unexpected answer: %.*s", STR_ARG(v->at[0].text));
    buf_append(&ret->bytes, c->in.ptr + c->start, c->used);
    return resp_read_value(&ret->values, buf_view(&ret->bytes), &used) == RESP_OK ||
           cli_fail(c->why, false, "%s", error_text(BELFRY_NOMEM));
}

static bool ask_server(struct client *c, struct snapshot *s)
{
    client_put(&c->out, CLIENT_WORDS(STR("STATS")));
    client_put(&c->out, CLIENT_WORDS(STR("QUEUES"), STR("TENANT"), STR("*")));
    if (client_flush(c) < 0 || !keep_reply(c, RESP_MAP, &s->stats))
        return false;
    s->at_us = time_mono_us();
    s->server = (struct figures){ &s->stats.values, 0 };
    return keep_reply(c, RESP_ARRAY, &s->list);
}

struct snapshot *snapshot_new(struct client *c)
{
    struct snapshot *s = calloc(1, sizeof(*s));
    const struct resp_values *v;

    if (!s || !ask_server(c, s)) {
        snapshot_free(s);
        return NULL;
    }
    v = &s->list.values;
    s->queues = calloc(v->at[0].children + 1, sizeof(*s->queues));
    for (size_t at = 1; s->queues && at < v->at[0].next; at = v->at[at].next)
        s->queues[s->n++] = (struct figures){ v, at };
    return s;
}

const struct figures *snapshot_queue(const struct snapshot *s, const struct figures *queue)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(figures_text(&s->queues[i], "queue"), figures_text(queue, "queue")) &&
            str_eq(figures_text(&s->queues[i], "tenant"), figures_text(queue, "tenant")))
            return &s->queues[i];
    return NULL;
}
