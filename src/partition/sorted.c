/* SPDX-License-Identifier: MIT */
/* The part of a sorted page that blocks: entries are read as far as the page may reach. See
 * engine/sorted.h. */
#include "engine/sorted.h"

#include <stdlib.h>

#include "partition/internal.h"
#include "record/image.h"
#include "record/name.h"
#include "record/record.h"

/* So many entries of a class or lane in a row do not matter; then the page passes over the rest. */
#define PASSED 16

/* Class and lane are groups, whose entries are in order of time. So is family D as a whole. */
static struct str group_of(struct str key)
{
    return (struct str){ key.ptr, key.len - 16 };
}

/* The next entry that is read is behind this point of the group. */
static void pass_to(struct sorted *s, struct str group, const struct cold_point *p)
{
    struct cold_key k;

    memmove(s->at.bytes, group.ptr, group.len);
    s->at.len = group.len + 16;
    memset(s->at.bytes + group.len, 0xff, 16);
    if (p) {
        cold_key_due(&k, *p);
        memcpy(s->at.bytes + group.len, k.bytes + 1, 16);
    }
}

/* Begins with a family; of one queue alone if the filter has one. */
static void family_begin(struct sorted *s, char family)
{
    struct str queue = s->filter.queue;

    s->at.bytes[0] = family;
    s->at.len = 1;
    if (queue.len == 0)
        return;
    memcpy(s->at.bytes + 1, queue.ptr, queue.len);
    s->at.bytes[1 + queue.len] = 0;
    s->at.len = queue.len + 2;
}

static void next_family(struct sorted *s)
{
    if (s->waits || s->at.bytes[0] == FAMILY_ASIDE)
        s->disk_done = true;
    else
        family_begin(s, s->at.bytes[0] == FAMILY_DUE ? FAMILY_BACKLOG : FAMILY_ASIDE);
}

/* Whether a queue may have jobs of the page. */
static bool queue_fits(const struct list_filter *f, struct str full)
{
    struct str tenant, queue;

    if (f->queue.len > 0)
        return str_eq(f->queue, full);
    scope_split(full, &tenant, &queue);
    return f->tenant.len == 0 || str_eq(f->tenant, STR(TENANT_ALL)) || str_eq(f->tenant, tenant);
}

static int found_add(struct sorted *s, const struct run_entry *e, uint32_t number)
{
    struct job_image image;
    struct buf body = { 0 };

    if (!record_get_job(e->value, &image))
        return 0;
    size_t payload_len = sorted_trim(&image, s->preview);
    record_put_image(&body, &image);
    sorted_found_put(&s->found,
                     &(struct sorted_found){ e->key, buf_view(&body), payload_len, number });
    s->found.failed = s->found.failed || body.failed;
    s->found_count++;
    buf_fini(&body);
    return s->found.failed ? BELFRY_NOMEM : 0;
}

/* A stretch of entries that are read one after the other. */
struct stretch {
    struct sorted *s;
    struct run_merge m;
    uint32_t *numbers;  /* of its runs */
    struct cold_key in; /* the beginning that all keys have */
    struct cold_key group;
    size_t passed; /* entries of the group in a row that did not matter */
    bool ends;     /* the next one begins elsewhere */
};

/* What an entry is to the page. */
enum entry_fits { FITS, BEFORE, BEHIND, FOREIGN, OTHER };

static enum entry_fits entry_fits(const struct sorted *s, const struct run_entry *e,
                                  struct cold_point p)
{
    unsigned state;
    int64_t at_ms;
    struct str queue;

    if (!s->waits && !point_after(p, s->after))
        return BEFORE;
    if (!s->waits && s->ends && point_after(p, s->upto))
        return BEHIND;
    if (e->grave || !record_peek_job(e->value, &state, &at_ms, &queue) ||
        (at_ms == AT_NEVER) != s->waits)
        return OTHER;
    return queue_fits(&s->filter, queue) ? FITS : FOREIGN;
}

/* Entries that do not matter are passed over at once if there are many. */
static void group_pass(struct stretch *t, struct str key, enum entry_fits fits)
{
    struct str group = group_of(key);
    struct sorted *s = t->s;

    if (key.ptr[0] == FAMILY_DUE) {
        if (fits == BEHIND) {
            next_family(s);
            t->ends = true;
        }
        return;
    }
    if (!str_eq(group, cold_key_str(&t->group))) {
        t->group.len = group.len;
        memcpy(t->group.bytes, group.ptr, group.len);
        t->passed = 0;
    }
    t->passed = fits == FITS || fits == OTHER ? 0 : t->passed + 1;
    if (t->passed < PASSED)
        return;
    pass_to(s, group, fits == BEFORE ? &s->after : NULL);
    t->ends = true;
}

/* A page ends behind so many entries of family D, however few of them match. */
static void due_count(struct stretch *t, struct cold_point p, size_t most)
{
    struct sorted *s = t->s;

    if (s->waits || s->at.bytes[0] != FAMILY_DUE || ++s->due < most)
        return;
    s->ends = s->cut = true;
    s->upto = p;
    next_family(s);
    t->ends = true;
}

static int read_entry(struct stretch *t, const struct partition *part)
{
    const struct run_entry *e = &t->m.now->entry;
    struct str key = e->key;
    struct sorted *s = t->s;
    struct cold_point p;
    int err = 0;

    if (key.len > COLD_KEY_MAX || key.len < t->in.len ||
        memcmp(key.ptr, t->in.bytes, t->in.len) != 0) {
        next_family(s);
        t->ends = true;
        return 0;
    }
    s->at.len = key.len;
    memcpy(s->at.bytes, key.ptr, key.len);
    if (!cold_key_point(key, &p))
        return run_merge_next(&t->m);
    enum entry_fits fits = entry_fits(s, e, p);
    if (fits == BEHIND)
        s->cut = true;
    if (fits == FITS)
        err = found_add(s, e, t->numbers[t->m.now - t->m.cursors]);
    group_pass(t, key, fits);
    if (!t->ends)
        due_count(t, p, partition_slice(part, SORT_DUE));
    return err || t->ends ? err : run_merge_next(&t->m);
}

static bool is_full(const struct sorted *s, const struct partition *p, size_t looked)
{
    return looked >= partition_slice(p, SORT_LOOKS) || s->found_count >= SORT_FOUND ||
           s->found.len >= SORT_READ;
}

static int read_stretch(struct fetch *f, struct stretch *t, size_t *looked)
{
    int err = 0;

    while (t->m.now && !err && !t->ends && !is_full(t->s, f->p, *looked)) {
        ++*looked;
        err = read_entry(t, f->p);
    }
    if (!err && !t->ends && !t->m.now)
        next_family(t->s);
    return err;
}

/* All keys of the stretch begin with the family; or with the queue, if there is one, but not in D.
 */
static void stretch_begin(struct stretch *t, struct sorted *s)
{
    struct cold_key at = s->at;

    family_begin(s, at.bytes[0]);
    if (at.bytes[0] == FAMILY_DUE)
        s->at.len = 1;
    *t = (struct stretch){ .s = s, .in = s->at };
    s->at = at;
}

/* Reads behind s->at, until the round is full or the next entry is elsewhere. */
static int read_on(struct fetch *f, size_t *looked)
{
    struct sorted *s = f->answer.sorted;
    struct run **runs = calloc(f->pinned.n + 1, sizeof(struct run *));
    struct cold_key at = s->at;
    struct stretch t;
    size_t n = 0;

    stretch_begin(&t, s);
    t.numbers = calloc(f->pinned.n + 1, sizeof(*t.numbers));
    int err = runs && t.numbers ? 0 : BELFRY_NOMEM;
    for (size_t i = 0; i < f->pinned.n && !err; i++) {
        struct cold_run *r = f->pinned.runs[i];

        if (r->d.family != at.bytes[0] || str_compare(r->d.last, cold_key_str(&at)) <= 0)
            continue;
        t.numbers[n] = r->d.number;
        err = cold_open(f->p, r, &runs[n++]);
    }
    if (!err)
        err = run_merge_init(&t.m, runs, n, cold_key_str(&at), true);
    if (!err)
        err = read_stretch(f, &t, looked);
    run_merge_fini(&t.m);
    free(runs);
    free(t.numbers);
    return err;
}

int sorted_run(struct fetch *f)
{
    struct sorted *s = f->answer.sorted;
    size_t looked = 0, stretches = 0;
    int err = 0;

    while (!err && !s->disk_done && !is_full(s, f->p, looked) &&
           stretches++ < partition_slice(f->p, SORT_FOUND))
        err = read_on(f, &looked);
    return err;
}
