/* SPDX-License-Identifier: MIT */
/*
 * Deliberate bugs, one at a time, for checking that the simulator would notice. They exist only in
 * builds with BELFRY_MUTANTS (the simulator's own); elsewhere MUTANT() is constant false.
 */
#ifndef ENGINE_MUTANT_H
#define ENGINE_MUTANT_H

#define MUTANTS(X)                                                              \
    X(EARLY_DROP, "a segment is removed before its copies are durable")         \
    X(NO_COPY, "a segment is removed without copying what lives in it")         \
    X(REISSUED_TOKEN, "tokens start again at every open")                       \
    X(REPLY_BEFORE_DURABLE, "answers do not wait for their records")            \
    X(OFFERED_EARLY, "a job is given out before its own record is durable")     \
    X(LOST_RETRY, "the record of a retry is not written")                       \
    X(LOST_END, "the record of a job's end is not written")                     \
    X(LOG_LOST, "a start forgets the lines of jobs' logs")                      \
    X(LOST_RELEASE, "the record of a release is not written")                   \
    X(WRONG_ATTEMPT, "a released job keeps its attempt counted")                \
    X(UNCOUNTED_STALL, "a stall gives its attempt back")                        \
    X(STALE_ACCEPTED, "COMPLETE does not look at the token")                    \
    X(EARLY, "jobs fire up to 50 ms before their time")                         \
    X(KEY_TWICE, "IFEXISTS keep makes a second job")                            \
    X(HOLD_FORGOTTEN, "a key is free as soon as its job is done")               \
    X(OWN_HOLD_IGNORED, "only the queue says how long a key is held")           \
    X(CANCEL_RETRIED, "a cancelled running job is retried when it fails")       \
    X(COUNT_DRIFT, "the count of ready jobs is not lowered by a cancel")        \
    X(TORN_ACCEPTED, "an append in doubt is taken for done")                    \
    X(SEQ_REUSED, "sequence numbers are not kept over a restart")               \
    X(LEASE_BY_WALL, "a jump of the wall clock ends leases")                    \
    X(PAUSE_IGNORED, "a paused queue gives out jobs")                           \
    X(DUPLICATE_FEED, "a job that changed while it was fed counts on disk")     \
    X(FED_TWICE, "a job that left a batch is written to it once more")          \
    X(TAKEN_FED, "a job that just came from disk is written to a batch")        \
    X(LOST_TOMBSTONE, "graves are forgotten when they should be fed")           \
    X(GRAVE_LOST, "a merge drops a grave while its job is in another run")      \
    X(RUN_DROPPED_EARLY, "a run is removed before its successor counts")        \
    X(CURSOR_AHEAD, "the frontier is recorded without the jobs it passed")      \
    X(OVERTAKING, "a job overtakes those of its class that are on disk")        \
    X(LOCATOR_LOST, "the locator is not told where jobs went")                  \
    X(WALK_BLIND, "a walk does not go where jobs went behind it")               \
    X(KEY_STALE, "of two jobs in a batch with one key the first has it")        \
    X(TENANT_LEAK, "a request sees other tenants' jobs")                        \
    X(UNTIL_IGNORED, "maintenance does not end by itself")                      \
    X(TENANT_PAUSE_IGNORED, "a paused tenant gives out jobs")                   \
    X(TENANT_PAUSE_LOST, "a start forgets that a tenant is paused")             \
    X(MAINTENANCE_UNCOUNTED, "maintenance is no deferral")                      \
    X(MAINTENANCE_IGNORED, "a tenant in maintenance gives out jobs")            \
    X(LIMIT_IGNORED, "max_running is not looked at")                            \
    X(LOST_WAKE, "a queue at its limit does not come back as a lease ends")     \
    X(SETTINGS_FORGOTTEN, "a queue is forgotten with its settings")             \
    X(SUMS_LOST, "a forgotten queue takes its counts out of the sums")          \
    X(BYTES_LOST, "history that goes stays in the bytes of its tenant")         \
    X(CUT_WIDE, "history gives way to the jobs of another tenant")              \
    X(BYTES_IGNORED, "max_bytes is not looked at")                              \
    X(TURN_STUCK, "the tenants of a kind do not take turns")                    \
    X(RATE_IGNORED, "a rate is not looked at")                                  \
    X(RATE_FORGOTTEN, "a restart forgets what rates have counted")              \
    X(RATE_UNCOPIED, "settings are copied without what a rate has counted")     \
    X(RATE_AHEAD, "answers are ahead of what a rate has counted")               \
    X(PARENT_IGNORED, "a job runs though one that it waits for is dead")        \
    X(UNTOLD, "jobs are not told that those they wait for have ended")          \
    X(CROWDED, "a tenant makes one more recurrence than it may")                \
    X(REVISION_LOST, "the record of a recurrence that went on is lost")         \
    X(OVERLAP_IGNORED, "a recurrence does not look at the one before")          \
    X(QUIET_IGNORED, "a job is given out in quiet hours")                       \
    X(PASS_HELD, "maintenance holds jobs that pass all gates")                  \
    X(BULK_SKIPS, "a bulk passes over a page of jobs")                          \
    X(BULK_WIDE, "a bulk does not look at ordering keys")                       \
    X(LANE_OVERLAP, "jobs with one ordering key run at the same time")          \
    X(LANE_SWAP, "they run in the order in which they were scheduled")          \
    X(EVENT_LOST, "a retry is not told to those who listen")                    \
    X(OCCURRENCE_OFF, "a recurrence leaves its first nominal time out")         \
    X(MISSED_EARLY, "an occurrence is missed a millisecond early")              \
    X(SKIPS_UNCOUNTED, "occurrences that were left out are not counted")        \
    X(LEDGER_WRONG, "the ledger has skipped occurrences up to a wrong one")     \
    X(SUMMER_IGNORED, "rules are expanded without summer time")                 \
    X(FORGOTTEN_EARLY, "ended jobs on disk are forgotten a minute early")       \
    X(HISTORY_HALF, "history is forgotten at half of its budget")               \
    X(KEPT_BY_OPTION, "replay remembers attempts by the option of today")       \
    X(HISTORY_NEWEST, "of a queue's history the newest is forgotten first")     \
    X(EDIT_PAYLOAD_ONLY, "EDIT changes no option")                              \
    X(FORECAST_OFF, "FORECAST leaves out the first moment")                     \
    X(REMOVAL_LOST, "a deleted queue has its settings after a start")           \
    X(REMOVAL_HASTY, "a queue with jobs is deleted")                            \
    X(TENANT_REMOVAL_LOST, "a deleted tenant has its settings, likewise")       \
    X(DELETION_LOST, "a job that was deleted before its end comes back")        \
    X(CENSUS_LEFT, "FORECAST misses jobs that go to disk meanwhile")            \
    X(EXPLAIN_OFF, "EXPLAIN does not see that a job was deferred")              \
    X(EXPLAIN_HALF, "EXPLAIN does not see what holds a job at its time")        \
    X(EXPLAIN_RATE, "EXPLAIN tells all the time at which a rate has one")       \
    X(EXPIRY_LOST, "a waiting job that comes from disk does not expire")        \
    X(DAMAGE_SILENT, "a block that cannot be read is not reported")             \
    X(DAMAGE_WIDE, "such a block costs what was loaded with it")                \
    X(EXPIRED_EARLY, "jobs on disk are seen to expire a minute early")          \
    X(DEFERRED_FAR, "a job is deferred to beyond its spread")                   \
    X(HOLD_SHORT, "a held key is free a minute early on disk")                  \
    X(HOLD_LOST, "a start forgets that a dead job holds its key")               \
    X(HOLD_AGAIN, "a job from disk takes its key back after the hold")          \
    X(ASIDE_OVERTAKEN, "they overtake those of them that were set aside")       \
    X(ASIDE_STUCK, "those that were set aside are not asked for again")         \
    X(HOLDERS_SHARED, "who keeps an ordering key is in all tenants' way")       \
    X(LEASES_SHARED, "a tenant's leased jobs are in all tenants' way")          \
    X(LEASED_IGNORED, "max_leased is not looked at")                            \
    X(BEGINNING_LOST, "a journal without its first segments is opened")         \
    X(END_LOST, "a journal without its last segments is opened")                \
    X(CLEAN_END_IGNORED, "damage at the end passes for a torn commit")          \
    X(OWNER_FORGOTTEN, "without its owner record a journal is opened")          \
    X(LOAD_UNBOUNDED, "a slice of loading is larger than a commit")             \
    X(BATCH_WHOLE, "a batch takes all jobs at once that may go to disk")        \
    X(CRAMMED_SHARED, "who fills the memory is in all tenants' way")            \
    X(BATCH_KEPT, "the memory of a batch that was given up is kept")            \
    X(CUT_SKIPS, "a page that is cut short passes over the rest of it")         \
    X(ASKED_IGNORED, "jobs stay on disk though a worker asks for them")         \
    X(FED_NOT_OWED, "LEASE does not wait for jobs on their way to disk")        \
    X(PENDING_UNCOUNTED, "a replacement of a leased job is in no share")        \
    X(SAME_WRITTEN, "settings are written though they change nothing")          \
    X(AUDIT_NEWEST, "of the audit log the newest entry goes first")             \
    X(AUDIT_MERGED, "a merge drops each second entry of it")                    \
    X(SECRET_LOST, "the secret is not written in further segments")             \
    X(OLD_NAMES_LOST, "names of before the secret are not looked for")          \
    X(LANES_UNNAMED, "lanes of before the secret keep their names")             \
    X(ASK_LOST, "of the jobs on disk that a batch names one is looked up")      \
    X(CUT_TAKEN, "the head of a job on disk comes to memory as the job")        \
    X(COPIES_KEPT, "copies of jobs stay in the account when requests end")      \
    X(SERVES_ANOTHER, "another worker is served than the one whose turn it is") \
    X(WORKER_PAST, "LIST by worker looks at present leases only")               \
    X(SERIES_LOST, "figures of a minute are not kept")                          \
    X(SERIES_TWICE, "a copied minute is added to its hour again")

enum mutant {
    MUTANT_NONE,
#define MUTANT_ENUM(name, text) MUTANT_##name,
    MUTANTS(MUTANT_ENUM)
#undef MUTANT_ENUM
        MUTANT_COUNT
};

#ifdef BELFRY_MUTANTS
#define MUTANT(chosen, name) ((chosen) == MUTANT_##name)
#else
#define MUTANT(chosen, name) ((void)(chosen), false)
#endif

#endif
