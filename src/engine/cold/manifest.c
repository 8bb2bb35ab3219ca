/* SPDX-License-Identifier: MIT */
/* The runs on disk, and which of their entries count. The frontier and the floors tell up to which
 * point jobs have been loaded. Graves stand for jobs that were taken out one by one. The counts are
 * those of all other entries. */
#include "engine/cold/cold.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/place/queue.h"
#include "record/record.h"

struct cold_run *manifest_find(const struct engine *e, uint32_t file)
{
    list_each_of (struct cold_run, r, &e->cold.runs, link)
        if (r->d.file == file)
            return r;
    return NULL;
}

/* Copies the keys, too. */
static struct cold_run *run_new(const struct run_desc *d)
{
    struct cold_run *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->keys = malloc(d->first.len + d->last.len);
    if (!r->keys) {
        free(r);
        return NULL;
    }
    r->d = *d;
    memcpy(r->keys, d->first.ptr, d->first.len);
    memcpy(r->keys + d->first.len, d->last.ptr, d->last.len);
    r->d.first.ptr = r->keys;
    r->d.last.ptr = r->keys + d->first.len;
    return r;
}

int manifest_add(struct engine *e, const struct run_desc *d)
{
    struct cold_run *r = manifest_find(e, d->file);

    if (r) {
        r->d.broken = d->broken;
        r->segment = e->segment;
        return 0;
    }
    r = run_new(d);
    if (!r)
        return BELFRY_NOMEM;
    r->segment = e->segment;
    list_append(&e->cold.runs, &r->link);
    e->cold.run_changes++;
    if (d->file >= e->cold.next_file)
        e->cold.next_file = d->file + 1;
    return 0;
}

void manifest_drop(struct engine *e, uint32_t file)
{
    struct cold_run *r = manifest_find(e, file);

    if (!r)
        return;
    r->gone = true;
    e->cold.run_changes++;
    /* A lookup under way may have found jobs in this run. They may be uncounted by now, or stand
     * in another run. The new number makes the request look again. */
    if (family_is_history(r->d.family))
        e->cold.moves++;
    list_move(&e->cold.gone, &r->link);
}

void engine_run_forget(struct engine *e, struct cold_run *r)
{
    (void)e;
    list_remove(&r->link);
    free(r->keys);
    free(r);
}

struct list *engine_runs(struct engine *e)
{
    return &e->cold.runs;
}

struct list *engine_gone_runs(struct engine *e)
{
    return &e->cold.gone;
}

uint32_t engine_reserve_files(struct engine *e, uint32_t n)
{
    uint32_t first = e->cold.next_file;

    e->cold.next_file += n;
    return first;
}

struct cold_point engine_frontier(const struct engine *e)
{
    return e->place.frontier;
}

uint64_t engine_run_changes(const struct engine *e)
{
    return e->cold.run_changes;
}

uint64_t engine_moves(const struct engine *e)
{
    return e->cold.moves;
}

/* ---- Floors ---- */

static struct cold_point floor_of(const struct class *c, uint32_t number)
{
    for (size_t i = 0; i < c->floor_count; i++)
        if (c->floors[i].number >= number)
            return c->floors[i].upto;
    return (struct cold_point){ -1, 0 };
}

int floor_raise(struct class *c, uint32_t number, struct cold_point upto)
{
    struct floor *grown = realloc(c->floors, (c->floor_count + 1) * sizeof(*grown));

    if (!grown)
        return BELFRY_NOMEM;
    c->floors = grown;
    while (c->floor_count > 0 && !point_after(grown[c->floor_count - 1].upto, upto))
        c->floor_count--;
    if (c->floor_count == 0 || grown[c->floor_count - 1].number < number)
        grown[c->floor_count++] = (struct floor){ number, upto };
    return 0;
}

struct cold_point engine_floor(const struct engine *e, struct str queue, unsigned class,
                               uint32_t number)
{
    struct queue *q = queue_find(e, queue);
    unsigned index = class_numbered(class);
    const struct class *c = q && index < CLASSES ? q->classes[index] : NULL;

    return c ? floor_of(c, number) : (struct cold_point){ -1, 0 };
}

/* ---- Counts ---- */

bool engine_due_is_empty(const struct engine *e)
{
    return e->cold.counts[COLD_DUE] == 0 && e->cold.counts[COLD_WAITING] == 0;
}

void tally_touch(struct engine *e, struct queue *q)
{
    q->tally_changed = true;
    if (!q->segments[NOTE_TALLY])
        queue_noted(e, q, NOTE_TALLY, e->segment);
}

void tally_add(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n, int64_t bytes)
{
    unsigned index = class_at_slot(slot);

    q->cold[slot] += n;
    kept_add_cold(e, q, bytes);
    e->cold.counts[slot] += n; /* also of hidden queues: runs are kept for them */
    if (q->hidden)
        e->cold.hidden_counts[slot] += n;
    else
        q->tenant->sums.jobs[cold_state(slot)] += n;
    if (!q->hidden && state_is_ahead(cold_state(slot)))
        q->tenant->pending += n;
    if (n < 0 && engine_due_is_empty(e))
        e->cold.run_changes++; /* all of D can go at once, before a job is added to it */
    tally_touch(e, q);
    if (index < CLASSES && q->cold[slot] > 0)
        class_close(e, q->classes[index]);
    queue_settle(e, q);
}

bool engine_classes_on_disk(const struct engine *e, struct str *after, size_t queues,
                            void (*fn)(void *arg, const struct class_floors *f), void *arg)
{
    const struct queue *q;

    for (; queues > 0 && (q = queue_behind(e, *after)); queues--) {
        *after = queue_name(q);
        for (unsigned i = 0; i < CLASSES; i++) {
            const struct class *c = q->classes[i];

            if (c && (class_is_on_disk(c) || c->floor_count > 0))
                fn(arg, &(struct class_floors){ *after, c->number, c->floors, c->floor_count });
        }
    }
    return queues == 0;
}

int engine_graves(const struct engine *e, int (*fn)(void *arg, struct str key), void *arg)
{
    int answer = 0;

    list_each_of (const struct grave, g, &e->cold.grave_list, link)
        if (!answer)
            answer = fn(arg, (struct str){ g->key, g->len });
    return answer;
}

bool engine_backlog_is_empty(const struct engine *e)
{
    for (int slot = 0; slot < COLD_SLOTS; slot++)
        if (slot_is_backlog((enum cold_slot)slot) && slot != COLD_ASIDE &&
            e->cold.counts[slot] != 0)
            return false;
    return true;
}

bool engine_aside_is_empty(const struct engine *e)
{
    return e->cold.counts[COLD_ASIDE] == 0;
}

/* ---- Graves ---- */

static bool grave_matches(const struct table_node *node, const void *arg)
{
    const struct grave *g = container_of(node, struct grave, node);

    return str_eq((struct str){ g->key, g->len }, *(const struct str *)arg);
}

struct grave *grave_find(const struct engine *e, struct str key)
{
    struct table_node *node =
        table_find(&e->cold.graves, hash_quick(e->o.secret, key), grave_matches, &key);

    return node ? container_of(node, struct grave, node) : NULL;
}

int64_t image_gone_ms(const struct job_image *image)
{
    return state_is_ended(image->state) && image->has_trail ? trail_image_gone_ms(&image->trail)
                                                            : 0;
}

int grave_add(struct engine *e, struct str key, uint64_t serial, int64_t gone_ms)
{
    struct grave *g = grave_find(e, key);

    if (g) { /* again: as young as the later one */
        list_remove(&g->link);
    } else {
        g = pool_alloc(&e->pool, sizeof(*g) + key.len);
        if (!g)
            return BELFRY_NOMEM;
        list_init(&g->link);
        g->hash = hash_quick(e->o.secret, key);
        g->len = (uint16_t)key.len;
        memcpy(g->key, key.ptr, key.len);
        table_add(&e->cold.graves, &g->node);
    }
    g->serial = serial;
    g->gone_ms = gone_ms;
    g->segment = e->segment;
    list_append(&e->cold.grave_list, &g->link);
    if (serial >= e->cold.next_grave)
        e->cold.next_grave = serial + 1;
    return 0;
}

void grave_remove(struct engine *e, struct grave *g)
{
    assert(e->cold.graves.count > 0);
    table_remove(&e->cold.graves, &g->node);
    list_remove(&g->link);
    pool_free(&e->pool, g, sizeof(*g) + g->len);
}

/* Whether an entry of the backlog is behind the floor of its class. */
static bool backlog_counts(const struct engine *e, struct str key, struct cold_point p,
                           uint32_t number)
{
    struct str name = { key.ptr + 1, key.len - 19 };
    struct queue *q = key.len > 19 ? queue_find(e, name) : NULL;
    unsigned index = class_numbered(cold_key_class(key));

    if (!q || index == CLASSES)
        return false;
    return !q->classes[index] || point_after(p, floor_of(q->classes[index], number));
}

bool cold_counts(const struct engine *e, struct str key, uint32_t number)
{
    struct cold_point p;

    if (!cold_key_point(key, &p) || grave_find(e, key))
        return false;
    if (key.ptr[0] == FAMILY_DUE)
        return point_after(p, e->place.frontier);
    if (key.ptr[0] != FAMILY_BACKLOG)
        return true;
    return backlog_counts(e, key, p, number);
}

void manifest_init(struct engine *e)
{
    lists_init(&e->cold.runs, &e->cold.gone, &e->place.closed, &e->cold.grave_list,
               &e->cold.censuses, &e->cold.sorts);
    table_init(&e->cold.graves, table_entry_hash);
    e->cold.next_file = 1;
    e->cold.next_grave = 1;
    e->place.frontier = e->cold.frontier_noted = (struct cold_point){ -1, 0 };
}

void manifest_free(struct engine *e)
{
    censuses_free(e);
    sorts_free(e);
    list_splice(&e->cold.gone, &e->cold.runs);
    while (!list_empty(&e->cold.gone))
        engine_run_forget(e, container_of(e->cold.gone.next, struct cold_run, link));
    table_fini(&e->cold.graves);
    free(e->place.segments.jobs);
}

#define CUT_LOOKS 64 /* tenants that are looked at in one call */

bool engine_cut(struct engine *e, struct cut *ret)
{
    for (int i = 0; i < CUT_LOOKS && !list_empty(&e->place.kept.greedy); i++) {
        struct tenant *t = container_of(e->place.kept.greedy.next, struct tenant, greedy);
        struct cold_run *r = kept_run(e, t);

        list_move(&e->place.kept.greedy, &t->greedy);
        if (!r || r->busy)
            continue;
        int64_t most = kept_most(e, t);
        *ret = (struct cut){ .run = r,
                             .tenant_len = tenant_name(t).len,
                             .bytes = t->kept_bytes - (most - most / 4) };
        memcpy(ret->tenant, tenant_name(t).ptr, ret->tenant_len);
        return true;
    }
    return false;
}

void engine_cut_made(struct engine *e, const struct cut *c, bool all)
{
    struct tenant *t = tenant_find(e, (struct str){ c->tenant, c->tenant_len });
    struct wire_reader r = wire_reader_of(buf_view(&c->run->cut_taken));

    while (r.p < r.end && !r.bad) {
        int64_t ended_ms = wire_zigzag(&r);
        struct str tally = wire_bytes(&r);

        if (ended_ms <= c->upto_ms)
            buf_str(&c->run->taken, tally);
    }
    if (all && t)
        t->cut_number = c->run->d.number;
}

/* Notes a job that was taken out of a run while a part of the run is cut. */
static void cut_taken(struct cold_run *r, const struct cold_item *item, struct str tally)
{
    struct cold_point ended;

    if (cold_key_point((struct str){ item->key, item->key_len }, &ended)) {
        wire_put_zigzag(&r->cut_taken, ended.at_ms);
        wire_put_bytes(&r->cut_taken, tally);
    }
    r->taken.failed = r->taken.failed || r->cut_taken.failed;
}

void run_taken(struct engine *e, const struct cold_item *item)
{
    struct job_image image;
    int64_t gone_ms = record_get_job(item->body, &image) ? image_gone_ms(&image) : 0;

    if (gone_ms == 0)
        return;
    struct buf tally = { 0 };
    tally_put(&tally, &(struct tally_entry){
                          .queue = image.queue,
                          .slot = cold_slot_of(item->key[0], image.state, 0),
                          .n = 1,
                          .bytes = (int64_t)image_bytes(&image),
                      });
    list_each_of (struct cold_run, r, &e->cold.runs, link) {
        if (r->d.family != item->key[0] || r->d.number != item->number)
            continue;
        if (gone_ms <= r->going_ms)
            buf_str(&r->taken, buf_view(&tally));
        else if (r->cuts.len > 0 && queue_is_of(queue_find(e, image.queue), r->cuts))
            cut_taken(r, item, buf_view(&tally));
        r->taken.failed = r->taken.failed || tally.failed;
    }
    buf_fini(&tally);
}

void engine_history_dropped(struct engine *e, struct str tallies)
{
    struct wire_reader r = wire_reader_of(tallies);
    struct tally_entry t;

    while (r.p < r.end && tally_get(&r, &t)) {
        struct queue *q = queue_find(e, t.queue);

        if (q && q->hidden == HIDDEN_AUDIT)
            e->tasks.audit_dropped += (uint64_t)t.n;
        else if (q)
            COUNT_N(e, q, history_dropped, (uint64_t)t.n);
        else
            e->counters.history_dropped += (uint64_t)t.n;
    }
}
