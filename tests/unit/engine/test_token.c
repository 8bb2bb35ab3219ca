/* SPDX-License-Identifier: MIT */
/* Tokens in the engine: what may be made and revoked, and what is left after a replay. */
#include "support/tenants.h"

#include "engine/token.h"

static int create(const char *name, enum role role, const char *tenant, int64_t expires_ms)
{
    uint8_t hash[TOKEN_HASH_BYTES];

    memset(hash, name[0], sizeof(hash));
    return engine_token_create(e, &(struct token_view){ .name = str_of(name),
                                                        .tenant = str_of(tenant),
                                                        .role = role,
                                                        .expires_ms = expires_ms,
                                                        .hash = hash });
}

static char seen[4096];

static int note(void *arg, const struct token_view *t)
{
    size_t n = strlen(seen);

    (void)arg;
    snprintf(seen + n, sizeof(seen) - n, "%.*s:%s:%.*s ", STR_ARG(t->name), role_name(t->role),
             STR_ARG(t->tenant));
    return 0;
}

static const char *list(const char *tenant, const char *after, size_t limit)
{
    seen[0] = '\0';
    assert_int_equal(engine_tokens(e, str_of(tenant), str_of(after), limit, note, NULL), 0);
    return seen;
}

static void the_first_is_an_admin_of_all_tenants(void **state)
{
    (void)state;
    assert_int_equal(create("a", ROLE_PRODUCER, "*", 0), BELFRY_INVALID);
    assert_int_equal(create("a", ROLE_ADMIN, "acme", 0), BELFRY_INVALID);
    assert_int_equal(create("a", ROLE_ADMIN, "*", wall + DAY), BELFRY_INVALID);
    assert_int_equal(engine_token_count(e), 0);
    assert_int_equal(create("a", ROLE_ADMIN, "*", 0), 0);
    assert_int_equal(create("b", ROLE_PRODUCER, "acme", 0), 0);
    assert_int_equal(engine_token_count(e), 2);
}

static void bad_ones_change_nothing(void **state)
{
    uint64_t before;

    (void)state;
    create("a", ROLE_ADMIN, "*", 0);
    before = engine_lsn(e);
    assert_int_equal(create("", ROLE_WORKER, "acme", 0), BELFRY_INVALID);
    assert_int_equal(create("~key", ROLE_WORKER, "acme", 0), BELFRY_INVALID);
    assert_int_equal(create("b", ROLE_WORKER, "", 0), BELFRY_INVALID);
    assert_int_equal(create("b", ROLE_NONE, "acme", 0), BELFRY_INVALID);
    assert_int_equal(create("b", ROLE_END, "acme", 0), BELFRY_INVALID);
    assert_int_equal(create("a", ROLE_WORKER, "acme", 0), BELFRY_KEYEXISTS);
    assert_int_equal(engine_token_revoke(e, STR("b")), BELFRY_NOTFOUND);
    assert_int_equal(engine_lsn(e), before);
    assert_string_equal(list("*", "", 10), "a:admin:* ");
}

static void the_last_lasting_admin_stays_while_there_are_others(void **state)
{
    (void)state;
    create("a", ROLE_ADMIN, "*", 0);
    create("b", ROLE_ADMIN, "*", wall + DAY);
    create("c", ROLE_ADMIN, "acme", 0);
    assert_int_equal(engine_token_revoke(e, STR("a")), BELFRY_STATE);
    create("d", ROLE_ADMIN, "*", 0);
    assert_int_equal(engine_token_revoke(e, STR("a")), 0);
    assert_int_equal(engine_token_revoke(e, STR("d")), BELFRY_STATE);
    assert_int_equal(engine_token_revoke(e, STR("b")), 0);
    assert_int_equal(engine_token_revoke(e, STR("c")), 0);
    assert_int_equal(engine_token_revoke(e, STR("d")), 0);
    assert_int_equal(engine_token_count(e), 0);
}

static void they_are_listed_by_name_and_tenant(void **state)
{
    (void)state;
    create("m", ROLE_ADMIN, "*", 0);
    create("z", ROLE_WORKER, "acme", 0);
    create("b", ROLE_READONLY, "acme", 0);
    create("bb", ROLE_PRODUCER, "zeta", 0);
    assert_string_equal(list("*", "", 10),
                        "b:read-only:acme bb:producer:zeta m:admin:* z:worker:acme ");
    assert_string_equal(list("*", "b", 2), "bb:producer:zeta m:admin:* ");
    assert_string_equal(list("acme", "", 10), "b:read-only:acme z:worker:acme ");
    assert_string_equal(list("nobody", "", 10), "");
}

static void every_change_has_another_generation_and_every_token_its_serial(void **state)
{
    uint64_t first = engine_token_generation(e), second;
    struct token_view a, again;

    (void)state;
    assert_true(first != 0);
    create("a", ROLE_ADMIN, "*", 0);
    create("b", ROLE_WORKER, "*", 0);
    second = engine_token_generation(e);
    assert_true(second != first);
    assert_true(engine_token_find(e, STR("b"), &a));
    uint64_t serial = a.serial;
    engine_token_revoke(e, STR("b"));
    assert_true(engine_token_generation(e) != second);
    create("b", ROLE_WORKER, "*", 0);
    assert_true(engine_token_find(e, STR("b"), &again) && again.serial != serial);
    second = engine_token_generation(e);
    replay();
    assert_true(engine_token_generation(e) != second && engine_token_count(e) == 2);
}

static void a_replay_brings_back_what_was_not_revoked_and_the_servers_own_secret(void **state)
{
    uint8_t key[TOKEN_HASH_BYTES] = { 1, 2, 3 };
    struct token_view t;

    (void)state;
    assert_null(engine_token_key(e));
    create("a", ROLE_ADMIN, "*", 0);
    assert_int_equal(engine_token_key_set(e, key), 0);
    create("b", ROLE_PRODUCER, "acme", wall + DAY);
    create("c", ROLE_WORKER, "acme", 0);
    engine_token_revoke(e, STR("c"));
    for (int i = 0; i < 2; i++) {
        assert_string_equal(list("*", "", 10), "a:admin:* b:producer:acme ");
        assert_int_equal(engine_token_count(e), 2);
        assert_memory_equal(engine_token_key(e), key, sizeof(key));
        assert_false(engine_token_find(e, STR(TOKEN_KEY_NAME), &t));
        assert_int_equal(engine_token_revoke(e, STR(TOKEN_KEY_NAME)), BELFRY_NOTFOUND);
        assert_true(engine_token_find(e, STR("b"), &t));
        assert_int_equal(t.expires_ms, START + DAY);
        assert_int_equal(t.hash[31], 'b');
        replay();
        /* Copied forward alone: what is in the next segment is all there is. */
        assert_int_equal(engine_copy_rest(e, 1), 0);
        struct buf copies = journal;
        engine_free(e);
        journal = (struct buf){ 0 };
        e = make(3, 0);
        assert_int_equal(engine_replay(e, buf_view(&copies), 1), 0);
        buf_append(&journal, copies.ptr, copies.len); /* for the next replay */
        buf_fini(&copies);
    }
}

static void there_are_at_most_so_many(void **state)
{
    char name[16];

    (void)state;
    create("root", ROLE_ADMIN, "*", 0);
    for (int i = 1; i < TOKENS_MAX; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        assert_int_equal(create(name, ROLE_WORKER, "acme", 0), 0);
    }
    assert_int_equal(create("more", ROLE_WORKER, "acme", 0), BELFRY_LIMIT);
    assert_int_equal(engine_token_revoke(e, STR("t7")), 0);
    assert_int_equal(create("more", ROLE_WORKER, "acme", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_is_an_admin_of_all_tenants),
        TEST(bad_ones_change_nothing),
        TEST(the_last_lasting_admin_stays_while_there_are_others),
        TEST(they_are_listed_by_name_and_tenant),
        TEST(every_change_has_another_generation_and_every_token_its_serial),
        TEST(a_replay_brings_back_what_was_not_revoked_and_the_servers_own_secret),
        TEST(there_are_at_most_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
