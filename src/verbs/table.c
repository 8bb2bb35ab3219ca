/* SPDX-License-Identifier: MIT */
#include "verbs/handlers.h"

#include "base/time.h"

/* clang-format off */
#define POS      .positional = true
#define QUEUE    { "queue", ARG_NAME, POS, .help = "name of the queue" }
#define ID       { "id", ARG_ID, POS, .help = "id of the job" }
#define TOKEN    { "token", ARG_TOKEN, POS, .help = "token of the lease" }
#define DURATION .min = 0, .max = TIME_DURATION_MAX

const struct verb verb_table[] = {
    { "SCHEDULE", VERB_ADDS, "Schedules a job; at once if neither IN nor AT is given.",
      "the job's id", "SCHEDULE reminder.send \"hello\" IN 10m KEY user-7", run_schedule, {
        QUEUE,
        { "payload", ARG_PAYLOAD, POS, .help = "any bytes, up to max_payload" },
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment; one that has passed runs at once" },
        { "key", ARG_KEY, .help = "at most one job of the queue has this key at a time" },
        { "ifexists", ARG_WORD, .words = "keep|replace|reject",
          .help = "what to do if the key is taken: answer that job's id (the default), give it the "
                  "new payload and due time, or fail with KEYEXISTS" },
        { "priority", ARG_INT, .min = 1, .max = 5, .help = "1 is first, 5 is last; 3 if not given" },
        { "attempts", ARG_INT, .min = 0, .max = 1000000,
          .help = "deliveries before the job is dead; 0 means for ever" },
        { "backoff", ARG_BACKOFF,
          .help = "pause before each retry: `1m,5m,15m`, `exp:2s:1h` or `fixed:20s`" },
        { "lease", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS,
          .help = "how long a worker has it before it must EXTEND" },
        { "retain", ARG_DURATION, DURATION,
          .help = "how long it is kept for GET once it is done; 0 means not at all" } } },
    { "LEASE", VERB_TAKES, "Takes ready jobs, each under a lease that names the worker's right to it.",
      "an array of jobs, each a map: id, token, queue, payload, attempt, priority, due_ms, lease_ms, "
      "until_ms, key; empty if there is no work", "LEASE reminder.send COUNT 10 WAIT 30s", run_lease, {
        { "queues", ARG_NAMES, POS, .help = "one queue or several with commas between" },
        { "count", ARG_INT, .min = 1, .max = LEASE_COUNT_MAX, .help = "at most so many jobs; 1 if not given" },
        { "wait", ARG_DURATION, .min = 0, .max = 86400000, .help = "how long to wait if there is no work now" },
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS,
          .help = "length of the lease; the job's or queue's if not given" },
        { "worker", ARG_BYTES, .max = NAME_MAX_BYTES, .help = "who takes it, for the job's history" } } },
    { "COMPLETE", 0, "Ends a leased job as done.", "OK",
      "COMPLETE 01… 1099511627777 RESULT \"sent\"", run_complete, {
        ID, TOKEN,
        { "result", ARG_BYTES, .max = RESULT_MAX_BYTES, .help = "kept with the job and shown by GET" },
        { "again", ARG_DURATION, DURATION,
          .help = "run the job again this long from now, its attempts counted anew" } } },
    { "FAIL", 0, "Ends an attempt as failed: the job is retried after its back-off, or is dead.",
      "a map: state (scheduled, dead or cancelled) and at_ms, when it runs again",
      "FAIL 01… 1099511627777 ERROR \"timeout\"", run_fail, {
        ID, TOKEN,
        { "error", ARG_BYTES, .max = 0, .help = "what went wrong; kept up to 1024 bytes" },
        { "retry", ARG_DURATION, DURATION, .help = "run again after this pause instead of the back-off" },
        { "final", ARG_WORD, .words = "no|yes", .help = "yes: do not retry" } } },
    { "EXTEND", 0, "The heartbeat: lengthens a lease from now.",
      "a map: until_ms, the lease's new end, and cancelled, true if the worker should stop",
      "EXTEND 01… 1099511627777 FOR 1m PROGRESS 40", run_extend, {
        ID, TOKEN,
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, .help = "from now; as long as it was leased for if not given" },
        { "progress", ARG_INT, .min = 0, .max = 100, .help = "percent, shown by GET" },
        { "note", ARG_BYTES, .max = 0, .help = "shown by GET; kept up to 1024 bytes" } } },
    { "RELEASE", 0, "Gives a leased job back without costing an attempt.", "OK",
      "RELEASE 01… 1099511627777 IN 30s", run_release, {
        ID, TOKEN,
        { "in", ARG_DURATION, DURATION, .help = "offer it again only after this pause" } } },
    { "CANCEL", 0, "Cancels a job, by id or by KEY and QUEUE.",
      "cancelled; running if a worker has it: it is told at its next EXTEND and the job is not "
      "retried; or notfound", "CANCEL KEY user-7 QUEUE reminder.send", run_cancel, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "key", ARG_KEY, .help = "instead of the id" },
        { "queue", ARG_NAME, .help = "the key's queue" } } },
    { "RESCHEDULE", 0, "Moves a job that is not running to another time; at once if none is given.",
      "OK", "RESCHEDULE 01… IN 1h", run_reschedule, {
        ID,
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment" } } },
    { "GET", VERB_READS, "Shows a job, by id or by KEY and QUEUE.",
      "a map with everything known of the job, its attempts included; null if there is none",
      "GET 01…", run_get, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "key", ARG_KEY, .help = "instead of the id" },
        { "queue", ARG_NAME, .help = "the key's queue" } } },
    { "LIST", VERB_READS, "Lists jobs, page by page. A call does a bounded amount of work: a page may "
      "be short, or empty, though there are more. A job that goes between memory and disk meanwhile may be "
      "in two pages.",
      "a map: jobs (an array of maps) and cursor, for the next page; null when there are no more",
      "LIST QUEUE reminder.send STATE dead LIMIT 20", run_list, {
        { "queue", ARG_NAME, .help = "only this queue" },
        { "state", ARG_WORD, .words = "scheduled|ready|leased|done|dead|cancelled", .help = "only this state" },
        { "from", ARG_MOMENT, .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, .help = "only jobs due before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "jobs in a page; 100 if not given" },
        { "cursor", ARG_CURSOR, .help = "from the page before" } } },
    { "FORECAST", VERB_READS, "Shows how many jobs become due in each step of a time to come. Exact for few "
      "jobs, an estimate for many.",
      "an array of maps, one for each step: from_ms, to_ms, jobs; the last step ends at TO",
      "FORECAST STEP 15m", run_forecast, {
        { "from", ARG_MOMENT, .help = "where the first step begins; now if not given" },
        { "to", ARG_MOMENT, .help = "where the last step ends; a day after FROM if not given" },
        { "step", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX,
          .help = "length of a step; 1h if not given. There are at most 1000 of them" } } },
    { "STATS", VERB_READS, "Shows the server's figures.", "a map", "STATS", run_stats, { { 0 } } },
    { "QUEUES", VERB_READS, "Shows queues with their counts, by name.", "an array of maps", "QUEUES", run_queues, {
        { "after", ARG_NAME, .help = "only those behind this name: the next page" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "at most so many; 1000 if not given" } } },
    { "QUEUE", VERB_ADMIN, "Shows a queue, after changing the settings that are given.",
      "a map of counts and settings", "QUEUE reminder.send ATTEMPTS 10 BACKOFF exp:5s:1h", run_queue, {
        QUEUE,
        { "lease", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, .help = "length of a lease; 1m at first" },
        { "attempts", ARG_INT, .min = 0, .max = 1000000, .help = "deliveries before a job is dead, 0 for ever; 5 at first" },
        { "backoff", ARG_BACKOFF, .help = "pause before each retry; exp:2s:1h at first" },
        { "retain", ARG_DURATION, DURATION, .help = "how long done and cancelled jobs are kept; 1d at first" },
        { "retain_dead", ARG_DURATION, DURATION, .help = "how long dead jobs are kept; 30d at first" },
        { "key_hold", ARG_DURATION, DURATION, .help = "how long a key stays taken after its job is done; 0ms at first" },
        { "past_grace", ARG_DURATION, DURATION,
          .help = "refuse jobs due longer ago than this; any past moment is accepted at first" } } },
    { "PAUSE", VERB_ADMIN, "Stops giving out a queue's jobs; they wait.", "OK", "PAUSE reminder.send", run_pause, { QUEUE } },
    { "RESUME", VERB_ADMIN, "Ends a PAUSE.", "OK", "RESUME reminder.send", run_resume, { QUEUE } },
    { "REDRIVE", VERB_ADMIN | VERB_ADDS, "Puts dead jobs back, attempts counted anew: one by id, or a queue's, oldest first.",
      "how many were put back; of a queue's it may be fewer than LIMIT though there are more, so ask again "
      "until it is 0", "REDRIVE QUEUE reminder.send LIMIT 100", run_redrive, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "queue", ARG_NAME, .help = "instead of the id: all dead jobs of this queue" },
        { "limit", ARG_INT, .min = 1, .max = 10000, .help = "at most so many; 1000 if not given" } } },
    { 0 },
};
/* clang-format on */
