/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/types.h"
#include "front/json_reply.h"
#include "front/openapi.h"

struct inner {
    uint32_t small;
    struct hist hist;
};

/* A member of every type. */
struct sample {
    int whole;
    uint32_t natural;
    int64_t moment_ms;
    uint64_t large;
    bool is;
    struct str text;
    char chars[8];
    struct job_id id;
    uint64_t token;
    enum job_state state;
    int before;
    struct str queue;
    struct rate rate;
    struct inner within;
    const struct inner *beside;
    uint64_t jobs[JOB_STATE_COUNT];
};

static void put_twice(struct reply *r, const void *view)
{
    reply_integer(r, 2 * ((const struct sample *)view)->whole);
}

/* clang-format off */
#define OF struct inner
static const struct shape_field inner_fields[] = {
    SHOW_INT("small", small),
    SHOW_HIST("took", "ms", hist),
    { 0 },
};
#undef OF

#define OF struct sample
static const struct shape_field sample_fields[] = {
    SHOW_INT("whole", whole, OR_NULL),
    SHOW_INT("natural", natural),
    SHOW_MOMENT("moment_ms", moment_ms, OR_NULL),
    SHOW_INT("", large, METRIC("large_total", "Not shown in a reply.")),
    SHOW_INT("large", large),
    SHOW_BOOL("is", is),
    SHOW_TEXT("text", text, OR_NULL),
    SHOW_BYTES("bytes", text),
    SHOW_TEXT("chars", chars, OR_NULL),
    SHOW_ID("id", id, OR_NULL),
    SHOW_TOKEN("token", token, OR_NULL),
    SHOW_WORD("state", state, job_state_name),
    SHOW_WORD("before", before, job_state_name, OR_NULL),
    SHOW_TENANT(queue),
    SHOW_QUEUE(queue, OR_NULL),
    SHOW_RATE("rate", rate),
    SHOW_OWN("twice", SHAPE_INT, put_twice),
    SHOW_PART(within, struct inner, inner_fields),
    SHOW_PART(beside, struct inner, inner_fields),
    SHOW_INT("leased", jobs[JOB_LEASED]),
    { 0 },
};
#undef OF
/* clang-format on */

static struct buf out;

static const char *shown(const struct sample *v)
{
    struct json_reply r;

    buf_fini(&out);
    json_reply_init(&r, &out, NULL);
    shape_put(&r.base, sample_fields, v);
    buf_append(&out, "", 1);
    return out.ptr;
}

static void every_member_is_shown_by_its_type(void **state)
{
    struct inner beside = { .small = 8 };
    struct sample v = { .whole = 7,
                        .natural = UINT32_MAX,
                        .moment_ms = 1,
                        .large = UINT64_C(1) << 40,
                        .is = true,
                        .text = STR("t"),
                        .chars = "c",
                        .id = { 0, 0, 1 },
                        .token = 12,
                        .state = JOB_DEAD,
                        .before = JOB_READY,
                        .queue = STR("acme@mail"),
                        .rate = { 100, 60000 },
                        .within = { .small = 5 },
                        .beside = &beside,
                        .jobs = { [JOB_LEASED] = 3 } };

    (void)state;
    hist_add(&v.within.hist, 9);
    assert_string_equal(
        shown(&v),
        "{\"whole\":7,\"natural\":4294967295,\"moment_ms\":1,\"large\":1099511627776,\"is\":true,"
        "\"text\":\"t\",\"bytes\":\"t\",\"chars\":\"c\",\"id\":\"00000000000000000000000001\","
        "\"token\":\"12\",\"state\":\"dead\",\"before\":\"ready\",\"tenant\":\"acme\","
        "\"queue\":\"mail\",\"rate\":\"100/1m\",\"twice\":14,"
        "\"small\":5,\"took_p50_ms\":9,\"took_p99_ms\":9,\"took_max_ms\":9,"
        "\"small\":8,\"took_p50_ms\":0,\"took_p99_ms\":0,\"took_max_ms\":0,\"leased\":3}");
}

static void what_is_negative_empty_or_none_is_null(void **state)
{
    struct inner beside = { .small = 0 };
    struct sample v = { .whole = -1, .moment_ms = -1, .before = -1, .beside = &beside };

    (void)state;
    assert_string_equal(
        shown(&v),
        "{\"whole\":null,\"natural\":0,\"moment_ms\":null,\"large\":0,\"is\":false,\"text\":null,"
        "\"bytes\":\"\",\"chars\":null,\"id\":null,\"token\":null,\"state\":\"scheduled\","
        "\"before\":null,\"tenant\":\"\",\"queue\":null,\"rate\":null,\"twice\":-2,"
        "\"small\":0,\"took_p50_ms\":0,\"took_p99_ms\":0,\"took_max_ms\":0,"
        "\"small\":0,\"took_p50_ms\":0,\"took_p99_ms\":0,\"took_max_ms\":0,\"leased\":0}");
}

static void every_field_counts(void **state)
{
    (void)state;
    assert_int_equal(shape_count(sample_fields), 25);
    assert_int_equal(shape_integer(&sample_fields[3], &(struct sample){ .large = 4 }), 4);
}

/* ---- The shapes of replies ---- */

typedef void field_fn(const struct shape *s, const struct shape_field *f);

static void each_in(const struct shape *s, const struct shape_field *fields, field_fn *fn)
{
    for (const struct shape_field *f = fields; f->type != SHAPE_END; f++) {
        if (f->type == SHAPE_PART)
            each_in(s, f->part, fn);
        else
            fn(s, f);
    }
}

static void each_field(field_fn *fn)
{
    for (size_t i = 0; openapi_shape(i); i++)
        each_in(openapi_shape(i), openapi_shape(i)->fields, fn);
}

static const struct shape_field *looked_for;
static const struct shape *looked_in;
static size_t found;

static void note_same(const struct shape *s, const struct shape_field *f)
{
    if (!str_eq(f->name, looked_for->name))
        return;
    found += s == looked_in;
    if (f->type != looked_for->type && shape_is_number(f->type) &&
        shape_is_number(looked_for->type))
        fail_msg("%.*s is a number of one kind in %s and of another in %s", STR_ARG(f->name),
                 s->name, looked_in->name);
}

static void look_for(const struct shape *s, const struct shape_field *f)
{
    if (f->name.len == 0)
        return;
    looked_for = f;
    looked_in = s;
    found = 0;
    each_field(note_same);
    if (found != 1)
        fail_msg("%s has %zu fields %.*s", s->name, found, STR_ARG(f->name));
}

static void a_name_is_there_once_and_means_the_same_everywhere(void **state)
{
    (void)state;
    each_field(look_for);
}

static void check_row(const struct shape *s, const struct shape_field *f)
{
    size_t i = 0;

    if (f->metric)
        assert_true(f->help && shape_is_number(f->type));
    else
        assert_true(f->name.len > 0);
    if (f->type != SHAPE_MAPS)
        return;
    while (openapi_shape(i) && strcmp(openapi_shape(i)->name, f->shape) != 0)
        i++;
    if (!openapi_shape(i))
        fail_msg("%s: there is no shape %s", s->name, f->shape);
}

static void every_row_is_whole(void **state)
{
    (void)state;
    each_field(check_row);
}

static void check_unit(const struct shape *s, const struct shape_field *f)
{
    bool ms = f->name.len > 3 && memcmp(f->name.ptr + f->name.len - 3, "_ms", 3) == 0;

    if (shape_is_number(f->type) && f->name.len &&
        ms != (f->type == SHAPE_MOMENT || f->type == SHAPE_DURATION))
        fail_msg("%s: the name %.*s does not fit its unit", s->name, STR_ARG(f->name));
}

static void milliseconds_and_nothing_else_have_ms_in_their_name(void **state)
{
    (void)state;
    each_field(check_unit);
}

static void the_type_of_a_number_is_known_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(shape_type_of(STR("due_ms")), SHAPE_MOMENT);
    assert_int_equal(shape_type_of(STR("next_ms")), SHAPE_MOMENT);
    assert_int_equal(shape_type_of(STR("quiet_until_ms")), SHAPE_MOMENT);
    assert_int_equal(shape_type_of(STR("deferred_until_ms")), SHAPE_MOMENT);
    assert_int_equal(shape_type_of(STR("lease_ms")), SHAPE_DURATION);
    assert_int_equal(shape_type_of(STR("lateness_p99_ms")), SHAPE_DURATION);
    assert_int_equal(shape_type_of(STR("fetch_p99_us")), SHAPE_MICROS);
    assert_int_equal(shape_type_of(STR("max_leased")), SHAPE_SIZE);
    assert_int_equal(shape_type_of(STR("kept_bytes_refused")), SHAPE_INT);
    assert_int_equal(shape_type_of(STR("due")), SHAPE_END);
    assert_int_equal(shape_type_of(STR("")), SHAPE_END);
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
        cmocka_unit_test(every_member_is_shown_by_its_type),
        cmocka_unit_test(what_is_negative_empty_or_none_is_null),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(a_name_is_there_once_and_means_the_same_everywhere),
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(milliseconds_and_nothing_else_have_ms_in_their_name),
        cmocka_unit_test(the_type_of_a_number_is_known_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
