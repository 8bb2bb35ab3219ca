/* SPDX-License-Identifier: MIT */
#include "cli/auth.h"
#include "cli/driver.h"

#include <stdio.h>

#include "base/id.h"
#include "cli/scan.h"

#define DUE_DIGITS 13 /* a moment in milliseconds */

/* Begins a command of `words` words; end() adds the tenant if one is given. */
static void begin(const struct target *t, struct buf *out, size_t words)
{
    resp_array(out, words + (t->tenant[0] ? 2 : 0));
}

static void end(const struct target *t, struct buf *out)
{
    if (!t->tenant[0])
        return;
    resp_bulk(out, STR("TENANT"));
    resp_bulk(out, str_of(t->tenant));
}

static void head(struct target *t, struct buf *out, size_t words, size_t *ret_id)
{
    struct buf payload = { 0 };

    driver_filler(&payload, t->payload_bytes);
    begin(t, out, words);
    resp_bulk(out, STR("SCHEDULE"));
    resp_bulk(out, str_of(t->queue));
    resp_bulk(out, buf_view(&payload));
    if (payload.len >= DRIVER_NUMBER_DIGITS)
        *ret_id = out->len - payload.len - 2;
    buf_fini(&payload);
}

/* Has the queue keep nothing of jobs that have ended. */
static int make_queue(const struct target *t, struct client *c)
{
    struct str words[] = { STR("QUEUE"), str_of(t->queue), STR("RETAIN"),
                           STR("0"),     STR("TENANT"),    str_of(t->tenant) };
    const struct resp_values *v;

    return driver_ask(c, words, t->tenant[0] ? 6 : 4, &v);
}

static int prepare(struct target *t, struct client *c)
{
    int err = make_queue(t, c);

    head(t, &t->now, 3, &t->now_id);
    end(t, &t->now);
    head(t, &t->later, 5, &t->later_id);
    resp_bulk(&t->later, STR("AT"));
    resp_bulk(&t->later, STR("1234567890123"));
    t->later_gap = t->later.len - DUE_DIGITS - 2;
    end(t, &t->later);
    return err;
}

static void put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    size_t at = out->len, id = due ? t->now_id : t->later_id;

    buf_str(out, buf_view(due ? &t->now : &t->later));
    if (out->failed)
        return;
    if (id)
        driver_digits(out->ptr + at + id, DRIVER_NUMBER_DIGITS, n);
    if (!due)
        driver_digits(out->ptr + at + t->later_gap, DUE_DIGITS, (uint64_t)driver_due_ms(t, n));
}

static void note_id(struct str reply, char *ret_id)
{
    struct str id = scan_bulk(&reply);

    memcpy(ret_id, id.ptr, id.len < ID_TEXT ? id.len : ID_TEXT);
}

static void drop(const struct target *t, struct buf *out, const char *id)
{
    begin(t, out, 2);
    buf_text(out, "$6\r\nCANCEL\r\n$26\r\n");
    buf_append(out, id, ID_TEXT);
    buf_text(out, "\r\n");
    end(t, out);
}

static unsigned take(const struct target *t, struct buf *out, unsigned count)
{
    begin(t, out, 6);
    resp_bulk(out, STR("LEASE"));
    resp_bulk(out, str_of(t->queue));
    resp_bulk(out, STR("COUNT"));
    driver_word(out, "", count);
    resp_bulk(out, STR("WAIT"));
    resp_bulk(out, STR("1s"));
    end(t, out);
    return 1;
}

/* Appends a COMPLETE for each job. Members are found by name, in RESP2's flat form of a map. */
static unsigned finish(const struct target *t, struct str reply, struct buf *out, unsigned *replies,
                       struct driver_watch *w)
{
    int64_t jobs = scan_head(&reply);

    (void)t;
    for (int64_t i = 0; i < jobs; i++) {
        struct str id = { 0 }, token = { 0 };
        struct driver_job job = { 0 };
        int64_t pairs = scan_head(&reply) / 2;
        for (int64_t p = 0; p < pairs; p++) {
            struct str name = scan_bulk(&reply);
            if (str_eq(name, STR("id")))
                id = scan_bulk(&reply);
            else if (str_eq(name, STR("token")))
                token = scan_bulk(&reply);
            else if (w && str_eq(name, STR("payload")))
                job.payload = scan_bulk(&reply);
            else if (w && str_eq(name, STR("due_ms")))
                job.due_ms = scan_head(&reply);
            else
                scan_skip(&reply);
        }
        buf_text(out, "*3\r\n$8\r\nCOMPLETE\r\n$26\r\n");
        buf_str(out, id);
        buf_text(out, "\r\n");
        resp_bulk(out, token);
        if (w)
            w->job(w, &job);
    }
    *replies += (unsigned)jobs;
    return (unsigned)jobs;
}

/* Shows the token, which was good for the connection before these. */
static unsigned greet(const struct target *t, struct buf *out)
{
    struct buf token = { 0 };
    char why[64];
    bool some = auth_token(&token, why, sizeof(why)) == 0 && token.len > 0;

    (void)t;
    if (some) {
        resp_array(out, 2);
        resp_bulk(out, STR("AUTH"));
        resp_bulk(out, buf_view(&token));
    }
    buf_fini(&token);
    return some;
}

/* ---- Full jobs: ten tenants, keys, ordering keys, priorities, tags and metadata ---- */

static int full_prepare(struct target *t, struct client *c)
{
    int err = 0;

    driver_filler(&t->now, t->payload_bytes);
    for (int i = 0; i < FULL_TENANTS && err == 0; i++) {
        snprintf(t->tenant, sizeof(t->tenant), "t%d", i);
        err = make_queue(t, c);
    }
    snprintf(t->tenant, sizeof(t->tenant), "*"); /* workers serve all tenants */
    return err;
}

static void full_put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    resp_array(out, due ? 16 : 18);
    resp_bulk(out, STR("SCHEDULE"));
    resp_bulk(out, str_of(t->queue));
    driver_payload(t, out, n);
    resp_bulk(out, STR("TENANT"));
    driver_word(out, "t", n % FULL_TENANTS);
    resp_bulk(out, STR("PRIORITY"));
    driver_word(out, "", 1 + n / FULL_TENANTS % 5);
    resp_bulk(out, STR("KEY"));
    driver_word(out, "key-", n);
    resp_bulk(out, STR("ORDER"));
    driver_word(out, "lane-", n / FULL_TENANTS % FULL_LANES);
    resp_bulk(out, STR("TAG"));
    resp_bulk(out, STR("bench"));
    resp_bulk(out, STR("META"));
    resp_bulk(out, STR("source"));
    resp_bulk(out, STR("belfry-bench"));
    if (!due) {
        resp_bulk(out, STR("AT"));
        driver_word(out, "", (uint64_t)driver_due_ms(t, n));
    }
}

#define DRIVER(label, prepare_fn, put_fn)                                                        \
    {                                                                                            \
        .name = (label), .belfry = true, .prepare = (prepare_fn), .greet = greet,                \
        .scan = scan_reply, .put = (put_fn), .id_bytes = ID_TEXT, .note = note_id, .drop = drop, \
        .take = take, .finish = finish,                                                          \
    }

const struct driver driver_belfry = DRIVER("belfry", prepare, put);
const struct driver driver_belfry_full = DRIVER("belfry-full", full_prepare, full_put);
