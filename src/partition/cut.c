/* SPDX-License-Identifier: MIT */
/* A cut removes the oldest history of one tenant from a run, as many bytes as have to give way.
 * Keys of history are in the order of queues, so a first pass adds up the bytes by age. */
#include "partition/internal.h"

#include "record/name.h"
#include "record/record.h"

/* Ages are in groups, eight for each power of two. So a bound is off by an eighth of the age at
 * most. */
#define GROUPS (64 * 8)

static unsigned group_of_age(uint64_t age)
{
    unsigned log = age < 8 ? 0 : 63u - (unsigned)__builtin_clzll(age);

    return age < 8 ? (unsigned)age : (log - 2) * 8 + (unsigned)(age >> (log - 3) & 7);
}

/* The least age of a group. */
static uint64_t age_of_group(unsigned group)
{
    return group < 8 ? group : (UINT64_C(8) + group % 8) << (group / 8 - 1);
}

static bool is_of_tenant(const struct cut *c, struct str key)
{
    struct str tenant, queue;

    if (key.len < 18)
        return false;
    scope_split((struct str){ key.ptr + 1, key.len - 18 }, &tenant, &queue);
    return str_eq(tenant, (struct str){ c->tenant, c->tenant_len });
}

bool cut_has(const struct cut *c, const struct run_entry *e)
{
    struct cold_point ended;

    return is_of_tenant(c, e->key) && cold_key_point(e->key, &ended) && ended.at_ms <= c->upto_ms;
}

static int add_up(const struct merge *m, struct run *run, int64_t *groups)
{
    struct run_merge in = { 0 };
    struct job_image image;
    struct cold_point ended;
    int err = run_merge_init(&in, &run, 1, (struct str){ 0 }, false);

    while (!err && in.now) {
        const struct run_entry *e = &in.now->entry;

        if (!e->grave && is_of_tenant(&m->cut, e->key) && cold_key_point(e->key, &ended) &&
            record_get_job(e->value, &image)) {
            int64_t age = m->now_ms - ended.at_ms;

            groups[group_of_age(age > 0 ? (uint64_t)age : 0)] += (int64_t)image_bytes(&image);
        }
        err = run_merge_next(&in);
    }
    run_merge_fini(&in);
    return err;
}

int cut_find(struct merge *m, struct run *run)
{
    int64_t groups[GROUPS] = { 0 }, bytes = 0;
    unsigned g = GROUPS;
    int err = add_up(m, run, groups);

    if (err)
        return err;
    while (g > 0 && bytes < m->cut.bytes)
        bytes += groups[--g];
    m->cut_none = bytes == 0;
    /* The youngest group may have jobs that ended later than now, if the clock was set back. No
     * bound by time includes them, so all are cut. */
    m->cut_all = bytes < m->cut.bytes || bytes == 0 || g == 0;
    m->cut.upto_ms = m->cut_all ? INT64_MAX : m->now_ms - (int64_t)age_of_group(g);
    return 0;
}
