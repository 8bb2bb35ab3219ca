/* SPDX-License-Identifier: MIT */
#include "record/series.h"

#include <stdlib.h>

#include "record/name.h"

#define ROW_HEAD 8 /* bytes of a row besides its name and body, at most */

/* The figures of a row that are one varint each, behind the counts. */
#define ROW_FIGURES(X) \
    X(ready)           \
    X(running)         \
    X(waited_ms)       \
    X(late_max_ms)

/* ---- Lateness ---- */

static void add_bucket(void *row, unsigned bucket, uint32_t n)
{
    unsigned i = bucket < HIST_GROUP ? bucket : HIST_GROUP + (bucket - HIST_GROUP) / 4;

    ((struct series_row *)row)->lateness[i] += n;
}

void series_add_hist(struct series_row *row, const struct hist *h)
{
    hist_each(h, add_bucket, row);
    if (h->max > row->late_max_ms)
        row->late_max_ms = h->max;
}

void series_hist_of(const struct series_row *row, struct hist *ret)
{
    *ret = (struct hist){ .max = row->late_max_ms };
    for (unsigned i = 0; i < SERIES_BUCKETS; i++)
        if (row->lateness[i] > 0) /* the last of four buckets stands for them */
            hist_add_bucket(ret, i < HIST_GROUP ? i : HIST_GROUP + (i - HIST_GROUP) * 4 + 3,
                            row->lateness[i]);
}

/* ---- Rows ---- */

void series_put_row(struct buf *out, const struct series_row *row)
{
    uint64_t mask = 0, bit = 1;
    unsigned last = 0;

    for (int i = 0; i < SERIES_COUNT_TOTAL; i++, bit <<= 1)
        mask |= row->counts[i] ? bit : 0;
#define MASK(name)               \
    mask |= row->name ? bit : 0; \
    bit <<= 1;
    ROW_FIGURES(MASK)
#undef MASK
    wire_put_varint(out, mask);
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++)
        if (row->counts[i])
            wire_put_varint(out, row->counts[i]);
#define PUT(name)  \
    if (row->name) \
        wire_put_varint(out, row->name);
    ROW_FIGURES(PUT)
#undef PUT
    for (unsigned i = 0; i < SERIES_BUCKETS; i++) {
        if (row->lateness[i] == 0)
            continue;
        wire_put_varint(out, i - last);
        wire_put_varint(out, row->lateness[i]);
        last = i;
    }
}

bool series_get_row(struct str body, struct series_row *ret)
{
    struct wire_reader r = wire_reader_of(body);
    uint64_t mask = wire_varint(&r), bucket = 0;

    *ret = (struct series_row){ 0 };
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++, mask >>= 1)
        ret->counts[i] = mask & 1 ? wire_varint(&r) : 0;
#define GET(name)                               \
    ret->name = mask & 1 ? wire_varint(&r) : 0; \
    mask >>= 1;
    ROW_FIGURES(GET)
#undef GET
    while (!r.bad && r.p < r.end) {
        bucket += wire_varint(&r);
        uint64_t n = wire_varint(&r);
        if (r.bad || bucket >= SERIES_BUCKETS)
            return false;
        ret->lateness[bucket] += n;
    }
    return !r.bad && mask == 0;
}

void series_row_add(struct series_row *row, const struct series_row *later)
{
    for (int i = 0; i < SERIES_COUNT_TOTAL; i++)
        row->counts[i] += later->counts[i];
    for (unsigned i = 0; i < SERIES_BUCKETS; i++)
        row->lateness[i] += later->lateness[i];
    row->ready = later->ready;
    row->running = later->running;
    row->waited_ms = later->waited_ms;
    if (later->late_max_ms > row->late_max_ms)
        row->late_max_ms = later->late_max_ms;
}

/* ---- Steps ---- */

struct series_reader series_reader_of(struct str step)
{
    struct series_reader r = { .r = wire_reader_of(step) };

    r.left_out = step.len > 0 ? wire_varint(&r.r) : 0;
    return r;
}

bool series_next(struct series_reader *r)
{
    if (r->r.bad || r->r.p >= r->r.end)
        return false;
    size_t shared = wire_u8(&r->r);
    struct str rest = wire_bytes(&r->r);
    r->body = wire_bytes(&r->r);
    if (r->r.bad || shared > r->name_len || rest.len > sizeof(r->name) - shared) {
        r->r.bad = true;
        return false;
    }
    memcpy(r->name + shared, rest.ptr, rest.len);
    r->name_len = shared + rest.len;
    return true;
}

bool series_valid(struct str step)
{
    struct series_reader r = series_reader_of(step);
    char last[QUEUE_MAX_BYTES];
    struct str before = { last, 0 };
    struct series_row row;

    for (bool first = true; series_next(&r); first = false) {
        if ((!first && str_compare(before, series_name(&r)) >= 0) || !series_get_row(r.body, &row))
            return false;
        memcpy(last, r.name, r.name_len);
        before.len = r.name_len;
    }
    return !r.r.bad;
}

bool series_find(struct str step, struct str name, struct series_row *ret, bool *ret_left_out)
{
    struct series_reader r = series_reader_of(step);

    *ret_left_out = r.left_out > 0;
    while (series_next(&r)) {
        int order = str_compare(series_name(&r), name);

        if (order == 0)
            return series_get_row(r.body, ret);
        if (order > 0)
            break;
    }
    return false;
}

struct series_writer series_writer_of(struct buf *out, uint64_t left_out)
{
    wire_put_varint(out, left_out);
    return (struct series_writer){ .out = out };
}

void series_write(struct series_writer *w, struct str name, struct str body)
{
    size_t shared = 0;

    while (shared < w->name_len && shared < name.len && shared < UINT8_MAX &&
           w->name[shared] == name.ptr[shared])
        shared++;
    wire_put_u8(w->out, (uint8_t)shared);
    wire_put_bytes(w->out, (struct str){ name.ptr + shared, name.len - shared });
    wire_put_bytes(w->out, body);
    memcpy(w->name, name.ptr, name.len);
    w->name_len = name.len;
}

static void write_sum(struct series_writer *w, const struct series_reader *a,
                      const struct series_reader *b)
{
    struct series_row row, later;
    struct buf body = { 0 };

    if (series_get_row(a->body, &row) && series_get_row(b->body, &later)) {
        series_row_add(&row, &later);
        series_put_row(&body, &row);
        series_write(w, series_name(a), buf_view(&body));
    }
    w->out->failed = w->out->failed || body.failed;
    buf_fini(&body);
}

void series_merge(struct buf *out, struct str a, struct str b)
{
    struct series_reader x = series_reader_of(a), y = series_reader_of(b);
    struct series_writer w =
        series_writer_of(out, x.left_out > y.left_out ? x.left_out : y.left_out);
    bool more_x = series_next(&x), more_y = series_next(&y);

    while (more_x || more_y) {
        int order = !more_x ? 1 : !more_y ? -1 : str_compare(series_name(&x), series_name(&y));

        if (order == 0)
            write_sum(&w, &x, &y);
        else
            series_write(&w, series_name(order < 0 ? &x : &y), order < 0 ? x.body : y.body);
        if (order <= 0)
            more_x = series_next(&x);
        if (order >= 0)
            more_y = series_next(&y);
    }
}

/* ---- Trimming ---- */

/* A row that may be left out. */
struct place {
    size_t index;
    size_t bytes;
    size_t group; /* its tenant */
    bool is_sum;  /* of a tenant */
    size_t rank;  /* among the queues of its tenant: 0 for the busiest, and for the tenant's sum */
    uint64_t busy;
};

static int by_group(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->is_sum != y->is_sum)
        return x->is_sum ? -1 : 1;
    if (x->busy != y->busy)
        return x->busy > y->busy ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_rank(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->busy != y->busy)
        return x->busy > y->busy ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

static uint64_t busy_of(struct str body)
{
    struct wire_reader r = wire_reader_of(body);
    uint64_t mask = wire_varint(&r), busy = 0;

    for (int i = 0; i < SERIES_COUNT_TOTAL; i++, mask >>= 1)
        busy += mask & 1 ? wire_varint(&r) : 0;
    return busy;
}

/* Lists the rows. The queues of a tenant other than `default` are neighbours. */
static size_t list_places(struct str step, struct place *ret)
{
    struct series_reader r = series_reader_of(step);
    char tenant[QUEUE_MAX_BYTES];
    struct str last = { tenant, 0 };
    size_t n = 0, groups = 0;

    for (; series_next(&r); n++) {
        struct str of, queue;

        scope_split(series_name(&r), &of, &queue);
        bool is_default = str_eq(of, STR(TENANT_DEFAULT));
        if (!is_default && !str_eq(of, last)) {
            memcpy(tenant, of.ptr, of.len);
            last.len = of.len;
            groups++;
        }
        ret[n] = (struct place){ .index = n,
                                 .bytes = r.name_len + r.body.len + ROW_HEAD,
                                 .group = is_default ? 0 : groups,
                                 .is_sum = str_eq(queue, STR(TENANT_ALL)),
                                 .busy = busy_of(r.body) };
    }
    return n;
}

/* Picks the rows that stay: their number, in the order of their names. The first is the server's,
 * if it is there. */
static size_t pick(struct place *places, size_t n, bool has_server, size_t most)
{
    struct place *first = places + has_server;
    size_t left = n - has_server, taken = 0, used = WIRE_VARINT_MAX;

    used += has_server ? places->bytes : 0;
    qsort(first, left, sizeof(*first), by_group);
    for (size_t i = 0, rank = 0; i < left; i++) {
        rank = i > 0 && first[i].group == first[i - 1].group ? rank : 0;
        first[i].rank = first[i].is_sum ? 0 : rank++;
    }
    qsort(first, left, sizeof(*first), by_rank);
    while (taken < left && taken + has_server < SERIES_ROWS && used + first[taken].bytes <= most)
        used += first[taken++].bytes;
    qsort(first, taken, sizeof(*first), by_index);
    return taken + has_server;
}

bool series_trim(struct buf *out, struct str step, size_t most)
{
    struct series_reader r = series_reader_of(step), again = r;
    size_t n = 0, kept, index = 0, at = 0;
    bool has_server = false;

    for (; series_next(&r); n++)
        has_server = has_server || r.name_len == 0;
    if (n == 0 || (step.len <= most && n <= SERIES_ROWS)) {
        buf_str(out, step);
        return !out->failed;
    }
    struct place *places = malloc(n * sizeof(*places));
    if (!places)
        return false;
    list_places(step, places);
    kept = pick(places, n, has_server, most);
    struct series_writer w = series_writer_of(out, again.left_out + (n - kept));
    for (; at < kept && series_next(&again); index++) {
        if (index != places[at].index)
            continue;
        series_write(&w, series_name(&again), again.body);
        at++;
    }
    free(places);
    return !out->failed;
}
