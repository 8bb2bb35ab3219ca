/* SPDX-License-Identifier: MIT */
/* AUDIT, and the entries that it shows. */
#include "engine/audit.h"

#include <stdio.h>

#include "verbs/handlers.h"
#include "verbs/page.h"

#define WORD_MAX 100 /* bytes that the log keeps of a word */

/* ---- Entries ---- */

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 127 || s.ptr[i] == '"' || s.ptr[i] == '\\')
            return false;
    return s.len > 0;
}

/* Writes a word as it can be typed into redis-cli. */
static void put_word(struct buf *out, struct str s)
{
    bool is_cut = s.len > WORD_MAX;

    s.len = is_cut ? WORD_MAX : s.len;
    if (is_plain(s)) {
        buf_str(out, s);
    } else {
        buf_text(out, "\"");
        for (size_t i = 0; i < s.len; i++) {
            unsigned char c = (unsigned char)s.ptr[i];

            if (c == '"' || c == '\\')
                buf_printf(out, "\\%c", c);
            else if (c < ' ' || c >= 127)
                buf_printf(out, "\\x%02x", c);
            else
                buf_append(out, &c, 1);
        }
        buf_text(out, "\"");
    }
    buf_text(out, is_cut ? "..." : "");
}

/* Whether the word before is the name of a secret option. */
static bool is_secret(const struct verb_call *c, size_t i)
{
    for (const struct arg *a = c->verb->args; a->name; a++)
        if (a->secret && str_ieq(c->words[i - 1], a->name))
            return true;
    return false;
}

/* Whether a word is a payload, by its place or by the word before. */
static bool is_payload(const struct verb_call *c, size_t i, size_t positional)
{
    if (i <= positional)
        return c->verb->args[i - 1].type == ARG_PAYLOAD;
    for (const struct arg *a = c->verb->args + positional; a->name; a++)
        if (a->type == ARG_PAYLOAD && str_ieq(c->words[i - 1], a->name))
            return true;
    return false;
}

/* The words as text; of a payload only its size. */
static void put_request(struct buf *out, const struct verb_call *c)
{
    size_t positional = 0;

    while (c->verb->args[positional].positional)
        positional++;
    buf_text(out, c->verb->name);
    for (size_t i = 1; i < c->word_count && out->len < AUDIT_WORDS_MAX; i++) {
        buf_text(out, " ");
        if (is_payload(c, i, positional))
            buf_printf(out, "(%zu bytes)", c->words[i].len);
        else if (is_secret(c, i))
            buf_text(out, "(hidden)");
        else
            put_word(out, c->words[i]);
    }
}

/* A verb with settings, such as QUEUE, only shows a thing if none is given. */
static bool shows_only(const struct verb_call *c)
{
    bool has_settings = false;

    for (size_t i = 0; c->verb->args[i].type != ARG_END; i++) {
        has_settings = has_settings || c->verb->args[i].field;
        if (c->verb->args[i].field && c->args[i].set)
            return false;
    }
    return has_settings;
}

bool verb_is_audited(const struct verb_call *c)
{
    return c->verb->flags & (VERB_ADMIN | VERB_AUDITS) && !(c->verb->flags & VERB_READS) &&
           !shows_only(c);
}

/* The tenant whose things the call changed. */
static struct str tenant_of(const struct verb_call *c)
{
    return c->verb->run == run_tenant ? c->args[SUBJECT].str : c->tenant;
}

int verb_audit(struct verb_call *c, struct str client, struct str address)
{
    struct buf request = { 0 };
    struct audit_entry a = {
        .at_ms = engine_now(c->engine),
        .tenant = tenant_of(c),
        .user = c->who ? identity_name(c->who) : STR(""),
        .client = client,
        .address = address,
        .verb = str_of(c->verb->name),
        .outcome = str_of(c->outcome[0] ? c->outcome : "OK"),
    };
    int err;

    put_request(&request, c);
    a.request = buf_view(&request);
    err = request.failed ? BELFRY_NOMEM : engine_audit(c->engine, &a);
    if (!err && c->host->audited)
        c->host->audited(c->host, &a);
    buf_fini(&request);
    return err;
}

void verb_outcome(struct verb_call *c, struct job_id id, const char *word)
{
    char text[ID_TEXT];

    id_format(id, text);
    snprintf(c->outcome, sizeof(c->outcome), "%.*s %s", ID_TEXT, text, word);
}

/* ---- AUDIT ---- */

/* clang-format off */
#define OF struct audit_entry
const struct shape_field audit_fields[] = {
    SHOW_MOMENT("at_ms", at_ms), SHOW_TEXT("tenant", tenant), SHOW_TEXT("user", user, OR_NULL),
    SHOW_BYTES("client", client, OR_NULL), SHOW_TEXT("address", address, OR_NULL),
    SHOW_TEXT("verb", verb), SHOW_BYTES("request", request), SHOW_TEXT("outcome", outcome, OR_NULL),
    SHOW_ID("id", id), { 0 },
};
/* clang-format on */

static int audit_add(void *page, const struct audit_entry *a)
{
    return page_add(page, a);
}

const struct shape_field audit_page_fields[] = {
    SHOW_PAGE("entries", "AuditEntry"),
    { 0 },
};

void run_audit(struct verb_call *c)
{
    struct audit_filter f = { .tenant = c->tenant, .to_ms = INT64_MAX, .limit = 100 };
    struct page page = { .call = c, .fields = audit_fields, .map = audit_page_fields };
    const struct list_cursor *at = &page.next;
    int err = page_seek(&page);

    args_store(c, &f);
    if (at->phase || at->stripes_log2 || at->key_len)
        err = BELFRY_INVALID;
    if (!err)
        err = engine_audits(c->engine, &f, audit_add, &page, &page.next);
    page_end(&page, err, "");
}
