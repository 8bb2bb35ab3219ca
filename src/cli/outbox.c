/* SPDX-License-Identifier: MIT */
#include "cli/outbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/cli.h"

struct letter {
    struct list node;
    enum outbox_kind kind;
    bool again; /* sent before on another connection: the answer to that may have been lost */
    char id[ID_TEXT + 1];
    char token[TASK_TOKEN];
    struct buf bytes;
    struct buf note;
};

static const char *const names[] = { "COMPLETE", "FAIL", "RELEASE", "EXTEND" };

void outbox_init(struct outbox *o, outbox_extended_fn *extended, outbox_failed_fn *failed,
                 void *arg)
{
    *o = (struct outbox){ .client.fd = -1, .extended = extended, .failed = failed, .arg = arg };
    list_init(&o->letters);
}

static void discard(struct outbox *o, struct letter *l)
{
    list_remove(&l->node);
    o->unanswered -= l->kind != OUTBOX_EXTEND;
    buf_fini(&l->bytes);
    buf_fini(&l->note);
    free(l);
}

void outbox_fini(struct outbox *o)
{
    while (!list_empty(&o->letters))
        discard(o, container_of(o->letters.next, struct letter, node));
    client_close(&o->client);
}

int outbox_open(struct outbox *o, const char *host, const char *port, int timeout_ms)
{
    int err = client_open_belfry(&o->client, host, port, timeout_ms);

    if (err < 0)
        return err;
    list_each_of (struct letter, l, &o->letters, node)
        buf_str(&o->client.out, buf_view(&l->bytes));
    return 0;
}

void outbox_close(struct outbox *o)
{
    client_close(&o->client);
    list_each_of_safe (struct letter, l, &o->letters, node) {
        l->again = true;
        if (l->kind == OUTBOX_EXTEND)
            discard(o, l);
    }
}

void outbox_tell(struct outbox *o, enum outbox_kind kind, struct str id, struct str token,
                 const char *option, struct str value)
{
    struct str words[] = { str_of(names[kind]), id, token, str_of(option ? option : ""), value };
    struct letter *l = calloc(1, sizeof(*l));

    if (!l) /* the lease will end by itself */
        return;
    l->kind = kind;
    snprintf(l->id, sizeof(l->id), "%.*s", STR_ARG(id));
    snprintf(l->token, sizeof(l->token), "%.*s", STR_ARG(token));
    client_put(&l->bytes, words, option ? 5 : 3);
    list_append(&o->letters, &l->node);
    o->unanswered += kind != OUTBOX_EXTEND;
    if (o->client.fd >= 0)
        buf_str(&o->client.out, buf_view(&l->bytes));
}

void outbox_note(struct outbox *o, struct str note)
{
    if (!list_empty(&o->letters))
        buf_str(&container_of(o->letters.prev, struct letter, node)->note, note);
}

static void answer(struct outbox *o, struct letter *l, const struct resp_values *v)
{
    struct str text = v->at[0].text;
    bool failed = v->at[0].type == RESP_ERROR;
    bool gone = failed && (str_starts(text, STR("STALE")) || str_starts(text, STR("NOTFOUND")));

    if (l->kind == OUTBOX_EXTEND)
        o->extended(o->arg, str_of(l->token), client_int(v, 0, "cancelled", 0), gone);
    else if (failed && l->again)
        cli_say("%s: %s was sent again after the connection had failed: %.*s", l->id,
                names[l->kind], STR_ARG(text));
    else if (failed)
        cli_say("%s: the server refused %s: %.*s", l->id, names[l->kind], STR_ARG(text));
    else if (l->note.len > 0)
        o->failed(o->arg, buf_view(&l->note), v);
    discard(o, l);
}

int outbox_move(struct outbox *o)
{
    const struct resp_values *v;
    int n = client_push(&o->client);

    while (n >= 0 && (n = client_pull(&o->client)) > 0) {
        while ((n = client_next(&o->client, &v)) > 0) {
            if (list_empty(&o->letters))
                return BELFRY_PROTOCOL;
            answer(o, container_of(o->letters.next, struct letter, node), v);
        }
    }
    if (n < 0)
        return n;
    return client_push(&o->client);
}
