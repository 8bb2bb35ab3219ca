/* SPDX-License-Identifier: MIT */
/* Queues, their classes, tenants and kinds; and whose turn it is. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include "engine/engine_data.h"
#include "engine/place/pulse.h"

/* ---- queue.c: queues by name, and their counts ---- */

#define AGE_STEP_MS INT64_C(30000)

/* Counts for the engine, for the queue and for its tenant. */
#define COUNT(e, q, name) COUNT_N(e, q, name, 1)
#define COUNT_N(e, q, name, n)                                                    \
    (queue_pulse((e), (q)), (e)->counters.name += (n), (q)->counters.name += (n), \
     (q)->tenant->sums.counters.name += (n))

/* Adds a value to a histogram of the queue, and of its tenant. If memory is short, a figure is
 * missing, and jobs go on. */
#define GAUGE(e, q, name, ms) \
    gauge_add((e), (q), &(q)->gauges.name, &(q)->tenant->sums.gauges.name, (ms))

void queues_init(struct engine *e);
/* The queue behind this one, or the first behind NULL: queues in use, then idle ones. NULL: no
 * more. */
struct queue *queue_next(const struct engine *e, const struct queue *q);
struct queue *queue_find(const struct engine *e, struct str name);
struct queue *queue_obtain(struct engine *e, struct str name); /* NULL: there is no memory */
/* The use of the queue may have changed. */
void queue_settle(struct engine *e, struct queue *q);
/* Notes that the last record of this kind about the queue stands in `segment`, which is the newest
 * segment. 0: no record of this kind counts any more. */
void queue_noted(struct engine *e, struct queue *q, enum queue_note note, uint32_t segment);
/* One more worker waits at a queue, or one less (-1). */
void queue_wait(struct engine *e, struct queue *q, int n);
/* The memory of queues, tenants, kinds and waiters, as far as it counts. */
uint64_t known_bytes(const struct engine *e);
void gauges_free(struct engine *e, struct gauges *g);
static inline int64_t job_rank(const struct job *j)
{
    return j->timer.at_ms + (int64_t)(j->priority - 1) * AGE_STEP_MS;
}
/* So many jobs more are in this state, in memory. */
void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n);
uint64_t queue_bytes(const struct queue *q);
/* Forgets the queue if it is idle. Its tenant may go with it. */
void queue_drop(struct engine *e, struct queue *q);
void queues_free(struct engine *e);
bool queue_is_of(const struct queue *q, struct str tenant); /* empty or `*`: of any tenant */

/* ---- ready.c: what is ready in a queue ---- */

/* Jobs that are ready, in memory and on disk. */
uint64_t queue_ready(const struct queue *q);
/* Since when the oldest ready job waits; -1: none is ready. Jobs stand in line by their times,
 * except that priorities mix in lanes and among jobs that pass all gates. There, another job may be
 * two minutes older than the next in line (AGE_STEP_MS). */
int64_t queue_oldest_ms(const struct queue *q);

/* ---- class.c: the classes of a queue, and their shares of memory ---- */

/* Makes the class if the queue has none yet. NULL: there is no memory. */
struct class *class_obtain(struct engine *e, struct queue *q, unsigned index);
void classes_free(struct engine *e, struct queue *q);
unsigned class_index_of(const struct job *j);
/* The class of a job that has not ended. */
struct class *class_of(const struct job *j);
unsigned class_number_of(const struct job *j);
/* The index in queue.classes of the class with this number, or with this slot on disk. It is
 * CLASSES if there is no such class. */
unsigned class_numbered(unsigned number);
unsigned class_at_slot(enum cold_slot slot);
/* The bytes of hot jobs grow by so many, or shrink, because of a job in its present state. */
void class_count_hot(struct class *c, const struct job *j, uint64_t bytes);
void class_close(struct engine *e, struct class *c);
/* A worker asks for jobs of the queue. Loading then looks at this queue's jobs on disk first. */
void queue_ask(struct engine *e, struct queue *q);

/* Some jobs of the class are on disk. */
static inline bool class_is_on_disk(const struct class *c)
{
    return c->queue->cold[c->slot] > 0;
}

/* The class has its share of memory: of jobs that are not due, or of due ones. */
bool class_is_full(const struct engine *e, const struct class *c);
bool class_is_glutted(const struct engine *e, const struct class *c);
/* The class has no due jobs in memory, and its tenant has its share of memory. */
bool class_is_shut_out(const struct engine *e, const struct class *c);
bool class_is_half_glutted(const struct engine *e, const struct class *c);
/* Hot and leased jobs take so much that classes have shares. */
bool memory_is_crowded(const struct engine *e);
uint64_t class_least(const struct engine *e);
uint64_t hot_room(const struct engine *e);
/* Jobs that own their lanes have to stay in memory. While a tenant has many, none of its lanes is
 * begun. */
bool lanes_are_full(const struct engine *e, const struct tenant *t);

/* ---- kept.c: the bytes that are kept of a tenant ---- */

/* Adds `bytes`, which may be negative, to the bytes of a queue's jobs: in memory, or on disk. */
void kept_add(struct engine *e, struct queue *q, int64_t bytes);
void kept_add_cold(struct engine *e, struct queue *q, int64_t bytes);
/* The limit of the tenant, or its bytes, may have changed. */
void kept_settle(struct engine *e, struct tenant *t);
/* Forgets ended jobs in memory of tenants whose history has to give way, oldest first. */
void kept_trim(struct engine *e, int *budget);
/* The oldest run of history that may have jobs of the tenant, and was not cut for it yet. NULL:
 * there is none. */
struct cold_run *kept_run(struct engine *e, const struct tenant *t);
/* The bytes at which the tenant gets no further job; INT64_MAX: there is no limit. */
int64_t kept_most(const struct engine *e, const struct tenant *t);

/* ---- leased.c: the memory of leased jobs ---- */

/* Adds `bytes` to the memory of a tenant's leased jobs. A huge number stands for a negative one. */
void leased_count(struct engine *e, struct tenant *t, uint64_t bytes);
/* The bytes at which the tenant is given no further job. */
uint64_t leased_share(const struct engine *e, const struct tenant *t);
bool leased_is_full(const struct engine *e, const struct tenant *t);
/* Leased jobs of the tenant take its max_leased. */
bool leased_is_capped(const struct engine *e, const struct tenant *t);
bool leases_fill_memory(const struct engine *e); /* those of all tenants together */
/* A queue of the tenant is parked because leased_is_full. */
void leased_wait(struct engine *e, struct tenant *t);
/* The tenant waits for memory no longer. */
void leased_leave(struct engine *e, struct tenant *t);
/* A lease of the tenant ended, or its settings changed: it may go on if it waited for memory. */
void leased_settle(struct engine *e, struct tenant *t);
/* A lease ended: tenants that waited for memory may go on. */
void leased_ebb(struct engine *e);

/* ---- standing.c: the memory of queues and of requests that wait ---- */

/* Add `bytes` to the memory of a queue, or of a tenant's LEASEs that wait. A huge number stands for
 * a negative one. */
void standing_count(struct engine *e, const struct queue *q, uint64_t bytes);
void standing_count_wait(struct engine *e, struct tenant *t, uint64_t bytes);
uint64_t standing_bytes(const struct tenant *t);
/* The bytes at which the tenant gets no further queue, and none of its LEASEs waits. */
uint64_t standing_share(const struct engine *e, const struct tenant *t);
bool standing_is_full(const struct engine *e, const struct tenant *t);
void gauge_add(struct engine *e, const struct queue *q, struct hist **of_queue,
               struct hist **of_tenant, int64_t ms);

/* ---- tenant.c: tenants, kinds, and the posts where workers wait ---- */

void tenants_init(struct engine *e);
void tenants_free(struct engine *e);
struct tenant *tenant_find(const struct engine *e, struct str name);
/* Recurrences of a tenant, in memory and on disk. */
uint64_t tenant_recurrences(const struct engine *e, struct str name);
struct tenant *tenant_obtain(struct engine *e, struct str name); /* NULL: there is no memory */
/* Forgets a tenant, or below a kind, that has no use any more. */
void tenant_settle(struct engine *e, struct tenant *t);
struct kind *kind_find(const struct engine *e, struct str name);
struct kind *kind_obtain(struct engine *e, struct str name);
void kind_settle(struct engine *e, struct kind *k);
void post_init(struct post *p);
/* Asks engine_dispatch to look at a post, if a worker waits there. */
void post_call(struct engine *e, struct post *p);

/* ---- rated.c: what rates have counted; see rated.c ---- */

/* There is a log if there is a rate. It fails only if the log has to be made. */
int rated_settle(struct engine *e, struct rated *x, const struct rate *r);
void rated_fini(struct engine *e, struct rated *x);
size_t rated_bytes(const struct rated *x);
/* The queue of this name gave a job, at this moment if the record of it is replayed. */
void rated_take(const struct engine *e, struct str name, int64_t wall_ms);
/* What a rate has counted, by the wall clock. */
void rated_taken(const struct engine *e, const struct rated *x, const struct rate *r,
                 struct rate_log *ret);
void rates_begin(struct engine *e); /* at the start, when the clocks are known */

static inline bool queue_is_rated(const struct queue *q)
{
    return q->rated.log || q->tenant->rated.log;
}

/* ---- turn.c: whose turn it is; see turn.c ---- */

/* Looks at the parked queues of a tenant again. */
void tenant_unpark(struct engine *e, struct tenant *t);
/* The queue is in no ring any more, nor parked. */
void queue_quits_ring(struct engine *e, struct queue *q);
/* The queue of a kind whose turn it is, or NULL. */
struct queue *kind_next(struct engine *e, struct kind *k);
/* The queue may have jobs to give. */
void queue_offer(struct engine *e, struct queue *q);
/* Fewer jobs of a tenant own their lanes: queues that waited for that may go on. */
void lulls_end(struct engine *e, const struct tenant *t);
/* The queue may have jobs to give though its tenant's other queues stay parked. */
void queue_unpark(struct engine *e, struct queue *q);
bool server_is_full(const struct engine *e); /* it has as many running as it may, or no memory */
/* The monotonic moment at which slow start lets more jobs run; INT64_MAX: never. */
int64_t slow_start_wake(const struct engine *e);
bool tenant_is_shut(const struct engine *e, const struct tenant *t); /* by maintenance */
/* When its last maintenance ended; 0: it is shut, or was not since the start. */
int64_t tenant_reopened_ms(const struct engine *e, const struct tenant *t);
void gate_arm(struct engine *e, struct tenant *t); /* by the settings */
void gates_fire(struct engine *e, int *budget);
/* What holds the queue: its jobs that pass all gates, or its others. */
enum hold queue_hold(const struct engine *e, const struct queue *q, bool passing);
/* What holds it besides these (bits 1 << enum hold). */
enum hold queue_hold_beyond(const struct engine *e, const struct queue *q, bool passing,
                            unsigned passed);
/* Whether the queue has a ready job and may give it. If not, the queue waits for the event that
 * changes that. */
bool queue_gives(struct engine *e, struct queue *q);
/* The queue gave a job. `in_turn`: it was its turn among its kind. */
void queue_took(struct engine *e, struct queue *q, bool in_turn);
void queue_freed(struct engine *e, struct queue *q); /* a lease ended */
void rates_fire(struct engine *e, int *budget);
/* How long such a hold keeps back a job that has `ahead` others before it; 0: not at all, or
 * that is not known. A rate may keep back a job though it does not hold the queue yet. */
int64_t hold_pause_ms(const struct engine *e, const struct queue *q, enum hold h, uint64_t ahead);

#endif
