/* SPDX-License-Identifier: MIT */
#include "loadgen/peers.h"

#define DELAY_DIGITS 9 /* in seconds: thirty years */
#define ID_BYTES     24

static void put_command(struct target *t, struct buf *out, const char *delay, size_t *ret_gap)
{
    buf_text(out, "put 100 ");
    *ret_gap = out->len;
    buf_printf(out, "%s 60 %zu\r\n", delay, t->payload_bytes);
    driver_filler(out, t->payload_bytes);
    buf_text(out, "\r\n");
}

static int prepare(struct target *t, struct client *c)
{
    size_t unused;

    (void)c;
    put_command(t, &t->now, "0", &unused);
    put_command(t, &t->later, "000003600", &t->later_gap);
    return 0;
}

static unsigned greet(const struct target *t, struct buf *out)
{
    buf_printf(out, "use %s\r\nwatch %s\r\nignore default\r\n", t->queue, t->queue);
    return 3;
}

/* The digits behind the word that ends at the first space of s. */
static struct str number_in(struct str s)
{
    const char *from = memchr(s.ptr, ' ', s.len);
    size_t len = 0;

    if (!from)
        return (struct str){ s.ptr, 0 };
    from++;
    while (from + len < s.ptr + s.len && from[len] >= '0' && from[len] <= '9')
        len++;
    return (struct str){ from, len };
}

/* "RESERVED id bytes": how many bytes follow the line. */
static size_t reserved_bytes(struct str line)
{
    struct str id = number_in(line);
    const char *end = line.ptr + line.len;
    struct str size = number_in((struct str){ id.ptr + id.len, (size_t)(end - id.ptr) - id.len });
    size_t n = 0;

    for (size_t i = 0; i < size.len; i++)
        n = n * 10 + (size_t)(size.ptr[i] - '0');
    return n + 2;
}

/* A line; RESERVED is followed by the job's bytes. */
static ssize_t scan(struct str in)
{
    static const char *const good[] = { "INSERTED ", "RESERVED ", "DELETED",      "TIMED_OUT",
                                        "USING ",    "WATCHING ", "DEADLINE_SOON" };
    const char *end = in.len ? memchr(in.ptr, '\n', in.len) : NULL;
    size_t len, i = 0;

    if (!end)
        return 0;
    while (i < 7 && !str_starts(in, str_of(good[i])))
        i++;
    if (i == 7)
        return -1;
    len = (size_t)(end - in.ptr) + 1;
    if (in.ptr[0] == 'R')
        len += reserved_bytes((struct str){ in.ptr, len });
    return len <= in.len ? (ssize_t)len : 0;
}

static void put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    size_t at = out->len;

    buf_str(out, buf_view(due ? &t->now : &t->later));
    if (!due && !out->failed)
        driver_digits(out->ptr + at + t->later_gap, DELAY_DIGITS,
                      (uint64_t)(driver_due_ms(t, n) - t->base_ms) / 1000);
}

static void note(struct str reply, char *ret_id)
{
    struct str id = number_in(reply);

    memset(ret_id, 0, ID_BYTES);
    memcpy(ret_id, id.ptr, id.len < ID_BYTES ? id.len : ID_BYTES - 1);
}

static void add_delete(struct buf *out, struct str id)
{
    buf_text(out, "delete ");
    buf_str(out, id);
    buf_text(out, "\r\n");
}

static void drop(const struct target *t, struct buf *out, const char *id)
{
    (void)t;
    add_delete(out, str_of(id));
}

static unsigned take(const struct target *t, struct buf *out, unsigned count)
{
    (void)t;
    for (unsigned i = 0; i < count; i++)
        buf_text(out, "reserve-with-timeout 0\r\n");
    return count;
}

static unsigned finish(const struct target *t, struct str reply, struct buf *out, unsigned *replies,
                       struct driver_watch *w)
{
    (void)t;
    (void)w;
    if (reply.ptr[0] != 'R')
        return 0;
    add_delete(out, number_in(reply));
    *replies += 1;
    return 1;
}

const struct driver driver_beanstalkd = {
    .name = "beanstalkd",
    .port = "11300",
    .prepare = prepare,
    .greet = greet,
    .scan = scan,
    .put = put,
    .id_bytes = ID_BYTES,
    .note = note,
    .drop = drop,
    .take = take,
    .finish = finish,
};
