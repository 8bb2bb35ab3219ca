/* SPDX-License-Identifier: MIT */
/* What an endpoint's answer means for the job that was pushed to it. */
#ifndef SERVER_PUSH_ANSWER_H
#define SERVER_PUSH_ANSWER_H

#include "server/outgoing.h"
#include "verbs/verb.h"

#define RETRY_AFTER_MAX INT64_C(86400000) /* longer ones are cut */

/* The header: seconds, or a date as HTTP writes it. How long from now; -1: it is neither. */
int64_t retry_after_parse(struct str text, int64_t now_ms);

struct push_verdict {
    enum push_outcome outcome;
    bool well;        /* the endpoint is, whatever it says of this job */
    int64_t in_ms;    /* postponed: how long */
    struct str error; /* of an attempt that failed; in `text` */
    char text[400];
};

void push_judge(const struct outgoing_answer *a, int64_t now_ms, struct push_verdict *ret);

#endif
