/* SPDX-License-Identifier: MIT */
/* The forms of URLs, headers and secrets of pushes. */
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

/* Accepts http or https, a host, perhaps a port, path and query, in plain ASCII, without the name
 * of a user and without a fragment. Every parser reads an accepted URL alike. False: `why` says
 * what is expected. */
bool push_url_parse(struct str url, struct push_url *ret, const char **ret_why);

/* "https://host:443", in lower case: the part of a URL that fails and recovers as a whole. */
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

/* The next line "Name: value", both without blanks at their ends; false at the end. */
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

/* NULL if the settings are valid; else a sentence about the field *ret_field. */
const char *push_settings_why(const struct push_settings *s, const char **ret_field);

#endif
