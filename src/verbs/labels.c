/* SPDX-License-Identifier: MIT */
/* Options of jobs, as GET and RECURRENCE show them. */
#include "verbs/handlers.h"

void reply_tags(struct reply *r, const struct job_labels *labels)
{
    reply_array(r, labels->tag_count);
    for (size_t i = 0; i < labels->tag_count; i++)
        reply_bytes(r, labels->tags[i]);
}

void reply_meta(struct reply *r, const struct job_labels *labels)
{
    reply_map(r, labels->meta_count);
    for (size_t i = 0; i < labels->meta_count; i++) {
        reply_bytes(r, labels->meta[i].name);
        reply_bytes(r, labels->meta[i].value);
    }
}

void reply_gates(struct reply *r, bool passing)
{
    reply_text(r, passing ? "pass" : "hold");
}
