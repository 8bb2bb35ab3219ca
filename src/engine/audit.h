/* SPDX-License-Identifier: MIT */
/*
 * The audit log: who changed what, and when. An entry is an ended job of one hidden queue, with its
 * payload, that is kept as long as dead jobs are: whatever there is of history else. So it goes to
 * disk and is forgotten like them. All tenants' entries are in one log, in the order in which they
 * were made.
 */
#ifndef ENGINE_AUDIT_H
#define ENGINE_AUDIT_H

#include "base/buf.h"
#include "engine/types.h"

#define AUDIT_KEEP_MS   (INT64_C(90) * 86400000) /* unless told otherwise */
#define AUDIT_TEXT_MAX  128  /* bytes of a name or outcome; longer ones are cut */
#define AUDIT_WORDS_MAX 1024 /* of the request */

struct audit_entry {
    struct job_id id;
    int64_t at_ms;
    struct str tenant; /* whose things it was about; `*`: everybody's */
    struct str user;   /* empty: there are no users */
    struct str client; /* what it calls itself; may be empty */
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

/* Adds an entry, whose id and moment are set here. To be called when what it tells of has been
 * done: an answer that waits for this waits for both. NOMEM. */
int engine_audit(struct engine *e, const struct audit_entry *a);
/* One page, oldest first; it may be short though there is more. Of the cursor `due_ms` and `seq`
 * count. NOMEM, COLD. */
int engine_audits(struct engine *e, const struct audit_filter *f,
                  int (*fn)(void *arg, const struct audit_entry *a), void *arg,
                  struct list_cursor *cursor);

#endif
