/* SPDX-License-Identifier: MIT */
#include "front/login.h"

#include <openssl/crypto.h>
#include <stdlib.h>

/* clang-format off */
const struct verb login_options = {
    .name = "SESSION",
    .flags = VERB_READS | VERB_PRODUCER | VERB_WORKER,
    .args = {
        { "token", ARG_BYTES, .positional = true, .max = NAME_MAX_BYTES + 1 + SECRET_MAX, .secret = true,
          .help = "the text of a token, as createToken answered it: `name.secret`" },
        { 0 } },
};

#define OF struct login_view
const struct shape_field login_fields[] = {
    SHOW_WORD("role", role, role_name, WORDS_3RD(ROLES)), SHOW_TEXT("tenant", tenant),
    SHOW_TEXT("label", label), SHOW_TEXT("version", version),
    SHOW_TEXT("token_name", token_name, OR_NULL), SHOW_MOMENT("expires_ms", expires_ms, OR_NULL),
    SHOW_BOOL("open", open), { 0 },
};
/* clang-format on */

void logins_fini(struct logins *l)
{
    free(l->all);
    *l = (struct logins){ 0 };
}

static uint64_t tag_of(const uint8_t hash[TOKEN_HASH_BYTES])
{
    uint64_t tag;

    memcpy(&tag, hash, sizeof(tag));
    return tag ? tag : 1; /* 0 is the tag of a free place */
}

static void place_clear(struct logins *l, size_t i)
{
    l->all[i] = (struct login){ 0 };
    l->tags[i] = 0;
}

/* The older of two logins; NULL is older than none. */
static const struct login *older(const struct login *a, const struct login *b)
{
    return !a || b->number < a->number ? b : a;
}

/* Ends logins until there is a place for another one of this token, and returns the place. */
static size_t place_free(struct logins *l, const struct identity *who, int64_t mono_ms)
{
    const struct login *of_token = NULL, *of_tenant = NULL, *of_all = NULL, *victim = NULL;
    size_t tokens = 0, tenants = 0, all = 0, place = 0;

    for (size_t i = 0; i < LOGINS_MAX; i++) {
        const struct login *x = &l->all[i];

        if (x->number && mono_ms >= x->until_ms)
            place_clear(l, i);
        if (!x->number) {
            place = i;
            continue;
        }
        of_all = older(of_all, x);
        all++;
        if (str_eq((struct str){ x->tenant, x->tenant_len }, identity_tenant(who))) {
            of_tenant = older(of_tenant, x);
            tenants++;
        }
        if (x->serial == who->serial) {
            of_token = older(of_token, x);
            tokens++;
        }
    }
    victim = tokens >= LOGINS_TOKEN_MAX     ? of_token
             : tenants >= LOGINS_TENANT_MAX ? of_tenant
             : all >= LOGINS_MAX            ? of_all
                                            : NULL;
    if (victim) {
        place = (size_t)(victim - l->all);
        place_clear(l, place);
    }
    return place;
}

const struct login *logins_add(struct logins *l, const struct identity *who, int64_t mono_ms,
                               int64_t ms, char ret_secret[SECRET_TEXT])
{
    uint8_t bytes[SECRET_BYTES];
    struct login *x;
    size_t place;

    if (!l->all)
        l->all = calloc(LOGINS_MAX, sizeof(*l->all));
    if (!l->all || !secret_draw(bytes, sizeof(bytes)))
        return NULL;
    place = place_free(l, who, mono_ms);
    x = &l->all[place];
    *x = (struct login){
        .number = ++l->rounds * LOGINS_MAX + place,
        .serial = who->serial,
        .until_ms = mono_ms + ms,
        .name_len = who->name_len,
        .tenant_len = who->tenant_len,
    };
    memcpy(x->name, who->name, who->name_len);
    memcpy(x->tenant, who->tenant, who->tenant_len);
    secret_write(bytes, ret_secret);
    secret_hash((struct str){ ret_secret, SECRET_TEXT }, x->hash);
    l->tags[place] = tag_of(x->hash);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return x;
}

const struct login *logins_find(const struct logins *l, struct str secret, int64_t mono_ms)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    uint64_t tag;

    if (!l->all || secret.len != SECRET_TEXT)
        return NULL;
    secret_hash(secret, hash);
    tag = tag_of(hash);
    for (size_t i = 0; i < LOGINS_MAX; i++)
        if (l->tags[i] == tag && CRYPTO_memcmp(l->all[i].hash, hash, sizeof(hash)) == 0)
            return mono_ms < l->all[i].until_ms ? &l->all[i] : NULL;
    return NULL;
}

const struct login *logins_get(const struct logins *l, uint64_t number, int64_t mono_ms)
{
    const struct login *x = l->all && number ? &l->all[number % LOGINS_MAX] : NULL;

    return x && x->number == number && mono_ms < x->until_ms ? x : NULL;
}

void logins_remove(struct logins *l, uint64_t number)
{
    if (l->all && number && l->all[number % LOGINS_MAX].number == number)
        place_clear(l, number % LOGINS_MAX);
}

int login_resume(const struct login *l, struct session *s, const struct session_target *t)
{
    struct engine *e = partition_engine(t->partition);
    int err;

    if (s->login == l->number && identity_check(&s->who, e, s->remote) == 0)
        return 0;
    s->login = 0;
    err = identity_resume(&s->who, e, (struct str){ l->name, l->name_len }, l->serial, s->remote);
    s->refused = !err && t->admit ? t->admit(s) : NULL;
    if (s->refused) {
        identity_forget(&s->who);
        return BELFRY_BUSY;
    }
    if (!err)
        s->login = l->number;
    return err;
}

struct str login_cookie(const char *header)
{
    struct str rest = str_of(header ? header : ""), value = { 0 };

    while (rest.len) {
        struct str pair = str_trim(str_cut(&rest, ';'), " \t");
        struct str name = str_cut(&pair, '=');

        if (!str_eq(name, STR(LOGIN_COOKIE)))
            continue;
        if (value.ptr)
            return (struct str){ 0 };
        value = pair;
    }
    return value;
}
