/* SPDX-License-Identifier: MIT */
/*
 * Any user and password (two lines) but the right ones belong to no token, and any sealed cursor
 * but a real one is refused. Base64 that is read is written back as equal bytes.
 */
#include "fuzz.h"

#include "verbs/seal.h"
#include "verbs/secret.h"

#define SECRET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"

static struct buf journal;

static struct engine *make(void)
{
    struct engine *e = engine_new(&(struct engine_options){ .epoch = 1, .seed = 1 });
    uint8_t hash[TOKEN_HASH_BYTES];

    engine_direct(e, &journal, 1, true, 0);
    engine_start(e, 1000000, 1000, false);
    secret_hash(STR(SECRET), hash);
    CHECK(engine_token_create(e, &(struct token_view){ .name = STR("root"),
                                                       .tenant = STR("*"),
                                                       .role = ROLE_ADMIN,
                                                       .hash = hash }) == 0);
    CHECK(engine_token_key_set(e, hash) == 0);
    return e;
}

static void check_base64(struct str text)
{
    struct buf bytes = { 0 }, again = { 0 };

    if (base64url_read(text, &bytes)) {
        base64url_write(&again, (const uint8_t *)bytes.ptr, bytes.len);
        CHECK(str_eq(buf_view(&again), text));
    }
    buf_fini(&bytes);
    buf_fini(&again);
}

static void check_cursor(struct engine *e, struct str text)
{
    struct identity who = { .confined = true };
    struct verb_call c = {
        .engine = e, .verb = &verb_table[0], .tenant = STR("acme"), .who = &who
    };
    struct list_cursor cursor;

    CHECK(!seal_parse(&c, text, &cursor));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct engine *e;
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    const char *end = size ? memchr(copy, '\n', size) : NULL;
    size_t first = end ? (size_t)(end - copy) : size;
    struct str user = { copy, first }, password = { copy + (end ? first + 1 : 0), size };
    struct identity who = { 0 };
    struct str name, secret;

    password.len = end ? size - first - 1 : size;
    if (!end)
        user = (struct str){ 0 };
    if (!e)
        e = make();
    secret_parts(user, password, &name, &secret);
    CHECK(name.len <= size && secret.len <= size);
    if (identity_show(&who, e, user, password) == 0)
        CHECK(str_eq(name, STR("root")) && str_eq(secret, STR(SECRET)));
    else
        CHECK(identity_check(&who, e, false) == BELFRY_NOAUTH && who.role == ROLE_NONE);
    check_base64(password);
    check_cursor(e, password);
    free(copy);
    return 0;
}
