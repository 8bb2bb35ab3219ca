/* SPDX-License-Identifier: MIT */
/* What the files of src/engine do for each other, file by file; what they do it to is in state.h.
 * For files of src/engine only. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include "engine/state.h"

/* engine.c */
int engine_error(struct engine *e, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int engine_plain(struct engine *e, int err); /* nothing to add to the error's own text */
uint64_t engine_random(struct engine *e);

/* Both the engine's and the queue's counter. */
#define COUNT(e, q, name) ((e)->counters.name++, (q)->counters.name++)

/* blob.c */
struct blob *blob_new(struct pool *p, struct str s); /* NULL if empty or out of memory */
void blob_free(struct pool *p, struct blob *b);
static inline struct str blob_str(const struct blob *b)
{
    return b ? (struct str){ b->bytes, b->len } : (struct str){ "", 0 };
}
/* Replaces *slot by a copy of s. False, with nothing changed, if out of memory. */
bool blob_set(struct pool *p, struct blob **slot, struct str s);

/* job.c: jobs and their indexes. None of these writes a record. */
void jobs_init(struct engine *e);
struct job *job_find(const struct engine *e, uint64_t seq);
/* So that looking for them, and for what is there at them, finds them in the cache. */
void jobs_near(const struct engine *e, const uint64_t *seqs, size_t n);
/* The job of an id, which must match in full. */
struct job *job_of(const struct engine *e, struct job_id id);
/* The same, wherever it is. One on disk comes to memory if it is to be changed (`take`); else it is
 * shown as it is, until the next call. NULL with NOTFOUND, COLD or NOMEM in *ret_err. */
struct job *job_seek(struct engine *e, struct job_id id, bool take, int *ret_err);
/* Brings an item's job to memory. NOMEM. */
int item_take(struct engine *e, const struct cold_item *item);
/* How much of something is done at one time: less where a test asks for it, so that a few jobs make
 * several slices. */
static inline int engine_slice(const struct engine *e, int usual)
{
    return e->o.slice_jobs > 0 && e->o.slice_jobs < usual ? e->o.slice_jobs : usual;
}

/* In the batch that was fed: it is on disk, and what is in memory does not count. */
static inline bool job_is_waste(const struct engine *e, const struct job *j)
{
    return j->fed && e->batch.fed;
}
size_t job_size(const struct job *j);
size_t job_weight(const struct job *j); /* what it takes of its part of the budget */
/* Which run it belongs into, and where there. */
void job_cold_key(const struct job *j, struct cold_key *ret);
struct job_id job_id_of(const struct engine *e, const struct job *j);
/* A job that is in no index yet. NULL if out of memory. */
struct job *job_new(struct engine *e, const struct job_image *image, struct queue *q);
/* Enters a job into index, key index, wheel or list, and counts. NOMEM leaves it out of all. `hot`:
 * even if its class is closed. */
int job_enter(struct engine *e, struct job *j, bool hot);
void job_leave(struct engine *e, struct job *j); /* and frees it */
void job_free(struct engine *e, struct job *j);  /* one that was never entered */
/* Moves a job that was entered to another state: j's fields are those of the new state. */
void job_place(struct engine *e, struct job *j, enum job_state state);
/* The same for one that is to be hot though its class is closed. */
void job_place_hot(struct engine *e, struct job *j, enum job_state state);
void job_unplace(struct engine *e, struct job *j);
/* Whether a job of this place in the order would overtake the class's tail. */
bool tail_is_before(const struct class *c, struct cold_point at);
/* While history cannot go to disk: forgets the oldest of queues that have more in memory than they
 * may, but no job that still holds a key. */
void past_trim(struct engine *e, int *budget);
void job_opts_get(const struct job *j, struct job_opts *ret);
static inline bool job_is_bare(const struct job *j)
{
    return opts_are_bare((struct str){ j->tail, j->opts_len });
}

/* When it expires if it is not started by then; -1: never, or it was leased before. */
int64_t job_expires_ms(const struct job *j);
/* It waits for other jobs. */
static inline bool job_is_waiting(const struct job *j)
{
    return j->state == JOB_SCHEDULED && j->timer.at_ms == AT_NEVER;
}
/* The moment by which it must be in memory: a waiting one may expire. */
int64_t job_cold_ms(const struct job *j);
/* It was not started in time, though nothing has been written about that. */
bool job_is_over(const struct engine *e, const struct job *j);
/* What it is counted as. */
static inline enum job_state job_counts_as(const struct job *j)
{
    return job_is_waiting(j) ? JOB_WAITING : (enum job_state)j->state;
}
struct str job_payload(const struct job *j);
int64_t job_attempts(const struct job *j);
void job_image_of(const struct job *j, struct job_image *ret);
struct trail *trail_new(struct engine *e, struct job *j);
void trail_free(struct engine *e, struct trail *t);
/* To be called when what a trail holds has changed. */
void trail_recount(struct engine *e, struct trail *t);
/* The first moment at which an ended job changes by time. */
int64_t trail_next_ms(const struct job *j);

/* regrow.c: a job gets longer options, in its place. j is gone afterwards. NOMEM. */
int job_regrow(struct engine *e, struct job *j, struct str opts);

/* key.c */
void keys_init(struct engine *e);
/* A key is of its queue, and of its ordering key if there is one (len > 0). */
struct job *key_find(const struct engine *e, const struct queue *q, struct str order,
                     struct str key);
/* The same, wherever it is; see job_seek. One that is only shown may be over (job_is_over). */
struct job *key_seek(struct engine *e, struct queue *q, struct str order, struct str key, bool take,
                     int *ret_err);
/* No job on disk has this key: for a queue that is about to be made. */
void key_absent(struct engine *e, struct str queue, struct str order, struct str key);
int key_take(struct engine *e, struct job *j); /* from whoever has it. NOMEM. */
void key_release(struct engine *e, struct job *j);
/* The job that has the key is at another place. */
void key_follow(struct engine *e, const struct job *from, struct job *to);

/* queue.c */
void queues_init(struct engine *e);
struct queue *queue_find(const struct engine *e, struct str name);
struct queue *queue_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when a queue may have become, or is no longer, without use. */
void queue_settle(struct engine *e, struct queue *q);
/* The ready job of lowest rank that its tenant's maintenance lets pass, or NULL; ret_rank is set if
 * there is one. */
struct job *queue_head(const struct engine *e, const struct queue *q, int64_t *ret_rank);
static inline int64_t job_rank(const struct job *j)
{
    return j->timer.at_ms + (int64_t)(j->priority - 1) * AGE_STEP_MS;
}
/* So many jobs more in this state, in memory. */
void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n);
void queues_free(struct engine *e);

/* push.c */
/* Takes over the settings of its pushes, with texts of its own. NOMEM. */
int queue_push_set(struct engine *e, struct queue *q, const struct push_settings *s);
void queue_push_fini(struct engine *e, struct queue *q);
int push_settings_check(struct engine *e, const struct push_settings *s);
/* Whether a job may, or must, have a URL of its own there. INVALID. */
int push_spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
static inline bool queue_pushes(const struct queue *q)
{
    return q->settings.push.url.len > 0;
}
/* Its endpoint is left alone until then, by wall clock; -1: it is not. */
int64_t queue_endpoint_until(const struct engine *e, const struct queue *q);
/* It pushes, and its tenant has as many under way as it may. */
bool tenant_pushes_full(const struct engine *e, const struct queue *q);

/* tenant.c */
void tenants_init(struct engine *e);
void tokens_init(struct engine *e);
void tokens_free(struct engine *e);
/* Copies forward those that stand in this segment or before. NOMEM. */
int tokens_copy(struct engine *e, uint32_t segment);
void tenants_free(struct engine *e);
struct tenant *tenant_find(const struct engine *e, struct str name);
struct tenant *tenant_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when it may have become without use: then it is gone. Likewise below. */
void tenant_settle(struct engine *e, struct tenant *t);
/* Its parked queues are looked at again. */
void tenant_unpark(struct engine *e, struct tenant *t);
struct kind *kind_find(const struct engine *e, struct str name);
struct kind *kind_obtain(struct engine *e, struct str name);
void kind_settle(struct engine *e, struct kind *k);
/* The queue of a kind whose turn it is, or NULL. */
struct queue *kind_next(struct engine *e, struct kind *k);
void post_init(struct post *p);
/* Asks for engine_dispatch to look at it, if somebody waits. */
void post_call(struct engine *e, struct post *p);
/* It may have jobs to give. */
void queue_offer(struct engine *e, struct queue *q);
/* Fewer jobs of a tenant hold their lanes: queues that waited for that may go on. */
void lulls_end(struct engine *e, const struct tenant *t);
/* The same, though what its tenant's other jobs wait for may last. */
void queue_unpark(struct engine *e, struct queue *q);
bool server_is_full(const struct engine *e);
/* When it may run more because slow start goes on, on the monotonic clock; INT64_MAX: never. */
int64_t slow_start_wake(const struct engine *e);
bool tenant_is_shut(const struct engine *e, const struct tenant *t); /* by maintenance */
/* For jobs that pass all gates, or others. */
enum hold queue_hold(const struct engine *e, const struct queue *q, bool passing);
/* Whether it has a ready job and may give it; if not, it waits for the event that changes that. */
bool queue_gives(struct engine *e, struct queue *q);
/* One was given; `in_turn`: because it was its turn among its kind. */
void queue_took(struct engine *e, struct queue *q, bool in_turn);
void queue_freed(struct engine *e, struct queue *q); /* a lease ended */
void buckets_fire(struct engine *e);
void bucket_change(const struct engine *e, struct bucket *b, const struct rate *old,
                   const struct rate *r);
/* How long a rate holds it back, if one does. */
int64_t queue_rate_pause_ms(const struct engine *e, const struct queue *q);

/* figures.c */
bool queue_is_of(const struct queue *q, struct str tenant); /* empty or `*`: anybody's */

/* look.c: what users see. */
enum job_state job_state_now(const struct engine *e, const struct job *j);
bool job_passes(const struct engine *e, const struct list_filter *f, const struct job *j);
/* A number for a walk that begins: what has been loaded before has another one. */
uint32_t walk_begin(struct engine *e);
/* A job goes to a family: a walk that has been there, and has not met it in memory, misses it. */
void walk_misses(struct engine *e, const struct job *j, char family);
/* Whether that happened since the walk of this number began. */
bool walk_missed(const struct engine *e, uint32_t walk);
/* Whether this answer, which may be NULL, is the page that is wanted. */
bool want_page_is(const struct cold_answer *a, const struct cold_want *w);

/* class.c */
struct class *class_of(const struct job *j);
bool job_says_pass(const struct job *j); /* by its options */
unsigned class_number(const struct class *c);
struct class *class_numbered(struct queue *q, unsigned number); /* NULL if there is no such class */
enum cold_slot class_slot(const struct class *c);
struct class *class_at_slot(struct queue *q, enum cold_slot slot);

/* spill.c: what leaves memory */
void batch_init(struct batch *b);
/* A job of the batch changes: what is written of it will not count. */
void batch_stale(struct engine *e, struct job *j);
/* The batch that is being gathered must not write the job (again). Either the batch has an older
 * image of it, and FED names each job once; or it came from disk after the batch began, and its
 * grave, which the batch does not hold, would hide the new entry. Such a job waits in `left`, where
 * the batch does not look. */
bool batch_is_left(const struct engine *e, const struct job *j);
/* Takes a queue's dead jobs out of a batch that is not fed yet. */
void batch_release_dead(struct engine *e, const struct queue *q);
/* It has its share of memory: of jobs that are not due, or of those that are. */
bool class_is_full(const struct engine *e, const struct class *c);
bool class_is_glutted(const struct engine *e, const struct class *c);
bool class_is_half_glutted(const struct engine *e, const struct class *c);
/* Hot and leased jobs take so much that classes have shares. */
bool memory_is_crowded(const struct engine *e);
/* So much is aside in memory that a batch is due, or under way. */
bool memory_is_pressed(const struct engine *e);
/* Half of the budget: on a full disk they cannot go there. */
bool graves_fill_memory(const struct engine *e);
/* The first of it on disk is not before this. */
void class_from(struct engine *e, struct class *c, struct cold_point from);
void class_close(struct engine *e, struct class *c);
uint64_t class_least(const struct engine *e);
/* The clock was set back: what is not due any more leaves the tails, or it would keep others back.
 */
void tails_rewind(struct engine *e);
bool class_is_on_disk(const struct class *c); /* some of it */
bool batch_takes_tails(const struct engine *e);
bool tail_comes_first(const struct class *c); /* nothing on disk is before its first one */
uint64_t hot_room(const struct engine *e);

/* manifest.c */
void manifest_init(struct engine *e);
void manifest_free(struct engine *e);
/* NOMEM. Of a run that is there already the description is replaced. */
int manifest_add(struct engine *e, const struct run_desc *d);
void manifest_drop(struct engine *e, uint32_t file);
struct cold_run *manifest_find(const struct engine *e, uint32_t file); /* or NULL */
struct grave *grave_find(const struct engine *e, struct str key);
int grave_add(struct engine *e, struct str key, uint64_t serial, int64_t gone_ms); /* NOMEM */
/* Until when an ended job is kept; 0 for others. */
int64_t image_gone_ms(const struct job_image *image);
void grave_remove(struct engine *e, struct grave *g);
/* NOMEM, with nothing changed. */
int floor_raise(struct class *c, uint32_t number, struct cold_point upto);
struct cold_point floor_of(const struct class *c, uint32_t number);
void tally_add(struct engine *e, struct queue *q, enum cold_slot slot, int64_t n);
/* An item's job was taken out of its run: a merge under way must not count it as gone, too. */
void run_taken(struct engine *e, const struct cold_item *item);
/* Whether an entry of a run counts. */
bool cold_counts(const struct engine *e, struct str key, uint32_t number);
/* An image's job was put into, or is no longer in, the journal's segment. */
void segment_add(struct engine *e, uint32_t segment);
void segment_sub(struct engine *e, uint32_t segment);

/* load.c */
void frontier_set(struct engine *e, struct cold_point p);
/* Goes on, if no job on disk is passed by that. */
void frontier_follow(struct engine *e);
/* When jobs on disk should be looked at next. */
int64_t frontier_wake(const struct engine *e);

/* apply.c: the only code that changes jobs and settings, in live running as in replay. */
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

/* apply_cold.c: the same for what is on disk. */
int apply_fed(struct engine *e, const struct fed_record *r);
int apply_merged(struct engine *e, const struct merged_record *r);
int apply_loaded(struct engine *e, const struct loaded_record *r);
int apply_taken(struct engine *e, const struct taken_record *r);
int apply_run(struct engine *e, const struct str *r);
int apply_grave(struct engine *e, const struct grave_record *r);
int apply_tally(struct engine *e, const struct tally_record *r);
int apply_cold(struct engine *e, const struct cold_record *r);

/* emit.c: writes a record, then applies it; if that fails the record is taken back. */
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
/* Copies it forward; where it stands then. NOMEM. */
int emit_token_copy(struct engine *e, const struct token_record *r, uint32_t *ret_segment);
int emit_told(struct engine *e, const struct told_record *r);
int emit_listen(struct engine *e, const struct listen_record *r);
int emit_fed(struct engine *e, const struct fed_record *r);
int emit_merged(struct engine *e, const struct merged_record *r);
int emit_loaded(struct engine *e, const struct loaded_record *r);
int emit_taken(struct engine *e, const struct taken_record *r);

/* history.c */
/* Brings a queue's ended jobs into the order of their ends, which copying forward upsets. */
void past_sort(struct queue *q);
/* The attempts of a job with the one that just ended, in out. */
void history_append(struct buf *out, const struct job *j, int64_t end_ms, unsigned outcome,
                    struct str error);

/* gate.c: quiet hours. -1: it is not quiet; for a job: or it may be given all the same. */
int64_t tenant_quiet_until(const struct engine *e, struct tenant *t);
int64_t job_quiet_until(const struct engine *e, const struct job *j);
/* Has it wait until then, and for a part of the spread. */
int job_defer(struct engine *e, struct job *j, int64_t until_ms);

/* finish.c: the ways an attempt can end. `pause_ms` -1: by back-off. */
int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final);
int job_expire(struct engine *e, struct job *j);
int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result);

/* after.c: jobs that wait for others. */

/* What was found out about this job's end no longer holds. */
void past_forget(struct engine *e, uint64_t seq);
/* Whether a job may wait for those that its spec names, which come to memory. *ret_waits: how many
 * have not ended; *ret_lost: one has, otherwise than done, and that matters; seq 0: none. */
int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost);
/* The same for the i-th of several that are to be scheduled together: whether those before leave
 * room for one more listener. LIMIT. */
int after_room(struct engine *e, const struct job_spec *specs, size_t i);
/* The options that say so, of those that have not ended. */
void after_put(struct engine *e, struct buf *out, const struct job_spec *s);
/* Enters a job as a listener with all that it waits for. */
int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener);
/* A job that it waited for ended otherwise than done. */
int after_lost(struct engine *e, struct job *j, struct job_id parent);
/* Whether it waits for that one. */
bool after_waits(const struct job *j, const struct job *parent);
/* A job that was waited for has ended. */
int after_told(struct engine *e, struct job *j, const struct job *ended);
/* The options without those of this type, or only without the one that names this job; and with
 * nothing in front. */
void opts_without(struct buf *out, const struct job *j, enum job_opt type, uint64_t seq);

/* intake.c */

/* What can be said of a spec without looking at anything else. */
int spec_check(struct engine *e, const struct queue *q, const struct job_spec *s);
/* The options that a job of this spec has, but for those about AFTER. */
void spec_opts(struct buf *out, const struct job_spec *s, int64_t created_less_born);
/* LIMIT if the tenant has as many pending jobs as it may. */
int tenant_refuses(struct engine *e, const struct queue *q, struct str full);

/* forget.c: an ended job is forgotten before its time. */
int emit_forget(struct engine *e, const struct job *j);

/* bulk.c */
bool bulk_waits(const struct engine *e);   /* a slice can be done */
int64_t bulk_wake(const struct engine *e); /* when one can be, by monotonic clock */
int bulk_step(struct engine *e);
void bulk_skip(struct engine *e);
void bulks_free(struct engine *e);
/* Jobs by due time have come to memory: their images, each with its length. */
void bulks_loaded(struct engine *e, struct str images);
struct bulk; /* see bulk.h */
/* It is over: an enum bulk_state. */
void bulk_finish(const struct engine *e, struct bulk *b, unsigned state);
/* What stands in its job from now on, which is another afterwards; in the commit that is open. What
 * was written since `lsn` belongs to it. */
int bulk_record(struct engine *e, const struct job *j, const struct bulk *b, uint64_t lsn);
/* The one of this number is no more. */
void bulk_forget(struct engine *e, uint64_t seq);
/* task.c: the clock was set back, and what was due is not any more. */
void tasks_rewind(struct engine *e);

/* recurrence.c */
struct recurrence;
struct recur;
struct recur_state;

int recurrence_fire(struct engine *e, struct job *j);
/* An occurrence has ended. */
int recurrence_told(struct engine *e, struct job *j, const struct job *ended);

/* Between the files about recurrences. */
struct str recurrence_name(const struct job *j);
bool recurrence_read(const struct engine *e, const struct job *j, struct recurrence *ret);
/* j is another afterwards. */
int recurrence_put(struct engine *e, const struct job *j, const struct recurrence *r);
/* INVALID, NOMEM. */
int recurrence_rule(struct engine *e, struct str name, const struct recurrence *r,
                    struct recur **ret);
/* The next one after a moment; -1: never again, or not to be found out. */
int64_t recurrence_after(const struct recur *rule, int64_t ms, struct recur_state *state);
/* An occurrence, and its ledger entry. LIMIT: its tenant has as many jobs as it may, or too many
 * occurrences are under way. */
int recurrence_make(struct engine *e, const struct job *j, struct recurrence *r, int64_t nominal_ms,
                    bool by_hand);

/* lease.c */
void waiter_timeout(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

#endif
