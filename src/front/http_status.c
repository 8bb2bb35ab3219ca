/* SPDX-License-Identifier: MIT */
#include "front/http_status.h"

#include "base/error.h"
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

static const char *title_of(const char *code, int status)
{
    const struct error_row *row = error_find(str_of(code));

    /* Some errors are of HTTP alone: a wrong method, a body that is no JSON. */
    return row && row->status == status ? row->text : http_reason(status);
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

void http_problem(struct buf *out, const char *code, int status, struct str detail)
{
    buf_text(out, "{\"type\":\"urn:belfry:error:");
    buf_text(out, code);
    json_quote_in(out, "\",\"title\":", str_of(title_of(code, status)), ",\"status\":");
    buf_int(out, status);
    json_quote_in(out, ",\"code\":", str_of(code), ",\"detail\":");
    quote_any(out, detail);
    buf_text(out, "}");
}
