/* SPDX-License-Identifier: MIT */
#include "front/openapi_doc.h"

#include <assert.h>
#include <stdio.h>

#include "front/json.h"
#include "front/openapi.h"

void doc_put(struct buf *o, const char *format, ...)
{
    char last = o->len ? o->ptr[o->len - 1] : '{';
    char json[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(json, sizeof(json), format, args);
    va_end(args);
    assert(n < (int)sizeof(json));
    (void)n;
    for (char *p = json; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (!strchr("{[:", last) && !strchr("}]", json[0]))
        buf_text(o, ",");
    buf_text(o, json);
}

void doc_help(struct buf *o, const char *name, const char *text, const char *more,
              const struct verb *v)
{
    struct buf whole = { 0 };

    openapi_text(&whole, text, v);
    buf_text(&whole, more);
    doc_put(o, "'%s':", name);
    json_quote(o, buf_view(&whole));
    o->failed = o->failed || whole.failed;
    buf_fini(&whole);
}

void doc_words(struct buf *o, const char *list)
{
    struct str rest = str_of(list);

    doc_put(o, "'enum':[");
    while (rest.len) {
        struct str word = str_cut(&rest, '|'), before = str_of(list);
        bool again = false;

        while (before.ptr < word.ptr) {
            struct str other = str_cut(&before, '|');

            again = again || (other.ptr < word.ptr && str_eq(other, word));
        }
        if (!again)
            doc_put(o, "'%.*s'", STR_ARG(word));
    }
    doc_put(o, "]");
}
