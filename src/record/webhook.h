/* SPDX-License-Identifier: MIT */
/* What can be said of pushes without a network: the forms of URLs, headers and secrets. */
#ifndef RECORD_WEBHOOK_H
#define RECORD_WEBHOOK_H

#include "base/buf.h"
#include "record/settings.h"

#define PUSH_BY_JOB "job"
#define SECRETS     2

struct push_url {
    bool secure;     /* https */
    struct str host; /* as it is written, with the brackets of IPv6 */
    unsigned port;
};

/* http or https, a host, perhaps a port, path and query; in plain ASCII, without a user's name and
 * without a fragment. What is accepted means the same to every parser. False: `why` says what is
 * expected. */
bool push_url_parse(struct str url, struct push_url *ret, const char **ret_why);

/* "https://host:443", in lower case: what fails and recovers as one. */
#define ORIGIN_MAX (URL_MAX_BYTES + 16)
size_t push_origin(const struct push_url *u, char ret[ORIGIN_MAX]);

/* The name of an endpoint: an origin, as one tenant uses it. */
struct endpoint_key {
    size_t tenant_len;
    size_t len;
    char text[NAME_MAX_BYTES + 1 + ORIGIN_MAX + 1]; /* tenant, zero, origin, zero */
};

void endpoint_key_make(struct endpoint_key *ret, struct str tenant, struct str origin);
void endpoint_key_of_url(struct endpoint_key *ret, struct str tenant, const struct push_url *u);
static inline struct str endpoint_key_of(const struct endpoint_key *k)
{
    return (struct str){ k->text, k->len };
}
static inline const char *endpoint_key_origin(const struct endpoint_key *k)
{
    return k->text + k->tenant_len + 1;
}

/* The next of lines "Name: value"; false at the end. Both are without blanks at their ends. */
bool push_header_next(struct str *rest, struct str *ret_name, struct str *ret_value);
bool push_headers_check(struct str headers, const char **ret_why);

/* The next secret, as it is written; false at the end. */
bool push_secret_next(struct str *rest, struct str *ret);
/* The key that `whsec_` and base64 stand for: 24 to 64 bytes. */
bool push_secret_read(struct str secret, struct buf *out);
bool push_secrets_check(struct str secrets, const char **ret_why);

/* Whether each job has a URL of its own. */
static inline bool push_is_by_job(const struct push_settings *s)
{
    return str_eq(s->url, STR(PUSH_BY_JOB));
}

/* What is expected of which of them; NULL: they are as they may be. Also of what a record says. */
const char *push_settings_why(const struct push_settings *s, const char **ret_field);

#endif
