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
int emit_extend(struct engine *e, const struct extend_record *r);
int emit_back(struct engine *e, const struct back_record *r);
int emit_end(struct engine *e, const struct end_record *r);
int emit_move(struct engine *e, const struct move_record *r);
int emit_mark(struct engine *e, const struct mark_record *r);
int emit_queue(struct engine *e, const struct queue_record *r);
int emit_tenant(struct engine *e, const struct tenant_record *r);
int emit_token(struct engine *e, const struct token_record *r);
int emit_told(struct engine *e, const struct told_record *r);
int emit_listen(struct engine *e, const struct listen_record *r);
int emit_fed(struct engine *e, const struct fed_record *r);
int emit_merged(struct engine *e, const struct merged_record *r);
int emit_loaded(struct engine *e, const struct loaded_record *r);
int emit_taken(struct engine *e, const struct taken_record *r);

#endif
