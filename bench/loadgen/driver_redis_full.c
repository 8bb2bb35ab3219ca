/* SPDX-License-Identifier: MIT */
/*
 * The jobs of the driver belfry-full on Redis, as one would make them there: a hash for each job, a
 * string for its key, a list for its ordering key, a sorted set by rank for each tenant's ready
 * jobs, and one each for those that are due later and those that workers have. Scripts, so that
 * each step is whole. It does less than Belfry: jobs of one ordering key go in the order in which
 * they were added, and what a worker loses is not looked for.
 */
#include "loadgen/peers.h"

#include "base/time.h"
#include "cli/scan.h"

enum { PUT, TAKE, FINISH, SCRIPTS };

/* Only the first of its ordering key can run. */
static const char put_script[] =
    "local q, id, now = ARGV[1], ARGV[2], ARGV[3] "
    "local t = q .. ':' .. ARGV[4] "
    "if not redis.call('SET', t .. ':key:' .. ARGV[6], id, 'NX') then return 0 end "
    "redis.call('HSET', q .. ':job:' .. id, 'tenant', ARGV[4], 'priority', ARGV[5], "
    "'key', ARGV[6], 'order', ARGV[7], 'tag', ARGV[8], 'source', ARGV[9], 'payload', ARGV[10], "
    "'due', ARGV[11]) "
    "if redis.call('RPUSH', t .. ':order:' .. ARGV[7], id) > 1 then return 1 end "
    "if tonumber(ARGV[11]) > tonumber(now) then redis.call('ZADD', q .. ':later', ARGV[11], id) "
    "else redis.call('ZADD', t .. ':ready', now + (ARGV[5] - 1) * 30000, id) end "
    "return 1";

/* What has become due, then of each tenant in turn. */
static const char take_script[] =
    "local q, now, want, tenants = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]) "
    "local due = redis.call('ZRANGEBYSCORE', q .. ':later', '-inf', now, 'LIMIT', 0, want) "
    "for _, id in ipairs(due) do "
    "local j = redis.call('HMGET', q .. ':job:' .. id, 'tenant', 'priority') "
    "redis.call('ZADD', q .. ':' .. j[1] .. ':ready', now + (j[2] - 1) * 30000, id) end "
    "if #due > 0 then redis.call('ZREM', q .. ':later', unpack(due)) end "
    "local got, held, turn = {}, {}, redis.call('INCR', q .. ':turn') "
    "for i = 1, tenants do "
    "local share = math.min(math.ceil(want / tenants), want - #got / 2) "
    "if share <= 0 then break end "
    "local m = redis.call('ZPOPMIN', q .. ':t' .. (turn + i) % tenants .. ':ready', share) "
    "for k = 1, #m, 2 do "
    "held[#held + 1] = now + 60000 "
    "held[#held + 1] = m[k] "
    "got[#got + 1] = m[k] "
    "got[#got + 1] = redis.call('HGET', q .. ':job:' .. m[k], 'payload') end end "
    "if #held > 0 then redis.call('ZADD', q .. ':running', unpack(held)) end "
    "return got";

/* The next of its ordering key can run. */
static const char finish_script[] =
    "local q, now, ids, gone = ARGV[1], ARGV[2], {}, {} "
    "for i = 3, #ARGV do ids[#ids + 1] = ARGV[i] end "
    "redis.call('ZREM', q .. ':running', unpack(ids)) "
    "for _, id in ipairs(ids) do "
    "local j = redis.call('HMGET', q .. ':job:' .. id, 'tenant', 'key', 'order') "
    "local t = q .. ':' .. j[1] "
    "local lane = t .. ':order:' .. j[3] "
    "gone[#gone + 1] = q .. ':job:' .. id "
    "gone[#gone + 1] = t .. ':key:' .. j[2] "
    "redis.call('LPOP', lane) "
    "local after = redis.call('LINDEX', lane, 0) "
    "if after then "
    "local a = redis.call('HMGET', q .. ':job:' .. after, 'priority', 'due') "
    "if tonumber(a[2]) > tonumber(now) then redis.call('ZADD', q .. ':later', a[2], after) "
    "else redis.call('ZADD', t .. ':ready', now + (a[1] - 1) * 30000, after) end end end "
    "redis.call('DEL', unpack(gone)) "
    "return #ids";

static const char wipe_script[] =
    "local name = string.gsub(ARGV[1], '[%*%?%[%]\\\\]', '\\\\%0') "
    "for _, k in ipairs(redis.call('KEYS', name .. ':*')) do redis.call('UNLINK', k) end";

static int prepare(struct target *t, struct client *c)
{
    const char *const texts[SCRIPTS] = { put_script, take_script, finish_script };
    int err = 0;

    driver_filler(&t->now, t->payload_bytes);
    for (int i = 0; i < SCRIPTS && err == 0; i++)
        err = redis_script(t, i, texts[i], c);
    return err;
}

static void call(const struct target *t, struct buf *out, int script, size_t args)
{
    resp_array(out, 4 + args);
    resp_bulk(out, STR("EVALSHA"));
    resp_bulk(out, str_of(t->scripts[script]));
    resp_bulk(out, STR("0"));
    resp_bulk(out, str_of(t->queue));
}

static void put(const struct target *t, struct buf *out, uint64_t n, bool due)
{
    call(t, out, PUT, 10);
    driver_word(out, "", n);
    driver_word(out, "", (uint64_t)t->base_ms);
    driver_word(out, "t", n % FULL_TENANTS);
    driver_word(out, "", 1 + n / FULL_TENANTS % 5);
    driver_word(out, "key-", n);
    driver_word(out, "lane-", n / FULL_TENANTS % FULL_LANES);
    resp_bulk(out, STR("bench"));
    resp_bulk(out, STR("belfry-bench"));
    driver_payload(t, out, n);
    driver_word(out, "", due ? 0 : (uint64_t)driver_due_ms(t, n));
}

static unsigned take(const struct target *t, struct buf *out, unsigned count)
{
    call(t, out, TAKE, 3);
    driver_word(out, "", (uint64_t)time_wall_ms());
    driver_word(out, "", count);
    driver_word(out, "", FULL_TENANTS);
    return 1;
}

/* One call for all: they come as id, payload, id, payload. */
static unsigned finish(const struct target *t, struct str reply, struct buf *out, unsigned *replies,
                       struct driver_watch *w)
{
    int64_t jobs = scan_head(&reply) / 2;

    (void)w;
    if (jobs <= 0)
        return 0;
    call(t, out, FINISH, 1 + (size_t)jobs);
    driver_word(out, "", (uint64_t)time_wall_ms());
    for (int64_t i = 0; i < jobs; i++) {
        resp_bulk(out, scan_bulk(&reply));
        scan_skip(&reply);
    }
    *replies += 1;
    return (unsigned)jobs;
}

static int wipe(struct target *t, struct client *c)
{
    struct str words[] = { STR("EVAL"), STR(wipe_script), STR("0"), str_of(t->queue) };
    const struct resp_values *v;

    return driver_ask(c, words, 4, &v);
}

const struct driver driver_redis_full = {
    .name = "redis-full",
    .port = "6379",
    .prepare = prepare,
    .scan = scan_reply,
    .put = put,
    .take = take,
    .finish = finish,
    .wipe = wipe,
};
