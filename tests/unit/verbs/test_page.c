/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "front/json_reply.h"
#include "front/resp.h"
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
    SHOW_PAGE("samples", "Sample"),
    { 0 },
};

static struct buf out;
static struct json_reply json;
static struct verb_call call;
static const struct verb verb = { .name = "SAMPLES" };

/* A page whose reply is JSON, behind bytes of another. */
static struct page json_page(const struct shape_field *map)
{
    struct page p = { .call = &call, .fields = sample_fields, .map = map };

    out.len = 0;
    buf_text(&out, "before");
    json_reply_init(&json, &out, "samples");
    call = (struct verb_call){ .reply = &json.base, .verb = &verb };
    page_begin(&p);
    return p;
}

static void expect(const char *text)
{
    assert_int_equal(out.len, strlen(text));
    assert_memory_equal(out.ptr, text, out.len);
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

#define FIRST  "{\"name\":\"a\",\"n\":1,\"tenant\":\"acme\",\"queue\":\"mail\",\"note\":\"first\"}"
#define SECOND "{\"name\":\"\",\"n\":2,\"tenant\":\"default\",\"queue\":\"mail\",\"note\":null}"
#define THIRD  "{\"name\":\"ccc\",\"n\":3,\"tenant\":\"b\",\"queue\":\"q\",\"note\":\"last\"}"

static void views_are_shown_with_all_that_they_have(void **state)
{
    struct page p = json_page(page_fields);

    (void)state;
    page_end(&p, 0, "");
    expect("before{\"samples\":[],\"cursor\":null}");
    p = json_page(page_fields);
    add(&p, "a", 1, "acme@mail", "first");
    add(&p, "", 2, "mail", "");
    add(&p, "ccc", 3, "b@q", "last");
    page_end(&p, 0, "");
    expect("before{\"samples\":[" FIRST "," SECOND "," THIRD "],\"cursor\":null}");
    p = json_page(NULL);
    add(&p, "a", 1, "acme@mail", "first");
    page_end(&p, 0, "");
    expect("before{\"samples\":[" FIRST "]}");
}

static void an_error_takes_the_page_back(void **state)
{
    struct page p = json_page(page_fields);

    (void)state;
    add(&p, "a", 1, "acme@mail", "first");
    page_end(&p, BELFRY_INVALID, "");
    expect("beforecursor: expected one that SAMPLES gave");
    assert_int_equal(json.outcome, JSON_OUTCOME_ERROR);
    p = json_page(NULL);
    add(&p, "a", 1, "acme@mail", "first");
    page_end(&p, BELFRY_COLD, "");
    expect("before");
    assert_true(call.cold);
}

static void resp_learns_the_size_at_the_end(void **state)
{
    struct resp_reply resp;
    struct page p = { .call = &call, .fields = inner_fields, .map = page_fields };

    (void)state;
    out.len = 0;
    buf_text(&out, "+OK\r\n");
    resp = resp_reply_of(&out, 2);
    call = (struct verb_call){ .reply = &resp.base, .verb = &verb };
    page_begin(&p);
    for (int i = 0; i < 11; i++)
        page_add(&p, &(struct inner){ STR("") });
    page_end(&p, 0, "");
    assert_memory_equal(out.ptr,
                        "+OK\r\n*4\r\n$7\r\nsamples\r\n*11\r\n*2\r\n$4\r\nnote\r\n$-1\r\n*2", 48);
    assert_memory_equal(out.ptr + out.len - 19, "\r\n$6\r\ncursor\r\n$-1\r\n", 19);
    p = (struct page){ .call = &call, .fields = inner_fields };
    page_begin(&p);
    page_add(&p, &(struct inner){ STR("x") });
    page_end(&p, BELFRY_NOMEM, "");
    expect("+OK\r\n-NOMEM out of memory\r\n");
}

/* Adds views of a kibibyte until the page is full. Returns how many were added. */
static size_t views_until_full(struct page *p)
{
    static char note[1024];
    size_t n = 1;

    memset(note, 'x', sizeof(note));
    while (n < 10000 && page_add(p, &(struct inner){ { note, sizeof(note) } }) == 0)
        n++;
    return n;
}

static void a_page_with_a_cursor_ends_at_its_bytes(void **state)
{
    struct resp_reply resp;
    struct page p = json_page(page_fields);
    size_t n;

    (void)state;
    p.fields = inner_fields;
    n = views_until_full(&p);
    assert_true(n > 1900 && n <= 2048);
    assert_true(out.len >= PAGE_BYTES && out.len < PAGE_BYTES + 2048);
    p.next = (struct list_cursor){ .more = true };
    page_end(&p, 1, "");
    assert_memory_equal(out.ptr + out.len - 21, "],\"cursor\":\"0-0-0-0\"}", 21);
    p = json_page(NULL);
    p.fields = inner_fields;
    assert_int_equal(views_until_full(&p), 10000);

    out.len = 0;
    resp = resp_reply_of(&out, 3);
    call = (struct verb_call){ .reply = &resp.base, .verb = &verb };
    p = (struct page){ .call = &call, .fields = inner_fields, .map = page_fields };
    page_begin(&p);
    assert_true(views_until_full(&p) < 2048);
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
        cmocka_unit_test(views_are_shown_with_all_that_they_have),
        cmocka_unit_test(an_error_takes_the_page_back),
        cmocka_unit_test(resp_learns_the_size_at_the_end),
        cmocka_unit_test(a_page_with_a_cursor_ends_at_its_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
