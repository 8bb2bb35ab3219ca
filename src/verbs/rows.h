/* SPDX-License-Identifier: MIT */
/*
 * What the rows of the verb table (table.c) are made of: arguments that several verbs have, and the
 * places in structs where values go.
 */
#ifndef VERBS_ROWS_H
#define VERBS_ROWS_H

#include "base/time.h"
#include "record/errorgroup.h"
#include "recur/rule.h"
#include "recur/zonedir.h"
#include "verbs/handlers.h"

/* clang-format off */
#define POS      .positional = true
#define QUEUE    { "queue", ARG_NAME, POS, .thing = "queue", .help = "name of the queue" }
#define ID       { "id", ARG_ID, POS, .help = "id of the job" }
#define NAME     { "name", ARG_NAME, POS, .thing = "recurrence", .help = "name of the recurrence" }
#define TOKEN    { "token", ARG_TOKEN, POS, .help = "token of the lease" }
#define TENANT   { "tenant", ARG_TENANT, .help = "the tenant; by default that of the token, or `default`" }
#define HOLDER   { "tenant", ARG_TENANT, .help = "the tenant of the job; not needed, because the token of the lease says enough" }
#define CURSOR   { "cursor", ARG_CURSOR, .help = "cursor of the page before" }
#define AFTER    { "after", ARG_NAME, INTO(struct listing, after), .help = "only names behind this one, for the next page" }
#define LIMIT    { "limit", ARG_INT, .min = 1, .max = 1000, INTO(struct listing, limit), .help = "how many at most; 1000 if not given" }
#define DURATION .min = 0, .max = TIME_DURATION_MAX

/* A job by its id, or by its key. */
#define MAYBE_ID { "id", ARG_ID, POS, .optional = true, .help = "id of the job" }
#define ID_OR_KEY MAYBE_ID, { "key", ARG_KEY, .help = "instead of the id" }, \
    { "queue", ARG_NAME, .help = "the queue of the key" }, \
    { "order", ARG_KEY, .help = "the ordering key of the job, if it has one" }

/* Parts of a rule; each verb has its own help for CRON. */
#define RRULE      { "rrule", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "a rule of RFC 5545, such as `FREQ=DAILY;BYHOUR=9;BYMINUTE=0`" }
#define CRON(text) { "cron", ARG_BYTES, .max = RULE_TEXT_MAX, .help = "minute, hour, day of month, month, day of week; or `@daily` and the like" text }
#define EVERY      { "every", ARG_DURATION, .min = 1, .max = TIME_DURATION_MAX, .help = "the times are START, and one after each such duration" }
#define TZ(into)   { "tz", ARG_BYTES, .max = ZONEDIR_NAME_MAX, into, .help = "time zone, such as Europe/Berlin; UTC if not given" }

#define AWAIT(text) { "wait", ARG_DURATION, .min = 0, .max = AWAIT_MAX_MS, .help = text }
/* Filters of jobs besides queue, state, due time and tag, for LIST, COUNT and BULK. */
#define FILTERS(struct_) \
    { "recurrence", ARG_NAME, INTO(struct_, recurrence), .help = "only occurrences of this recurrence" }, \
    { "key_prefix", ARG_KEY, INTO(struct_, key_prefix), .help = "only jobs whose key begins so, such as `user-42/`" }, \
    { "order", ARG_KEY, INTO(struct_, order), .help = "only jobs with this ordering key" }, \
    { "worker", ARG_BYTES, .max = NAME_MAX_BYTES, INTO(struct_, worker), \
      .help = "only jobs that this worker has, or had in one of the attempts that GET shows" }, \
    { "error", ARG_BYTES, .max = ERROR_HEAD_BYTES, INTO(struct_, error), \
      .help = "only jobs whose last error has this text in its first 1024 bytes, such as `timeout`" }, \
    { "error_group", ARG_BYTES, .max = ERROR_GROUP_MAX, INTO(struct_, error_group), \
      .help = "only jobs whose last error is of this group, as ERRORS shows it" }, \
    { "ended_from", ARG_MOMENT, INTO(struct_, ended_from_ms), .help = "only jobs that ended at or after this" }, \
    { "ended_to", ARG_MOMENT, INTO(struct_, ended_to_ms), .help = "only jobs that ended before this" }

/* Stores the value in a member of a struct, by the member's type. */
#define INTO(struct_, member)                                                                                         \
    .as = _Generic(((struct_ *)NULL)->member, int64_t: AS_I64, int: AS_INT, unsigned: AS_ENUM, bool: AS_BOOL,         \
                   uint64_t: AS_I64, struct str: AS_STR, char *: AS_CHARS, struct rate: AS_RATE,                      \
                   const struct str *: AS_LIST, const struct meta *: AS_LIST, const struct job_id *: AS_LIST),        \
    .size = sizeof(((struct_ *)NULL)->member), .into = offsetof(struct_, member)
#define OF_JOB(member)           INTO(struct job_spec, member)
#define OF_RECUR(member)         INTO(struct recur_item, recur.member)
#define OF_QUEUE(name, member)   INTO(struct queue_settings, member), .field = 1u << QUEUE_##name
#define OF_TENANT(name, member)  INTO(struct tenant_settings, member), .field = 1u << TENANT_##name

/* Options of a job: one row each, for SCHEDULE and RECUR, which have help texts of their own. */
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
#define SPEC_TAG(text)       { "tag", ARG_NAME, .many = true, .most = TAGS_MAX, OF_JOB(tags), .help = text }
#define SPEC_META(text)      { "meta", ARG_META, .many = true, OF_JOB(meta), .help = text }
#define SPEC_AFTER(text)     { "after", ARG_ID, .many = true, .most = AFTER_MAX, OF_JOB(after), .help = text }
#define SPEC_AFTERFAIL(text) { "afterfail", ARG_WORD, .words = "cancel|run", OF_JOB(after_fail), .help = text }
#define SPEC_NOTIFY(text)    { "notify", ARG_WORD, .words = "no|yes", OF_JOB(notify), .help = text }
#define SPEC_GATES(text)     { "gates", ARG_WORD, .words = "hold|pass", OF_JOB(passing), .help = text }
#define SPEC_ORDER(text)     { "order", ARG_KEY, OF_JOB(order), .help = text }
#define SPEC_PUSH(text)      { "push", ARG_BYTES, .max = URL_MAX_BYTES, OF_JOB(push), .help = text }
#define SPEC_KEY_HOLD(text)  { "key_hold", ARG_DURATION, .min = 0, .max = KEY_HOLD_MAX_MS, OF_JOB(key_hold_ms), .help = text }
/* clang-format on */

#endif
