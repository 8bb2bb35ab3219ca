/* SPDX-License-Identifier: MIT */
#include "server/replies.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#define KEEP_BYTES    ((size_t)65536)   /* kept for later replies when all are sent */
#define COMPACT_BYTES ((size_t)65536)   /* more sent bytes than this are given back */
#define SEND_BYTES    ((size_t)1 << 20) /* the most bytes that are sent in one go */

/* Replies up to `end` wait for this lsn. */
struct replies_mark {
    uint64_t lsn;
    size_t end;
};

static struct replies_mark *marks_of(const struct replies *r)
{
    return (struct replies_mark *)(void *)r->marks.ptr;
}

static size_t mark_count(const struct replies *r)
{
    return r->marks.len / sizeof(struct replies_mark);
}

void replies_fini(struct replies *r)
{
    buf_fini(&r->bytes);
    buf_fini(&r->marks);
    *r = (struct replies){ 0 };
}

bool replies_hold(struct replies *r, uint64_t lsn, uint64_t durable_lsn)
{
    struct replies_mark mark = { lsn, r->bytes.len };
    size_t n = mark_count(r);

    if (n > 0 && marks_of(r)[n - 1].lsn >= lsn)
        marks_of(r)[n - 1].end = r->bytes.len;
    else if (n == 0 && lsn <= durable_lsn)
        r->released = r->bytes.len;
    else
        buf_append(&r->marks, &mark, sizeof(mark));
    return !r->marks.failed;
}

void replies_release(struct replies *r, uint64_t durable_lsn)
{
    size_t n = 0;

    while (n < mark_count(r) && marks_of(r)[n].lsn <= durable_lsn)
        r->released = marks_of(r)[n++].end;
    if (n > 0)
        buf_consume(&r->marks, n * sizeof(struct replies_mark));
}

/* Gives back the bytes that were sent, if they are half of all. Otherwise the server would move
 * many bytes again and again for a client that takes a little at a time. */
static void compact(struct replies *r)
{
    if (r->sent == r->bytes.len) {
        assert(!replies_are_held(r));
        buf_reset(&r->bytes, KEEP_BYTES);
        r->sent = r->released = 0;
    } else if (r->sent > COMPACT_BYTES && r->sent >= r->bytes.len / 2) {
        buf_consume(&r->bytes, r->sent);
        for (size_t i = 0; i < mark_count(r); i++)
            marks_of(r)[i].end -= r->sent;
        r->released -= r->sent;
        r->sent = 0;
    }
}

ssize_t replies_send(struct replies *r, int fd)
{
    ssize_t all = 0;

    while (replies_are_stuck(r) && (size_t)all < SEND_BYTES) {
        size_t most = SEND_BYTES - (size_t)all, stuck = r->released - r->sent;
        ssize_t n = send(fd, r->bytes.ptr + r->sent, stuck < most ? stuck : most, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0)
            break;
        r->sent += (size_t)n;
        all += n;
    }
    compact(r);
    return all;
}
