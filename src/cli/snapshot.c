/* SPDX-License-Identifier: MIT */
#include "cli/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"

static void read_figures(const struct resp_values *v, size_t at, const char *title,
                         struct figures *ret)
{
    const struct resp_value *name = client_field(v, at, title);
    const struct resp_value *tenant = client_field(v, at, "tenant");

#define READ(member) ret->member = client_int(v, at, #member, 0);
    SNAPSHOT_FIGURES(READ)
#undef READ
    if (name)
        snprintf(ret->name, sizeof(ret->name), "%.*s", STR_ARG(name->text));
    if (tenant)
        snprintf(ret->tenant, sizeof(ret->tenant), "%.*s", STR_ARG(tenant->text));
}

static int ask(struct client *c, enum resp_type expected, const struct resp_values **ret)
{
    int err = client_read(c, ret);

    if (err == 0 && (*ret)->at[0].type != expected) {
        snprintf(c->why, sizeof(c->why), "unexpected answer: %.*s", STR_ARG((*ret)->at[0].text));
        err = BELFRY_PROTOCOL;
    }
    return err;
}

int snapshot_take(struct client *c, struct snapshot *ret)
{
    struct str stats[] = { STR("STATS") };
    struct str queues[] = { STR("QUEUES"), STR("TENANT"), STR("*") };
    struct snapshot s = { 0 };
    const struct resp_values *v = NULL;
    size_t queue = 1;
    int err;

    client_add(c, stats, 1);
    client_add(c, queues, 3);
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
    for (uint32_t i = 0; s.queues && i < v->at[0].children; i++) {
        read_figures(v, queue, "queue", &s.queues[s.n++]);
        queue = v->at[queue].next;
    }
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
