/* SPDX-License-Identifier: MIT */
#include "server/push/push_answer.h"

#include <stdio.h>
#include <time.h>

#define BODY_SHOWN 200 /* The error shows so many bytes of an answer that is no success. */

static int64_t cut_time(int64_t ms)
{
    return ms < 0 ? 0 : ms > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : ms;
}

/* The three forms of RFC 9110: IMF-fixdate, RFC 850, asctime. */
static bool parse_date(const char *text, int64_t *ret_ms)
{
    static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                         "%a %b %e %H:%M:%S %Y" };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm tm = { 0 };
        const char *end = strptime(text, forms[i], &tm);
        time_t t;

        if (!end || *end)
            continue;
        t = timegm(&tm);
        if (t < 0)
            return false;
        *ret_ms = (int64_t)t * 1000;
        return true;
    }
    return false;
}

int64_t retry_after_parse(struct str text, int64_t now_ms)
{
    char copy[64];
    int64_t seconds = 0, at_ms;
    size_t i = 0;

    if (text.len == 0 || text.len >= sizeof(copy) || memchr(text.ptr, '\0', text.len))
        return -1;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        if (seconds <= RETRY_AFTER_MAX)
            seconds = seconds * 10 + (text.ptr[i] - '0');
    if (i == text.len)
        return cut_time(seconds * 1000);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return parse_date(copy, &at_ms) ? cut_time(at_ms - now_ms) : -1;
}

/* Appends the beginning of a body, as visible characters. */
static void append_body(struct push_verdict *v, struct str body)
{
    size_t n = v->error.len, most = n + BODY_SHOWN;

    if (body.len == 0)
        return;
    v->text[n++] = ':';
    v->text[n++] = ' ';
    for (size_t i = 0; i < body.len && n < most; i++) {
        unsigned char c = (unsigned char)body.ptr[i];

        v->text[n++] =
            c < ' ' || c >= 127 ? (c == '\n' || c == '\r' || c == '\t' ? ' ' : '?') : (char)c;
    }
    v->error.len = n;
}

__attribute__((format(printf, 2, 3))) static void set_error(struct push_verdict *v,
                                                            const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(v->text, sizeof(v->text) - BODY_SHOWN - 4, format, args);
    va_end(args);
    v->error.len = strlen(v->text);
}

static void judge_status(const struct outgoing_answer *a, int64_t now_ms, struct push_verdict *v)
{
    int status = a->status;
    int64_t later =
        status == 429 || status == 503 ? retry_after_parse(str_of(a->retry_after), now_ms) : -1;

    v->well = status < 500 && status != 429;
    if (status >= 200 && status < 300) {
        v->outcome = PUSH_delivered;
        return;
    }
    set_error(v, "the endpoint answered %d", status);
    if (status >= 300 && status < 400) {
        v->outcome = PUSH_redirected;
        set_error(v, "the endpoint answered %d: redirects are not followed%s%.100s", status,
                  a->location[0] ? ", here to " : "", a->location);
        return;
    }
    v->outcome = later >= 0 ? PUSH_postponed : status == 410 ? PUSH_gone : PUSH_rejected;
    v->in_ms = later;
    append_body(v, a->body);
}

void push_judge(const struct outgoing_answer *a, int64_t now_ms, struct push_verdict *ret)
{
    *ret = (struct push_verdict){ .in_ms = -1 };
    ret->error.ptr = ret->text;
    switch (a->outcome) {
    case OUTGOING_ANSWERED: judge_status(a, now_ms, ret); break;
    case OUTGOING_TIMEOUT:
        ret->outcome = PUSH_timeout;
        set_error(ret, "no answer within push_timeout: %.150s", a->error);
        break;
    case OUTGOING_REFUSED:
        ret->outcome = PUSH_forbidden;
        /* One text for both cases, so that no client can find out which names exist inside. */
        set_error(ret, "the endpoint's name does not resolve, or it has no address and port that "
                       "push_allow and push_ports allow");
        break;
    case OUTGOING_UNREACHABLE:
        ret->outcome = PUSH_unreachable;
        set_error(ret, "no connection to the endpoint: %.150s", a->error);
        break;
    }
}
