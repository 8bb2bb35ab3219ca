/* SPDX-License-Identifier: MIT */
#include "partition/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"

#define SEGMENT_BYTES_DEFAULT (UINT64_C(32) << 20)
#define SLICE_BYTES_DEFAULT   (UINT64_C(1) << 20)
#define MEMORY_DEFAULT        (UINT64_C(256) << 20)
#define RESERVE_DEFAULT       2
#define HISTORY_DISK_DEFAULT  (UINT64_C(1) << 30)
#define PIECE_DEFAULT         (UINT64_C(1) << 20)
#define MERGE_RUNS_DEFAULT    8
#define COMMIT_BYTES_MIN      (UINT64_C(64) << 10)
#define COMMIT_BYTES_MAX      (UINT64_C(4) << 20)
#define GATHER_MAX            (UINT64_C(8) << 20)

void partition_log_name(const struct partition *p, uint32_t segment, char ret[NAME_BYTES])
{
    snprintf(ret, NAME_BYTES, "p%04x/journal/%010u", p->o.number, segment);
}

int partition_add_segment(struct partition *p, struct segment s)
{
    struct segment *grown =
        array_room(p->segments, p->segment_count, &p->segment_cap, sizeof(*grown));

    if (!grown)
        return BELFRY_NOMEM;
    p->segments = grown;
    p->segments[p->segment_count++] = s;
    return 0;
}

static struct segment *last_segment(struct partition *p)
{
    return p->segment_count ? &p->segments[p->segment_count - 1] : NULL;
}

/* A commit with memory for its head, so that writing the head cannot fail. NULL: out of memory. */
static struct commit *commit_new(struct partition *p)
{
    struct commit *c;

    if (!list_empty(&p->unused)) {
        c = container_of(p->unused.next, struct commit, link);
        list_remove(&c->link);
    } else {
        c = calloc(1, sizeof(*c));
        if (!c)
            return NULL;
        c->p = p;
        list_init(&c->link);
    }
    buf_reset(&c->buf, COMMIT_KEEP);
    if (!buf_reserve(&c->buf, 4096)) {
        free(c);
        return NULL;
    }
    return c;
}

static void commit_free(struct commit *c)
{
    if (c) {
        list_remove(&c->link);
        buf_fini(&c->buf);
        free(c);
    }
}

static void commits_free(struct list *head)
{
    while (!list_empty(head))
        commit_free(container_of(head->next, struct commit, link));
}

/* Begins a commit in the last segment, or in a new one if that is full or there is none. NOMEM. */
static int gather(struct partition *p)
{
    struct segment *last = last_segment(p);
    bool fresh = !last || last->bytes >= p->o.segment_bytes;
    uint64_t previous = last ? last->elements : 0;
    struct commit *c = commit_new(p);

    if (!c)
        return BELFRY_NOMEM;
    if (fresh && partition_add_segment(p, (struct segment){ last ? last->number + 1 : 1, 0, 0 })) {
        list_append(&p->unused, &c->link);
        return BELFRY_NOMEM;
    }
    c->segment = last_segment(p)->number;
    engine_direct(p->engine, &c->buf, c->segment, fresh, previous);
    p->gathering = c;
    p->gather_lsn = engine_lsn(p->engine);
    return 0;
}

/* Closes the gathering commit and begins another. If there is no memory for that it goes on. */
static void close_gathering(struct partition *p)
{
    struct commit *c = p->gathering;
    struct segment *s = last_segment(p);
    uint64_t bytes = c->buf.len + ELEMENT_FRAME;

    c->seq = s->elements++;
    s->bytes += bytes;
    if (gather(p) < 0) {
        s->elements--;
        s->bytes -= bytes;
        return;
    }
    c->last_lsn = p->gather_lsn;
    list_append(&p->closed, &c->link);
    p->closed_bytes += c->buf.len;
    c->durable = p->o.durable || p->sync_owed;
    if (c->durable)
        p->sync_lsn = c->last_lsn;
    p->owed = p->sync_owed = false;
    p->stats.commits++;
    p->stats.committed_bytes += bytes;
}

/* The engine calls this when a commit is as large as it should be. The records of one turn have no
 * bound, but an element of a log has. */
static void roll(void *arg)
{
    close_gathering(arg);
}

/* The layout of a store never changes. */
static int check_meta(struct store *store, uint16_t number)
{
    static const char made[] = "belfry 1\npartitions 1\n";
    char value[128] = { 0 };
    struct store_cell r;
    unsigned format = 0, partitions = 0;
    int err = store_get(store, STR("meta"), value, sizeof(value) - 1, &r);

    if (err == BELFRY_NOTFOUND) {
        memcpy(value, made, sizeof(made));
        err = store->ops->cas(
            store, &(struct store_cas){ .name = STR("meta"), .next = 1, .value = STR(made) });
    }
    if (err)
        return err;
    if (sscanf(value, "belfry %u\npartitions %u", &format, &partitions) != 2 || format != 1 ||
        number >= partitions)
        return store_fail(BELFRY_CORRUPT, "record meta: expected format 1, found '%s'", value);
    return 0;
}

/* Read from the system once, some tens of microseconds if its file is in memory. */
static int zone_named(void *partition, struct str name, const struct zone **ret,
                      const char **ret_why)
{
    struct partition *p = partition;

    return zonecache_get(&p->zones, ZONEDIR_DEFAULT, name, ret, ret_why);
}

static int open_engine(struct partition *p, int64_t wall_ms, int64_t mono_ms,
                       struct partition_report *ret)
{
    struct engine_options o = {
        .partition = p->o.number,
        .epoch = p->epoch,
        .seed = p->o.seed,
        .secret = p->o.secret,
        .history_bytes = p->o.history_bytes,
        .memory_bytes = p->o.memory_bytes,
        .max_running = p->o.max_running,
        .tenant_bytes = p->o.tenant_bytes,
        .slow_start_ms = p->o.slow_start_ms,
        .bulk_page = p->o.bulk_page,
        .slice_jobs = p->o.slice_jobs,
        .idle_queues = p->o.idle_queues,
        .min_every_ms = p->o.min_every_ms,
        .audit_ms = p->o.audit_ms,
        .audit_max = p->o.audit_max,
        .attempts_kept = p->o.attempts_kept,
        .lookahead_ms = p->o.lookahead_ms,
        .mutant = p->o.mutant,
        .event = p->o.event,
        .listen = p->o.listen,
        .host = p->o.host,
        .commit_bytes = p->commit_bytes,
        .roll = roll,
        .may_have = cold_may_have,
        .zone = zone_named,
        .journal = p,
    };

    p->engine = engine_new(&o);
    if (!p->engine)
        return BELFRY_NOMEM;
    int err = partition_replay(p, ret);
    if (!err)
        err = cold_remove_strays(p);
    if (!err)
        err = tenure_confirm(p);
    if (err)
        return err;
    /* Records can be written as soon as the clock starts: leases may end in that moment. */
    p->owed = p->segment_count == 0;
    err = gather(p);
    if (!err && engine_oldest(p->engine) == 0)
        err = engine_set_oldest(p->engine, p->segments[0].number);
    if (!err)
        err = engine_name_secretly(p->engine);
    ret->unkeyed = !hash_key_is_set(engine_naming(p->engine)->key);
    if (err)
        return err;
    engine_start(p->engine, wall_ms, mono_ms, !ret->clean);
    return 0;
}

/* From 1 MiB up a segment has this much room beyond its nominal size, so that its last commit fits
 * when the disk is full. A commit that does not fit in a smaller segment takes space of spares. */
static uint64_t default_commit_bytes(uint64_t segment_bytes)
{
    uint64_t bytes = segment_bytes / 16;

    return bytes < COMMIT_BYTES_MIN   ? COMMIT_BYTES_MIN
           : bytes > COMMIT_BYTES_MAX ? COMMIT_BYTES_MAX
                                      : bytes;
}

int partition_open(struct store *store, const struct partition_options *o, int64_t wall_ms,
                   int64_t mono_ms, struct partition **ret, struct partition_report *ret_report)
{
    struct partition *p = calloc(1, sizeof(*p));
    struct partition_report report = { 0 };

    if (!p)
        return BELFRY_NOMEM;
    p->store = store;
    p->o = *o;
    list_init(&p->closed);
    list_init(&p->unused);
    chores_init(p);
    p->o.memory_bytes = o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT;
    p->o.history_disk_bytes = o->history_disk_bytes ? o->history_disk_bytes : HISTORY_DISK_DEFAULT;
    p->o.merge_runs = o->merge_runs ? o->merge_runs : MERGE_RUNS_DEFAULT;
    p->o.piece_bytes = o->piece_bytes ? o->piece_bytes : PIECE_DEFAULT;
    p->o.segment_bytes = o->segment_bytes ? o->segment_bytes : SEGMENT_BYTES_DEFAULT;
    p->o.reserve = o->reserve ? o->reserve : RESERVE_DEFAULT;
    p->o.slice_bytes = o->slice_bytes ? o->slice_bytes : SLICE_BYTES_DEFAULT;
    p->commit_bytes = o->commit_bytes ? o->commit_bytes : default_commit_bytes(p->o.segment_bytes);
    owner_name(o->number, p->fence);
    int err = tenure_look(p);
    if (!err)
        err = check_meta(store, o->number);
    if (!err)
        err = tenure_begin(p);
    report.epoch = p->epoch;
    report.clean = p->note.clean;
    if (!err)
        err = open_engine(p, wall_ms, mono_ms, &report);
    if (err) {
        partition_close(p);
        return err;
    }
    *ret = p;
    *ret_report = report;
    return 0;
}

bool partition_idle(const struct partition *p)
{
    return p->gathering && !p->writing && list_empty(&p->closed) && !p->owed &&
           engine_lsn(p->engine) == p->gather_lsn;
}

void partition_close(struct partition *p)
{
    if (!p)
        return;
    bool safe = !p->gathering || p->o.durable || partition_sync(p) == 0;
    if (safe && partition_idle(p))
        tenure_end(p);
    chores_fini(p);
    engine_free(p->engine);
    zonecache_fini(&p->zones);
    commit_free(p->gathering);
    commit_free(p->writing);
    commits_free(&p->closed);
    commits_free(&p->unused);
    free(p->segments);
    free(p);
}

struct engine *partition_engine(struct partition *p)
{
    return p->engine;
}

struct commit *partition_take(struct partition *p)
{
    if (p->writing)
        return NULL;
    if (list_empty(&p->closed) && (engine_lsn(p->engine) != p->gather_lsn || p->owed))
        close_gathering(p);
    if (list_empty(&p->closed))
        return NULL;
    p->writing = container_of(p->closed.next, struct commit, link);
    list_remove(&p->writing->link);
    p->closed_bytes -= p->writing->buf.len;
    return p->writing;
}

static int matches(void *arg, uint64_t seq, struct str element)
{
    const struct commit *c = arg;

    return seq == c->seq && str_eq(element, buf_view(&c->buf)) ? 1 : BELFRY_CONFLICT;
}

/* Whether a commit that was in doubt is in the log: 1 or 0. */
static int read_back(struct commit *c, struct str log)
{
    struct store *s = c->p->store;
    int found = s->ops->read(s, log, c->seq, 0, matches, c, NULL);

    if (found == BELFRY_NOTFOUND)
        return 0;
    if (found == 1 && c->durable) {
        int err = s->ops->sync(s, log);

        return err ? err : 1;
    }
    return found;
}

static int sync_segment(struct partition *p, uint32_t number)
{
    char log[NAME_BYTES];

    partition_log_name(p, number, log);
    int err = p->store->ops->sync(p->store, str_of(log));
    return err == BELFRY_NOTFOUND ? 0 : err;
}

/* Without `durable`, power loss may take the end of the journal, but not its middle: each segment
 * is synced before the next begins. */
static int write_element(struct commit *c)
{
    struct partition *p = c->p;
    char log[NAME_BYTES];
    struct store_append a = {
        .fence = str_of(p->fence),
        .epoch = p->epoch,
        .seq = c->seq,
        .element = buf_view(&c->buf),
        .durable = c->durable,
        .reserved = true,
    };
    int err;

    if (!p->o.durable && c->seq == 0) {
        err = sync_segment(p, c->segment - 1);
        if (err)
            return err;
    }
    partition_log_name(p, c->segment, log);
    a.log = str_of(log);
    do {
        err = p->store->ops->append(p->store, &a);
        if (err == BELFRY_INDOUBT && MUTANT(p->o.mutant, TORN_ACCEPTED))
            return 0;
        if (err != BELFRY_INDOUBT)
            return err;
        err = read_back(c, a.log);
    } while (err == 0 || err == BELFRY_INDOUBT);
    return err == 1 ? 0 : err;
}

int commit_write(struct commit *c)
{
    int err = write_element(c);

    if (err)
        return err;
    c->p->sync_segment = c->segment;
    /* If this commit was not synced, the segment before was. */
    tenure_note(c->p, c->durable ? c->segment : c->segment - 1);
    return 0;
}

bool commit_is_plain(const struct commit *c)
{
    return c->seq > 0 && c->durable == c->p->o.durable;
}

void partition_settle(struct partition *p, struct commit *c)
{
    assert(p->writing == c);
    if (c->durable)
        p->safe_lsn = c->last_lsn;
    else if (c->seq == 0) /* The segments before were synced first. */
        p->safe_lsn = p->durable_lsn;
    p->durable_lsn = c->last_lsn;
    p->writing = NULL;
    if (list_empty(&p->unused))
        list_append(&p->unused, &c->link);
    else
        commit_free(c);
}

int partition_flush(struct partition *p)
{
    struct commit *c;

    while ((c = partition_take(p))) {
        int err = commit_write(c);

        if (err)
            return err;
        partition_settle(p, c);
    }
    return 0;
}

uint64_t partition_durable_lsn(const struct partition *p)
{
    return p->durable_lsn;
}

/* With `durable` every commit is synced anyway. Without it, the end of the journal would be synced
 * only when a segment is full, which may never be in a quiet server. */
bool partition_make_safe(struct partition *p, uint64_t lsn)
{
    if (p->safe_lsn >= lsn)
        return true;
    if (!p->o.durable && p->sync_lsn < lsn)
        p->owed = p->sync_owed = true;
    return false;
}

uint64_t partition_gathered_bytes(const struct partition *p)
{
    return p->closed_bytes + p->gathering->buf.len;
}

/* If the disk becomes full, the reserve must have room for all gathered records. */
uint64_t partition_gather_max(const struct partition *p)
{
    return p->o.segment_bytes < GATHER_MAX ? p->o.segment_bytes : GATHER_MAX;
}

bool partition_is_behind(const struct partition *p)
{
    return partition_gathered_bytes(p) >= partition_gather_max(p);
}

bool partition_owes_work(const struct partition *p)
{
    return p->own_first;
}

int partition_sync(struct partition *p)
{
    uint32_t segment = p->sync_segment;
    int err = sync_segment(p, segment);

    if (!err)
        tenure_note(p, segment);
    return err;
}

void partition_beside(struct partition *p, size_t bytes)
{
    p->bytes.beside = bytes;
}

void partition_stats(const struct partition *p, struct partition_stats *ret)
{
    *ret = p->stats;
    ret->epoch = p->epoch;
    ret->fetch_bytes = p->bytes.fetches + p->bytes.copies;
    ret->memory_bytes = chores_memory(p) + ret->fetch_bytes;
    ret->segments = (uint32_t)p->segment_count;
    ret->journal_bytes = 0;
    for (size_t i = 0; i < p->segment_count; i++)
        ret->journal_bytes += p->segments[i].bytes;
}
