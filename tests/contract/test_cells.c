/* SPDX-License-Identifier: MIT */
/* The store contract: records, and how they fence appends. */
#include "support/contract.h"

static void record_changes_only_from_the_expected_version(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    char buf[64];
    struct store_cell r;
    assert_int_equal(store_get(s, STR("r"), buf, sizeof buf, &r), BELFRY_NOTFOUND);
    assert_int_equal(put(s, "r", 1, 2, "x", 0), BELFRY_CONFLICT);
    assert_int_equal(put(s, "r", 0, 5, "one", 0), 0);
    assert_int_equal(put(s, "r", 0, 6, "x", 0), BELFRY_CONFLICT);
    assert_int_equal(put(s, "r", 4, 6, "x", 0), BELFRY_CONFLICT);
    assert_int_equal(put(s, "r", 5, 5, "two", 0), 0);
    assert_int_equal(store_get(s, STR("r"), buf, sizeof buf, &r), 0);
    assert_int_equal(r.version, 5);
    assert_true(str_eq(r.value, STR("two")));
    assert_true(str_eq(r.name, STR("r")));
    assert_int_equal(put(s, "r", 5, 9, "", 0), 0);
    assert_int_equal(store_get(s, STR("r"), buf, sizeof buf, &r), 0);
    assert_int_equal(r.value.len, 0);
    assert_int_equal(put(s, "r", 9, 10, "long", 0), 0);
    assert_int_equal(store_get(s, STR("r"), buf, 3, &r), BELFRY_TOOLARGE);
}

static void record_that_has_expired_is_absent(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_append a = {
        .log = STR("log"), .fence = STR("r"), .epoch = 3, .element = STR("x"), .durable = true
    };
    int64_t now = s->ops->now_ms(s);
    assert_true(now > INT64_C(1500000000000));
    assert_int_equal(put(s, "r", 0, 3, "soon", now + 60000), 0);
    assert_int_equal(s->ops->append(s, &a), 0);
    expect_scan(s, "", "r@3=soon;");
    assert_int_equal(put(s, "r", 3, 3, "gone", now - 1), 0);
    expect_scan(s, "", "");
    a.seq = 1;
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    assert_int_equal(put(s, "r", 3, 4, "x", 0), BELFRY_CONFLICT);
    assert_int_equal(put(s, "r", 0, 4, "back", now + 60000), 0);
    expect_scan(s, "", "r@4=back;");
}

static void records_are_scanned_sorted_and_by_prefix(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct text t = { .stop_after = 0 };
    put(s, "n/b", 0, 1, "B", 0);
    put(s, "n/a", 0, 2, "A", 0);
    put(s, "m", 0, 3, "M", 0);
    put(s, "n", 0, 4, "N", 0);
    expect_scan(s, "", "m@3=M;n@4=N;n/a@2=A;n/b@1=B;");
    expect_scan(s, "n/", "n/a@2=A;n/b@1=B;");
    expect_scan(s, "x", "");
    assert_int_equal(s->ops->scan(s, STR(""), add_record, &t), STOPPED);
    assert_string_equal(t.text, "m@3=M;");
}

static void value_may_have_4096_bytes_of_any_kind(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    char value[STORE_VALUE_MAX + 1];
    char buf[STORE_VALUE_MAX];
    struct store_cell r;
    for (size_t i = 0; i < sizeof value; i++)
        value[i] = (char)(i * 7);
    struct store_cas c = { STR("r"), 0, 1, { value, sizeof value }, 0 };
    assert_int_equal(s->ops->cas(s, &c), BELFRY_INVALID);
    c.value.len--;
    assert_int_equal(s->ops->cas(s, &c), 0);
    assert_int_equal(store_get(s, STR("r"), buf, sizeof buf, &r), 0);
    assert_memory_equal(buf, value, sizeof buf);
}

static void append_with_another_epoch_is_fenced(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_append a = { .log = STR("log"),
                              .fence = STR("p0/owner"),
                              .epoch = 7,
                              .element = STR("x"),
                              .durable = true };
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    assert_int_equal(put(s, "p0/owner", 0, 7, "me", 0), 0);
    assert_int_equal(s->ops->append(s, &a), 0);
    assert_int_equal(put(s, "p0/owner", 7, 8, "you", 0), 0);
    a.seq = 1;
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    a.seq = 5; /* fenced comes before all that a stale owner may have wrong */
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    a.seq = 1;
    a.epoch = 9;
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    expect_read(s, "log", 0, "0=x;", 1);
    a.epoch = 8;
    assert_int_equal(s->ops->append(s, &a), 0);
}

static void epoch_is_that_of_the_named_record_only(void **state)
{
    struct store *s = ((struct fixture *)*state)->s;
    struct store_append a = {
        .log = STR("log"), .fence = STR("b"), .epoch = 3, .element = STR("x"), .durable = true
    };
    put(s, "a", 0, 3, "", 0);
    put(s, "b", 0, 4, "", 0);
    assert_int_equal(s->ops->append(s, &a), BELFRY_FENCED);
    a.fence = STR("a");
    assert_int_equal(s->ops->append(s, &a), 0);
}

#define TESTS(X)                                     \
    X(record_changes_only_from_the_expected_version) \
    X(record_that_has_expired_is_absent)             \
    X(records_are_scanned_sorted_and_by_prefix)      \
    X(value_may_have_4096_bytes_of_any_kind)         \
    X(append_with_another_epoch_is_fenced)           \
    X(epoch_is_that_of_the_named_record_only)

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS(ON_MEMORY) TESTS(ON_FILE) TESTS(ON_FAULTY) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
