/* SPDX-License-Identifier: MIT */
#include "front/http_shape.h"

#include "engine/types.h"

#define STATE(name, text)   text ":i "
#define COUNTER(name, help) "total_" #name ":i "
#define HIST(name, unit)    name "_p50_" unit ":i " name "_p99_" unit ":i " name "_max_" unit ":i "

#define SUMMARY                                                                              \
    "id:s state:s tenant:s queue:s key:B? priority:i due_ms:i at_ms:i attempt:i attempts:i " \
    "payload_bytes:i deferred_until:i? deferrals:i error:B? order:B? "

#define RECURRENCE                                                                            \
    "name:s tenant:s queue:s kind:s rule:s tz:s start_ms:i exdate:s? rdate:s? catchup:s "     \
    "overlap:s priority:i payload:B paused:b revision:i created_ms:i edited_ms:i last_ms:i? " \
    "next_ms:i? finished:b queued:i open:i ran:i failed:i cancelled:i skipped:i "

/* clang-format off */
const struct http_shape http_shapes[] = {
    { "Summary", SUMMARY },
    { "Job", SUMMARY
      "payload:B created_ms:i stalls:i tags:[s] meta:{s} after:[s] recurrence:s? nominal_ms:i? expires_ms:i? notify:b "
      "gates:s lease_ms:i? until_ms:i? worker:B? progress:i? note:B? cancelling:b replacing:b ended_ms:i? keep_ms:i? "
      "result:B? token:s? history:[#Attempt]" },
    { "Attempt", "attempt:i start_ms:i end_ms:i late_ms:i outcome:s worker:B? error:B?" },
    { "Page", "jobs:[#Summary] cursor:s?" },
    { "Lease", "id:s token:s tenant:s queue:s payload:B attempt:i priority:i due_ms:i lease_ms:i until_ms:i key:B? "
      "tags:[s] meta:{s} order:B? recurrence:s? nominal_ms:i?" },
    { "Failed", "state:s at_ms:i?" },
    { "Extended", "until_ms:i cancelled:b" },
    { "Explanation", "id:s state:s reason:s why:s until_ms:i? ready_in_queue:i deferred_until:i? deferrals:i" },
    { "Queue", "tenant:s queue:s held_by:s? " JOB_STATES(STATE)
      "waiting_workers:i paused:b lease_ms:i attempts:i backoff:s retain_ms:i retain_dead_ms:i key_hold_ms:i "
      "past_grace_ms:i? max_running:i rate:s? " ENGINE_COUNTERS(COUNTER) HIST("lateness", "ms") HIST("runtime", "ms")
      HIST("wait", "ms") },
    { "Tenant", "tenant:s pending:i running:i queues:i weight:i maintenance:b max_pending:i max_running:i rate:s? "
      "quiet:s? tz:s? spread_ms:i quiet_until_ms:i?" },
    { "Stats", "version:s uptime_ms:i connections:i commands:i waiting_workers:i queues:i tenants:i " JOB_STATES(STATE)
      "hot_jobs:i cold_jobs:i memory_bytes:i memory_limit_bytes:i rss_bytes:i runs:i run_bytes:i fed_batches:i "
      "loaded_jobs:i merged_runs:i live_bytes:i journal_bytes:i journal_segments:i journal_reclaimed:i "
      "journal_copied_bytes:i commits:i epoch:i " ENGINE_COUNTERS(COUNTER)
      "fetches:i " HIST("fetch", "us") HIST("lateness", "ms") HIST("runtime", "ms") HIST("wait", "ms") },
    { "Step", "from_ms:i to_ms:i jobs:i" },
    { "Occurrence", "at_ms:i local:s note:s?" },
    { "Recurrence", RECURRENCE "ledger:[#LedgerEntry]" },
    { "RecurrenceSummary", RECURRENCE },
    { "RecurrencePage", "recurrences:[#RecurrenceSummary] cursor:s?" },
    { "LedgerEntry", "nominal_ms:i upto_ms:i count:i outcome:s why:s? by_hand:b id:s? ended_ms:i?" },
    { "Bulk", "id:s action:s dry_run:b state:s tenant:s matched:i changed:i skipped:i looked_at:i queue:s? states:[s] "
      "tag:s? from_ms:i? to_ms:i? due_ms:i? created_ms:i ended_ms:i? error:s?" },
    { "AuditEntry", "at_ms:i tenant:s user:s? client:B? address:s? verb:s request:B outcome:s? id:s" },
    { "AuditPage", "entries:[#AuditEntry] cursor:s?" },
    { "Event", "id:s tenant:s queue:s state:s from:s? cause:s attempt:i happened_ms:i due_ms:i at_ms:i? outcome:s? "
      "lateness_ms:i? duration_ms:i? worker:B? error:B?" },
    { "Health", "status:s" },
    { "Problem", "type:s title:s status:i code:s detail:s" },
    { 0 },
};
/* clang-format on */
