/* SPDX-License-Identifier: MIT */
/* A value for people. Its type in the tables of fields (verbs/shape.h) tells the meaning of a
 * number. A moment is shown as local time and "in 3m", a duration as "4m 2s", and bytes as a size.
 */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include "base/buf.h"
#include "front/resp.h"
#include "verbs/shape.h"

enum field_style {
    FIELD_FULL,  /* 2026-11-15T20:43:00+01:00 (in 3m) */
    FIELD_DATE,  /* 2026-11-15T20:43:00+01:00 */
    FIELD_BRIEF, /* in 3m */
};

/* The field's name for people: "due_ms" is shown as "due". Borrowed from name. */
struct str field_title(struct str name);

/* Whether `given` names the field, as it is or by its title. */
bool field_is_named(struct str name, struct str given);

/* A scalar's text, escaped, cut to `most` columns (0: not cut). */
void field_put(struct buf *out, enum shape_type type, const struct resp_value *v, int64_t now_ms,
               enum field_style style, size_t most);

/* "250ms", "1.99s", "4m 2s", "30d". Above a minute, parts of a second are left out. */
void field_put_duration(struct buf *out, int64_t ms);

/* That text, for printf. */
struct field_text {
    char text[48];
};

struct field_text field_duration(int64_t ms);

#endif
