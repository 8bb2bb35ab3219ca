/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "front/json_reply.h"
#include "verbs/page.h"

struct inner {
    struct str note;
};

struct sample {
    struct str name;
    int64_t n;
    struct str queue; /* in full: two fields show it */
    struct inner inner;
};

#define OF struct inner
static const struct shape_field inner_fields[] = {
    SHOW_TEXT("note", note, OR_NULL),
    { 0 },
};
#undef OF

#define OF struct sample
static const struct shape_field sample_fields[] = {
    SHOW_TEXT("name", name),
    SHOW_INT("n", n),
    SHOW_TENANT(queue),
    SHOW_QUEUE(queue),
    SHOW_PART(inner, struct inner, inner_fields),
    { 0 },
};
#undef OF

static const struct shape_field page_fields[] = {
    SHOW_PAGE("samples", "Sample", page_put),
    { 0 },
};

static struct buf out;

static const char *shown(const struct page *p)
{
    struct json_reply r;

    buf_fini(&out);
    json_reply_init(&r, &out, NULL, NULL);
    shape_put(&r.base, page_fields, p);
    buf_append(&out, "", 1);
    return out.ptr;
}

/* As of a view whose slices last only for the call. */
static void add(struct page *p, const char *name, int64_t n, const char *queue, const char *note)
{
    char bytes[3][16];
    struct sample v = { .n = n };

    snprintf(bytes[0], sizeof(bytes[0]), "%s", name);
    snprintf(bytes[1], sizeof(bytes[1]), "%s", queue);
    snprintf(bytes[2], sizeof(bytes[2]), "%s", note);
    v.name = str_of(bytes[0]);
    v.queue = str_of(bytes[1]);
    v.inner.note = str_of(bytes[2]);
    assert_int_equal(page_add(p, &v), 0);
    memset(bytes, 'x', sizeof(bytes));
}

static void views_are_kept_with_all_that_they_show(void **state)
{
    struct verb_call call = { 0 };
    struct page p = {
        .call = &call, .fields = sample_fields, .size = sizeof(struct sample), .map = page_fields
    };

    (void)state;
    assert_string_equal(shown(&p), "{\"samples\":[],\"cursor\":null}");
    add(&p, "a", 1, "acme@mail", "first");
    add(&p, "", 2, "mail", "");
    add(&p, "ccc", 3, "b@q", "last");
    assert_string_equal(
        shown(&p),
        "{\"samples\":["
        "{\"name\":\"a\",\"n\":1,\"tenant\":\"acme\",\"queue\":\"mail\",\"note\":\"first\"},"
        "{\"name\":\"\",\"n\":2,\"tenant\":\"default\",\"queue\":\"mail\",\"note\":null},"
        "{\"name\":\"ccc\",\"n\":3,\"tenant\":\"b\",\"queue\":\"q\",\"note\":\"last\"}],"
        "\"cursor\":null}");
    buf_fini(&p.views);
    buf_fini(&p.text);
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_kept_with_all_that_they_show),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
