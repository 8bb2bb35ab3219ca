/* SPDX-License-Identifier: MIT */
#include "verbs/page.h"

#include <stdio.h>

#include "verbs/handlers.h"
#include "verbs/seal.h"

void page_begin(struct page *p)
{
    struct reply *r = p->call->reply;

    if (p->map) {
        reply_map(r, shape_count(p->map));
        reply_bytes(r, p->map[0].name);
    }
    p->start = r->ops->mark(r);
    p->from = r->ops->array_begin(r);
}

int page_seek(struct page *p)
{
    const struct arg_value *cursor = arg_of(p->call, "cursor");

    page_begin(p);
    return !cursor->set || seal_parse(p->call, cursor->str, &p->next) ? 0 : BELFRY_INVALID;
}

int page_add(struct page *p, const void *view)
{
    shape_put(p->call->reply, p->fields, view);
    p->n++;
    return p->map && p->call->reply->ops->mark(p->call->reply) - p->start >= PAGE_BYTES;
}

static void put_cursor(const struct page *p)
{
    reply_bytes(p->call->reply, p->map[1].name);
    if (p->next.more)
        seal_reply(p->call, &p->next);
    else
        reply_null(p->call->reply);
}

void page_end(struct page *p, int err, const char *detail)
{
    struct reply *r = p->call->reply;
    char why[64];

    if (err < 0) {
        r->ops->undo(r);
        snprintf(why, sizeof(why), "cursor: expected one that %s gave", p->call->verb->name);
        verb_error(p->call, err, p->map && err == BELFRY_INVALID ? why : detail);
        return;
    }
    r->ops->array_end(r, p->from, p->n);
    if (p->map)
        put_cursor(p);
}
