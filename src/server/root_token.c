/* SPDX-License-Identifier: MIT */
#include "server/root_token.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "engine/audit.h"
#include "verbs/secret.h"

#define FILE_MAX 4096

const char *root_token_parse(struct str text, struct str *ret_name, struct str *ret_secret)
{
    struct str name, secret;

    secret_parts(STR(""), str_trim(text, " \t\r\n"), &name, &secret);
    if (name.len == 0)
        return "expected name.secret, such as root. and 64 random characters";
    if (secret.len < ROOT_SECRET_LEAST || secret.len > SECRET_MAX)
        return "expected a secret of 32 to 512 characters behind the dot";
    for (size_t i = 0; i < secret.len; i++)
        if ((unsigned char)secret.ptr[i] <= ' ' || (unsigned char)secret.ptr[i] >= 127)
            return "expected a secret of letters, digits and signs, without blanks";
    *ret_name = name;
    *ret_secret = secret;
    return NULL;
}

/* Neither the text nor a part of it is ever logged. */
static int fail(const struct server *s, const char *source, int err, const char *why)
{
    log_error(&s->log, "cannot make the first token", "from", source, "error", why);
    return err;
}

static int read_file(const struct server *s, char text[FILE_MAX])
{
    FILE *f = fopen(s->options.root_token_file, "re");
    size_t n;

    if (!f)
        return fail(s, s->options.root_token_file, BELFRY_IO, strerror(errno));
    n = fread(text, 1, FILE_MAX - 1, f);
    text[n] = '\0';
    if (ferror(f)) {
        int error = errno;

        fclose(f);
        return fail(s, s->options.root_token_file, BELFRY_IO, strerror(error));
    }
    fclose(f);
    return 0;
}

/* Makes the token, the server's own secret and an entry of the audit log, in one commit. */
static int make(struct server *s, struct str name, struct str secret)
{
    uint8_t hash[TOKEN_HASH_BYTES], key[TOKEN_HASH_BYTES];
    struct engine *e = s->host.engine;
    char request[AUDIT_WORDS_MAX];
    struct token_view t = { .name = name,
                            .tenant = STR(TENANT_ALL),
                            .role = ROLE_ADMIN,
                            .created_ms = engine_now(e),
                            .hash = hash };
    struct audit_entry a = { .at_ms = t.created_ms,
                             .tenant = t.tenant,
                             .client = STR("belfryd"),
                             .verb = STR("TOKENCREATE"),
                             .outcome = STR("OK") };
    int err;

    snprintf(request, sizeof(request), "TOKENCREATE %.*s admin", STR_ARG(name));
    a.request = str_of(request);
    if (!secret_draw(key, sizeof(key)))
        return BELFRY_IO;
    secret_hash(secret, hash);
    err = engine_token_create(e, &t);
    if (!err)
        err = engine_token_key_set(e, key);
    if (!err)
        err = engine_audit(e, &a);
    OPENSSL_cleanse(key, sizeof(key));
    if (!err)
        s->verb_host.audited(&s->verb_host, &a);
    return err;
}

static int make_from(struct server *s, const char *source, const char *text)
{
    struct str name, secret;
    const char *why = root_token_parse(str_of(text), &name, &secret), *detail;
    char shown[NAME_MAX_BYTES + 1];
    int err;

    if (why)
        return fail(s, source, BELFRY_INVALID, why);
    host_advance(&s->host);
    err = make(s, name, secret);
    detail = engine_detail(s->host.engine);
    if (err)
        return fail(s, source, err, detail[0] ? detail : error_text(err));
    host_wake(&s->host);
    snprintf(shown, sizeof(shown), "%.*s", STR_ARG(name));
    log_info(&s->log,
             "the first token was made, an admin of all tenants: every client needs a token from "
             "now on",
             "name", shown, "from", source);
    return 0;
}

int root_token_make(struct server *s)
{
    const char *variable = getenv(ROOT_TOKEN_VARIABLE);
    const char *source = s->options.root_token_file[0] ? s->options.root_token_file
                         : variable && *variable       ? ROOT_TOKEN_VARIABLE
                                                       : NULL;
    char text[FILE_MAX];
    int err = 0;

    if (!source)
        return 0;
    if (engine_token_count(s->host.engine) > 0) {
        log_info(&s->log, "there are tokens, so the first one is not made again", "from", source);
        return 0;
    }
    if (s->options.root_token_file[0])
        err = read_file(s, text);
    else
        snprintf(text, sizeof(text), "%s", variable);
    if (!err)
        err = make_from(s, source, text);
    OPENSSL_cleanse(text, sizeof(text));
    return err;
}
