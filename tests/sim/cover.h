/* SPDX-License-Identifier: MIT */
/*
 * What a run must have seen to be worth anything: every fault point made use of, and every one of
 * these events. Counted over all seeds of the process.
 */
#ifndef SIM_COVER_H
#define SIM_COVER_H

#include <stdint.h>

#include "support/fault.h"

#define EVENTS(X)                                                                 \
    X(STALL, "a lease ended without a word")                                      \
    X(GRACE, "a start gave a lease ten seconds more")                             \
    X(NO_GRACE, "a lease that had its grace ended at the next start")             \
    X(EXHAUSTED, "a job was dead after its attempts")                             \
    X(POISON, "a job was dead after stalls in a row")                             \
    X(ATTEMPT_LEFT_OUT, "a job had more attempts than it remembers")              \
    X(KEPT_HELD, "a held key answered for a new job")                             \
    X(REDRIVEN_HELD, "a dead job was put back that held its own key")             \
    X(REPLACED_RUNNING, "a job was replaced while it ran")                        \
    X(CANCELLED_RUNNING, "a job was cancelled while it ran")                      \
    X(CANCELLED_REPLACED, "a job was cancelled and replaced while it ran")        \
    X(REDRIVEN, "a dead job was put back")                                        \
    X(REDRIVE_TAKEN, "a dead job could not be put back because of its key")       \
    X(STALE_EPOCH, "a token of an earlier process was stale")                     \
    X(PARKED, "a parked worker got work")                                         \
    X(PARKED_LATE, "a parked worker got nothing in its time")                     \
    X(FORGOTTEN, "an ended job was forgotten at its time")                        \
    X(TRIMMED, "an ended job was forgotten to save space")                        \
    X(REMEMBERED, "a clock set back and a restart showed an ended job once more") \
    X(READY_AHEAD, "a ready job was leased after the clock was set back")         \
    X(SECOND_CRASH, "a crash came soon after another fault")                      \
    X(SECOND_FAILURE, "a failure came soon after another fault")                  \
    X(RECLAIMED, "a segment was reclaimed")                                       \
    X(SLOW_COMMIT, "a request was executed while a commit was being written")     \
    X(ANSWER_LOST, "a crash took an answer that was not given yet")               \
    X(LEASE_LOST, "a crash took a lease whose answer was given")                  \
    X(LEASE_WAITED, "an answer waited for a lease, soon after a crash")           \
    X(WRITTEN_UNSETTLED, "a crash came between write and settle")                 \
    X(TAIL_LOST, "a loss of power took commits that were not to survive one")     \
    X(TORN, "a torn commit was reported")                                         \
    X(FENCED, "a process that was thought dead tried to write")                   \
    X(DISK_FULL, "a commit found no room, and went through later")                \
    X(REFUSED, "a new job was refused")                                           \
    X(PAST, "a job was too far in the past")                                      \
    X(EXPLAINED, "somebody asked why a job had not run")                          \
    X(EXPLAINED_READY, "likewise, and it was ready")                              \
    X(EXPLAINED_TWICE, "likewise, and there were several causes")                 \
    X(EXPLAINED_RATE, "likewise, and a rate held one that was not the next")      \
    X(EXPLAINED_UNTIL, "likewise, and the maintenance of its tenant had an end")  \
    X(EXPLAINED_LOST, "likewise, and it had been cancelled with its parent")      \
    X(DELETED, "a job was deleted")                                               \
    X(COLD_DELETED, "and one on disk")                                            \
    X(QUEUE_DELETED, "a queue without jobs was deleted")                          \
    X(QUEUE_DELETED_SET, "and one with settings")                                 \
    X(QUEUE_DELETE_REFUSED, "a queue with jobs was not deleted")                  \
    X(TENANT_DELETED, "a tenant that nobody used was deleted")                    \
    X(TENANT_DELETE_REFUSED, "a tenant with jobs was not deleted")                \
    X(FORECAST, "somebody asked how many jobs will be due")                       \
    X(FORECAST_TIMES, "and how many occurrences there will be")                   \
    X(FORECAST_ROUNDS, "which took more than a few rounds")                       \
    X(PAGED, "a LIST took several pages while jobs came and went")                \
    X(FED, "jobs went from memory to disk")                                       \
    X(LOADED, "jobs came from disk to memory")                                    \
    X(MERGED, "runs were merged")                                                 \
    X(UNLINKED, "a run was removed")                                              \
    X(PRESSED, "memory was at its budget")                                        \
    X(CALM, "everything that belongs on disk or in memory was there")             \
    X(DRAINED, "every job of a world with a small budget was delivered")          \
    X(FETCHED, "a request was executed again after a fetch")                      \
    X(FETCHED_AGAIN, "jobs moved while something was fetched: it was again")      \
    X(COLD_CANCELLED, "a job on disk was cancelled")                              \
    X(COLD_MOVED, "a job on disk was rescheduled")                                \
    X(COLD_REPLACED, "a job on disk was replaced by key")                         \
    X(COLD_KEPT, "a job on disk answered for its key")                            \
    X(COLD_REDRIVEN, "a dead job on disk was put back")                           \
    X(CRASH_GATHERED, "a crash came while a batch was in memory or written")      \
    X(CRASH_FED_LOST, "a crash took the record of a batch")                       \
    X(CRASH_FED, "a crash came between a batch and the removal of a segment")     \
    X(CRASH_LOADED_LOST, "a crash took the record of a load")                     \
    X(CRASH_MERGED_LOST, "a crash took the record of a merge")                    \
    X(CRASH_MERGED, "a crash came between a merge and the removal of its runs")   \
    X(CRASH_PARKED, "a crash took a request that waited for the disk")            \
    X(HUNG_FEED, "a process that was thought dead tried to write runs")           \
    X(FOREIGN, "a request was for another tenant's job")                          \
    X(FOREIGN_COLD, "likewise, and it was on disk")                               \
    X(QUEUE_FORGOTTEN, "a queue was forgotten, and is in the sums of its tenant") \
    X(LIMIT, "a tenant had as many jobs as it may")                               \
    X(LIMIT_BYTES, "as many bytes were kept of a tenant as may be")               \
    X(LIMIT_LEASED, "leased jobs took too much memory for a replacement")         \
    X(KIND, "a worker of all tenants got work")                                   \
    X(KIND_PARKED, "a parked worker of all tenants got work")                     \
    X(TURN, "the tenants of a kind had several turns")                            \
    X(UNHELD, "a parked worker got work that had been held back")                 \
    X(HELD_PAUSED, "a queue that was asked was paused")                           \
    X(HELD_TENANT_PAUSED, "a tenant that was asked was paused")                   \
    X(HELD_MAINTENANCE, "a tenant that was asked was in maintenance")             \
    X(HELD_QUEUE_RUNNING, "a queue that was asked had as many running as it may") \
    X(HELD_TENANT_RUNNING, "likewise a tenant")                                   \
    X(HELD_QUEUE_RATE, "a queue that was asked was at its rate")                  \
    X(HELD_TENANT_RATE, "likewise a tenant")                                      \
    X(HELD_SERVER_RUNNING, "the server had as many running as it may")            \
    X(HELD_SLOW_START, "likewise, so soon after its start")                       \
    X(DEFERRED, "quiet hours deferred a job")                                     \
    X(DEFERRED_GIVEN, "a job that was deferred was given out")                    \
    X(REOPENED, "a job was given that maintenance had held")                      \
    X(PASSED, "a job passed maintenance")                                         \
    X(PASSED_QUIET, "a job passed quiet hours")                                   \
    X(BULK_CANCELLED, "a bulk cancelled jobs")                                    \
    X(BULK_MOVED, "a bulk moved jobs")                                            \
    X(BULK_REDRIVEN, "a bulk put jobs back")                                      \
    X(BULK_DELETED, "a bulk deleted jobs")                                        \
    X(BULK_COLD, "a bulk changed jobs on disk")                                   \
    X(BULK_SKIPPED, "a bulk met a job that it could not change")                  \
    X(BULK_COUNTED, "a dry run counted jobs, and nothing moved meanwhile")        \
    X(BULK_AGAIN, "a bulk was done that had begun anew after a restart")          \
    X(BULK_STOPPED, "a bulk was stopped")                                         \
    X(CRASH_BULK, "a crash came in the middle of a bulk")                         \
    X(LANE_WAITED, "a job was given that others with its ordering key wait for")  \
    X(LANE_RETRIED, "likewise, once more")                                        \
    X(LANE_COLD, "a job with an ordering key was on disk, in a backlog")          \
    X(LANE_ASIDE, "likewise, set aside as its ordering key was stuck")            \
    X(WAITS, "a job waited for another")                                          \
    X(WAITS_COLD, "a job was to wait for one on disk")                            \
    X(WAITS_LEASED, "a job waited for one that ran")                              \
    X(WAITS_DONE, "a job was to wait for one that was done")                      \
    X(WAITS_LOST, "a job was to wait for one that had ended otherwise")           \
    X(TOLD, "a job was told that one it waited for had ended")                    \
    X(TOLD_LATER, "likewise, some time after that had ended")                     \
    X(TOLD_COLD, "likewise, and it was on disk")                                  \
    X(TOLD_LAST, "a job ran as the last one it waited for had ended")             \
    X(TOLD_LOST, "a job was cancelled as one it waited for was lost")             \
    X(TOLD_CHAIN, "likewise, and one that waited for that one")                   \
    X(TOLD_RUN, "a job ran though one it waited for was lost")                    \
    X(REVIVED, "a dead job was put back before all were told of its end")         \
    X(CRASH_UNTOLD, "a crash came between an end and the telling of it")          \
    X(CRASH_TOLD_LOST, "a crash took what others had been told")                  \
    X(RECUR_MADE, "a recurrence made a job")                                      \
    X(RECUR_TOLD, "a recurrence was told that its job had ended")                 \
    X(RECUR_TOLD_AGAIN, "likewise, and it had been dead before")                  \
    X(RECUR_QUEUED, "an occurrence waited for its turn")                          \
    X(RECUR_TURN, "its turn came")                                                \
    X(RECUR_OVERLAP, "an occurrence was skipped for the one before it")           \
    X(RECUR_MISSED, "an occurrence was missed")                                   \
    X(RECUR_PAUSED, "an occurrence was skipped in a pause")                       \
    X(RECUR_LIMIT, "an occurrence was skipped for the tenant's limit")            \
    X(RECUR_GAP, "a nominal time was one that clocks left out")                   \
    X(RECUR_TWICE, "a nominal time was one that clocks showed twice")             \
    X(RECUR_EXPIRED, "an occurrence was skipped as it would have expired")        \
    X(RECUR_FINISHED, "a recurrence came to its end")                             \
    X(RECUR_RUN, "an occurrence was made by hand")                                \
    X(RECUR_EDITED, "a recurrence was changed")                                   \
    X(RECUR_PASSED, "a change left out what was not decided about")               \
    X(RECUR_DELETED, "a recurrence was deleted while its job ran or waited")      \
    X(RECUR_COLD, "a recurrence on disk was asked for")                           \
    X(CRASH_MADE_LOST, "a crash took an occurrence")                              \
    X(EXPIRED, "a job expired")                                                   \
    X(EXPIRED_ON_DISK, "a job on disk was seen to have expired")                  \
    X(EXPIRED_WAITING, "a job expired while it waited for another")               \
    X(EXPIRED_KEY, "the key of a job that expired on disk was free")              \
    X(LABELLED_COLD, "the labels of a job on disk were asked for")                \
    X(EDITED, "a job was edited")                                                 \
    X(EDITED_COLD, "a job on disk was edited")                                    \
    X(EDITED_WAITING, "a job was edited while it waited for another")             \
    X(EDITED_DEAD, "a dead job was edited and put back")                          \
    X(CLONED, "a job was cloned")                                                 \
    X(CLONED_COLD, "a job on disk was cloned")                                    \
    X(CLONED_ENDED, "a job that has ended was cloned")                            \
    X(LISTED_TAG, "jobs were listed by tag")                                      \
    X(LISTED_MORE, "jobs were listed by worker, recurrence, order or end")        \
    X(BATCH_ALL, "a batch was taken as a whole")                                  \
    X(BATCH_REFUSED, "a batch was refused as a whole")                            \
    X(BATCH_EACH, "a batch was taken item by item")                               \
    X(BATCH_COLD, "a batch needed something on disk")                             \
    X(FIRST_MISSING, "a journal without its first segments was refused")          \
    X(LAST_MISSING, "a journal without its last segments was refused")            \
    X(ALL_MISSING, "a directory without its journal was refused")                 \
    X(LAST_CUT, "a journal whose last segment was cut off was refused")           \
    X(OWNER_MISSING, "a journal without its owner record was refused")            \
    X(OWNER_OLD, "a journal with an old owner record was refused")                \
    X(END_MISSING, "a journal that was closed without its end was refused")       \
    X(END_DAMAGED, "likewise, with another end")                                  \
    X(NOTES_UNKNOWN, "a directory of an older version was opened")

enum event {
#define EVENT_ENUM(name, text) EVENT_##name,
    EVENTS(EVENT_ENUM)
#undef EVENT_ENUM
        EVENT_COUNT
};

void cover_event(enum event e);
void cover_fault(enum fault_point point, enum fault_action action);

/* Events of chores, which run off the engine's thread. A chore ended, a fault came while it ran, or
 * a crash came after it had begun or after it had run. */
enum moment { MOMENT_ENDED, MOMENT_CRASHED, MOMENT_FAILED, MOMENT_BEGUN, MOMENT_RAN, MOMENTS };

#define DOING_FETCH "looking something up"

void cover_doing(const char *name, enum moment moment);
/* One of the names, any number chooses. */
const char *cover_name(uint64_t any);

/* Prints what was never seen in so many seeds; returns how much of it should have been. */
int cover_missed(uint64_t seeds);
/* Prints all counts. */
void cover_print(void);

#endif
