/* SPDX-License-Identifier: MIT */
/* Signatures as the Standard Webhooks specification has them. */
#ifndef SERVER_PUSH_SIGN_H
#define SERVER_PUSH_SIGN_H

#include "base/buf.h"

/* Appends "v1,BASE64" for each secret, with blanks between: HMAC-SHA256 over id, timestamp
 * (seconds) and body with dots between. Secrets are as push_secret_next reads them. NOMEM. */
int push_sign(struct str secrets, struct str id, int64_t timestamp, struct str body,
              struct buf *out);

#endif
