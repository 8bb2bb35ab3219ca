/* SPDX-License-Identifier: MIT */
/* What is sent for a job: its URL, its headers, signed, and its payload. */
#ifndef SERVER_PUSH_REQUEST_H
#define SERVER_PUSH_REQUEST_H

#include "base/buf.h"
#include "engine/types.h"

#define PUSH_LINES (HEADERS_MAX + 16)

struct push_request {
    char *url;
    struct buf body;
    const char *lines[PUSH_LINES]; /* "name: value" */
    size_t line_count;
    struct buf text; /* where they stand */
};

/* Copies all it needs. NOMEM: then there is nothing to be ended. */
int push_request_init(struct push_request *r, const struct job_view *v, struct str url,
                      const struct push_settings *s, int64_t now_ms);
void push_request_fini(struct push_request *r);

#endif
