/* SPDX-License-Identifier: MIT */
#include "verbs/page.h"

#include <stdio.h>

#include "verbs/seal.h"

int page_seek(struct page *p, const struct arg_value *cursor)
{
    return !cursor->set || seal_parse(p->call, cursor->str, &p->next) ? 0 : BELFRY_INVALID;
}

static void keep_slice(struct str *s, void *arg)
{
    buf_str(arg, *s);
    s->ptr = NULL;
}

static void find_slice(struct str *s, void *arg)
{
    const char **at = arg;

    s->ptr = *at;
    *at += s->len;
}

int page_add(struct page *p, const void *view)
{
    size_t at = p->views.len;

    buf_append(&p->views, view, p->size);
    if (p->views.failed)
        return BELFRY_NOMEM;
    shape_each_slice(p->fields, p->views.ptr + at, keep_slice, &p->text);
    p->n++;
    return p->text.failed ? BELFRY_NOMEM : 0;
}

void page_put(struct reply *r, const void *view)
{
    const struct page *p = view;
    const char *at = p->text.ptr;

    reply_array(r, p->n);
    for (size_t i = 0; i < p->n; i++) {
        char *one = p->views.ptr + i * p->size;

        shape_each_slice(p->fields, one, find_slice, &at);
        shape_put(r, p->fields, one);
    }
}

void page_put_cursor(struct reply *r, const void *view)
{
    const struct page *p = view;

    if (p->next.more)
        seal_reply(p->call, r, &p->next);
    else
        reply_null(r);
}

void page_reply(struct page *p, int err, const char *detail)
{
    char why[64];

    if (p->map && err == BELFRY_INVALID) {
        snprintf(why, sizeof(why), "cursor: expected one that %s gave", p->call->verb->name);
        detail = why;
    }
    if (err)
        verb_error(p->call, err, detail);
    else if (p->map)
        shape_put(p->call->reply, p->map, p);
    else
        page_put(p->call->reply, p);
    buf_fini(&p->views);
    buf_fini(&p->text);
}
