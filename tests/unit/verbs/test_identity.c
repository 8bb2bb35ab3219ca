/* SPDX-License-Identifier: MIT */
/* Secrets, who is known by them, and what a verb's row allows. */
/* before the engine of tenants.h, whose name they use for parameters */
#include "verbs/secret.h"
#include "verbs/verb.h"

#include "support/tenants.h"

#define SECRET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"

static void create(const char *name, enum role role, const char *tenant, int64_t expires_ms)
{
    uint8_t hash[TOKEN_HASH_BYTES];

    secret_hash(STR(SECRET), hash);
    assert_int_equal(engine_token_create(e, &(struct token_view){ .name = str_of(name),
                                                                  .tenant = str_of(tenant),
                                                                  .role = role,
                                                                  .expires_ms = expires_ms,
                                                                  .hash = hash }),
                     0);
}

static void a_hash_is_sha_256_of_the_secrets_text(void **state)
{
    static const uint8_t abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea };
    uint8_t hash[TOKEN_HASH_BYTES];

    (void)state;
    secret_hash(STR("abc"), hash);
    assert_memory_equal(hash, abc, sizeof(abc));
}

static void secrets_are_drawn_and_written(void **state)
{
    uint8_t a[SECRET_BYTES], b[SECRET_BYTES];
    char text[SECRET_TEXT];
    struct buf back = { 0 };

    (void)state;
    assert_true(secret_draw(a, sizeof(a)) && secret_draw(b, sizeof(b)));
    assert_memory_not_equal(a, b, sizeof(a));
    secret_write(a, text);
    assert_true(base64url_read((struct str){ text, sizeof(text) }, &back));
    assert_int_equal(back.len, sizeof(a));
    assert_memory_equal(back.ptr, a, sizeof(a));
    buf_fini(&back);
}

static void base64url_reads_what_it_writes_and_nothing_else(void **state)
{
    static const char *const bad[] = { "A", "AB", "A=", "AA==", "A+A", "A/A", "A A", "AAAAA" };
    struct buf text = { 0 }, back = { 0 };

    (void)state;
    base64url_write(&text, (const uint8_t *)"\xff\xfe\xfd\xfc", 4);
    assert_true(str_eq(buf_view(&text), STR("__79_A")));
    assert_true(base64url_read(buf_view(&text), &back));
    assert_true(str_eq(buf_view(&back), STR("\xff\xfe\xfd\xfc")));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(base64url_read(str_of(bad[i]), &back));
    buf_fini(&text);
    buf_fini(&back);
}

static void parts(const char *user, const char *password, const char *name, const char *secret)
{
    struct str n, s;

    secret_parts(user ? str_of(user) : (struct str){ 0 }, str_of(password), &n, &s);
    assert_true(str_eq(n, str_of(name)));
    assert_true(str_eq(s, str_of(secret)));
}

static void a_token_is_taken_apart_at_its_last_dot(void **state)
{
    (void)state;
    parts(NULL, "name.secret", "name", "secret");
    parts("default", "na.me.secret", "na.me", "secret");
    parts("name", "secret", "name", "secret");
    parts(NULL, "secret", "", "secret");
    parts(NULL, "", "", "");
    parts("name", ".", "", "");
}

static void who_shows_a_token_has_its_rights_until_it_is_revoked(void **state)
{
    struct identity i = { 0 };

    (void)state;
    assert_int_equal(identity_check(&i, e, false), 0);
    assert_int_equal(i.role, ROLE_ADMIN);
    assert_int_equal(identity_check(&(struct identity){ 0 }, e, true), BELFRY_NOAUTH);
    create("root", ROLE_ADMIN, "*", 0);
    create("w", ROLE_WORKER, "acme", 0);
    assert_int_equal(identity_check(&i, e, false), BELFRY_NOAUTH);
    assert_int_equal(i.role, ROLE_NONE);
    assert_int_equal(identity_show(&i, e, STR("w"), STR(SECRET)), 0);
    assert_int_equal(identity_check(&i, e, true), 0);
    assert_true(i.confined && i.role == ROLE_WORKER);
    assert_true(str_eq(identity_tenant(&i), STR("acme")) && str_eq(identity_name(&i), STR("w")));
    create("other", ROLE_WORKER, "acme", 0);
    assert_int_equal(identity_check(&i, e, false), 0);
    engine_token_revoke(e, STR("w"));
    assert_int_equal(identity_check(&i, e, false), BELFRY_NOAUTH);
    create("w", ROLE_ADMIN, "*", 0);
    assert_int_equal(identity_check(&i, e, false), BELFRY_NOAUTH);
    assert_int_equal(i.role, ROLE_NONE);
}

static void wrong_ones_are_nobodys(void **state)
{
    struct identity i = { 0 };

    (void)state;
    create("root", ROLE_ADMIN, "*", 0);
    assert_int_equal(identity_show(&i, e, STR("root"), STR(SECRET)), 0);
    assert_int_equal(identity_show(&i, e, STR("root"), STR("x")), BELFRY_WRONGPASS);
    assert_int_equal(identity_check(&i, e, false), BELFRY_NOAUTH);
    assert_int_equal(identity_show(&i, e, STR("nobody"), STR(SECRET)), BELFRY_WRONGPASS);
    assert_int_equal(identity_show(&i, e, STR(TOKEN_KEY_NAME), STR(SECRET)), BELFRY_WRONGPASS);
    assert_int_equal(identity_show(&i, e, (struct str){ 0 }, STR("")), BELFRY_WRONGPASS);
}

static void a_token_ends_with_its_time(void **state)
{
    struct identity i = { 0 };

    (void)state;
    create("root", ROLE_ADMIN, "*", 0);
    create("w", ROLE_WORKER, "*", wall + DAY);
    assert_int_equal(identity_show(&i, e, STR("w"), STR(SECRET)), 0);
    pass(DAY - 1);
    assert_int_equal(identity_check(&i, e, false), 0);
    pass(1);
    assert_int_equal(identity_check(&i, e, false), BELFRY_NOAUTH);
    assert_int_equal(identity_show(&i, e, STR("w"), STR(SECRET)), BELFRY_WRONGPASS);
}

static void an_admin_may_all_and_others_what_their_row_says(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++) {
        assert_true(verb_allows(v, ROLE_ADMIN));
        assert_false(verb_allows(v, ROLE_NONE));
        if (v->flags & VERB_ADMIN)
            assert_false(verb_allows(v, ROLE_PRODUCER) || verb_allows(v, ROLE_WORKER));
        if (v->flags & VERB_ADMIN)
            assert_int_equal(verb_allows(v, ROLE_READONLY), !!(v->flags & VERB_SHOWS));
        else
            assert_int_equal(verb_allows(v, ROLE_READONLY), !!(v->flags & VERB_READS));
        if (v->flags & (VERB_TAKES | VERB_HOLDS))
            assert_true(verb_allows(v, ROLE_WORKER) && !verb_allows(v, ROLE_PRODUCER));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hash_is_sha_256_of_the_secrets_text),
        TEST(secrets_are_drawn_and_written),
        TEST(base64url_reads_what_it_writes_and_nothing_else),
        TEST(a_token_is_taken_apart_at_its_last_dot),
        TEST(who_shows_a_token_has_its_rights_until_it_is_revoked),
        TEST(wrong_ones_are_nobodys),
        TEST(a_token_ends_with_its_time),
        TEST(an_admin_may_all_and_others_what_their_row_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
