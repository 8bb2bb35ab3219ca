/* SPDX-License-Identifier: MIT */
/*
 * A value's tree is well formed and within its input; each part of the input asks for more; what
 * the writers make of a value reads back as the same value.
 */
#include "fuzz.h"

#include "front/resp.h"

static void check_tree(const struct resp_values *v, struct str in)
{
    CHECK(v->n > 0 && v->at[0].next == v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct resp_value *node = &v->at[i];
        uint32_t child = i + 1;
        bool parent = node->type == RESP_ARRAY || node->type == RESP_MAP;
        CHECK(parent || node->children == 0);
        for (uint32_t k = 0; k < node->children; k++) {
            CHECK(child < v->n);
            child = v->at[child].next;
        }
        CHECK(child == node->next);
        if (node->text.len > 0)
            CHECK(node->text.ptr >= in.ptr && node->text.ptr + node->text.len <= in.ptr + in.len);
    }
}

static void write_tree(const struct resp_values *v, struct buf *out)
{
    struct resp_reply r = resp_reply_of(out, 3);
    char code[] = "E";
    for (size_t i = 0; i < v->n; i++) {
        const struct resp_value *node = &v->at[i];
        switch (node->type) {
        case RESP_ERROR: resp_error(out, code, node->text); break;
        case RESP_INT: reply_integer(&r.base, node->number); break;
        case RESP_SIMPLE:
        case RESP_DOUBLE:
        case RESP_BULK: resp_bulk(out, node->text); break;
        case RESP_NULL: reply_null(&r.base); break;
        case RESP_BOOL: reply_boolean(&r.base, node->number); break;
        case RESP_ARRAY: resp_array(out, node->children); break;
        case RESP_MAP: reply_map(&r.base, node->children / 2); break;
        }
    }
}

static void check_written(const struct resp_values *v)
{
    struct resp_values again = { 0 };
    struct buf out = { 0 };
    size_t used = 0;
    write_tree(v, &out);
    CHECK(resp_read_value(&again, buf_view(&out), &used) == RESP_OK);
    CHECK(used == out.len && again.n == v->n);
    for (size_t i = 0; i < v->n; i++) {
        const struct resp_value *a = &v->at[i], *b = &again.at[i];
        bool text = a->type == RESP_SIMPLE || a->type == RESP_DOUBLE || a->type == RESP_BULK;
        CHECK(b->type == (text ? RESP_BULK : a->type));
        CHECK(a->number == b->number && a->children == b->children && a->next == b->next);
        CHECK(!text || str_eq(a->text, b->text));
        CHECK(a->type != RESP_ERROR || b->text.len == a->text.len + 2);
    }
    buf_fini(&out);
    resp_values_fini(&again);
}

/* The answer of a part may only be "more", or "bad" if the whole is bad. */
static void check_parts(struct str in, enum resp_status whole)
{
    struct resp_values v = { 0 };
    size_t used, step = in.len / 64 + 1;
    for (size_t n = 0; n < in.len; n += step) {
        char *copy = fuzz_copy((struct str){ in.ptr, n });
        enum resp_status part = resp_read_value(&v, (struct str){ copy, n }, &used);
        CHECK(part == RESP_MORE || (part == RESP_BAD && whole == RESP_BAD));
        free(copy);
    }
    resp_values_fini(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resp_values v = { 0 };
    size_t used = 0;
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    struct str in = { copy, size };
    enum resp_status status = resp_read_value(&v, in, &used);
    CHECK((status == RESP_BAD) == (v.why != NULL));
    if (status == RESP_OK) {
        CHECK(used > 0 && used <= size);
        in.len = used;
        check_tree(&v, in);
        if (used < 60000) /* longer ones could exceed the limit of a line by the added code */
            check_written(&v);
    }
    check_parts(in, status);
    free(copy);
    resp_values_fini(&v);
    return 0;
}
