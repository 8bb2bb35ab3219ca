/* SPDX-License-Identifier: MIT */
/* Applying records about jobs on disk, by the rules of apply.c. */
#include <stdlib.h>

#include "base/array.h"
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/name.h"
#include "record/record_cold.h"

/* Counts n jobs that went to disk. A running engine frees their memory later, and uncounts them
 * now. Replay uncounts each job when it leaves memory. */
static void count_moved(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n,
                        int64_t bytes)
{
    tally_add(e, q, slot, n, bytes);
    if (e->started) {
        queue_count(e, q, cold_state(slot), -n);
        kept_add(e, q, -bytes);
    }
    queue_settle(e, q);
}

static int add_runs(struct engine *e, struct str runs)
{
    struct wire_reader r = wire_reader_of(runs);

    while (r.p < r.end) {
        struct run_desc d;

        if (!run_desc_get(&r, &d))
            return BELFRY_CORRUPT;
        if (manifest_add(e, &d) < 0)
            return BELFRY_NOMEM;
    }
    return 0;
}

static void forget_runs(struct engine *e, struct str runs)
{
    struct wire_reader r = wire_reader_of(runs);
    struct run_desc d;

    while (r.p < r.end && run_desc_get(&r, &d)) {
        struct cold_run *run = manifest_find(e, d.file);

        if (run)
            engine_run_forget(e, run);
    }
}

/* Makes the class whose jobs the slot counts, if the slot belongs to a class. */
static bool slot_obtain(struct engine *e, struct queue *q, enum cold_slot slot)
{
    unsigned index = class_at_slot(slot);

    return index == CLASSES || class_obtain(e, q, index);
}

/* Does everything about tallies that can fail. After that, their queues, classes and asides exist.
 */
static int check_tallies(struct engine *e, struct str tallies)
{
    struct wire_reader r = wire_reader_of(tallies);

    while (r.p < r.end) {
        struct tally_entry t;

        if (!tally_get(&r, &t))
            return BELFRY_CORRUPT;
        struct queue *q = queue_obtain(e, t.queue);
        if (!q || !slot_obtain(e, q, t.slot) ||
            (t.slot == COLD_ASIDE && !aside_obtain(e, q, t.lane)))
            return BELFRY_NOMEM;
    }
    return 0;
}

static void apply_tallies(struct engine *e, struct str tallies, bool moved)
{
    struct wire_reader r = wire_reader_of(tallies);

    while (r.p < r.end) {
        struct tally_entry t = { 0 };

        tally_get(&r, &t);
        struct queue *q = queue_obtain(e, t.queue);
        unsigned index = class_at_slot(t.slot);
        /* The queue may have been forgotten and made again since the check. */
        struct class *c = index < CLASSES ? class_obtain(e, q, index) : NULL;
        if (c) {
            c->from_before = c->from;
            c->fed_count = t.n;
        }
        if (t.slot == COLD_ASIDE)
            aside_fed(e, q, t.lane, t.first);
        else if (c && (!class_is_on_disk(c) || point_after(c->from, t.first)))
            class_from(e, c, t.first);
        if (moved)
            count_moved(e, q, t.slot, t.n, t.bytes);
        else
            tally_add(e, q, t.slot, t.n, t.bytes);
    }
}

/* The numbers of the jobs that changed while they were written, sorted. */
struct stale {
    uint64_t *seqs;
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct stale_item {
    uint64_t seq;
    struct str key;
    struct str queue;
    unsigned slot;
    int64_t gone_ms;
    int64_t bytes;
};

static bool stale_next(struct wire_reader *r, struct stale_item *ret)
{
    if (r->p >= r->end)
        return false;
    ret->seq = wire_varint(r);
    ret->key = wire_bytes(r);
    ret->queue = wire_bytes(r);
    unsigned sized = wire_u8(r);
    ret->slot = sized & ~SLOT_SIZED;
    ret->gone_ms = wire_zigzag(r);
    ret->bytes = sized & SLOT_SIZED ? (int64_t)wire_varint(r) : COLD_GUESS;
    return true;
}

/* Stale jobs stay in memory, and get graves where they were written to. This step can fail. */
static int dig_graves(struct engine *e, const struct fed_record *fed, struct stale *ret)
{
    struct wire_reader r = wire_reader_of(fed->stale);
    struct stale_item item;
    size_t cap = 0;

    while (stale_next(&r, &item)) {
        if (r.bad || item.key.len == 0 || item.key.len > COLD_KEY_MAX ||
            !stored_name_valid(item.queue) || item.slot >= COLD_SLOTS)
            return BELFRY_CORRUPT;
        uint64_t *grown = array_room(ret->seqs, ret->n, &cap, sizeof(uint64_t));
        if (!grown)
            return BELFRY_NOMEM;
        ret->seqs = grown;
        if (!queue_obtain(e, item.queue) ||
            (!MUTANT(e->o.mutant, DUPLICATE_FEED) &&
             grave_add(e, item.key, fed->serial + ret->n, item.gone_ms) < 0))
            return BELFRY_NOMEM;
        ret->seqs[ret->n++] = item.seq;
    }
    if (ret->n > 0)
        qsort(ret->seqs, ret->n, sizeof(uint64_t), by_number);
    return 0;
}

/* One job of a class did not go to disk. If no job of the class went, the batch says nothing about
 * where the class begins on disk. Jobs behind the point of the batch may be hot by now. */
static void class_uncount(struct engine *e, struct class *c)
{
    if (--c->fed_count == 0 && class_is_on_disk(c))
        class_from(e, c, c->from_before);
}

static void uncount_stale(struct engine *e, struct str bytes)
{
    struct wire_reader r = wire_reader_of(bytes);
    struct stale_item item;

    while (stale_next(&r, &item)) {
        struct queue *q = queue_obtain(e, item.queue);
        unsigned index = class_at_slot((enum cold_slot)item.slot);

        count_moved(e, q, (enum cold_slot)item.slot, -1, -item.bytes);
        if (index < CLASSES && q->classes[index])
            class_uncount(e, q->classes[index]);
    }
}

#define EVICTED_TOGETHER 64

/* In replay: removes the jobs of a FED record from memory, except stale ones. The jobs are
 * scattered over memory, so 64 at a time are fetched to the processor's cache together. */
static int fed_evict(struct engine *e, struct str seqs, const struct stale *stale)
{
    struct wire_reader r = wire_reader_of(seqs);
    uint64_t few[EVICTED_TOGETHER], seq = 0;

    while (r.p < r.end) {
        size_t n = 0;

        while (n < EVICTED_TOGETHER && r.p < r.end)
            few[n++] = seq += (uint64_t)wire_zigzag(&r);
        if (r.bad)
            return BELFRY_CORRUPT;
        jobs_near(e, few, n);
        for (size_t i = 0; i < n; i++) {
            struct job *j = job_find(e, few[i]);

            if (j && !(stale->n > 0 &&
                       bsearch(&few[i], stale->seqs, stale->n, sizeof(uint64_t), by_number)))
                job_leave(e, j);
        }
    }
    return 0;
}

static void drop_graves(struct engine *e, uint64_t upto)
{
    list_each_of_safe (struct grave, g, &e->cold.grave_list, link)
        if (g->serial <= upto)
            grave_remove(e, g);
}

int apply_fed(struct engine *e, const struct fed_record *r)
{
    struct stale stale = { 0 };
    int err = check_tallies(e, r->tallies);

    if (!err)
        err = dig_graves(e, r, &stale);
    if (!err)
        err = add_runs(e, r->runs);
    if (err) {
        forget_runs(e, r->runs);
        free(stale.seqs);
        return err;
    }
    drop_graves(e, r->graves);
    if (r->graves >= e->cold.next_grave)
        e->cold.next_grave = r->graves + 1;
    frontier_set(e, (struct cold_point){ r->frontier_at, r->frontier_seq });
    e->cold.frontier_segment = e->segment;
    apply_tallies(e, r->tallies, true);
    uncount_stale(e, r->stale);
    if (!e->started)
        err = fed_evict(e, r->seqs, &stale);
    free(stale.seqs);
    asides_feed_end(e);
    e->place.batch.fed = e->place.batch.active;
    e->cold.moves++;
    return err;
}

int apply_merged(struct engine *e, const struct merged_record *r)
{
    struct wire_reader drops = wire_reader_of(r->drops);
    int err = check_tallies(e, r->tallies);

    if (!err)
        err = add_runs(e, r->runs);
    if (!err)
        apply_tallies(e, r->tallies, false);
    while (!err && drops.p < drops.end) {
        uint64_t file = wire_varint(&drops);

        if (drops.bad)
            return BELFRY_CORRUPT;
        manifest_drop(e, (uint32_t)file);
    }
    return err;
}

/* The slot in which a job was counted on disk. */
static enum cold_slot slot_of(const struct job *j, const struct job_image *image, char family)
{
    return cold_slot_at(cold_slot_of(family, image->state, class_number_of(j)), image->at_ms);
}

/* A job comes to memory from a run. */
static int loaded_enter(struct engine *e, const struct job_image *image, char family, bool hot)
{
    struct queue *q = queue_obtain(e, image->queue);
    struct job *j = q ? job_new(e, image, q) : NULL;

    if (!j)
        return BELFRY_NOMEM;
    if (!MUTANT(e->o.mutant, TAKEN_FED))
        j->left = 1; /* its grave is younger than a batch that is being gathered */
    walk_loads(e, j, family);
    j->near = family_is_backlog(family) && hot;
    if (j->ordered && family == FAMILY_ASIDE)
        spot_of(j)->back = 1;
    int err = job_enter(e, j, hot);
    if (err < 0) {
        job_free(e, j);
        return err;
    }
    tally_add(e, q, slot_of(j, image, family), -1, -(int64_t)image_bytes(image));
    return 0;
}

/* A job comes to memory from the place of a key, where it leaves a grave. */
static int enter_buried(struct engine *e, const struct job_image *image, struct str key,
                        uint64_t serial, int64_t gone_ms, bool hot)
{
    if (grave_add(e, key, serial, gone_ms) < 0)
        return BELFRY_NOMEM;
    if (loaded_enter(e, image, key.ptr[0], hot) < 0) {
        grave_remove(e, grave_find(e, key));
        return BELFRY_NOMEM;
    }
    return 0;
}

/* Takes back the first n jobs of a record. */
static void leave_again(struct engine *e, const struct loaded_record *r, uint64_t n, char family)
{
    struct wire_reader images = wire_reader_of(r->images);
    struct job_image image;

    for (; n > 0 && record_get_job(wire_bytes(&images), &image); n--) {
        struct job *j = job_find(e, image.seq);
        struct cold_key key;

        if (j) {
            tally_add(e, j->queue, slot_of(j, &image, family), 1, (int64_t)image_bytes(&image));
            job_leave(e, j);
        }
        if (family == FAMILY_ASIDE) {
            cold_key_lane(&key, r->queue, r->lane, (struct cold_point){ image.at_ms, image.seq });
            grave_remove(e, grave_find(e, cold_key_str(&key)));
        }
    }
}

/* All jobs of a record come to memory, or none. Those that were aside leave graves. */
static int enter_all(struct engine *e, const struct loaded_record *r, char family)
{
    struct wire_reader images = wire_reader_of(r->images);
    struct job_image image;
    struct cold_key key;

    for (uint64_t n = 0; images.p < images.end; n++) {
        int err;

        if (!record_get_job(wire_bytes(&images), &image) || images.bad)
            return BELFRY_CORRUPT;
        cold_key_lane(&key, r->queue, r->lane, (struct cold_point){ image.at_ms, image.seq });
        err = family == FAMILY_ASIDE
                  ? enter_buried(e, &image, cold_key_str(&key), r->serial + n, 0, true)
                  : loaded_enter(e, &image, family, family == FAMILY_BACKLOG);
        if (err < 0) {
            leave_again(e, r, n, family);
            return BELFRY_NOMEM;
        }
    }
    return 0;
}

static int apply_aside_loaded(struct engine *e, const struct loaded_record *r)
{
    struct queue *q = queue_obtain(e, r->queue);
    struct aside *a = q ? aside_obtain(e, q, r->lane) : NULL;

    if (!a)
        return BELFRY_NOMEM;
    struct cold_point from = a->from;
    a->pinned = true;
    a->from = (struct cold_point){ r->upto_at, r->upto_seq };
    int err = enter_all(e, r, FAMILY_ASIDE);
    if (err == BELFRY_NOMEM)
        a->from = from;
    tally_touch(e, q);
    a->pinned = false;
    aside_settle(e, a);
    return err;
}

static int apply_class_loaded(struct engine *e, const struct loaded_record *r)
{
    struct cold_point upto = { r->upto_at, r->upto_seq }, from;
    struct queue *q = queue_obtain(e, r->queue);
    unsigned index = class_numbered(r->class);
    struct class *c = q && index < CLASSES ? class_obtain(e, q, index) : NULL;

    if (!c)
        return index == CLASSES ? BELFRY_CORRUPT : BELFRY_NOMEM;
    from = c->from;
    if (point_after(upto, from)) /* first, as jobs that come ask whether they are behind it */
        class_from(e, c, upto);
    int err = enter_all(e, r, FAMILY_BACKLOG);
    if (!err && floor_raise(c, r->number, upto) < 0) {
        leave_again(e, r, r->count, FAMILY_BACKLOG);
        err = BELFRY_NOMEM;
    }
    if (err == BELFRY_NOMEM)
        class_from(e, c, from);
    if (!err)
        tally_touch(e, q);
    return err;
}

int apply_loaded(struct engine *e, const struct loaded_record *r)
{
    if (r->queue.len > 0)
        return r->class == CLASS_ASIDE ? apply_aside_loaded(e, r) : apply_class_loaded(e, r);
    int err = enter_all(e, r, FAMILY_DUE);
    if (err)
        return err;
    frontier_set(e, (struct cold_point){ r->upto_at, r->upto_seq });
    e->cold.frontier_segment = e->segment;
    return 0;
}

int apply_taken(struct engine *e, const struct taken_record *r)
{
    struct job_image image;

    if (!record_get_job(r->image, &image) || r->key.len > COLD_KEY_MAX)
        return BELFRY_CORRUPT;
    return enter_buried(e, &image, r->key, r->serial, image_gone_ms(&image), false);
}

int apply_run(struct engine *e, const struct str *r)
{
    return add_runs(e, *r);
}

int apply_grave(struct engine *e, const struct grave_record *r)
{
    return r->key.len <= COLD_KEY_MAX ? grave_add(e, r->key, r->serial, r->gone_ms)
                                      : BELFRY_CORRUPT;
}

int apply_tally(struct engine *e, const struct tally_record *r)
{
    struct queue *q = queue_obtain(e, r->queue);
    struct wire_reader counts = wire_reader_of(r->counts);
    struct wire_reader floors = wire_reader_of(r->floors);
    int64_t all = 0;

    if (!q)
        return BELFRY_NOMEM;
    for (int i = 0; i < COLD_SLOTS; i++) { /* an older version has fewer */
        int64_t count = counts.p < counts.end ? wire_zigzag(&counts) : 0;

        if (count < 0)
            return BELFRY_CORRUPT;
        if (count > 0 && !slot_obtain(e, q, (enum cold_slot)i))
            return BELFRY_NOMEM;
        tally_add(e, q, (enum cold_slot)i, count - q->cold[i], 0);
        all += count;
    }
    kept_add_cold(e, q, (r->bytes >= 0 ? r->bytes : all * COLD_GUESS) - q->cold_bytes);
    for (int i = 0; i < CLASSES; i++)
        if (q->classes[i])
            q->classes[i]->floor_count = 0;
    asides_forget(e, q);
    while (floors.p < floors.end) {
        unsigned kind = wire_u8(&floors);
        unsigned index = class_numbered(kind & ~TALLY_FROM);
        struct class *c = index < CLASSES ? class_obtain(e, q, index) : NULL;
        uint64_t number = wire_varint(&floors);
        struct floor f = { (uint32_t)number, { wire_zigzag(&floors), 0 } };
        struct aside *a = kind == CLASS_ASIDE ? aside_obtain(e, q, number) : NULL;

        f.upto.seq = wire_varint(&floors);
        if (floors.bad || (index == CLASSES && kind != CLASS_ASIDE))
            return BELFRY_CORRUPT;
        if (kind == CLASS_ASIDE ? !a : !c)
            return BELFRY_NOMEM;
        if (a)
            a->from = f.upto;
        else if (kind & TALLY_FROM)
            class_from(e, c, f.upto);
        else if (floor_raise(c, f.number, f.upto) < 0)
            return BELFRY_NOMEM;
    }
    queue_noted(e, q, NOTE_TALLY, e->segment);
    q->tally_changed = false;
    queue_settle(e, q);
    return counts.bad ? BELFRY_CORRUPT : 0;
}

int apply_cold(struct engine *e, const struct cold_record *r)
{
    frontier_set(e, (struct cold_point){ r->frontier_at, r->frontier_seq });
    e->cold.frontier_segment = e->segment;
    if (r->next_file > e->cold.next_file)
        e->cold.next_file = (uint32_t)r->next_file;
    if (r->next_grave > e->cold.next_grave)
        e->cold.next_grave = r->next_grave;
    return 0;
}
