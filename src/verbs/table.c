/* SPDX-License-Identifier: MIT */
#include "verbs/rows.h"

#include "engine/audit.h"
#include "engine/bulk.h"
#include "engine/series.h"

/* clang-format off */
const struct verb verb_table[] = {
    { "SCHEDULE", VERB_ADDS | VERB_PRODUCER | VERB_QUICK, "Schedules a job. Without IN and AT it is due at once.",
      "the job's id; with ANSWER map a map: id, created (false if the key was taken) and outcome (created, kept or "
      "replaced); with WAIT the job, as GET shows it", "SCHEDULE reminder.send \"hello\" IN 10m KEY user-7", run_schedule, {
        SPEC_QUEUE("name of the queue"),
        SPEC_PAYLOAD("any bytes, up to max_payload"),
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment; a job whose moment has passed runs at once" },
        SPEC_KEY("unique among the jobs of the queue that have not ended; see KEY_HOLD"),
        SPEC_IFEXISTS("if the key is taken: `keep` (the default) answers the id of that job, `replace` gives that "
                      "job the new payload and due time, `reject` fails with KEYEXISTS"),
        SPEC_PRIORITY("1 is first, 5 is last; 3 if not given"),
        SPEC_ATTEMPTS("how many deliveries before the job is dead; 0 means no limit"),
        SPEC_BACKOFF("pause before each retry: `1m,5m,15m`, `exp:2s:1h` or `fixed:20s`"),
        SPEC_LEASE("length of a lease: how long a worker has the job before it must EXTEND"),
        SPEC_RETAIN("how long the job is kept for GET after it is done, cancelled or expired; 0 means not at all"),
        TENANT,
        SPEC_EXPIRE("the job becomes expired if it was not started this long after its due time"),
        SPEC_TAG("a word for LIST and BULK; up to 16 of them"),
        SPEC_META("metadata for the worker, shown by LEASE and GET: up to 32 names, each with a value of up to "
                  "1024 bytes; `traceparent` carries a W3C trace"),
        SPEC_AFTER("the new job waits until this job is done, besides its own time; up to 64 of them"),
        SPEC_AFTERFAIL("if a job of AFTER ends otherwise than done: `cancel` (the default) cancels the waiting "
                       "job, `run` lets it run"),
        SPEC_NOTIFY("`yes`: the job disturbs people, so quiet hours of its tenant put it off to their end"),
        SPEC_GATES("`pass`: neither quiet hours nor maintenance hold the job; pauses, limits and rates do"),
        SPEC_ORDER("ordering key: jobs of the queue with one ordering key run one at a time, by due time; KEY is "
                   "then unique among these jobs"),
        SPEC_PUSH("URL to which the server pushes the job; needed in a queue whose PUSH_URL is `job`, refused in "
                  "any other"),
        SPEC_KEY_HOLD("how long the key stays taken after the job is done, dead or cancelled; the longer one of this and "
                      "the KEY_HOLD of the queue counts"),
        { "answer", ARG_WORD, .words = "id|map", .http = "map",
          .help = "`id` (the default): the answer is the job's id; `map`: it is a map of id, created and outcome" },
        AWAIT("wait until the job has ended, but no longer than this; the answer is then the job, as GET WAIT shows it; "
              "not for items of BATCH") } },
    { "BATCH", VERB_ADDS | VERB_PRODUCER, "Schedules several jobs in one request: all of them or none, in one commit, or each by itself.",
      "an array of ids, in the order of the items, or of maps for items with ANSWER map; in mode `each` an error stands "
      "in the place of a refused item",
      "BATCH all 4 reminder.send \"hello\" IN 10m 2 report.make \"{}\"", run_batch, {
        { "mode", ARG_WORD, POS, .words = "all|each",
          .help = "`all`: if one item is refused none is scheduled, and together the items are no larger than "
                  "max_payload; `each`: every item is scheduled or refused by itself" },
        { "items", ARG_ITEMS, POS,
          .help = "up to 1000 items, with up to 4096 AFTER in all; each is the number of its words, then the words "
                  "as SCHEDULE takes them: queue, payload, options" } } },
    { "LEASE", VERB_TAKES | VERB_WORKER,
      "Takes ready jobs, each under a lease: the worker's right to the job for a time.",
      "an array of jobs, each a map: id, token, tenant, queue, payload, attempt, priority, due_ms, lease_ms, "
      "until_ms, key, tags, meta, order, recurrence and nominal_ms (for an occurrence: its recurrence and its "
      "time); empty if there is no work", "LEASE reminder.send COUNT 10 WAIT 30s", run_lease, {
        { "queues", ARG_NAMES, POS, .help = "one queue, or several with commas between" },
        { "count", ARG_INT, .min = 1, .max = LEASE_COUNT_MAX, INTO(struct lease_request, count),
          .help = "how many jobs at most; 1 if not given" },
        { "wait", ARG_DURATION, .min = 0, .max = 86400000, .help = "how long to wait if there is no work now; for due jobs that are on disk the server "
                  "waits up to 2s in any case" },
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, INTO(struct lease_request, for_ms),
          .help = "length of the lease; if not given, that of the job, or else that of the queue" },
        { "worker", ARG_BYTES, .max = NAME_MAX_BYTES, INTO(struct lease_request, worker),
          .help = "name of the worker, for the history of the job" },
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all "
                                        "tenants, which take turns" } } },
    { "COMPLETE", VERB_HOLDS | VERB_WORKER | VERB_QUICK, "Ends a leased job as done.", "OK",
      "COMPLETE 01… 1099511627777 RESULT \"sent\"", run_complete, {
        ID, TOKEN,
        { "result", ARG_BYTES, .max = RESULT_MAX_BYTES, .help = "kept with the job and shown by GET" },
        { "again", ARG_DURATION, DURATION,
          .help = "the job runs again this long from now, with its attempts counted anew" },
        HOLDER } },
    { "FAIL", VERB_HOLDS | VERB_WORKER | VERB_QUICK, "Ends an attempt as failed: the job is retried after its back-off, or is dead.",
      "a map: state (scheduled, dead or cancelled), at_ms (the moment of its next attempt), attempt (the number of the "
      "one that failed) and attempts (how many the job has; 0 means any number)",
      "FAIL 01… 1099511627777 ERROR \"timeout\"", run_fail, {
        ID, TOKEN,
        { "error", ARG_BYTES, .max = 0, .help = "what went wrong, such as a stack trace; kept up to 16384 bytes. GET shows it whole as `error`; LIST, events and LIST ERROR have its first 1024 bytes, and the history of attempts has 256" },
        { "retry", ARG_DURATION, DURATION, .help = "pause before the next attempt, instead of the back-off" },
        { "final", ARG_WORD, .words = "no|yes", .help = "`yes`: the job is not retried" }, HOLDER } },
    { "EXTEND", VERB_HOLDS | VERB_WORKER | VERB_QUICK, "Lengthens a lease, counted from now: the heartbeat of a worker.",
      "a map: until_ms, the lease's new end, and cancelled, true if the worker should stop",
      "EXTEND 01… 1099511627777 FOR 1m PROGRESS 40", run_extend, {
        ID, TOKEN,
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, INTO(struct extend_spec, for_ms),
          .help = "new length of the lease, from now; if not given, that of the last EXTEND, or else of the LEASE" },
        { "progress", ARG_INT, .min = 0, .max = 100, INTO(struct extend_spec, progress), .help = "percent, shown by GET" },
        { "note", ARG_BYTES, .max = 0, INTO(struct extend_spec, note), .help = "shown by GET; kept up to 1024 bytes" }, HOLDER } },
    { "LOG", VERB_HOLDS | VERB_WORKER | VERB_QUICK, "Adds a line to the log of a leased job, which GET LOG yes shows.",
      "OK. STALE as for EXTEND. LIMIT if the tenant's leased jobs have their share of memory, or if its bytes are at their limit",
      "LOG 01… 1099511627777 \"300 of 1200 rows\"", run_log, {
        ID, TOKEN,
        { "text", ARG_BYTES, POS, .max = 0,
          .help = "the line, kept up to 1024 bytes; a job keeps its last 100 lines, as far as they fit into 16 KiB, until it is forgotten" },
        HOLDER } },
    { "RELEASE", VERB_HOLDS | VERB_WORKER | VERB_QUICK, "Gives a leased job back without costing an attempt.", "OK",
      "RELEASE 01… 1099511627777 IN 30s", run_release, {
        ID, TOKEN,
        { "in", ARG_DURATION, DURATION, .help = "the job is offered again only after this pause" }, HOLDER } },
    { "CANCEL", VERB_PRODUCER | VERB_QUICK, "Cancels a job, by id or by KEY and QUEUE.",
      "`cancelled`; or `running` if a worker has the job: the worker learns of it at its next EXTEND, and the job is "
      "not retried; or `notfound`. STATE if the job has ended", "CANCEL KEY user-7 QUEUE reminder.send", run_cancel, {
        ID_OR_KEY, TENANT } },
    { "DELETE", VERB_PRODUCER,
      "Forgets a job, by id or by KEY and QUEUE. A job that has not ended is cancelled first, and jobs that wait for it "
      "are told so. Its key is free at once.",
      "OK. STATE if a worker has the job: CANCEL it first. STATE also while jobs that wait for it are being told of its "
      "end. NOTFOUND if there is no such job", "DELETE 01…", run_delete, {
        ID_OR_KEY, TENANT } },
    { "RESCHEDULE", VERB_PRODUCER, "Moves a job that is not running to another time. Without IN and AT it is due "
                                   "at once.",
      "OK", "RESCHEDULE 01… IN 1h", run_reschedule, {
        ID,
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment" },
        TENANT } },
    { "EDIT", VERB_ADDS | VERB_AUDITS | VERB_PRODUCER,
      "Changes the payload and options of a job that no worker has and that has not ended. The job keeps its id, its queue, its "
      "keys, its attempts, and all that is not named; a ready job goes behind the jobs that are ready. With REDRIVE yes it changes a dead job and puts it back.",
      "OK. STATE if a worker has the job, or if it has ended", "EDIT 01… PRIORITY 1 CLEAR expire", run_edit, {
        ID,
        { "payload", ARG_PAYLOAD, OF_JOB(payload), .help = "the new payload" },
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment" },
        SPEC_PRIORITY("1 is first, 5 is last"),
        SPEC_ATTEMPTS("how many deliveries before the job is dead; 0 means no limit"),
        SPEC_BACKOFF("pause before each retry"),
        SPEC_LEASE("length of its leases"),
        SPEC_RETAIN("how long the job is kept for GET after it is done, cancelled or expired"),
        SPEC_EXPIRE("the job becomes expired if it was not started this long after its due time; it counts for a job that "
                    "was never leased"),
        SPEC_TAG("its tags, instead of those that it has"),
        SPEC_META("its metadata, instead of all that it has"),
        SPEC_NOTIFY("whether quiet hours of its tenant put it off"),
        SPEC_GATES("`pass`: neither quiet hours nor maintenance hold the job"),
        SPEC_PUSH("URL to which the server pushes the job, in a queue whose PUSH_URL is `job`"),
        SPEC_KEY_HOLD("how long the key stays taken after the job is done, dead or cancelled"),
        { "clear", ARG_WORD, .many = true, .words = "attempts|backoff|lease|retain|expire|tag|meta|push|key_hold",
          .help = "this option takes its default again, as if SCHEDULE had not given it; may be given several times" },
        { "redrive", ARG_WORD, .words = "no|yes",
          .help = "`yes`: the job is dead, and is put back with its attempts counted anew, due at once without IN and AT; for an admin" },
        TENANT } },
    { "CLONE", VERB_ADDS | VERB_PRODUCER,
      "Schedules a job with the payload and options of another one, which may have ended. Without IN and AT it is due at once. "
      "It has no key and waits for no job, unless you give some.",
      "the new job's id; with ANSWER map a map, as SCHEDULE answers; NOTFOUND if there is no such job", "CLONE 01… IN 10m QUEUE reminder.retry", run_clone, {
        ID,
        { "queue", ARG_NAME, .help = "another queue" },
        { "payload", ARG_PAYLOAD, OF_JOB(payload), .help = "another payload" },
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment" },
        SPEC_KEY("the key of the new job"),
        SPEC_IFEXISTS("if the key is taken: `keep` (the default), `replace` or `reject`, as in SCHEDULE"),
        SPEC_PRIORITY("1 is first, 5 is last. This option and those below replace what the other job has"),
        SPEC_ATTEMPTS("how many deliveries before the job is dead"),
        SPEC_BACKOFF("pause before each retry"),
        SPEC_LEASE("length of its leases"),
        SPEC_RETAIN("how long the job is kept after it is done, cancelled or expired"),
        SPEC_EXPIRE("the job becomes expired if it was not started this long after its due time"),
        SPEC_TAG("its tags, instead of those of the other job"),
        SPEC_META("its metadata, instead of all that of the other job"),
        SPEC_AFTER("the new job waits until this job is done"),
        SPEC_AFTERFAIL("if a job of AFTER ends otherwise than done: `cancel` (the default) or `run`"),
        SPEC_NOTIFY("whether quiet hours of its tenant put it off"),
        SPEC_GATES("`pass`: neither quiet hours nor maintenance hold the job"),
        SPEC_ORDER("its ordering key"),
        SPEC_PUSH("URL to which the server pushes the job"),
        SPEC_KEY_HOLD("how long the key stays taken after the job is done, dead or cancelled"),
        { "clear", ARG_WORD, .many = true, .words = "attempts|backoff|lease|retain|expire|tag|meta|order|push|key_hold",
          .help = "the new job does not take this option from the other one; may be given several times" },
        { "answer", ARG_WORD, .words = "id|map", .http = "map", .help = "`map`: the answer is a map of id, created and outcome" },
        TENANT } },
    { "GET", VERB_READS | VERB_PRODUCER | VERB_WORKER, "Shows a job, by id or by KEY and QUEUE.",
      "a map with everything known of the job, its attempts included; null if there is none",
      "GET 01…", run_get, {
        ID_OR_KEY, TENANT,
        AWAIT("wait until the job has ended, but no longer than this. The answer is the job: with its result if it has ended, else "
              "with its state so far. A job that is awaited is kept for 10s after its end, whatever its RETAIN; if it is "
              "forgotten before the answer, that is null"),
        { "log", ARG_WORD, .words = "no|yes",
          .help = "`yes`: show the lines that workers added with LOG, which are null otherwise; `log_lines` counts them" } } },
    { "LIST", VERB_READS | VERB_PRODUCER,
      "Lists jobs, page by page. A call does a bounded amount of work, and a page ends at 2 MiB. So a page may be short or empty although "
      "there are more. A job that moves between memory and disk meanwhile may be in several pages; a client that "
      "wants each job once keeps the ids.",
      "a map: jobs (an array of maps) and cursor, for the next page; null when there are no more",
      "LIST QUEUE reminder.send STATE dead LIMIT 20", run_list, {
        { "queue", ARG_NAME, .help = "only this queue" },
        { "state", ARG_WORD, .many = true, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting",
          .help = "only this state; may be given several times" },
        { "from", ARG_MOMENT, INTO(struct list_filter, from_ms), .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, INTO(struct list_filter, to_ms), .help = "only jobs due before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct list_filter, limit), .help = "jobs in a page; 100 if not given" },
        CURSOR,
        { "tag", ARG_NAME, INTO(struct list_filter, tag), .help = "only jobs with this tag" },
        FILTERS(struct list_filter),
        { "preview", ARG_INT, .max = 1000, .help = "show so many bytes of each payload as `preview`, a few less where a "
                                                   "character would be cut; 0 if not given" },
        { "sort", ARG_WORD, .words = "due",
          .help = "`due`: jobs that have not ended, in order of `at_ms` and id over all pages; waiting ones come last. Each page costs a walk over "
                  "the jobs in memory. Give it with each cursor, too. INVALID with the states done, dead, cancelled and expired" },
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all "
                                        "tenants" } } },
    { "ERRORS", VERB_READS | VERB_PRODUCER,
      "Shows why jobs failed: jobs of a queue are one group if their last errors differ only in numbers, ids and quoted texts. Without "
      "STATE the jobs are those that are dead. A page is made of up to LIMIT such jobs, so a group may be on several pages: add its "
      "counts. A page may be short or empty although there are more. On a page the group that failed last comes first.",
      "a map: groups (an array of maps: tenant, queue, error_group (the first line of the errors, with `<n>`, `<id>` and `\"...\"` in "
      "place of what differs, for ERROR_GROUP of LIST; `<none>` for dead jobs without an error), count, dead (how many of them are dead), "
      "first_ms and last_ms (when they failed), id and error (of the job that failed last; null if it has none)) and cursor, for the next page; null when there are no "
      "more", "ERRORS QUEUE reminder.send", run_errors, {
        { "queue", ARG_NAME, .help = "only this queue" },
        { "state", ARG_WORD, .many = true, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting",
          .help = "only jobs in this state, `dead` if not given; may be given several times. `scheduled`, `ready` and `leased` show "
                  "jobs that are tried again" },
        { "error", ARG_BYTES, .max = ERROR_HEAD_BYTES, INTO(struct list_filter, error),
          .help = "only jobs whose last error has this text in its first 1024 bytes, such as `timeout`" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct list_filter, limit),
          .help = "how many jobs a page is made of at most; 1000 if not given" },
        { "from", ARG_MOMENT, INTO(struct list_filter, ended_from_ms), .help = "only jobs that ended at or after this" },
        { "to", ARG_MOMENT, INTO(struct list_filter, ended_to_ms), .help = "only jobs that ended before this" },
        CURSOR,
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all tenants" } } },
    { "COUNT", VERB_READS | VERB_PRODUCER,
      "Counts jobs that LIST would show, in memory and on disk. A call looks at a bounded number of jobs: ask again with the cursor, and "
      "add the numbers up, until it is null. A job that moves between memory and disk meanwhile may be counted twice. For many jobs BULK "
      "with DRYRUN yes counts in the background.",
      "a map: jobs (how many of those that the call looked at match), looked_at (null to a token of one tenant), and cursor, for the next call; "
      "null when there are no more",
      "COUNT QUEUE reminder.send STATE dead ERROR timeout", run_count, {
        { "queue", ARG_NAME, .help = "only this queue" },
        { "state", ARG_WORD, .many = true, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting",
          .help = "only this state; may be given several times" },
        { "from", ARG_MOMENT, INTO(struct list_filter, from_ms), .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, INTO(struct list_filter, to_ms), .help = "only jobs due before this" },
        { "tag", ARG_NAME, INTO(struct list_filter, tag), .help = "only jobs with this tag" },
        FILTERS(struct list_filter),
        CURSOR,
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all tenants" } } },
    { "EXPLAIN", VERB_READS | VERB_PRODUCER, "Says why a job has not run, what it waits for and until when, or how it ended; by id or by KEY and QUEUE.",
      "a map: id, state, reason (scheduled, parent, backoff, paused, tenant_paused, maintenance, running_limit, rate_limit, quiet_hours, "
      "slow_start, no_worker, on_disk, behind, ordering_key, endpoint, leased_memory, next, expiry, running or ended), why (a sentence), until_ms (null if not known), "
      "ready_in_queue, deferred_until_ms and deferrals; then (an array of maps reason, why and until_ms: what keeps the job from running besides, in this order); "
      "at_ms (the job runs no earlier; null if a reason has no known end); ahead and ahead_most (the least and the greatest number "
      "of ready jobs of the queue that go before it; null if it is not ready); first (the id of the first of them, if known); asked_ms (when a worker last asked for the queue; null if not since the "
      "server started); attempt, attempts and error (as GET has them); ended_ms; parent (the id of the job that it waits for, or for whose end it was cancelled); "
      "null if there is no such job", "EXPLAIN 01…", run_explain, {
        ID_OR_KEY, TENANT } },
    { "FORECAST", VERB_READS | VERB_WIDE,
      "Shows how many jobs become due in each coming step of time: jobs that are scheduled, in memory or on disk, and "
      "coming occurrences of recurrences. Jobs that are ready already are not among them.",
      "an array of maps, one for each step: from_ms, to_ms, jobs, recurring (how many of them are occurrences that "
      "recurrences will make) and partial (true if a rule has more times than the server counts, or if some of its "
      "data cannot be read); the last step ends at TO",
      "FORECAST STEP 15m", run_forecast, {
        { "from", ARG_MOMENT, INTO(struct forecast, from_ms), .help = "where the first step begins; now if not given" },
        { "to", ARG_MOMENT, INTO(struct forecast, to_ms), .help = "where the last step ends; a day after FROM if not given" },
        { "step", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX, INTO(struct forecast, step_ms),
          .help = "length of a step; 1h if not given. There are at most 1000 of them" },
        { "queue", ARG_NAME, INTO(struct forecast, queue), .help = "only jobs of this queue; of the queues of this name, if TENANT is `*`" },
        { "tenant", ARG_TENANT, .help = "only jobs of this tenant; `*`, the default, for all tenants" } } },
    { "PREVIEW", VERB_READS | VERB_PRODUCER,
      "Shows the next times of a rule, without making a recurrence. Give exactly one of RRULE, CRON and EVERY.",
      "an array of maps, one for each time: at_ms, local (with its offset from UTC) and note (null, or how a "
      "change of the clock affects this time); fewer than COUNT if the rule ends. INVALID if the search would take "
      "long, with the COUNT that does not",
      "PREVIEW CRON \"30 2 * * *\" TZ Europe/Berlin FROM 2027-03-27T00:00:00Z COUNT 3", run_preview, {
        RRULE, CRON("; `H` stands for a value that is derived from NAME and QUEUE"), EVERY, TZ(INTO(struct preview, tz)),
        { "start", ARG_MOMENT, INTO(struct preview, start_ms),
          .help = "the moment where the rule begins and counts from; if not given, now, at a whole second" },
        { "from", ARG_MOMENT, INTO(struct preview, from_ms), .help = "only times at or after this; now if not given" },
        { "count", ARG_INT, .min = 1, .max = 1000, INTO(struct preview, count), .help = "how many times at most; 10 if not given" },
        { "name", ARG_NAME, INTO(struct preview, name),
          .help = "name of a recurrence, which need not exist: with QUEUE, `H` is as RECUR of that name has it" },
        { "queue", ARG_NAME, INTO(struct preview, queue), .help = "the queue of its jobs" },
        TENANT } },
    { "OCCURRENCES", VERB_READS | VERB_PRODUCER,
      "Shows the times of all recurrences in a window, in order of time, page by page: past ones as far as the ledgers have them, and "
      "coming ones by the rules. A paused recurrence has no coming ones.",
      "a map: occurrences (an array of maps: recurrence, tenant, queue, at_ms, upto_ms and count (several times in a row with one "
      "reason are one entry), by_hand, id (of the job, if one was made), local (with its offset from UTC), note (null, or how a change "
      "of the clock affects this time), outcome (planned, queued, open, ran, failed, cancelled or skipped), why and ended_ms), cursor, "
      "for the next page, null when there are no more, and partial (true if a rule has more times than the server counts, or if some "
      "of its data cannot be read)",
      "OCCURRENCES FROM 2027-03-27T00:00:00Z TO 2027-03-30T00:00:00Z LIMIT 50", run_occurrences, {
        { "from", ARG_MOMENT, INTO(struct window, from_ms), .help = "only times at or after this; now if not given" },
        { "to", ARG_MOMENT, INTO(struct window, to_ms), .help = "only times before this; a week after FROM if not given" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct window, limit), .help = "how many in a page; 100 if not given" },
        CURSOR,
        { "queue", ARG_NAME, INTO(struct window, queue), .help = "only recurrences with jobs in this queue; in queues of this name, if TENANT is `*`" },
        { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all tenants" } } },
    { "RECUR", VERB_ADDS | VERB_AUDITS | VERB_PRODUCER,
      "Makes a recurrence, which schedules a job at each time of its rule, or changes the recurrence of that name. "
      "Give exactly one of RRULE, CRON and EVERY. A change makes no past occurrences and leaves those under way as "
      "they are.",
      "the recurrence, as RECURRENCE shows it",
      "RECUR nightly report.make \"{}\" CRON \"30 2 * * *\" TZ Europe/Berlin", run_recur, {
        NAME,
        SPEC_QUEUE("the queue of its jobs"),
        SPEC_PAYLOAD("the payload of its jobs, up to 32 KiB"),
        RRULE, CRON("; `H` stands for a value that is derived from the name, so that recurrences are spread"), EVERY,
        TZ(OF_RECUR(zone)),
        { "start", ARG_MOMENT, OF_RECUR(start_ms),
          .help = "the moment where the rule begins and counts from; if not given, now, at a whole second, or the "
                  "START of the recurrence that is changed" },
        { "exdate", ARG_BYTES, .max = RULE_DATES_BYTES, OF_RECUR(exdate),
          .help = "times that the rule leaves out, as in iCalendar, with commas between" },
        { "rdate", ARG_BYTES, .max = RULE_DATES_BYTES, OF_RECUR(rdate),
          .help = "times in addition to those of the rule, as in iCalendar, with commas between" },
        { "catchup", ARG_WORD, .words = "last|skip|all", OF_RECUR(catchup),
          .help = "for times that were missed by more than a minute, because the server was down: `last` (the "
                  "default) makes one job for the last of them, `skip` makes none, `all` makes all jobs, one after "
                  "another" },
        { "overlap", ARG_WORD, .words = "skip|allow|queue", OF_RECUR(overlap),
          .help = "if the job before has not ended: `skip` (the default) leaves this time out, `allow` makes the "
                  "job anyway, `queue` makes it when that job has ended" },
        SPEC_PRIORITY("priority of its jobs; this and the options below are as in SCHEDULE"),
        SPEC_ATTEMPTS("how many deliveries before a job is dead"),
        SPEC_BACKOFF("pause before each retry"),
        SPEC_LEASE("length of a lease of a job"),
        SPEC_RETAIN("how long a job is kept after it is done, cancelled or expired"),
        SPEC_EXPIRE("a job becomes expired if it was not started this long after its due time"),
        SPEC_TAG("a word for LIST and BULK"),
        SPEC_META("metadata for the worker"),
        SPEC_NOTIFY("`yes`: quiet hours put its jobs off to their end"),
        SPEC_GATES("`pass`: neither quiet hours nor maintenance hold its jobs"),
        SPEC_ORDER("ordering key of its jobs: they run one at a time, in order"),
        TENANT,
        SPEC_PUSH("URL to which the server pushes its jobs") } },
    { "RECURRENCE", VERB_READS | VERB_PRODUCER,
      "Shows a recurrence and its ledger: the outcome of each of its times.",
      "a map; null if there is no recurrence of that name. The ledger has the last 100 entries, and always those "
      "under way. Each entry is a map: nominal_ms, upto_ms and count (several times in a row that were skipped for "
      "one reason are one entry), outcome (open, ran, failed, cancelled or skipped), why, by_hand, id, ended_ms", "RECURRENCE nightly", run_recurrence, { NAME, TENANT } },
    { "RECURRENCES", VERB_READS | VERB_PRODUCER, "Shows a tenant's recurrences, page by page, as LIST shows jobs.",
      "a map: recurrences (an array of maps) and cursor, for the next page; null when there are no more", "RECURRENCES", run_recurrences, {
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "how many in a page; 100 if not given" },
        CURSOR,
        TENANT } },
    { "RECURPAUSE", VERB_AUDITS | VERB_PRODUCER | VERB_STOPS, "Stops a recurrence; jobs that it made go on.", "OK", "RECURPAUSE nightly", run_recurpause, { NAME, TENANT } },
    { "RECURRESUME", VERB_AUDITS | VERB_PRODUCER, "Ends a RECURPAUSE; times that passed meanwhile are skipped.", "OK", "RECURRESUME nightly", run_recurpause, { NAME, TENANT } },
    { "RECURRUN", VERB_ADDS | VERB_AUDITS | VERB_PRODUCER, "Makes a job of a recurrence now, besides those of its rule.", "the job's id", "RECURRUN nightly", run_recurrun, { NAME, TENANT } },
    { "RECURDELETE", VERB_AUDITS | VERB_PRODUCER, "Ends a recurrence and forgets it; jobs that it made go on.", "OK", "RECURDELETE nightly", run_recurdelete, { NAME, TENANT } },
    { "STATS", VERB_READS | VERB_WIDE, "Shows the server's figures, or a tenant's.", "a map", "STATS", run_stats, {
        { "tenant", ARG_TENANT, .help = "only figures of this tenant: its queues, jobs, counters and times; `*`, "
                                        "the default, for the whole server" } } },
    { "SERIES", VERB_READS | VERB_WIDE,
      "Shows figures over time, oldest first: what the server, a tenant or a queue did in each minute of the last day, or in each "
      "hour of the last month. A step of time in which no job changed its state is left out. The running minute is "
      "shown when it is over. The running hour grows with each minute. The figures outlive the server, except those of "
      "the running minute. A page may be short although there are more.",
      "a map: steps (an array of maps) and cursor, for the next page; null when there are no more. A step has from_ms, to_ms, "
      "counters as in STATS, ready and running (jobs at its end), oldest_age_ms (of the oldest ready job at its "
      "end; null if none was ready, and without QUEUE), lateness_p50_ms, lateness_p99_ms and lateness_max_ms (of its "
      "deliveries) and left_out (true: so many queues were active that this one or its tenant had no place, and its figures "
      "are unknown)",
      "SERIES QUEUE reminder.send STEP 1h", run_series, {
        { "queue", ARG_NAME, INTO(struct series_filter, queue), .help = "only figures of this queue" },
        { "step", ARG_WORD, .words = "1m|1h", INTO(struct series_filter, hours),
          .help = "length of a step: 1m, the default, goes back for a day, and 1h for a month" },
        { "from", ARG_MOMENT, INTO(struct series_filter, from_ms), .help = "only steps that begin at this moment or later" },
        { "to", ARG_MOMENT, INTO(struct series_filter, to_ms), .help = "only steps that begin before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct series_filter, limit),
          .help = "how many steps are looked at for a page; 1000 if not given" },
        CURSOR,
        { "tenant", ARG_TENANT, .help = "only figures of this tenant: the sum of its queues; `*`, the default, for the whole "
                                        "server. With QUEUE, the tenant of the queue, by default `default`" } } },
    { "METRICS", VERB_READS | VERB_WIDE,
      "Shows all figures as text that Prometheus reads. A hundred queues have series of their own; all other "
      "queues together have one.", "text", "METRICS", run_metrics, {
        { "tenant", ARG_TENANT, .help = "only figures of this tenant; `*`, the default, for the whole server" } } },
    { "WORKERS", VERB_READS,
      "Shows workers that asked for jobs, or said a word about one, in the last hour: the one that did last comes first. The server "
      "keeps 2,000 of them, and 1,000 of a tenant, until it ends.",
      "an array of maps: tenant (`*` if the worker asked for jobs of all tenants; then it has another map for each tenant whose jobs it "
      "had), worker (null if it gave no name; such workers are told apart by their machine), address, queues (of its last LEASE), "
      "first_ms, seen_ms, asked_ms (null if it has not asked since the start), running (null for workers without a name), done and "
      "failed (in the last hour), partial (true if so many jobs are leased that running is too low)", "WORKERS LIMIT 20", run_workers, {
        LIMIT, { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`; `*` for all tenants" } } },
    { "OVERVIEW", VERB_READS | VERB_WIDE,
      "Shows what is worth a look among all queues and tenants: those with most jobs come first. The server looks at 4,000 queues at a "
      "time, so with many queues the counts and places are some seconds old; the figures of each row are those of now.",
      "a map: at_ms (when the server last had looked at all; null: it has not yet), queues and tenants (how many there are), held_queues, "
      "unserved_queues, dead_queues and gated_tenants (how many of the kinds below), and arrays of maps: busy (queues with ready or "
      "leased jobs), held (queues that have such jobs and give none), unserved (queues with ready jobs for which no worker waits), dead "
      "(queues with dead jobs), gated (tenants in maintenance or quiet hours, paused, or with nine tenths of MAX_PENDING)", "OVERVIEW", run_overview, {
        { "limit", ARG_INT, .min = 1, .max = 10, INTO(struct listing, limit), .help = "how many of each kind at most; 10 if not given" },
        { "tenant", ARG_TENANT, .help = "only queues of this tenant; `*`, the default, for all tenants" } } },
    { "QUEUES", VERB_READS, "Shows queues with their counts, by name.", "an array of maps", "QUEUES", run_queues, {
        { "after", ARG_BYTES, .max = QUEUE_MAX_BYTES, INTO(struct listing, after),
          .help = "only queues behind this name, for the next page; with TENANT * the name is `tenant@queue`, or "
                  "`queue` for the tenant `default`" },
        LIMIT, TENANT } },
    { "QUEUE", VERB_ADMIN | VERB_SHOWS, "Shows a queue, after changing the settings that are given.",
      "a map of counts and settings", "QUEUE reminder.send ATTEMPTS 10 BACKOFF exp:5s:1h", run_queue, {
        QUEUE,
        { "lease", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, OF_QUEUE(LEASE, lease_ms),
          .help = "length of a lease; 1m by default" },
        { "attempts", ARG_INT, .min = 0, .max = 1000000, OF_QUEUE(ATTEMPTS, attempts),
          .help = "how many deliveries before a job is dead, 0 for no limit; 5 by default" },
        { "backoff", ARG_BACKOFF, OF_QUEUE(BACKOFF, backoff),
          .help = "pause before each retry; exp:2s:1h by default" },
        { "retain", ARG_DURATION, DURATION, OF_QUEUE(RETAIN, retain_ms),
          .help = "how long done, cancelled and expired jobs are kept; 1d by default" },
        { "retain_dead", ARG_DURATION, DURATION, OF_QUEUE(RETAIN_DEAD, retain_dead_ms),
          .help = "how long dead jobs are kept; 30d by default" },
        { "key_hold", ARG_DURATION, DURATION, OF_QUEUE(KEY_HOLD, key_hold_ms),
          .help = "how long a key stays taken after its job is done; 0ms by default" },
        { "past_grace", ARG_DURATION, DURATION, OF_QUEUE(PAST_GRACE, past_grace_ms),
          .help = "the queue refuses a job that was due longer ago than this; by default it accepts any past moment" },
        { "max_running", ARG_INT, .min = 0, .max = 1000000000, OF_QUEUE(MAX_RUNNING, max_running),
          .help = "how many jobs may be leased at a time; by default 0, which means any number" },
        { "rate", ARG_RATE, OF_QUEUE(RATE, rate),
          .help = "how many jobs are given out in any period, such as `100/1m`; they may all go at once, unless BURST "
                  "is given; by default 0, which means any number" },
        { "burst", ARG_INT, .min = 0, .max = RATE_COUNT_MAX, OF_QUEUE(BURST, rate.burst),
          .help = "how many jobs of RATE may go at once, such as 10 of `100/1s`, which is 10 in any 100ms; it divides "
                  "the number of RATE, and another RATE ends it; by default 0, which means all of them" },
        TENANT,
        { "push_url", ARG_BYTES, .max = URL_MAX_BYTES, OF_QUEUE(PUSH_URL, push.url),
          .help = "URL to which the server POSTs the jobs, which workers then cannot lease; `job`: each job has "
                  "its own URL; by default empty, which means no push" },
        { "push_headers", ARG_BYTES, .max = HEADERS_MAX_BYTES, .secret = true, OF_QUEUE(PUSH_HEADERS, push.headers),
          .help = "lines of `Name: value` that the server sends along; only the names are ever shown" },
        { "push_secret", ARG_BYTES, .max = SECRETS_MAX_BYTES, .secret = true, OF_QUEUE(PUSH_SECRET, push.secrets),
          .help = "`whsec_` and 24 to 64 bytes in base64, which sign each push; two secrets, with a blank between, "
                  "while one replaces the other; never shown" },
        { "push_timeout", ARG_DURATION, .min = 1, .max = PUSH_TIMEOUT_MAX, OF_QUEUE(PUSH_TIMEOUT, push.timeout_ms),
          .help = "time for an answer; 30s by default" },
        { "push_concurrency", ARG_INT, .min = 1, .max = PUSH_RUNNING_MAX, OF_QUEUE(PUSH_CONCURRENCY, push.concurrency),
          .help = "how many pushes at a time; 10 by default" } } },
    { "PAUSE", VERB_ADMIN | VERB_STOPS, "Stops giving out the jobs of a queue; they wait. TENANT … PAUSED yes stops all queues of a tenant.", "OK", "PAUSE reminder.send", run_pause, { QUEUE, TENANT } },
    { "RESUME", VERB_ADMIN, "Ends a PAUSE.", "OK", "RESUME reminder.send", run_pause, { QUEUE, TENANT } },
    { "QUEUEDELETE", VERB_ADMIN,
      "Forgets a queue without jobs, and its settings. Jobs that have ended count, too. A recurrence makes the queue anew with its "
      "next job.",
      "OK. STATE if the queue has jobs, or workers wait for some; NOTFOUND if there is no such queue", "QUEUEDELETE reminder.send", run_queuedelete, {
        QUEUE, TENANT } },
    { "TENANT", VERB_ADMIN | VERB_SHOWS, "Shows a tenant, after changing the settings that are given.",
      "a map of counts and settings; null if the tenant has no queue and no settings", "TENANT acme WEIGHT 3 MAX_RUNNING 50", run_tenant, {
        { "name", ARG_NAME, POS, .thing = "tenant", .help = "name of the tenant" },
        { "weight", ARG_INT, .min = 1, .max = WEIGHT_MAX, OF_TENANT(WEIGHT, weight),
          .help = "how many jobs the tenant gives in its turn, where a worker serves all tenants; 1 by default" },
        { "paused", ARG_WORD, .words = "no|yes", OF_TENANT(PAUSED, paused),
          .help = "`yes`: its jobs wait until PAUSED no, those with GATES pass too, as with PAUSE of each of its queues" },
        { "maintenance", ARG_WORD, .words = "no|yes", OF_TENANT(MAINTENANCE, maintenance),
          .help = "`yes`: its jobs wait until maintenance ends, except those with GATES pass" },
        { "until", ARG_MOMENT, OF_TENANT(UNTIL, maintenance_until_ms),
          .help = "with MAINTENANCE yes: the moment at which maintenance ends by itself; if not given, it ends with "
                  "MAINTENANCE no" },
        { "max_pending", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_PENDING, max_pending),
          .help = "how many jobs of the tenant may be pending, that is, have not ended; beyond it SCHEDULE answers "
                  "LIMIT; by default 0, which means any number" },
        { "max_running", ARG_INT, .min = 0, .max = 1000000000, OF_TENANT(MAX_RUNNING, max_running),
          .help = "how many jobs may be leased at a time; by default 0, which means any number" },
        { "rate", ARG_RATE, OF_TENANT(RATE, rate),
          .help = "how many jobs are given out in any period, such as `100/1m`; they may all go at once, unless BURST "
                  "is given; by default 0, which means any number" },
        { "burst", ARG_INT, .min = 0, .max = RATE_COUNT_MAX, OF_TENANT(BURST, rate.burst),
          .help = "how many jobs of RATE may go at once, such as 10 of `100/1s`, which is 10 in any 100ms; it divides "
                  "the number of RATE, and another RATE ends it; by default 0, which means all of them" },
        { "quiet", ARG_BYTES, .max = QUIET_MAX_BYTES, OF_TENANT(QUIET, quiet),
          .help = "quiet hours, which put jobs with NOTIFY off to their end: windows of local time, such as "
                  "`22:00-07:00;sat,sun 00:00-24:00`; a window without days begins every day; empty for none" },
        { "tz", ARG_BYTES, .max = TZ_MAX_BYTES, OF_TENANT(TZ, tz),
          .help = "time zone of the quiet hours, such as Europe/London; UTC by default" },
        { "spread", ARG_DURATION, .min = 0, .max = SPREAD_MAX_MS, OF_TENANT(SPREAD, spread_ms),
          .help = "jobs that quiet hours put off are due at random within this time after their end; 0ms by default" },
        { "max_queues", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_QUEUES, max_queues),
          .help = "how many queues may have jobs, ended ones too, or settings; beyond it SCHEDULE to another queue "
                  "answers LIMIT; 10000 by default; 0 means any number" },
        { "max_recurrences", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_RECURRENCES, max_recurrences),
          .help = "how many recurrences there may be; beyond it RECUR with a new name answers LIMIT; 10000 by "
                  "default; 0 means any number" },
        { "max_connections", ARG_INT, .min = 0, .max = 1000000, OF_TENANT(MAX_CONNECTIONS, max_connections),
          .help = "how many connections clients with tokens of the tenant may have; beyond it a token is answered "
                  "with BUSY; by default 0, which means as many as are free of the server's max_connections" },
        { "requests", ARG_INT, .min = 0, .max = 1000000000, OF_TENANT(REQUESTS, requests),
          .help = "how many requests a second clients with tokens of the tenant may send; beyond it they are "
                  "answered with RATE; COMPLETE, FAIL, EXTEND and RELEASE may be as many again; by default 0, "
                  "which means any number" },
        { "max_bytes", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_BYTES, max_bytes),
          .help = "how many bytes the server keeps of the tenant: its jobs, ended ones too, and its recurrences; "
                  "its oldest history gives way to new jobs; beyond it SCHEDULE and RECUR answer LIMIT; by default 0, which means the server's tenant_bytes" },
        { "max_streams", ARG_INT, .min = 0, .max = 1000000, OF_TENANT(MAX_STREAMS, max_streams),
          .help = "how many streams of events (/v1/events) tokens of the tenant may have at a time; beyond it a stream "
                  "is answered with BUSY; by default 0, which means half of the server's max_streams; a larger number "
                  "gives no more than that half" },
        { "max_leased", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_LEASED, max_leased),
          .help = "how many bytes of memory leased jobs of the tenant may take; at that it is given no further job "
                  "until a lease ends; by default 0, which means its share of the server's memory; a larger number "
                  "gives no more than that share" } } },
    { "TENANTDELETE", VERB_ADMIN | VERB_SERVER | VERB_WIDE,
      "Forgets a tenant that is not used, and its settings. It has no jobs, queues with settings, recurrences, bulks or tokens.",
      "OK. STATE if the tenant is used, NOTFOUND if there is none", "TENANTDELETE acme", run_tenantdelete, {
        { "name", ARG_NAME, POS, .thing = "tenant", .help = "name of the tenant" } } },
    { "TENANTS", VERB_READS | VERB_WIDE, "Shows tenants with their counts and settings, by name.", "an array of maps", "TENANTS", run_tenants, {
        AFTER, LIMIT } },
    { "REDRIVE", VERB_ADMIN | VERB_ADDS,
      "Puts dead jobs back, with their attempts counted anew: one by its id, or those of a queue, oldest first. A job "
      "of the queue whose key is taken stays dead, and comes last when you ask again.",
      "how many jobs were put back; for a queue it may be fewer than LIMIT although there are more, so ask again "
      "until it is 0", "REDRIVE QUEUE reminder.send LIMIT 100", run_redrive, {
        MAYBE_ID,
        { "queue", ARG_NAME, .help = "instead of the id: all dead jobs of this queue" },
        { "limit", ARG_INT, .min = 1, .max = 10000, .help = "how many at most; 1000 if not given" },
        TENANT } },
    { "BULK", VERB_ADMIN, "Changes all matching jobs, in the background: cancels jobs that have not ended (running "
                          "ones are told to stop), moves jobs that are not running to another time (without IN and "
                          "AT they are due at once), puts dead jobs back, or forgets ended jobs. Give at least one "
                          "filter. Only jobs that exist when it is asked for are "
                          "touched. BULKS shows how far it is.",
      "a map: id, action, dry_run, state (running, done, stopped or failed), matched, changed and skipped (the job "
      "matched but could not be changed, for example because its key is taken) so far, looked_at, and the filter (ERROR as with_error, ERROR_GROUP as with_error_group)",
      "BULK cancel QUEUE reminder.send TAG campaign-7 DRYRUN yes", run_bulk, {
        { "action", ARG_WORD, POS, .words = "cancel|reschedule|redrive|delete", INTO(struct bulk_spec, action),
          .help = "the action" },
        { "queue", ARG_NAME, .help = "only jobs of this queue" },
        { "state", ARG_WORD, .many = true, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting",
          .help = "only jobs in this state; may be given several times; if not given, in every state that the action can change" },
        { "tag", ARG_NAME, INTO(struct bulk_spec, tag), .help = "only jobs with this tag" },
        { "from", ARG_MOMENT, INTO(struct bulk_spec, from_ms), .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, INTO(struct bulk_spec, to_ms), .help = "only jobs due before this" },
        FILTERS(struct bulk_spec),
        { "in", ARG_DURATION, DURATION, .help = "reschedule: due this long from now" },
        { "at", ARG_MOMENT, .help = "reschedule: due at this moment" },
        { "dryrun", ARG_WORD, .words = "no|yes", INTO(struct bulk_spec, dry),
          .help = "`yes`: nothing changes, and `matched` says how many jobs match; a job that moves between memory "
                  "and disk meanwhile may be counted twice" },
        TENANT } },
    { "BULKS", VERB_READS, "Shows a tenant's bulks: those that run, and those that ended during the last day, up to 100 of them.",
      "an array of maps, as BULK answers", "BULKS", run_bulks, {
        { "id", ARG_ID, .thing = "bulk", .help = "only this bulk" },
        TENANT } },
    { "BULKSTOP", VERB_ADMIN, "Stops a bulk; its changes stay.", "OK", "BULKSTOP 01…", run_bulkstop, {
        { "id", ARG_ID, POS, .thing = "bulk", .help = "id of the bulk" },
        TENANT } },
    { "AUDIT", VERB_READS | VERB_WIDE, "Shows the audit log, oldest first: each change of settings, tokens, recurrences and bulks, "
                           "and each PAUSE, RESUME and REDRIVE. Entries are kept for audit_retention. A page may be "
                           "short or empty although there are more.",
      "a map: entries (an array of maps: at_ms, tenant, user, client, address, verb, request, outcome, id) and cursor, "
      "for the next page; null when there are no more", "AUDIT FROM 2027-01-01T00:00:00Z", run_audit, {
        { "from", ARG_MOMENT, INTO(struct audit_filter, from_ms), .help = "only entries of this moment or later" },
        { "to", ARG_MOMENT, INTO(struct audit_filter, to_ms), .help = "only entries before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct audit_filter, limit),
          .help = "how many in a page; 100 if not given" },
        CURSOR,
        { "tenant", ARG_TENANT, .help = "the tenant whose things were changed; by default that of the token; `*`, the "
                                        "default without one, for all tenants" } } },
    { "TOKENCREATE", VERB_ADMIN | VERB_SERVER,
      "Makes a token. The first token must be an admin of tenant *; from then on every request needs a token. The "
      "text of the token is in this answer only, because the server stores a hash.",
      "a map: name, role, tenant, created_ms, expires_ms, token, the text to AUTH with, and a note for people",
      "TOKENCREATE shop producer TENANT acme", run_tokencreate, {
        { "name", ARG_NAME, POS, .thing = "token", .help = "name of the token, for TOKENS, TOKENREVOKE and the audit log" },
        { "role", ARG_WORD, POS, .words = "admin|producer|worker|read-only",
          .help = "what the token may do: see the roles of each verb" },
        { "tenant", ARG_TENANT, .help = "the only tenant whose things the token may see and change; `*` for all "
                                        "tenants. If not given: `*` for an admin, else `default`" },
        { "expire", ARG_DURATION, .min = 1000, .max = TIME_DURATION_MAX,
          .help = "how long the token is valid; for ever if not given" } } },
    { "TOKENS", VERB_READS | VERB_ADMIN | VERB_SERVER | VERB_WIDE, "Shows tokens, by name, without their secrets.",
      "an array of maps: name, role, tenant, created_ms, expires_ms, expired", "TOKENS", run_tokens, {
        AFTER, LIMIT,
        { "tenant", ARG_TENANT, .help = "only tokens of this tenant; `*`, the default, for all tenants" } } },
    { "TOKENREVOKE", VERB_ADMIN | VERB_SERVER | VERB_WIDE,
      "Ends a token. Connections that use it have no rights from their next request on.",
      "OK", "TOKENREVOKE shop", run_tokenrevoke, {
        { "name", ARG_NAME, POS, .thing = "token", .help = "name of the token" } } },
    { 0 },
};
/* clang-format on */
