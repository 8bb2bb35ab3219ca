/* SPDX-License-Identifier: MIT */
#include "server/push/push_request.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/error.h"
#include "engine/push.h"
#include "front/json.h"

#define TRACE_MAX 512

static void line_end(struct push_request *r)
{
    buf_append(&r->lines, "", 1);
    if (++r->line_count > PUSH_LINES)
        r->lines.failed = true;
}

#define line_put(r, ...) (buf_printf(&(r)->lines, __VA_ARGS__), line_end(r))

/* Metadata may be any bytes, a header may not. */
static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] >= 127)
            return false;
    return s.len > 0 && s.len <= TRACE_MAX;
}

static void put_trace(struct push_request *r, const struct job_view *v)
{
    static const char *const names[] = { "traceparent", "tracestate" };

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < v->labels.meta_count; i++)
            if (str_eq(v->labels.meta[i].name, str_of(names[k])) &&
                is_visible(v->labels.meta[i].value)) {
                line_put(r, "%s: %.*s", names[k], STR_ARG(v->labels.meta[i].value));
                break; /* each once, even if a record has it twice */
            }
}

static bool is_json(struct str text)
{
    struct buf ignored = { 0 };
    struct json j;
    bool is;

    json_begin(&j, text);
    is = json_take(&j, &ignored) && json_done(&j);
    buf_fini(&ignored);
    return is;
}

/* The queue's own headers. Their content-type goes before the guessed one. */
static void put_given(struct push_request *r, struct str headers, struct str payload)
{
    struct str name, value;
    bool typed = false;

    while (push_header_next(&headers, &name, &value)) {
        typed = typed || str_ieq(name, "content-type");
        line_put(r, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
    }
    if (!typed)
        line_put(r, "content-type: application/%s", is_json(payload) ? "json" : "octet-stream");
}

int push_sign(struct str secrets, struct str id, int64_t timestamp, struct str body,
              struct buf *out)
{
    struct buf text = { 0 }, key = { 0 };
    struct str secret;
    bool first = true;
    int err = 0;

    buf_str(&text, id);
    buf_printf(&text, ".%lld.", (long long)timestamp);
    buf_str(&text, body);
    while (!err && push_secret_next(&secrets, &secret)) {
        unsigned char sum[EVP_MAX_MD_SIZE];
        unsigned len = 0;

        key.len = 0;
        if (text.failed || !push_secret_read(secret, &key) ||
            !HMAC(EVP_sha256(), key.ptr, (int)key.len, (const unsigned char *)text.ptr, text.len,
                  sum, &len))
            err = BELFRY_NOMEM;
        buf_text(out, first ? "v1," : " v1,");
        base64_put(out, (struct str){ (const char *)sum, len });
        first = false;
    }
    if (key.ptr)
        OPENSSL_cleanse(key.ptr, key.cap);
    buf_fini(&key);
    buf_fini(&text);
    return err || out->failed ? BELFRY_NOMEM : 0;
}

static int put_signature(struct push_request *r, struct str id, int64_t seconds,
                         const struct push_settings *s)
{
    int err;

    line_put(r, "webhook-id: %.*s", STR_ARG(id));
    line_put(r, "webhook-timestamp: %lld", (long long)seconds);
    if (s->secrets.len == 0)
        return 0;
    buf_text(&r->lines, "webhook-signature: ");
    err = push_sign(s->secrets, id, seconds, buf_view(&r->body), &r->lines);
    line_end(r);
    return err;
}

int push_request_init(struct push_request *r, const struct job_view *v, struct str url,
                      const struct push_settings *s, int64_t now_ms)
{
    char id[ID_TEXT];
    int err;

    *r = (struct push_request){ 0 };
    r->url = strndup(url.ptr, url.len);
    buf_str(&r->body, v->payload);
    id_format(v->id, id);
    err = put_signature(r, (struct str){ id, ID_TEXT }, now_ms / 1000, s);
    put_given(r, push_is_by_job(s) ? STR("") : s->headers, v->payload);
    line_put(r, "belfry-tenant: %.*s", STR_ARG(v->tenant));
    line_put(r, "belfry-queue: %.*s", STR_ARG(v->queue));
    line_put(r, "belfry-attempt: %lld", (long long)v->attempt);
    line_put(r, "belfry-due-ms: %lld", (long long)v->due_ms);
    line_put(r, "belfry-token: %llu", (unsigned long long)v->token);
    put_trace(r, v);
    if (!err && r->url && !r->body.failed && !r->lines.failed)
        return 0;
    push_request_fini(r);
    return BELFRY_NOMEM;
}

void push_request_fini(struct push_request *r)
{
    free(r->url);
    buf_fini(&r->body);
    buf_fini(&r->lines);
}
