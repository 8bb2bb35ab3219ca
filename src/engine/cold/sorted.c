/* SPDX-License-Identifier: MIT */
/* The jobs that sorted pages under way have met: see sorted.h. */
#include "engine/sorted.h"

#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/place/filter.h"
#include "engine/place/job.h"
#include "record/record.h"

#define SORT_BYTES ((size_t)256 << 10) /* a page ends behind jobs of this size */

/* ---- What a page keeps of a job ---- */

size_t sorted_trim(struct job_image *image, size_t preview)
{
    size_t len = image->payload.len;

    if (len > preview)
        image->payload.len = preview;
    image->trail.result = image->trail.pending = image->trail.note = (struct str){ 0 };
    image->trail.log = (struct str){ 0 };
    return len;
}

void sorted_found_put(struct buf *out, const struct sorted_found *x)
{
    wire_put_bytes(out, x->key);
    wire_put_bytes(out, x->body);
    wire_put_varint(out, x->payload_len);
    wire_put_varint(out, x->number);
}

/* History and worker have passed the filter, and a page does not show them. */
static struct sorted_job *sorted_job_new(const struct engine *e, const struct job *j,
                                         size_t preview, size_t payload_len)
{
    struct job_image image;
    struct buf body = { 0 };
    struct sorted_job *x;

    job_image_of(j, &image);
    sorted_trim(&image, preview);
    image.trail.history = image.trail.worker = (struct str){ 0 };
    if (image.trail.error.len > ERROR_HEAD_BYTES)
        image.trail.error.len = ERROR_HEAD_BYTES;
    record_put_image(&body, &image);
    x = body.failed ? NULL : malloc(sizeof(*x) + body.len);
    if (x) {
        *x = (struct sorted_job){ job_point(j), job_state_now(e, j), payload_len, body.len };
        memcpy(x->body, body.ptr, body.len);
    }
    buf_fini(&body);
    return x;
}

/* ---- The first jobs ---- */

struct cold_point sorted_last(const struct sorted *s)
{
    return s->jobs[s->n - 1]->at;
}

static void drop_last(struct sorted *s)
{
    struct sorted_job *x = s->jobs[--s->n];

    s->bytes -= sizeof(*x) + x->len;
    free(x);
}

void sorted_bound(struct sorted *s, struct cold_point p)
{
    if (!s->bounded || point_after(s->bound, p))
        s->bound = p;
    s->bounded = true;
    while (s->n > 0 && point_after(sorted_last(s), s->bound))
        drop_last(s);
}

bool sorted_wants(const struct sorted *s, struct cold_point p)
{
    return point_after(p, s->after) && !(s->bounded && point_after(p, s->bound));
}

/* The place of a point among the jobs. */
static size_t place_of(const struct sorted *s, struct cold_point p)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (point_after(p, s->jobs[mid]->at))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void sorted_add(const struct engine *e, struct sorted *s, const struct job *j, size_t payload_len)
{
    struct cold_point p = job_point(j);
    size_t at = place_of(s, p);

    if (at < s->n && !point_after(s->jobs[at]->at, p)) /* it is there already */
        return;
    if (s->n == s->filter.limit && at == s->n) {
        sorted_bound(s, sorted_last(s));
        return;
    }
    struct sorted_job *x = sorted_job_new(e, j, s->preview, payload_len);
    if (!x) {
        s->failed = true;
        return;
    }
    memmove(&s->jobs[at + 1], &s->jobs[at], (s->n - at) * sizeof(struct sorted_job *));
    s->jobs[at] = x;
    s->n++;
    s->bytes += sizeof(*x) + x->len;
    while (s->n > s->filter.limit || (s->n > 1 && s->bytes > SORT_BYTES)) {
        drop_last(s);
        sorted_bound(s, sorted_last(s));
    }
}

/* ---- In memory ---- */

void sorted_meet(const struct engine *e, struct sorted *s, const struct job *j)
{
    if (state_is_ended(j->state) || (job_is_waste(e, j) && s->batch == e->place.batch.number))
        return;
    if (job_is_waiting(j))
        s->met_waiting = true;
    if (sorted_wants(s, job_point(j)) && job_passes(e, &s->filter, j))
        sorted_add(e, s, j, job_payload(j).len);
}

void sorts_leave(struct engine *e, const struct job *j)
{
    list_each_of (struct sorted, s, &e->cold.sorts, link)
        sorted_meet(e, s, j);
}

void sorted_free(struct sorted *s)
{
    if (!s)
        return;
    list_remove(&s->link);
    while (s->n > 0)
        drop_last(s);
    buf_fini(&s->texts);
    buf_fini(&s->found);
    free(s->jobs);
    free(s);
}

void sorts_free(struct engine *e)
{
    while (!list_empty(&e->cold.sorts))
        sorted_free(container_of(e->cold.sorts.next, struct sorted, link));
    e->cold.sorted = NULL;
}

uint64_t sorts_bytes(const struct engine *e)
{
    uint64_t bytes = 0;

    list_each_of (const struct sorted, s, &e->cold.sorts, link)
        bytes += sizeof(*s) + s->bytes + s->filter.limit * sizeof(struct sorted_job *) + SORT_READ;
    return bytes;
}
