/* SPDX-License-Identifier: MIT */
/* The only code that changes jobs and settings, in live running as in replay. */
#ifndef ENGINE_APPLY_H
#define ENGINE_APPLY_H

#include "engine/engine_data.h"
#include "record/record_cold.h"

int apply_begin(struct engine *e, const struct begin_record *r);
int apply_put(struct engine *e, const struct job_image *r);
int apply_lease(struct engine *e, const struct lease_record *r);
int apply_extend(struct engine *e, const struct extend_record *r);
int apply_back(struct engine *e, const struct back_record *r);
int apply_end(struct engine *e, const struct end_record *r);
int apply_move(struct engine *e, const struct move_record *r);
int apply_mark(struct engine *e, const struct mark_record *r);
int apply_queue(struct engine *e, const struct queue_record *r);
int apply_tenant(struct engine *e, const struct tenant_record *r);
int apply_token(struct engine *e, const struct token_record *r);
int apply_told(struct engine *e, const struct told_record *r);
int apply_listen(struct engine *e, const struct listen_record *r);

/* For what is on disk. */
int apply_fed(struct engine *e, const struct fed_record *r);
int apply_merged(struct engine *e, const struct merged_record *r);
int apply_loaded(struct engine *e, const struct loaded_record *r);
int apply_taken(struct engine *e, const struct taken_record *r);
int apply_run(struct engine *e, const struct str *r);
int apply_grave(struct engine *e, const struct grave_record *r);
int apply_tally(struct engine *e, const struct tally_record *r);
int apply_cold(struct engine *e, const struct cold_record *r);

#endif
