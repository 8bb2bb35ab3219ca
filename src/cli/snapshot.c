/* SPDX-License-Identifier: MIT */
#include "cli/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

static void read_figures(const struct resp_values *v, size_t at, const char *title,
                         struct figures *ret)
{
#define READ(member) ret->member = client_int(v, at, #member, 0);
    SNAPSHOT_FIGURES(READ)
#undef READ
    snprintf(ret->name, sizeof(ret->name), "%.*s", STR_ARG(client_text(v, at, title)));
    snprintf(ret->tenant, sizeof(ret->tenant), "%.*s", STR_ARG(client_text(v, at, "tenant")));
}

static int ask(struct client *c, enum resp_type expected, const struct resp_values **ret)
{
    int err = client_read(c, ret);

    if (err == 0 && (*ret)->at[0].type != expected)
        return cli_fail(c->why, BELFRY_PROTOCOL, "unexpected answer: %.*s",
                        STR_ARG((*ret)->at[0].text));
    return err;
}

int snapshot_take(struct client *c, struct snapshot *ret)
{
    struct snapshot s = { 0 };
    const struct resp_values *v = NULL;
    int err;

    client_add(c, CLIENT_WORDS(STR("STATS")));
    client_add(c, CLIENT_WORDS(STR("QUEUES"), STR("TENANT"), STR("*")));
    err = client_flush(c);
    if (err == 0)
        err = ask(c, RESP_MAP, &v);
    if (err == 0) {
        s.at_us = time_mono_us();
        read_figures(v, 0, "version", &s.server);
        err = ask(c, RESP_ARRAY, &v);
    }
    if (err < 0 || !v)
        return err;
    s.queues = calloc(v->at[0].children + 1, sizeof(*s.queues));
    for (size_t queue = 1; s.queues && queue < v->at[0].next; queue = v->at[queue].next)
        read_figures(v, queue, "queue", &s.queues[s.n++]);
    *ret = s;
    return 0;
}

void snapshot_fini(struct snapshot *s)
{
    free(s->queues);
    *s = (struct snapshot){ 0 };
}

const struct figures *snapshot_queue(const struct snapshot *s, const struct figures *queue)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->queues[i].name, queue->name) == 0 &&
            strcmp(s->queues[i].tenant, queue->tenant) == 0)
            return &s->queues[i];
    return NULL;
}
