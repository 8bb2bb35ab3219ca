/* SPDX-License-Identifier: MIT */
/* The letters of a worker to the server. The outbox keeps the end of a job until the server has
 * answered, and sends it again on a new connection. It keeps no heartbeats. */
#ifndef CLI_OUTBOX_H
#define CLI_OUTBOX_H

#include "base/list.h"
#include "cli/client.h"
#include "cli/task.h"

enum outbox_kind { OUTBOX_COMPLETE, OUTBOX_FAIL, OUTBOX_RELEASE, OUTBOX_EXTEND };

/* Tells the answer to a heartbeat. The token names the lease. */
typedef void outbox_extended_fn(void *arg, struct str token, bool cancelled, bool stale);
/* Tells the answer to a FAIL that has a note. */
typedef void outbox_failed_fn(void *arg, struct str note, const struct resp_values *v);

struct outbox {
    struct client client; /* fd -1: offline */
    struct list letters;  /* in the order in which they were sent */
    size_t unanswered;    /* letters that are not heartbeats */
    outbox_extended_fn *extended;
    outbox_failed_fn *failed;
    void *arg;
};

void outbox_init(struct outbox *o, outbox_extended_fn *extended, outbox_failed_fn *failed,
                 void *arg);
void outbox_fini(struct outbox *o);

/* Connects, and sends again the letters that were not answered. 0, or IO with client.why. */
int outbox_open(struct outbox *o, const char *host, const char *port, int timeout_ms);
/* Closes the connection after a failure; forgets heartbeats and keeps the other letters. */
void outbox_close(struct outbox *o);

/* Tells the server about a lease. `option` and `value` follow unless option is NULL. */
void outbox_tell(struct outbox *o, enum outbox_kind kind, struct str id, struct str token,
                 const char *option, struct str value);

/* Keeps a note with the letter that was told last. */
void outbox_note(struct outbox *o, struct str note);

/* Sends and takes answers without blocking; IO or PROTOCOL if the connection is to be closed. */
int outbox_move(struct outbox *o);

#endif
