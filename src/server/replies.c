/* SPDX-License-Identifier: MIT */
#include "server/replies.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define KEEP_BYTES    ((size_t)65536) /* kept for later replies when all were sent */
#define COMPACT_BYTES ((size_t)65536) /* sent bytes beyond this are given back */

/* Replies up to `end` wait for this lsn. */
struct replies_mark {
    uint64_t lsn;
    size_t end;
};

void replies_fini(struct replies *r)
{
    buf_fini(&r->bytes);
    free(r->marks);
    *r = (struct replies){ 0 };
}

bool replies_hold(struct replies *r, uint64_t lsn, uint64_t durable_lsn)
{
    if (r->mark_count && r->marks[r->mark_count - 1].lsn >= lsn) {
        r->marks[r->mark_count - 1].end = r->bytes.len;
        return true;
    }
    if (r->mark_count == 0 && lsn <= durable_lsn) {
        r->released = r->bytes.len;
        return true;
    }
    if (r->mark_count == r->mark_cap) {
        size_t cap = r->mark_cap ? 2 * r->mark_cap : 4;
        struct replies_mark *grown = realloc(r->marks, cap * sizeof(*grown));

        if (!grown)
            return false;
        r->marks = grown;
        r->mark_cap = cap;
    }
    r->marks[r->mark_count++] = (struct replies_mark){ lsn, r->bytes.len };
    return true;
}

void replies_release(struct replies *r, uint64_t durable_lsn)
{
    size_t n = 0;

    while (n < r->mark_count && r->marks[n].lsn <= durable_lsn)
        r->released = r->marks[n++].end;
    r->mark_count -= n;
    if (n && r->mark_count)
        memmove(r->marks, r->marks + n, r->mark_count * sizeof(*r->marks));
}

/* Gives back the bytes that were sent. */
static void compact(struct replies *r)
{
    if (r->sent == r->bytes.len) {
        assert(r->mark_count == 0);
        buf_reset(&r->bytes, KEEP_BYTES);
        r->sent = r->released = 0;
    } else if (r->sent > COMPACT_BYTES) {
        buf_consume(&r->bytes, r->sent);
        for (size_t i = 0; i < r->mark_count; i++)
            r->marks[i].end -= r->sent;
        r->released -= r->sent;
        r->sent = 0;
    }
}

ssize_t replies_send(struct replies *r, int fd)
{
    ssize_t all = 0;

    while (replies_are_stuck(r)) {
        ssize_t n = send(fd, r->bytes.ptr + r->sent, r->released - r->sent, MSG_NOSIGNAL);

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
