/* SPDX-License-Identifier: MIT */
/* Writes a record, then applies it; if that fails the record is taken back. */
#ifndef ENGINE_EMIT_H
#define ENGINE_EMIT_H

#include "engine/engine_data.h"
#include "record/record_cold.h"

/* Which answers must wait for a record to be durable. The answer to a LEASE does not wait for the
 * record of its lease (docs/internals/leases.md). It shows the records that made its jobs ready,
 * but not how other jobs ended. */
enum seen { SEEN_BY_NONE, SEEN_BY_READERS, SEEN_BY_ALL };

/* Counts a record that was written from `start` on and applied with this result. */
int emit_settle(struct engine *e, size_t start, int applied, enum seen seen);

int emit_put(struct engine *e, const struct job_image *r);
/* The same for one that no worker gets. */
int emit_put_quiet(struct engine *e, const struct job_image *r);
/* And that has no options, but this payload. */
int emit_put_bare(struct engine *e, struct job_image *image, const struct buf *payload);
void commit_roll(struct engine *e); /* closes the commit if it is large enough */
int emit_lease(struct engine *e, const struct lease_record *r);
int emit_back(struct engine *e, const struct back_record *r);
int emit_end(struct engine *e, const struct end_record *r);
int emit_move(struct engine *e, const struct move_record *r);

/* Records that are no event: kind, and the answers that wait for it. */
#define SILENT_RECORDS(X)      \
    X(begin, SEEN_BY_NONE)     \
    X(extend, SEEN_BY_READERS) \
    X(mark, SEEN_BY_READERS)   \
    X(queue, SEEN_BY_ALL)      \
    X(tenant, SEEN_BY_ALL)     \
    X(token, SEEN_BY_ALL)      \
    X(told, SEEN_BY_NONE)      \
    X(listen, SEEN_BY_READERS) \
    X(fed, SEEN_BY_NONE)       \
    X(merged, SEEN_BY_NONE)    \
    X(loaded, SEEN_BY_NONE)    \
    X(taken, SEEN_BY_NONE)

#define EMIT_DECLARED(kind, seen) int emit_##kind(struct engine *e, const struct kind##_record *r);
SILENT_RECORDS(EMIT_DECLARED)
#undef EMIT_DECLARED

#endif
