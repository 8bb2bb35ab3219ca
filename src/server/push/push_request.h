/* SPDX-License-Identifier: MIT */
/* The request that pushes a job: its URL, its headers with the signature, and its payload. */
#ifndef SERVER_PUSH_REQUEST_H
#define SERVER_PUSH_REQUEST_H

#include "base/buf.h"
#include "engine/types.h"

#define PUSH_LINES (HEADERS_MAX + 16)

struct push_request {
    char *url;
    struct buf body;
    struct buf lines; /* "name: value" of each header, ended by a zero */
    size_t line_count;
};

/* Copies everything it needs. NOMEM, also for more headers than PUSH_LINES; then there is nothing
 * to end. */
int push_request_init(struct push_request *r, const struct job_view *v, struct str url,
                      const struct push_settings *s, int64_t now_ms);
void push_request_fini(struct push_request *r);

/* The signature of the Standard Webhooks specification. Appends "v1,BASE64" for each secret, with
 * blanks between: HMAC-SHA256 over id, timestamp (seconds) and body with dots between. Secrets are
 * as push_secret_next reads them. NOMEM. */
int push_sign(struct str secrets, struct str id, int64_t timestamp, struct str body,
              struct buf *out);

#endif
