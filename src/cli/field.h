/* SPDX-License-Identifier: MIT */
/* A named value for people. The name tells the meaning of a number. A moment (due_ms, until_ms, …)
 * is shown as local time and "in 3m". Any other ..._ms is shown as a duration, and ..._bytes as a
 * size. */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "base/buf.h"
#include "front/resp.h"

enum field_style {
    FIELD_FULL, /* 2026-11-15T20:43:00+01:00 (in 3m) */
    FIELD_BRIEF /* in 3m */
};

/* Whether a number of this name is a moment. */
bool field_is_moment(struct str name);

/* The field's name for people: "due_ms" is shown as "due". Borrowed from name. */
struct str field_title(struct str name);

/* A scalar's text, escaped, cut to `most` columns (0: not cut). */
void field_put(struct buf *out, struct str name, const struct resp_value *v, int64_t now_ms,
               enum field_style style, size_t most);

#endif
