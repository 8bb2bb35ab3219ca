/* SPDX-License-Identifier: MIT */
/* The audit log: who changed what, and when. An entry is an ended job of one hidden queue, and the
 * payload of the job is the entry. The engine keeps entries, feeds them to disk and forgets them as
 * it does with dead jobs. So a limit on other history drops none of them. Beyond
 * engine_options.audit_max entries the oldest go. One log has the entries of all tenants, in the
 * order of their making. */
#ifndef ENGINE_AUDIT_H
#define ENGINE_AUDIT_H

#include "base/buf.h"
#include "engine/types.h"

#define AUDIT_KEEP_MS   (INT64_C(90) * 86400000) /* unless engine_options.audit_ms says otherwise */
#define AUDIT_TEXT_MAX  128  /* bytes of a name or outcome; longer ones are cut */
#define AUDIT_WORDS_MAX 1024 /* bytes of the request */

struct audit_entry {
    struct job_id id;
    int64_t at_ms;
    struct str tenant; /* the tenant that the request was about; `*`: all */
    struct str user;   /* empty: the server has no users */
    struct str client; /* the name that the client gave itself; may be empty */
    struct str address;
    struct str verb;
    struct str request; /* as text */
    struct str outcome;
};

struct audit_filter {
    struct str tenant; /* empty or `*`: all */
    int64_t from_ms;   /* inclusive */
    int64_t to_ms;     /* exclusive; INT64_MAX: no end */
    size_t limit;      /* 1 .. 1000 */
};

struct engine;

/* Adds an entry, and sets its id and moment. The caller adds it after the change: an answer that
 * waits for the entry waits for both. NOMEM. */
int engine_audit(struct engine *e, const struct audit_entry *a);
/* How many entries there are, and how many of them are on disk. */
uint64_t engine_audit_count(const struct engine *e, uint64_t *ret_disk);
/* Shows one page of entries, oldest first. A page may be short although there are more. Only
 * `due_ms` and `seq` of the cursor count. `fn` ends the page as the function of engine_list does.
 * NOMEM, COLD. */
int engine_audits(struct engine *e, const struct audit_filter *f,
                  int (*fn)(void *arg, const struct audit_entry *a), void *arg,
                  struct list_cursor *cursor);

#endif
