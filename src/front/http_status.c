/* SPDX-License-Identifier: MIT */
#include "front/http_status.h"

#include <stdio.h>

#include "base/error.h"
#include "base/id.h"
#include "base/utf8.h"
#include "front/json.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 204, "No Content" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 409, "Conflict" },
    { 413, "Content Too Large" },
    { 415, "Unsupported Media Type" },
    { 421, "Misdirected Request" },
    { 422, "Unprocessable Content" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

int http_status_of(const char *code)
{
    const struct error_row *row = error_find(str_of(code));

    return row ? row->status : 500;
}

const char *http_reason(int status)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void put_title(struct buf *out, const char *code, int status, const char *thing)
{
    const struct error_row *row = error_find(str_of(code));
    bool is_missing = row && row->err == BELFRY_NOTFOUND && thing;
    /* Some errors are of HTTP alone: a wrong method or path, a body that is no JSON. */
    bool is_own = !row || row->status != status || row->err == BELFRY_UNKNOWN;
    char text[64];

    snprintf(text, sizeof(text), "no such %s", is_missing ? thing : "");
    json_quote(out, str_of(is_missing ? text : is_own ? http_reason(status) : row->text));
}

/* The id at the end of the text about a key that is taken. */
static void put_holder(struct buf *out, const char *code, struct str detail)
{
    struct str id = { detail.ptr + detail.len - ID_TEXT, ID_TEXT };
    struct job_id parsed;

    if (strcmp(code, error_name(BELFRY_KEYEXISTS)) == 0 && detail.len >= ID_TEXT &&
        id_parse(id, &parsed))
        json_quote_in(out, ",\"id\":", id, "");
}

/* The text may contain bytes of a client: each one that is not UTF-8 becomes a question mark. */
static void quote_any(struct buf *out, struct str s)
{
    struct buf clean = { 0 };
    uint32_t c;

    if (utf8_valid(s)) {
        json_quote(out, s);
        return;
    }
    while (s.len) {
        size_t n = utf8_decode(s, &c);

        buf_append(&clean, n ? s.ptr : "?", n ? n : 1);
        n += n == 0;
        s = (struct str){ s.ptr + n, s.len - n };
    }
    json_quote(out, buf_view(&clean));
    out->failed = out->failed || clean.failed;
    buf_fini(&clean);
}

void http_problem(struct buf *out, const char *code, int status, struct str detail,
                  const char *thing)
{
    buf_text(out, "{\"type\":\"urn:belfry:error:");
    buf_text(out, code);
    buf_text(out, "\",\"title\":");
    put_title(out, code, status, thing);
    buf_text(out, ",\"status\":");
    buf_int(out, status);
    json_quote_in(out, ",\"code\":", str_of(code), ",\"detail\":");
    quote_any(out, detail);
    put_holder(out, code, detail);
    buf_text(out, "}");
}
