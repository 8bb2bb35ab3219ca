/* SPDX-License-Identifier: MIT */
/* AUDIT, and the entries that it shows. */
#include "engine/audit.h"

#include <stdio.h>

#include "base/wire.h"
#include "verbs/handlers.h"
#include "verbs/seal.h"

#define WORD_MAX 100 /* bytes of a word that are kept */

/* ---- Entries ---- */

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 127 || s.ptr[i] == '"' || s.ptr[i] == '\\')
            return false;
    return s.len > 0;
}

/* As it could be typed into redis-cli. */
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

/* Whether the word before says that this one is not to be seen. */
static bool is_secret(const struct verb_call *c, size_t i)
{
    for (const struct arg *a = c->verb->args; a->name; a++)
        if (a->secret && str_ieq(c->words[i - 1], a->name))
            return true;
    return false;
}

/* The words as text; of a payload only how large it is. */
static void put_request(struct buf *out, const struct verb_call *c)
{
    size_t positional = 0;

    while (c->verb->args[positional].positional)
        positional++;
    buf_text(out, c->verb->name);
    for (size_t i = 1; i < c->word_count && out->len < AUDIT_WORDS_MAX; i++) {
        buf_text(out, " ");
        if (i <= positional && c->verb->args[i - 1].type == ARG_PAYLOAD)
            buf_printf(out, "(%zu bytes)", c->words[i].len);
        else if (is_secret(c, i))
            buf_text(out, "(hidden)");
        else
            put_word(out, c->words[i]);
    }
}

/* Whose things it changed. */
static struct str tenant_of(const struct verb_call *c)
{
    return c->verb->run == run_tenant ? c->args[TENANT_NAME].str : c->tenant;
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

/* Gathered before anything is answered: entries last only for the engine's call. */
struct gathered {
    struct buf bytes;
    size_t n;
};

static int gather(void *arg, const struct audit_entry *a)
{
    struct gathered *g = arg;

    buf_append(&g->bytes, &a->id, sizeof(a->id));
    wire_put_zigzag(&g->bytes, a->at_ms);
    wire_put_bytes(&g->bytes, a->tenant);
    wire_put_bytes(&g->bytes, a->user);
    wire_put_bytes(&g->bytes, a->client);
    wire_put_bytes(&g->bytes, a->address);
    wire_put_bytes(&g->bytes, a->verb);
    wire_put_bytes(&g->bytes, a->request);
    wire_put_bytes(&g->bytes, a->outcome);
    g->n++;
    return g->bytes.failed ? BELFRY_NOMEM : 0;
}

static void reply_entry(struct reply *r, struct wire_reader *in)
{
    struct job_id id;

    memcpy(&id, in->p, sizeof(id));
    in->p += sizeof(id);
    reply_map(r, 9);
    reply_field(r, "at_ms", wire_zigzag(in));
    reply_field_bytes(r, "tenant", wire_bytes(in));
    reply_field_bytes(r, "user", wire_bytes(in));
    reply_field_bytes(r, "client", wire_bytes(in));
    reply_field_bytes(r, "address", wire_bytes(in));
    reply_field_bytes(r, "verb", wire_bytes(in));
    reply_field_bytes(r, "request", wire_bytes(in));
    reply_field_bytes(r, "outcome", wire_bytes(in));
    reply_text(r, "id");
    reply_id(r, id);
}

static void reply_gathered(struct verb_call *c, const struct gathered *g,
                           const struct list_cursor *next)
{
    struct wire_reader in = wire_reader_of(buf_view(&g->bytes));
    struct reply *r = c->reply;

    reply_map(r, 2);
    reply_text(r, "entries");
    reply_array(r, g->n);
    for (size_t i = 0; i < g->n; i++)
        reply_entry(r, &in);
    reply_text(r, "cursor");
    seal_reply(c, next);
}

void run_audit(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct audit_filter f = {
        .tenant = c->tenant,
        .from_ms = a[AUDIT_FROM].set ? a[AUDIT_FROM].number : 0,
        .to_ms = a[AUDIT_TO].set ? a[AUDIT_TO].number : INT64_MAX,
        .limit = a[AUDIT_LIMIT].set ? (size_t)a[AUDIT_LIMIT].number : 100,
    };
    struct list_cursor cursor = { 0 };
    struct gathered g = { 0 };
    int err;

    if (a[AUDIT_CURSOR].set && (!seal_parse(c, a[AUDIT_CURSOR].str, &cursor) || cursor.phase ||
                                cursor.stripe || cursor.stripes_log2 || cursor.key_len)) {
        verb_error(c, BELFRY_INVALID, "cursor: expected one that AUDIT gave");
        return;
    }
    err = engine_audits(c->engine, &f, gather, &g, &cursor);
    if (err)
        verb_error(c, err, "");
    else
        reply_gathered(c, &g, &cursor);
    buf_fini(&g.bytes);
}
