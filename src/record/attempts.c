/* SPDX-License-Identifier: MIT */
#include "record/attempts.h"

#include "record/record.h"

#define OLDER_KEPT  10
#define OLDER_BYTES 4096

struct parts {
    uint32_t left_out;
    uint32_t count;
    struct str first;
    struct str last; /* stands behind the bytes of `first` */
};

/* The bytes of the first attempts in `s`, at most `n` of them; *ret_n: how many there are. */
static size_t span_of(struct str s, uint32_t n, uint32_t *ret_n)
{
    struct wire_reader r = wire_reader_of(s);
    size_t bytes = 0;
    struct attempt a;

    *ret_n = 0;
    while (*ret_n < n && r.p < r.end && record_get_attempt(&r, &a)) {
        bytes = (size_t)((const char *)r.p - s.ptr);
        ++*ret_n;
    }
    return bytes;
}

/* Moves the border between the first and the last attempts. */
static void parts_split(struct parts *p, size_t first_bytes)
{
    size_t all = p->first.len + p->last.len;

    p->first.len = first_bytes;
    p->last = (struct str){ p->first.ptr + first_bytes, all - first_bytes };
}

/* False: the history has no head, and `first` is all of it. */
static bool parts_head(struct str history, struct parts *ret)
{
    struct wire_reader r = wire_reader_of(history);
    struct parts p = { .first = history, .last = { "", 0 } };

    *ret = p;
    if (history.len == 0 || history.ptr[0] != 0)
        return false;
    wire_u8(&r);
    p.left_out = (uint32_t)wire_varint(&r);
    p.count = (uint32_t)wire_varint(&r);
    uint64_t first_bytes = wire_varint(&r);
    if (r.bad || first_bytes > (uint64_t)(r.end - r.p))
        return false;
    p.first = (struct str){ (const char *)r.p, (size_t)(r.end - r.p) };
    parts_split(&p, (size_t)first_bytes);
    *ret = p;
    return true;
}

uint32_t attempts_left_out(struct str history)
{
    struct parts p;

    parts_head(history, &p);
    return p.left_out;
}

struct wire_reader attempts_reader(struct str history)
{
    struct parts p;

    parts_head(history, &p);
    return wire_reader_of((struct str){ p.first.ptr, p.first.len + p.last.len });
}

bool attempts_next(struct wire_reader *r, struct attempt *ret)
{
    return r->p < r->end && record_get_attempt(r, ret);
}

size_t attempts_count(struct str history)
{
    struct wire_reader r = attempts_reader(history);
    struct attempt a;
    size_t n = 0;

    while (attempts_next(&r, &a))
        n++;
    return n;
}

bool attempts_last(struct str history, struct attempt *ret)
{
    struct wire_reader r = attempts_reader(history);
    bool any = false;

    while (attempts_next(&r, ret))
        any = true;
    return any;
}

/* How many of the oldest bytes go, as older versions did it. */
static size_t older_drop(struct str history)
{
    struct wire_reader r = wire_reader_of(history);
    struct attempt a;
    size_t starts[OLDER_KEPT + 1];
    size_t n = 0;

    while (r.p < r.end && n <= OLDER_KEPT) {
        starts[n++] = (size_t)((const char *)r.p - history.ptr);
        if (!record_get_attempt(&r, &a))
            return history.len; /* unreadable: start anew */
    }
    for (size_t i = 0; i < n; i++)
        if (n - i < OLDER_KEPT && history.len - starts[i] <= OLDER_BYTES)
            return starts[i];
    return history.len;
}

/* Leaves out attempts where the first meet the last, until `kept` stay with the one that follows.
 */
static void parts_trim(struct parts *p, uint32_t kept)
{
    struct str all = { p->first.ptr, p->first.len + p->last.len };
    uint32_t most = attempts_first(kept), excess = p->count + 1 - kept, first, gone = 0;

    if (p->left_out == 0)
        parts_split(p, span_of(all, most, &first));
    else
        span_of(p->first, UINT32_MAX, &first);
    if (first > most) {
        gone = first - most < excess ? first - most : excess;
        p->first.len = span_of(p->first, first - gone, &first);
    }
    size_t bytes = span_of(p->last, excess - gone, &first);
    p->last = (struct str){ p->last.ptr + bytes, p->last.len - bytes };
    p->count -= gone + first;
    p->left_out += gone + first;
}

void attempts_append(struct buf *out, struct str history, const struct attempt *more, uint32_t kept)
{
    struct parts p;
    bool head = parts_head(history, &p);

    if (!head && kept == 0) {
        size_t drop = older_drop(history);
        if (history.len > drop)
            buf_append(out, history.ptr + drop, history.len - drop);
        record_put_attempt(out, more);
        return;
    }
    if (!head) {
        size_t all = span_of(history, UINT32_MAX, &p.count);
        if (all < history.len) /* unreadable: start anew */
            p = (struct parts){ .first = { "", 0 }, .last = { "", 0 } };
        else if (p.count > ATTEMPTS_FIRST)
            parts_split(&p, span_of(history, ATTEMPTS_FIRST, &(uint32_t){ 0 }));
    }
    if (kept == 0)
        kept = OLDER_KEPT;
    if (p.count >= kept)
        parts_trim(&p, kept);
    if (p.left_out > 0 || p.count >= ATTEMPTS_FIRST) {
        wire_put_u8(out, 0);
        wire_put_varint(out, p.left_out);
        wire_put_varint(out, p.count + 1);
        wire_put_varint(out, p.first.len);
    }
    buf_str(out, p.first);
    buf_str(out, p.last);
    record_put_attempt(out, more);
}
