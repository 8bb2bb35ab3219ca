/* SPDX-License-Identifier: MIT */
#include "verbs/handlers.h"

#include "base/time.h"
#include "engine/bulk.h"
#include "recur/rule.h"
#include "recur/zonedir.h"

/* clang-format off */
#define POS      .positional = true
#define QUEUE    { "queue", ARG_NAME, POS, .thing = "queue", .help = "name of the queue" }
#define ID       { "id", ARG_ID, POS, .help = "id of the job" }
#define NAME     { "name", ARG_NAME, POS, .thing = "recurrence", .help = "name of the recurrence" }
#define TOKEN    { "token", ARG_TOKEN, POS, .help = "token of the lease" }
#define ORDER    { "order", ARG_KEY, .help = "the key's ordering key, if its job has one" }
#define TENANT   { "tenant", ARG_TENANT, .help = "whose; if not given the token's, or default" }
#define HOLDER   { "tenant", ARG_TENANT, .help = "the job's; need not be given: the token says enough" }
#define DURATION .min = 0, .max = TIME_DURATION_MAX

/* Stores the value in a member of a struct, by the member's type. */
#define INTO(struct_, member)                                                                                         \
    .as = _Generic(((struct_ *)NULL)->member, int64_t: AS_I64, int: AS_INT, unsigned: AS_ENUM, bool: AS_BOOL,         \
                   uint64_t: AS_I64, struct str: AS_STR, char *: AS_CHARS, struct rate: AS_RATE,                      \
                   const struct str *: AS_LIST, const struct meta *: AS_LIST, const struct job_id *: AS_LIST),        \
    .size = sizeof(((struct_ *)NULL)->member), .into = offsetof(struct_, member)
#define OF_JOB(member)           INTO(struct job_spec, member)
#define OF_QUEUE(name, member)   INTO(struct queue_settings, member), .field = 1u << QUEUE_##name
#define OF_TENANT(name, member)  INTO(struct tenant_settings, member), .field = 1u << TENANT_##name

/* What a job can be told: one row each, for SCHEDULE and RECUR, which have their own words for it. */
#define SPEC_QUEUE(text)     { "queue", ARG_NAME, POS, OF_JOB(queue), .help = text }
#define SPEC_PAYLOAD(text)   { "payload", ARG_PAYLOAD, POS, OF_JOB(payload), .help = text }
#define SPEC_KEY(text)       { "key", ARG_KEY, OF_JOB(key), .help = text }
#define SPEC_IFEXISTS(text)  { "ifexists", ARG_WORD, .words = "keep|replace|reject", OF_JOB(if_exists), .help = text }
#define SPEC_PRIORITY(text)  { "priority", ARG_INT, .min = 1, .max = 5, OF_JOB(priority), .help = text }
#define SPEC_ATTEMPTS(text)  { "attempts", ARG_INT, .min = 0, .max = 1000000, OF_JOB(attempts), .help = text }
#define SPEC_BACKOFF(text)   { "backoff", ARG_BACKOFF, OF_JOB(backoff), .help = text }
#define SPEC_LEASE(text)     { "lease", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, OF_JOB(lease_ms), .help = text }
#define SPEC_RETAIN(text)    { "retain", ARG_DURATION, DURATION, OF_JOB(retain_ms), .help = text }
#define SPEC_EXPIRE(text)    { "expire", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX, OF_JOB(expire_ms), .help = text }
#define SPEC_TAG(text)       { "tag", ARG_NAME, .many = true, OF_JOB(tags), .help = text }
#define SPEC_META(text)      { "meta", ARG_META, .many = true, OF_JOB(meta), .help = text }
#define SPEC_AFTER(text)     { "after", ARG_ID, .many = true, OF_JOB(after), .help = text }
#define SPEC_AFTERFAIL(text) { "afterfail", ARG_WORD, .words = "cancel|run", OF_JOB(after_fail), .help = text }
#define SPEC_NOTIFY(text)    { "notify", ARG_WORD, .words = "no|yes", OF_JOB(notify), .help = text }
#define SPEC_GATES(text)     { "gates", ARG_WORD, .words = "hold|pass", OF_JOB(passing), .help = text }
#define SPEC_ORDER(text)     { "order", ARG_KEY, OF_JOB(order), .help = text }
#define SPEC_PUSH(text)      { "push", ARG_BYTES, .max = URL_MAX_BYTES, OF_JOB(push), .help = text }

const struct verb verb_table[] = {
    { "SCHEDULE", VERB_ADDS | VERB_PRODUCER, "Schedules a job; at once if neither IN nor AT is given.",
      "the job's id", "SCHEDULE reminder.send \"hello\" IN 10m KEY user-7", run_schedule, {
        SPEC_QUEUE("name of the queue"),
        SPEC_PAYLOAD("any bytes, up to max_payload"),
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment; one that has passed runs at once" },
        SPEC_KEY("at most one job of the queue has this key at a time"),
        SPEC_IFEXISTS("what to do if the key is taken: answer that job's id (the default), give it the new payload "
                     "and due time, or fail with KEYEXISTS"),
        SPEC_PRIORITY("1 is first, 5 is last; 3 if not given"),
        SPEC_ATTEMPTS("deliveries before the job is dead; 0 means for ever"),
        SPEC_BACKOFF("pause before each retry: `1m,5m,15m`, `exp:2s:1h` or `fixed:20s`"),
        SPEC_LEASE("how long a worker has it before it must EXTEND"),
        SPEC_RETAIN("how long it is kept for GET once it is done; 0 means not at all"),
        TENANT,
        SPEC_EXPIRE("if it has not been started this long after it was due it becomes expired"),
        SPEC_TAG("for LIST; up to 16 of them"),
        SPEC_META("metadata for the worker, shown by LEASE and GET; up to 32, values of up to 1024 bytes; "
                 "`traceparent` carries a W3C trace"),
        SPEC_AFTER("wait until this job is done, besides its time; up to 64 of them"),
        SPEC_AFTERFAIL("if one of those ends otherwise than done: it is cancelled (the default), or runs all the same"),
        SPEC_NOTIFY("yes: it disturbs somebody, so that its tenant's quiet hours put it off to their end"),
        SPEC_GATES("pass: neither quiet hours nor maintenance hold it; pauses, limits and rates do"),
        SPEC_ORDER("ordering key: jobs of the queue that have the same run one at a time, by due time; its KEY is "
                  "then unique among these"),
        SPEC_PUSH("URL that it is pushed to; only, and always, in a queue whose PUSH_URL is `job`") } },
    { "BATCH", VERB_ADDS | VERB_PRODUCER, "Schedules several jobs in one request: all of them or none, in one commit, or each by itself.",
      "an array of ids, in the order of the items; with each an error stands in the place of one that is refused",
      "BATCH all 4 reminder.send \"hello\" IN 10m 2 report.make \"{}\"", run_batch, {
        { "mode", ARG_WORD, POS, .words = "all|each",
          .help = "all: if one is refused none is scheduled; together they are no larger than a payload may be" },
        { "items", ARG_ITEMS, POS,
          .help = "up to 1000, each of them the number of its words and these, as SCHEDULE takes them: "
                  "queue, payload, options" } } },
    { "LEASE", VERB_TAKES | VERB_WORKER, "Takes ready jobs, each under a lease that names the worker's right to it.",
      "an array of jobs, each a map: id, token, tenant, queue, payload, attempt, priority, due_ms, lease_ms, "
      "until_ms, key, tags, meta, order, recurrence, nominal_ms (of an occurrence: whose, and of when); empty if there "
      "is no work", "LEASE reminder.send COUNT 10 WAIT 30s", run_lease, {
        { "queues", ARG_NAMES, POS, .help = "one queue or several with commas between" },
        { "count", ARG_INT, .min = 1, .max = LEASE_COUNT_MAX, INTO(struct lease_request, count), .help = "at most so many jobs; 1 if not given" },
        { "wait", ARG_DURATION, .min = 0, .max = 86400000, .help = "how long to wait if there is no work now" },
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, INTO(struct lease_request, for_ms),
          .help = "length of the lease; the job's or queue's if not given" },
        { "worker", ARG_BYTES, .max = NAME_MAX_BYTES, INTO(struct lease_request, worker), .help = "who takes it, for the job's history" },
        { "tenant", ARG_TENANT, .help = "whose jobs; if not given the token's, or default; * for all tenants, who take turns" } } },
    { "COMPLETE", VERB_HOLDS | VERB_WORKER, "Ends a leased job as done.", "OK",
      "COMPLETE 01… 1099511627777 RESULT \"sent\"", run_complete, {
        ID, TOKEN,
        { "result", ARG_BYTES, .max = RESULT_MAX_BYTES, .help = "kept with the job and shown by GET" },
        { "again", ARG_DURATION, DURATION,
          .help = "run the job again this long from now, its attempts counted anew" },
        HOLDER } },
    { "FAIL", VERB_HOLDS | VERB_WORKER, "Ends an attempt as failed: the job is retried after its back-off, or is dead.",
      "a map: state (scheduled, dead or cancelled) and at_ms, when it runs again",
      "FAIL 01… 1099511627777 ERROR \"timeout\"", run_fail, {
        ID, TOKEN,
        { "error", ARG_BYTES, .max = 0, .help = "what went wrong; kept up to 1024 bytes" },
        { "retry", ARG_DURATION, DURATION, .help = "run again after this pause instead of the back-off" },
        { "final", ARG_WORD, .words = "no|yes", .help = "yes: do not retry" }, HOLDER } },
    { "EXTEND", VERB_HOLDS | VERB_WORKER, "The heartbeat: lengthens a lease from now.",
      "a map: until_ms, the lease's new end, and cancelled, true if the worker should stop",
      "EXTEND 01… 1099511627777 FOR 1m PROGRESS 40", run_extend, {
        ID, TOKEN,
        { "for", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, INTO(struct extend_spec, for_ms),
          .help = "from now; if not given as long as the last time, or as it was leased for" },
        { "progress", ARG_INT, .min = 0, .max = 100, INTO(struct extend_spec, progress), .help = "percent, shown by GET" },
        { "note", ARG_BYTES, .max = 0, INTO(struct extend_spec, note), .help = "shown by GET; kept up to 1024 bytes" }, HOLDER } },
    { "RELEASE", VERB_HOLDS | VERB_WORKER, "Gives a leased job back without costing an attempt.", "OK",
      "RELEASE 01… 1099511627777 IN 30s", run_release, {
        ID, TOKEN,
        { "in", ARG_DURATION, DURATION, .help = "offer it again only after this pause" }, HOLDER } },
    { "CANCEL", VERB_PRODUCER, "Cancels a job, by id or by KEY and QUEUE.",
      "cancelled; running if a worker has it: it is told at its next EXTEND and the job is not "
      "retried; or notfound", "CANCEL KEY user-7 QUEUE reminder.send", run_cancel, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "key", ARG_KEY, .help = "instead of the id" },
        { "queue", ARG_NAME, .help = "the key's queue" },
        ORDER,
        TENANT } },
    { "RESCHEDULE", VERB_PRODUCER, "Moves a job that is not running to another time; at once if none is given.",
      "OK", "RESCHEDULE 01… IN 1h", run_reschedule, {
        ID,
        { "in", ARG_DURATION, DURATION, .help = "due this long from now" },
        { "at", ARG_MOMENT, .help = "due at this moment" },
        TENANT } },
    { "GET", VERB_READS | VERB_PRODUCER | VERB_WORKER, "Shows a job, by id or by KEY and QUEUE.",
      "a map with everything known of the job, its attempts included; null if there is none",
      "GET 01…", run_get, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "key", ARG_KEY, .help = "instead of the id" },
        { "queue", ARG_NAME, .help = "the key's queue" },
        ORDER,
        TENANT } },
    { "LIST", VERB_READS | VERB_PRODUCER, "Lists jobs, page by page. A call does a bounded amount of work: a page may "
      "be short, or empty, though there are more. A job that goes between memory and disk meanwhile may be "
      "in several pages: who wants each once keeps their ids.",
      "a map: jobs (an array of maps) and cursor, for the next page; null when there are no more",
      "LIST QUEUE reminder.send STATE dead LIMIT 20", run_list, {
        { "queue", ARG_NAME, .help = "only this queue" },
        { "state", ARG_WORD, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting", INTO(struct list_filter, state),
          .help = "only this state" },
        { "from", ARG_MOMENT, INTO(struct list_filter, from_ms), .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, INTO(struct list_filter, to_ms), .help = "only jobs due before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct list_filter, limit), .help = "jobs in a page; 100 if not given" },
        { "cursor", ARG_CURSOR, .help = "from the page before" },
        { "tag", ARG_NAME, INTO(struct list_filter, tag), .help = "only jobs with this tag" },
        { "tenant", ARG_TENANT, .help = "whose; if not given the token's, or default; * for all" } } },
    { "EXPLAIN", VERB_READS | VERB_PRODUCER, "Says why a job has not run, what it waits for, and until when; by id or by KEY and QUEUE.",
      "a map: id, state, reason (scheduled, parent, backoff, paused, maintenance, running_limit, rate_limit, quiet_hours, "
      "slow_start, no_worker, on_disk, behind, ordering_key, endpoint, running or ended), why (a sentence), until_ms (null if not known), "
      "ready_in_queue, deferred_until and deferrals; "
      "null if there is no such job", "EXPLAIN 01…", run_explain, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "key", ARG_KEY, .help = "instead of the id" },
        { "queue", ARG_NAME, .help = "the key's queue" },
        ORDER,
        TENANT } },
    { "FORECAST", VERB_READS | VERB_WIDE, "Shows how many jobs become due in each step of a time to come. Exact for few "
      "jobs, an estimate for many.",
      "an array of maps, one for each step: from_ms, to_ms, jobs; the last step ends at TO",
      "FORECAST STEP 15m", run_forecast, {
        { "from", ARG_MOMENT, .help = "where the first step begins; now if not given" },
        { "to", ARG_MOMENT, .help = "where the last step ends; a day after FROM if not given" },
        { "step", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX,
          .help = "length of a step; 1h if not given. There are at most 1000 of them" },
        { "tenant", ARG_TENANT,
          .help = "only this one's, which is possible while none of its jobs waits on disk; * for all, if not given" } } },
    { "PREVIEW", VERB_READS | VERB_PRODUCER, "Shows when a rule runs next, before anything is made to run by it. Exactly one of "
      "RRULE, CRON and EVERY is given.",
      "an array of maps, one for each time: at_ms, local (with its offset from UTC) and note: null, or what a "
      "change of the clock has to do with it; fewer than COUNT if the rule ends",
      "PREVIEW CRON \"30 2 * * *\" TZ Europe/Berlin FROM 2027-03-27T00:00:00Z COUNT 3", run_preview, {
        { "rrule", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "a rule of RFC 5545, such as `FREQ=DAILY;BYHOUR=9;BYMINUTE=0`" },
        { "cron", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "minute, hour, day of month, month, day of week; or `@daily` and the like" },
        { "every", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX, .help = "START and every so long after it" },
        { "tz", ARG_BYTES, .max = ZONEDIR_NAME_MAX, .help = "time zone, such as Europe/Berlin; UTC if not given" },
        { "start", ARG_MOMENT, .help = "where the rule begins and counts from; now, at a whole second, if not given" },
        { "from", ARG_MOMENT, .help = "only times at or after this; now if not given" },
        { "count", ARG_INT, .min = 1, .max = 1000, .help = "at most so many times; 10 if not given" } } },
    { "RECUR", VERB_ADDS | VERB_AUDITS | VERB_PRODUCER, "Makes a recurrence, which schedules a job at each time that its rule says; or changes the one "
      "of that name. Exactly one of RRULE, CRON and EVERY is given. A change makes no past occurrences and leaves those "
      "under way as they are.",
      "the recurrence, as RECURRENCE shows it",
      "RECUR nightly report.make \"{}\" CRON \"30 2 * * *\" TZ Europe/Berlin", run_recur, {
        NAME,
        SPEC_QUEUE("where its jobs go"),
        SPEC_PAYLOAD("of its jobs; up to 32 KiB"),
        { "rrule", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "a rule of RFC 5545, such as `FREQ=DAILY;BYHOUR=9;BYMINUTE=0`" },
        { "cron", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "minute, hour, day of month, month, day of week; or `@daily` and the like; `H` spreads" },
        { "every", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX, .help = "START and every so long after it" },
        { "tz", ARG_BYTES, .max = ZONEDIR_NAME_MAX, .help = "time zone, such as Europe/Berlin; UTC if not given" },
        { "start", ARG_MOMENT, .help = "where the rule begins and counts from; now, at a whole second, if not given, or as it was" },
        { "exdate", ARG_BYTES, .max = 8192, .help = "times that are left out, as in iCalendar, with commas between" },
        { "rdate", ARG_BYTES, .max = 8192, .help = "times that are added" },
        { "catchup", ARG_WORD, .words = "last|skip|all",
          .help = "what to do with times that could not be kept within a minute, as the server was down: make one "
                  "job for the last time that has passed (the default), none for them, or all, one after another" },
        { "overlap", ARG_WORD, .words = "skip|allow|queue",
          .help = "what to do if the job before has not ended: leave this one out (the default), make it all the "
                  "same, or when that one has ended" },
        SPEC_PRIORITY("of its jobs, likewise those below: see SCHEDULE"),
        SPEC_ATTEMPTS("deliveries before a job is dead"),
        SPEC_BACKOFF("pause before each retry"),
        SPEC_LEASE("how long a worker has one"),
        SPEC_RETAIN("how long one is kept once it is done"),
        SPEC_EXPIRE("if one is not started in time it becomes expired"),
        SPEC_TAG("for LIST"),
        SPEC_META("metadata for the worker"),
        SPEC_NOTIFY("yes: quiet hours put one off to their end"),
        SPEC_GATES("pass: neither quiet hours nor maintenance hold one"),
        SPEC_ORDER("ordering key of its jobs: they run one at a time, in order"),
        TENANT,
        SPEC_PUSH("URL that its jobs are pushed to") } },
    { "RECURRENCE", VERB_READS | VERB_PRODUCER, "Shows a recurrence and its ledger: what became of each of its times.",
      "a map; null if there is none of that name. The ledger has the last 100 entries, those under way always, each a "
      "map: nominal_ms, upto_ms and count (several in a row that were skipped alike are one entry), outcome (open, "
      "ran, failed, cancelled or skipped), why, by_hand, id, ended_ms", "RECURRENCE nightly", run_recurrence, { NAME, TENANT } },
    { "RECURRENCES", VERB_READS | VERB_PRODUCER, "Shows a tenant's recurrences, page by page, as LIST shows jobs.",
      "a map: recurrences (an array of maps) and cursor, for the next page; null when there are no more", "RECURRENCES", run_recurrences, {
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "in a page; 100 if not given" },
        { "cursor", ARG_CURSOR, .help = "from the page before" },
        TENANT } },
    { "RECURPAUSE", VERB_AUDITS | VERB_PRODUCER, "Stops a recurrence; jobs that it made go on.", "OK", "RECURPAUSE nightly", run_recurpause, { NAME, TENANT } },
    { "RECURRESUME", VERB_AUDITS | VERB_PRODUCER, "Ends a RECURPAUSE; times that passed meanwhile are skipped.", "OK", "RECURRESUME nightly", run_recurresume, { NAME, TENANT } },
    { "RECURRUN", VERB_ADDS | VERB_AUDITS | VERB_PRODUCER, "Makes a job of a recurrence now, besides those of its rule.", "the job's id", "RECURRUN nightly", run_recurrun, { NAME, TENANT } },
    { "RECURDELETE", VERB_AUDITS | VERB_PRODUCER, "Ends a recurrence and forgets it; jobs that it made go on.", "OK", "RECURDELETE nightly", run_recurdelete, { NAME, TENANT } },
    { "STATS", VERB_READS | VERB_WIDE, "Shows the server's figures, or a tenant's.", "a map", "STATS", run_stats, {
        { "tenant", ARG_TENANT, .help = "only what is this one's: its queues, jobs, counters and times; * for the whole server, if not given" } } },
    { "METRICS", VERB_READS | VERB_WIDE, "Shows all figures as text that Prometheus reads; a hundred queues by name have series of "
      "their own, the others together one.", "text", "METRICS", run_metrics, {
        { "tenant", ARG_TENANT, .help = "only what is this one's; * for the whole server, if not given" } } },
    { "QUEUES", VERB_READS, "Shows queues with their counts, by name.", "an array of maps", "QUEUES", run_queues, {
        { "after", ARG_BYTES, .max = QUEUE_MAX_BYTES,
          .help = "only those behind this name: the next page; with TENANT * `tenant@queue`, or `queue` of the default one" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "at most so many; 1000 if not given" },
        TENANT } },
    { "QUEUE", VERB_ADMIN, "Shows a queue, after changing the settings that are given.",
      "a map of counts and settings", "QUEUE reminder.send ATTEMPTS 10 BACKOFF exp:5s:1h", run_queue, {
        QUEUE,
        { "lease", ARG_DURATION, .min = 1, .max = LEASE_MAX_MS, OF_QUEUE(LEASE, lease_ms), .help = "length of a lease; 1m at first" },
        { "attempts", ARG_INT, .min = 0, .max = 1000000, OF_QUEUE(ATTEMPTS, attempts), .help = "deliveries before a job is dead, 0 for ever; 5 at first" },
        { "backoff", ARG_BACKOFF, OF_QUEUE(BACKOFF, backoff), .help = "pause before each retry; exp:2s:1h at first" },
        { "retain", ARG_DURATION, DURATION, OF_QUEUE(RETAIN, retain_ms), .help = "how long done and cancelled jobs are kept; 1d at first" },
        { "retain_dead", ARG_DURATION, DURATION, OF_QUEUE(RETAIN_DEAD, retain_dead_ms), .help = "how long dead jobs are kept; 30d at first" },
        { "key_hold", ARG_DURATION, DURATION, OF_QUEUE(KEY_HOLD, key_hold_ms), .help = "how long a key stays taken after its job is done; 0ms at first" },
        { "past_grace", ARG_DURATION, DURATION, OF_QUEUE(PAST_GRACE, past_grace_ms),
          .help = "refuse jobs due longer ago than this; any past moment is accepted at first" },
        { "max_running", ARG_INT, .min = 0, .max = 1000000000, OF_QUEUE(MAX_RUNNING, max_running), .help = "jobs that are leased at a time; 0, any number, at first" },
        { "rate", ARG_RATE, OF_QUEUE(RATE, rate), .help = "jobs given out in each period, evenly: `100/1m`; 0, any number, at first" },
        TENANT,
        { "push_url", ARG_BYTES, .max = URL_MAX_BYTES, OF_QUEUE(PUSH_URL, push.url),
          .help = "its jobs are POSTed there, and not leased by workers; `job`: each to its own; empty, none, at first" },
        { "push_headers", ARG_BYTES, .max = HEADERS_MAX_BYTES, .secret = true, OF_QUEUE(PUSH_HEADERS, push.headers),
          .help = "lines of `Name: value` to send along; only the names are ever shown" },
        { "push_secret", ARG_BYTES, .max = SECRETS_MAX_BYTES, .secret = true, OF_QUEUE(PUSH_SECRET, push.secrets),
          .help = "`whsec_` and 24 to 64 bytes in base64: signs what is pushed; while it is replaced two of them, "
                  "with a blank between; never shown" },
        { "push_timeout", ARG_DURATION, .min = 1, .max = PUSH_TIMEOUT_MAX, OF_QUEUE(PUSH_TIMEOUT, push.timeout_ms), .help = "for an answer; 30s at first" },
        { "push_concurrency", ARG_INT, .min = 1, .max = PUSH_RUNNING_MAX, OF_QUEUE(PUSH_CONCURRENCY, push.concurrency), .help = "pushes at a time; 10 at first" } } },
    { "PAUSE", VERB_ADMIN, "Stops giving out a queue's jobs; they wait.", "OK", "PAUSE reminder.send", run_pause, { QUEUE, TENANT } },
    { "RESUME", VERB_ADMIN, "Ends a PAUSE.", "OK", "RESUME reminder.send", run_resume, { QUEUE, TENANT } },
    { "TENANT", VERB_ADMIN, "Shows a tenant, after changing the settings that are given.",
      "a map of counts and settings; null if it has no queue and no settings", "TENANT acme WEIGHT 3 MAX_RUNNING 50", run_tenant, {
        { "name", ARG_NAME, POS, .thing = "tenant", .help = "name of the tenant" },
        { "weight", ARG_INT, .min = 1, .max = WEIGHT_MAX, OF_TENANT(WEIGHT, weight),
          .help = "jobs that it gives in its turn, where a worker serves all tenants; 1 at first" },
        { "maintenance", ARG_WORD, .words = "no|yes", OF_TENANT(MAINTENANCE, maintenance), .help = "yes: its jobs wait until this ends, but for those with GATES pass" },
        { "max_pending", ARG_INT, .min = 0, .max = INT64_MAX, OF_TENANT(MAX_PENDING, max_pending),
          .help = "jobs that have not ended, beyond which SCHEDULE answers LIMIT; 0, any number, at first" },
        { "max_running", ARG_INT, .min = 0, .max = 1000000000, OF_TENANT(MAX_RUNNING, max_running), .help = "jobs that are leased at a time; 0, any number, at first" },
        { "rate", ARG_RATE, OF_TENANT(RATE, rate), .help = "jobs given out in each period, evenly: `100/1m`; 0, any number, at first" },
        { "quiet", ARG_BYTES, .max = QUIET_MAX_BYTES, OF_TENANT(QUIET, quiet),
          .help = "quiet hours, which put jobs with NOTIFY off to their end: windows of local time, each with the "
                  "days on which it begins if it is not every day: `22:00-07:00;sat,sun 00:00-24:00`; none if empty" },
        { "tz", ARG_BYTES, .max = TZ_MAX_BYTES, OF_TENANT(TZ, tz), .help = "time zone of the quiet hours, such as Europe/London; UTC at first" },
        { "spread", ARG_DURATION, .min = 0, .max = SPREAD_MAX_MS, OF_TENANT(SPREAD, spread_ms),
          .help = "what quiet hours put off is due at random within this after their end; 0ms at first" } } },
    { "TENANTS", VERB_READS | VERB_WIDE, "Shows tenants with their counts and settings, by name.", "an array of maps", "TENANTS", run_tenants, {
        { "after", ARG_NAME, .help = "only those behind this name: the next page" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "at most so many; 1000 if not given" } } },
    { "REDRIVE", VERB_ADMIN | VERB_ADDS, "Puts dead jobs back, attempts counted anew: one by id, or a queue's, oldest first.",
      "how many were put back; of a queue's it may be fewer than LIMIT though there are more, so ask again "
      "until it is 0", "REDRIVE QUEUE reminder.send LIMIT 100", run_redrive, {
        { "id", ARG_ID, POS, .optional = true, .help = "id of the job" },
        { "queue", ARG_NAME, .help = "instead of the id: all dead jobs of this queue" },
        { "limit", ARG_INT, .min = 1, .max = 10000, .help = "at most so many; 1000 if not given" },
        TENANT } },
    { "BULK", VERB_ADMIN, "Does something to all jobs that match, in the background: cancels those that have not ended (running ones are "
      "told to stop), moves those that wait to another time (at once if none is given), puts dead ones back, or forgets "
      "ended ones. At least one of QUEUE, STATE, TAG, FROM and TO is given. Only jobs that are there when it is asked "
      "for are touched. BULKS shows how far it is.",
      "a map: id, action, dry_run, state (running, done, stopped or failed), matched, changed and skipped (matched, but "
      "it could not be done, as with a key that is taken) so far, looked_at, and the filter",
      "BULK cancel QUEUE reminder.send TAG campaign-7 DRYRUN yes", run_bulk, {
        { "action", ARG_WORD, POS, .words = "cancel|reschedule|redrive|delete", INTO(struct bulk_spec, action), .help = "what to do" },
        { "queue", ARG_NAME, .help = "only jobs of this queue" },
        { "state", ARG_WORD, .words = "scheduled|ready|leased|done|dead|cancelled|expired|waiting", INTO(struct bulk_spec, state),
          .help = "only this state; if not given all that the action can be about" },
        { "tag", ARG_NAME, INTO(struct bulk_spec, tag), .help = "only jobs with this tag" },
        { "from", ARG_MOMENT, INTO(struct bulk_spec, from_ms), .help = "only jobs due at or after this" },
        { "to", ARG_MOMENT, INTO(struct bulk_spec, to_ms), .help = "only jobs due before this" },
        { "in", ARG_DURATION, DURATION, .help = "reschedule: due this long from now" },
        { "at", ARG_MOMENT, .help = "reschedule: due at this moment" },
        { "dryrun", ARG_WORD, .words = "no|yes", INTO(struct bulk_spec, dry),
          .help = "yes: changes nothing, matched says how many there are; those that go between memory and disk "
                  "meanwhile may be counted twice" },
        TENANT } },
    { "BULKS", VERB_READS, "Shows a tenant's bulks: those that run, and those that ended during the last day, up to 100 of them.",
      "an array of maps, as BULK answers", "BULKS", run_bulks, {
        { "id", ARG_ID, .help = "only this one" },
        TENANT } },
    { "BULKSTOP", VERB_ADMIN, "Stops a bulk; what it has done stays.", "OK", "BULKSTOP 01…", run_bulkstop, {
        { "id", ARG_ID, POS, .thing = "bulk", .help = "id of the bulk" },
        TENANT } },
    { "AUDIT", VERB_READS, "Shows the audit log, oldest first: what was changed by QUEUE, TENANT, PAUSE, RESUME, REDRIVE, BULK, "
      "BULKSTOP, TOKENCREATE, TOKENREVOKE and by those about recurrences. Entries are kept for audit_retention. A page may be short, or empty, "
      "though there are more.",
      "a map: entries (an array of maps: at_ms, tenant, user, client, address, verb, request, outcome, id) and cursor, "
      "for the next page; null when there are no more", "AUDIT FROM 2027-01-01T00:00:00Z TENANT *", run_audit, {
        { "from", ARG_MOMENT, .help = "only entries of this moment or later" },
        { "to", ARG_MOMENT, .help = "only entries before this" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "in a page; 100 if not given" },
        { "cursor", ARG_CURSOR, .help = "from the page before" },
        { "tenant", ARG_TENANT, .help = "whose things were changed; if not given the token's, or default; * for all" } } },
    { "TOKENCREATE", VERB_ADMIN | VERB_SERVER, "Makes a token. The first one is to be an admin of tenant *; from then on nobody is "
      "served without a token. Its text is in this answer only: what is stored is a hash.",
      "a map: name, role, tenant, created_ms, expires_ms and token, the text to AUTH with",
      "TOKENCREATE shop producer TENANT acme", run_tokencreate, {
        { "name", ARG_NAME, POS, .help = "name of the token, for TOKENS, TOKENREVOKE and the audit log" },
        { "role", ARG_WORD, POS, .words = "admin|producer|worker|read-only", .help = "what it may do: see the roles of each verb" },
        { "tenant", ARG_TENANT, .help = "whose things it may see and change, nobody else's; * for all. If not given: * for an admin, else default" },
        { "expire", ARG_DURATION, .min = 1000, .max = TIME_DURATION_MAX, .help = "it is good for so long; for ever if not given" } } },
    { "TOKENS", VERB_READS | VERB_ADMIN | VERB_SERVER | VERB_WIDE, "Shows tokens, by name; their secrets are not known.",
      "an array of maps: name, role, tenant, created_ms, expires_ms, expired", "TOKENS", run_tokens, {
        { "after", ARG_NAME, .help = "only those behind this name: the next page" },
        { "limit", ARG_INT, .min = 1, .max = 1000, .help = "at most so many; 1000 if not given" },
        { "tenant", ARG_TENANT, .help = "only those of this tenant; * for all, if not given" } } },
    { "TOKENREVOKE", VERB_ADMIN | VERB_SERVER | VERB_WIDE, "Ends a token; those who are connected with it have no rights from their next request on.",
      "OK", "TOKENREVOKE shop", run_tokenrevoke, {
        { "name", ARG_NAME, POS, .thing = "token", .help = "name of the token" } } },
    { 0 },
};
/* clang-format on */
