/* SPDX-License-Identifier: MIT */
#include "fsck/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/time.h"
#include "store/datadir.h"
#include "store/salvage.h"

#define GAP_MAX  100000 /* segments missing in a row that are believed */
#define TRIES    5
#define PAUSE_US 200000

struct journal_name journal_prefix(const struct journal *j, const char *kind)
{
    struct journal_name n;

    snprintf(n.text, sizeof(n.text), "p%04x/%s/", j->partition, kind);
    return n;
}

struct journal_name journal_log(const struct journal *j, const char *kind, uint32_t number)
{
    struct journal_name n;

    snprintf(n.text, sizeof(n.text), "p%04x/%s/%010u", j->partition, kind, number);
    return n;
}

struct journal_path journal_path(const struct journal *j, const char *kind, uint32_t number)
{
    struct journal_path p;

    datadir_log_path(j->dir, str_of(journal_log(j, kind, number).text), p.text);
    return p;
}

int journal_store(const char *dir, struct store **ret, uint16_t *ret_partitions)
{
    struct store_options o = { .read_only = true };
    char value[128] = { 0 };
    struct store_cell r;
    struct store *store;
    unsigned format = 1, partitions = 1;
    int err = store_open(dir, &o, &store);

    if (err)
        return err == BELFRY_CORRUPT ? BELFRY_INVALID : err;
    err = store_get(store, STR("meta"), value, sizeof(value) - 1, &r);
    if (!err && (sscanf(value, "belfry %u\npartitions %u", &format, &partitions) != 2 ||
                 format != 1 || partitions == 0 || partitions > UINT16_MAX))
        err = store_fail(BELFRY_INVALID, "%s: record meta says '%s': not of this version", dir,
                         value);
    /* NOTFOUND: no start has come so far. CORRUPT: journal_load() tells of it. */
    if (err && err != BELFRY_NOTFOUND && err != BELFRY_CORRUPT) {
        store_close(store);
        return err;
    }
    *ret = store;
    *ret_partitions = (uint16_t)partitions;
    return 0;
}

int journal_find(struct journal *j, size_t index, const char *format, ...)
{
    struct journal_finding *f =
        array_room(j->findings, j->finding_count, &j->finding_cap, sizeof(*j->findings));
    va_list args;

    if (!f)
        return BELFRY_NOMEM;
    j->findings = f;
    f += j->finding_count++;
    *f = (struct journal_finding){ .segment = index };
    va_start(args, format);
    vsnprintf(f->what, sizeof(f->what), format, args);
    va_end(args);
    j->segments[index].faulty = true;
    return 0;
}

static int add_segment(struct journal *j, uint32_t number, bool missing)
{
    struct journal_segment *s =
        array_room(j->segments, j->segment_count, &j->segment_cap, sizeof(*j->segments));

    if (!s)
        return BELFRY_NOMEM;
    j->segments = s;
    s[j->segment_count++] =
        (struct journal_segment){ .number = number, .missing = missing, .limit = JOURNAL_UNKNOWN };
    return 0;
}

static int note_name(void *arg, struct str name)
{
    struct journal *j = arg;
    const char *slash = memrchr(name.ptr, '/', name.len);
    char text[16] = { 0 };
    uint32_t number, next;
    int err = 0;

    if (!slash || name.ptr + name.len - slash - 1 != 10)
        return store_fail(BELFRY_CORRUPT, "log %.*s: not a segment's name; move it away",
                          STR_ARG(name));
    memcpy(text, slash + 1, 10);
    number = (uint32_t)strtoul(text, NULL, 10);
    next = j->segment_count ? j->segments[j->segment_count - 1].number + 1 : number;
    if (number < next || number - next > GAP_MAX)
        return store_fail(BELFRY_CORRUPT, "segment %u follows %u: no journal looks like that",
                          number, next - 1);
    while (next < number && !err)
        err = add_segment(j, next++, true);
    return err ? err : add_segment(j, number, false);
}

static int list_segments(struct journal *j, struct store *store)
{
    return store->ops->list(store, str_of(journal_prefix(j, SEGMENTS).text), note_name, j);
}

struct first_record {
    enum record_type type;
    struct str body;
};

static int take_record(void *arg, enum record_type type, struct str body)
{
    *(struct first_record *)arg = (struct first_record){ type, body };
    return 1; /* only the first is wanted */
}

enum record_type journal_first_record(struct str commit, struct commit_head *ret_head,
                                      struct str *ret_body)
{
    struct first_record first = { 0 };

    record_walk(commit, ret_head, take_record, &first);
    *ret_body = first.body;
    return first.type;
}

static int take_first(void *arg, uint64_t seq, struct str element)
{
    struct journal_segment *s = arg;
    struct begin_record begin;
    struct str body;

    if (journal_first_record(element, &s->head, &body) == RECORD_BEGIN && seq == 0 &&
        record_get_begin(body, &begin)) {
        s->previous = begin.previous;
        s->begun = true;
    }
    return 1;
}

/* Reads the first commit of each segment, which gives the limit of the segment before. */
static int read_begins(struct journal *j)
{
    for (size_t i = 0; i < j->segment_count; i++) {
        struct journal_segment *s = &j->segments[i];
        int err = 0;

        if (!s->missing)
            err = store_salvage(j->dir, str_of(journal_log(j, SEGMENTS, s->number).text),
                                take_first, NULL, s);
        if (err == BELFRY_CORRUPT)
            s->headless = true;
        else if (err < 0)
            return err;
        if (i > 0 && s->begun)
            s[-1].limit = s->previous;
    }
    return 0;
}

static int count_element(void *arg, uint64_t seq, struct str element)
{
    (void)arg;
    (void)seq;
    (void)element;
    return 0;
}

/* Takes the server's view of a segment that may end in half-written bytes. If the trouble is
 * elsewhere, the limit of the segment stays unknown. */
static int probe_tail(struct journal *j, struct store *store, struct journal_segment *s)
{
    struct store_tail tail;
    int err = store->ops->read(store, str_of(journal_log(j, SEGMENTS, s->number).text), 0, 0,
                               count_element, NULL, &tail);

    if (err)
        return err == BELFRY_CORRUPT ? 0 : err;
    s->limit = tail.elements;
    s->tail = true;
    if (tail.torn_bytes) {
        j->torn_bytes = tail.torn_bytes;
        memcpy(j->where, tail.where, sizeof(j->where));
    }
    return 0;
}

/* Compares the last segment with the owner record: a clean stop noted all commits; else there is
 * one commit at least. */
static void expect_end(struct journal *j, struct journal_segment *s)
{
    const struct owner_note *n = &j->note;
    uint64_t least = n->clean ? n->elements : 1;

    if (!n->known || s->number != n->last || s->limit == least ||
        (!n->clean && s->limit >= least)) /* an unknown limit is the greatest */
        return;
    s->limit = least;
    s->tail = false;
    j->torn_bytes = 0;
}

/* A last segment without a whole commit does not count, unless the owner record knows of one. */
static int probe_end(struct journal *j, struct store *store)
{
    struct journal_segment *last = &j->segments[j->segment_count - 1];
    int err;

    if (last->missing)
        return 0;
    err = probe_tail(j, store, last);
    if (!err && last->limit == 0 && last->number > j->note.last && j->segment_count > 1 &&
        !last[-1].missing)
        err = probe_tail(j, store, --last);
    if (!err)
        expect_end(j, last);
    return err;
}

static int read_owner(struct journal *j, struct store *store)
{
    int err = owner_read(store, j->partition, &j->note, &j->epoch);

    if (err == BELFRY_CORRUPT)
        snprintf(j->record_fault, sizeof(j->record_fault), "%s", store_detail());
    else if (err)
        return err;
    j->clean = j->note.clean;
    return 0;
}

static int stop_at_first(void *arg, struct str name)
{
    (void)arg;
    (void)name;
    return 1;
}

/* Adds the missing segments at the end, of which the owner record knows. */
static int add_missing_end(struct journal *j, struct store *store)
{
    const struct owner_note *n = &j->note;
    uint32_t next;
    int runs, err = 0;

    if (j->segment_count == 0) {
        runs = store->ops->list(store, str_of(journal_prefix(j, RUNS).text), stop_at_first, NULL);
        if (runs < 0 || !owner_misses_journal(n, runs))
            return runs < 0 ? runs : 0;
        return add_segment(j, n->last ? n->last : 1, true);
    }
    next = j->segments[j->segment_count - 1].number + 1;
    if (n->last >= next && n->last - next > GAP_MAX)
        return store_fail(BELFRY_CORRUPT, "segment %u is the last, but its owner knows of %u",
                          next - 1, n->last);
    while (n->known && next <= n->last && !err)
        err = add_segment(j, next++, true);
    return err;
}

/* Adds the missing segments at the beginning, of which the journal itself knows. */
static int add_missing_beginning(struct journal *j)
{
    uint32_t oldest = engine_oldest(j->engine);
    /* As tenure.c: a version that does not note the end does not note the beginning either. */
    size_t n = j->note.known && j->segment_count && oldest && j->segments[0].number > oldest
                   ? j->segments[0].number - oldest
                   : 0;
    int err = 0;

    if (n > GAP_MAX)
        return store_fail(BELFRY_CORRUPT, "segment %u is the first, but the journal begins with %u",
                          j->segments[0].number, oldest);
    for (size_t i = 0; i < n && !err; i++)
        err = add_segment(j, 0, true);
    if (err || n == 0)
        return err;
    memmove(j->segments + n, j->segments, (j->segment_count - n) * sizeof(*j->segments));
    for (size_t i = 0; i < j->finding_count; i++)
        j->findings[i].segment += n;
    j->end_lost = j->segments[j->segment_count - 1].faulty;
    for (size_t i = 0; i < n; i++)
        j->segments[i] = (struct journal_segment){ .number = oldest + (uint32_t)i,
                                                   .missing = true,
                                                   .limit = JOURNAL_UNKNOWN };
    if (j->segments[n].begun)
        j->segments[n - 1].limit = j->segments[n].previous;
    for (size_t i = 0; i < n && !err; i++)
        err = journal_scan(j, i);
    return err;
}

/* A journal that was closed in order must have no commit behind its end. */
static int check_closed(struct journal *j)
{
    int err = 0;

    for (size_t i = 0; i < j->segment_count && !err; i++) {
        const struct journal_segment *s = &j->segments[i];

        if (j->note.known && j->note.clean && s->number > j->note.last && s->whole > 0)
            err = journal_find(j, i,
                               "the journal goes on here, though it ended with segment %u when "
                               "it was closed",
                               j->note.last);
    }
    return err;
}

/* Lets the engine's clock run up to now, so that jobs are in the states that a server shows. */
static int settle_engine(struct journal *j)
{
    int64_t now = time_wall_ms(), wall_ms, mono_ms;
    struct buf unused = { 0 };

    if (!buf_reserve(&unused, 4096))
        return BELFRY_NOMEM;
    engine_direct(j->engine, &unused, 0, false, 0);
    engine_start(j->engine, now, 0, false);
    for (;;) {
        engine_next_wake(j->engine, &wall_ms, &mono_ms);
        if (wall_ms > now)
            break;
        engine_advance(j->engine, now, 0);
    }
    buf_fini(&unused);
    return 0;
}

static int load_once(struct journal *j, struct store *store)
{
    int err = read_owner(j, store);

    j->engine =
        engine_new(&(struct engine_options){ .partition = j->partition, .epoch = j->epoch });
    if (!j->engine)
        return BELFRY_NOMEM;
    if (!err)
        err = list_segments(j, store);
    if (!err)
        err = add_missing_end(j, store);
    if (!err)
        err = read_begins(j);
    if (!err && j->segment_count)
        err = probe_end(j, store);
    for (size_t i = 0; i < j->segment_count && !err; i++)
        err = journal_scan(j, i);
    if (!err)
        err = add_missing_beginning(j);
    if (!err)
        err = check_closed(j);
    j->ownerless = j->note.present ? j->note.epoch < j->newest_epoch : j->segment_count > 0;
    return err;
}

static size_t count_present(const struct journal *j, uint32_t *ret_first)
{
    size_t n = 0;

    for (size_t i = j->segment_count; i-- > 0;) {
        if (!j->segments[i].missing) {
            *ret_first = j->segments[i].number;
            n++;
        }
    }
    return n;
}

/* Whether segments or an owner came or went since the list was made. Then a server is running, and
 * a file that looked damaged may have been removed and used again. */
static bool has_changed(const struct journal *j, struct store *store)
{
    struct journal now = { .dir = j->dir, .partition = j->partition };
    uint32_t first = 0, now_first = 0;
    bool changed =
        read_owner(&now, store) == 0 && list_segments(&now, store) == 0 &&
        (now.epoch != j->epoch || now.clean != j->clean ||
         count_present(&now, &now_first) != count_present(j, &first) || now_first != first);

    journal_fini(&now);
    return changed;
}

size_t journal_faults(const struct journal *j)
{
    /* A record that cannot be read may be the owner's: that is one fault, not two. */
    return j->finding_count + (j->ownerless || j->record_fault[0]);
}

int journal_load(struct journal *j, struct store *store, const char *dir, uint16_t partition)
{
    *j = (struct journal){ 0 };
    for (int tries = 0; tries < TRIES; tries++) {
        int err;

        journal_fini(j);
        *j = (struct journal){ .dir = dir, .partition = partition };
        err = load_once(j, store);
        if (err && err != BELFRY_NOTFOUND)
            return err;
        if (!err && (journal_faults(j) == 0 || !has_changed(j, store)))
            return settle_engine(j);
        usleep(PAUSE_US);
    }
    return store_fail(BELFRY_CONFLICT, "%s: it changes while it is being read; stop the server",
                      dir);
}

void journal_fini(struct journal *j)
{
    engine_free(j->engine);
    free(j->segments);
    free(j->findings);
    *j = (struct journal){ 0 };
}
