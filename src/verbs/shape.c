/* SPDX-License-Identifier: MIT */
#include "verbs/shape.h"

#include "base/buf.h"
#include "base/time.h"
#include "engine/types.h"

#define ROOM (TIME_TEXT + 24) /* room for any text that a member does not have itself */

static const void *member_of(const struct shape_field *f, const void *view)
{
    const char *at = (const char *)view + f->at;

    return f->hop ? *(const void *const *)(const void *)at : at;
}

int64_t shape_integer(const struct shape_field *f, const void *view)
{
    const void *at = member_of(f, view);

    switch (f->from) {
    case FROM_I32: return *(const int32_t *)at;
    case FROM_U32: return *(const uint32_t *)at;
    case FROM_I64: return *(const int64_t *)at;
    case FROM_U64: return (int64_t)(*(const uint64_t *)at);
    case FROM_BOOL: return *(const bool *)at;
    case FROM_P50: return (int64_t)hist_quantile(at, 0.5);
    case FROM_P99: return (int64_t)hist_quantile(at, 0.99);
    case FROM_MAX: return (int64_t)((const struct hist *)at)->max;
    default: return -1;
    }
}

/* The text of an argument: `100/1m`. */
static struct str rate_text(const struct rate *rate, char room[ROOM])
{
    char *end = room;

    if (!rate->count)
        return STR("");
    end = buf_digits(end, (uint64_t)rate->count);
    *end++ = '/';
    end += time_format_duration(rate->per_ms, end);
    return (struct str){ room, (size_t)(end - room) };
}

static struct str id_text(const struct job_id *id, bool maybe, char room[ROOM])
{
    id_format(*id, room);
    return (struct str){ room, maybe && id->seq == 0 ? 0 : ID_TEXT };
}

static struct str token_text(uint64_t token, bool maybe, char room[ROOM])
{
    return (struct str){ room, maybe && token == 0 ? 0 : (size_t)(buf_digits(room, token) - room) };
}

static struct str scope_part(struct str full, bool tenant)
{
    struct str whose, queue;

    if (full.len == 0)
        return full;
    scope_split(full, &whose, &queue);
    return tenant ? whose : queue;
}

/* An empty text of a field that may be null is shown as null. */
static struct str text_of(const struct shape_field *f, const void *at, char room[ROOM])
{
    switch (f->from) {
    case FROM_STR: return *(const struct str *)at;
    case FROM_CHARS: return str_of(at);
    case FROM_ID: return id_text(at, f->maybe, room);
    case FROM_TOKEN: return token_text(*(const uint64_t *)at, f->maybe, room);
    case FROM_WORD: return str_of(*(const int *)at < 0 ? "" : f->word(*(const unsigned *)at));
    case FROM_INDEX: return str_of(f->words[*(const unsigned *)at]);
    case FROM_TENANT:
    case FROM_QUEUE: return scope_part(*(const struct str *)at, f->from == FROM_TENANT);
    case FROM_RATE: return rate_text(at, room);
    default: return STR("");
    }
}

static void put_integer(struct reply *r, const struct shape_field *f, int64_t v)
{
    if (f->maybe && v < 0)
        reply_null(r);
    else
        reply_integer(r, v);
}

static void put_text(struct reply *r, const struct shape_field *f, struct str s)
{
    if (f->maybe && s.len == 0)
        reply_null(r);
    else
        reply_bytes(r, s);
}

static void put_field(struct reply *r, const struct shape_field *f, const void *view)
{
    char room[ROOM];

    reply_name(r, f->name);
    if (f->from == FROM_OWN)
        f->put(r, view);
    else if (f->type == SHAPE_BOOL)
        reply_boolean(r, *(const bool *)member_of(f, view));
    else if (shape_is_number(f->type))
        put_integer(r, f, shape_integer(f, view));
    else
        put_text(r, f, text_of(f, member_of(f, view), room));
}

void shape_put_fields(struct reply *r, const struct shape_field *fields, const void *view)
{
    for (const struct shape_field *f = fields; f->type != SHAPE_END; f++) {
        if (f->type == SHAPE_PART)
            shape_put_fields(r, f->part, member_of(f, view));
        else if (f->name.len)
            put_field(r, f, view);
    }
}

size_t shape_count(const struct shape_field *fields)
{
    size_t n = 0;

    for (const struct shape_field *f = fields; f->type != SHAPE_END; f++)
        n += f->type == SHAPE_PART ? shape_count(f->part) : f->name.len > 0;
    return n;
}

void shape_put(struct reply *r, const struct shape_field *fields, const void *view)
{
    reply_map(r, shape_count(fields));
    shape_put_fields(r, fields, view);
}

static enum shape_type find_type(const struct shape_field *fields, struct str name)
{
    enum shape_type found = SHAPE_END;

    for (const struct shape_field *f = fields; f->type != SHAPE_END && !found; f++) {
        if (f->type == SHAPE_PART)
            found = find_type(f->part, name);
        else if (str_eq(f->name, name))
            found = f->type;
    }
    return found;
}

enum shape_type shape_type_of(struct str name)
{
    enum shape_type found = SHAPE_END;

    for (const struct shape *s = shapes; s->name && name.len && !found; s++)
        found = find_type(s->fields, name);
    return found;
}
