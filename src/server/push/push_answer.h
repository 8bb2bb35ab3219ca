/* SPDX-License-Identifier: MIT */
/* The meaning of an endpoint's answer for the job that was pushed to it. */
#ifndef SERVER_PUSH_ANSWER_H
#define SERVER_PUSH_ANSWER_H

#include "server/outgoing.h"
#include "verbs/verb.h"

#define RETRY_AFTER_MAX INT64_C(86400000) /* longer times are cut to this */

/* Reads the header: seconds, or a date as HTTP writes it. Answers the time from now; -1: it is
 * neither. */
int64_t retry_after_parse(struct str text, int64_t now_ms);

struct push_verdict {
    enum push_outcome outcome;
    bool well;        /* The endpoint works, whatever it says of this job. */
    int64_t in_ms;    /* the time for which a job is postponed */
    struct str error; /* the error of an attempt that failed; it is in `text` */
    char text[400];
};

void push_judge(const struct outgoing_answer *a, int64_t now_ms, struct push_verdict *ret);

#endif
