/* SPDX-License-Identifier: MIT */
/*
 * A delay queue on Redis as it is commonly made: a sorted set by due time; taking raises the score,
 * so that what is not finished comes back; finishing removes. Members are made unique by a number
 * in front of the payload.
 */
#include "loadgen/peers.h"

#include <stdio.h>

#include "base/time.h"
#include "cli/scan.h"

#define SCORE_DIGITS 13
#define ID_DIGITS    16
#define CLAIM_MS     60000

static const char claim[] =
    "local m = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3]) "
    "if #m == 0 then return m end "
    "local a = {} "
    "for i = 1, #m do a[2*i-1] = ARGV[2]; a[2*i] = m[i] end "
    "redis.call('ZADD', KEYS[1], 'XX', unpack(a)) "
    "return m";

int redis_script(struct target *t, int i, const char *text, struct client *c)
{
    struct str words[] = { STR("SCRIPT"), STR("LOAD"), str_of(text) };
    const struct resp_values *v;
    int err = driver_ask(c, words, 3, &v);

    if (err == 0)
        snprintf(t->scripts[i], sizeof(t->scripts[i]), "%.*s", STR_ARG(v->at[0].text));
    return err;
}

static void zadd(struct target *t, struct buf *out, size_t *ret_score, size_t *ret_id)
{
    struct buf member = { 0 };
    char score[SCORE_DIGITS];

    driver_digits(score, SCORE_DIGITS, (uint64_t)t->base_ms);
    driver_filler(&member, ID_DIGITS + t->payload_bytes);
    resp_array(out, 4);
    resp_bulk(out, STR("ZADD"));
    resp_bulk(out, str_of(t->queue));
    resp_bulk(out, (struct str){ score, SCORE_DIGITS });
    *ret_score = out->len - SCORE_DIGITS - 2;
    resp_bulk(out, buf_view(&member));
    *ret_id = out->len - member.len - 2;
    buf_fini(&member);
}

static int prepare(struct target *t, struct client *c)
{
    size_t unused;
    int err = redis_script(t, 0, claim, c);

    zadd(t, &t->now, &unused, &t->now_id);
    zadd(t, &t->later, &t->later_gap, &t->later_id);
    return err;
}

static void put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    size_t at = out->len;

    buf_str(out, buf_view(due ? &t->now : &t->later));
    if (out->failed)
        return;
    driver_digits(out->ptr + at + (due ? t->now_id : t->later_id), ID_DIGITS, n);
    if (!due)
        driver_digits(out->ptr + at + t->later_gap, SCORE_DIGITS, (uint64_t)driver_due_ms(t, n));
}

static unsigned take(const struct target *t, struct buf *out, unsigned count)
{
    uint64_t now = (uint64_t)time_wall_ms();
    char digits[SCORE_DIGITS], limit[16];

    snprintf(limit, sizeof(limit), "%u", count);
    resp_array(out, 7);
    resp_bulk(out, STR("EVALSHA"));
    resp_bulk(out, str_of(t->scripts[0]));
    resp_bulk(out, STR("1"));
    resp_bulk(out, str_of(t->queue));
    driver_digits(digits, SCORE_DIGITS, now);
    resp_bulk(out, (struct str){ digits, SCORE_DIGITS });
    driver_digits(digits, SCORE_DIGITS, now + CLAIM_MS);
    resp_bulk(out, (struct str){ digits, SCORE_DIGITS });
    resp_bulk(out, str_of(limit));
    return 1;
}

/* One ZREM for all: the members stand in the reply as they do in a command. */
static unsigned finish(const struct target *t, struct str reply, struct buf *out, unsigned *replies,
                       struct driver_watch *w)
{
    int64_t jobs = scan_head(&reply);

    (void)w;
    if (jobs <= 0)
        return 0;
    resp_array(out, 2 + (size_t)jobs);
    resp_bulk(out, STR("ZREM"));
    resp_bulk(out, str_of(t->queue));
    buf_str(out, reply);
    *replies += 1;
    return (unsigned)jobs;
}

static int wipe(struct target *t, struct client *c)
{
    struct str words[] = { STR("UNLINK"), str_of(t->queue) };
    const struct resp_values *v;

    return client_call(c, words, 2, &v);
}

const struct driver driver_redis = {
    .name = "redis",
    .port = "6379",
    .prepare = prepare,
    .scan = scan_reply,
    .put = put,
    .take = take,
    .finish = finish,
    .wipe = wipe,
};
