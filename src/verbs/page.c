/* SPDX-License-Identifier: MIT */
#include "verbs/page.h"

#include "verbs/seal.h"

void page_fini(struct page *p)
{
    buf_fini(&p->views);
    buf_fini(&p->text);
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

    if (p->next->more)
        seal_reply(p->call, r, p->next);
    else
        reply_null(r);
}
