/* SPDX-License-Identifier: MIT */
#include "recur/tzfile.h"

#include "base/error.h"
#include "recur/civil.h"
#include "recur/zonetable.h"

#define HEADER           44
#define TYPE_BYTES       ((size_t)6)
#define KINDS_MAX        256
#define ABBREVIATIONS    2048
#define OFFSET_MIN       (-25 * CIVIL_HOUR + 1) /* RFC 9636, 3.2 */
#define OFFSET_MAX       (26 * CIVIL_HOUR - 1)
#define TIME_S_MAX       (INT64_C(1) << 59) /* beyond this is before or after everything */
#define FOOTER_BYTES_MAX 256

/* The counts of a header, in their order. */
struct counts {
    uint32_t ut, standard, leap, times, types, chars;
};

/* A data block with its parts found; `width` is the bytes of a time. */
struct block {
    struct counts n;
    size_t width;
    const unsigned char *times, *kinds, *types, *chars;
};

static uint64_t big_endian(const unsigned char *p, size_t width)
{
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++)
        v = v << 8 | p[i];
    return v;
}

static int64_t time_at(const struct block *b, uint32_t i)
{
    uint64_t v = big_endian(b->times + i * b->width, b->width);
    return b->width == 8 ? (int64_t)v : (int32_t)(uint32_t)v;
}

static int corrupt(const char **why, const char *reason)
{
    if (why)
        *why = reason;
    return BELFRY_CORRUPT;
}

static int take_header(struct str *s, struct counts *ret, char *ret_version, const char **why)
{
    const unsigned char *p = (const unsigned char *)s->ptr;
    uint32_t n[6];
    if (s->len < HEADER || memcmp(p, TZFILE_MAGIC, 4) != 0)
        return corrupt(why, "a zone file begins with \"TZif\" and a header of 44 bytes");
    *ret_version = s->ptr[4];
    for (size_t i = 0; i < 6; i++)
        n[i] = (uint32_t)big_endian(p + 20 + i * 4, 4);
    *ret = (struct counts){ n[0], n[1], n[2], n[3], n[4], n[5] };
    *s = (struct str){ s->ptr + HEADER, s->len - HEADER };
    if (ret->types > KINDS_MAX || ret->times > TZFILE_CHANGES_MAX || ret->chars > ABBREVIATIONS ||
        ret->leap > TZFILE_CHANGES_MAX || (ret->ut && ret->ut != ret->types) ||
        (ret->standard && ret->standard != ret->types))
        return corrupt(why, "a count in the zone file's header is out of range");
    return 0;
}

static int take_block(struct str *s, const struct counts *n, size_t width, struct block *ret,
                      const char **why)
{
    const unsigned char *p = (const unsigned char *)s->ptr;
    size_t size = n->times * (width + 1) + n->types * TYPE_BYTES + n->chars +
                  n->leap * (width + 4) + n->standard + n->ut; /* the counts are small */
    if (s->len < size)
        return corrupt(why, "the zone file ends within its data");
    ret->n = *n;
    ret->width = width;
    ret->times = p;
    ret->kinds = p + n->times * width;
    ret->types = ret->kinds + n->times;
    ret->chars = ret->types + n->types * TYPE_BYTES;
    *s = (struct str){ s->ptr + size, s->len - size };
    return 0;
}

static int take_footer(struct str s, struct str *ret, const char **why)
{
    const char *end;
    if (s.len < 2 || s.ptr[0] != '\n' || !(end = memchr(s.ptr + 1, '\n', s.len - 1)))
        return corrupt(why, "the zone file's rule does not stand between two line ends");
    *ret = (struct str){ s.ptr + 1, (size_t)(end - s.ptr) - 1 };
    if (ret->len > FOOTER_BYTES_MAX)
        return corrupt(why, "the zone file's rule is too long");
    return 0;
}

static int read_kinds(const struct block *b, struct tzrule_kind *ret, const char **why)
{
    for (uint32_t i = 0; i < b->n.types; i++) {
        const unsigned char *p = b->types + i * TYPE_BYTES;
        int32_t offset = (int32_t)(uint32_t)big_endian(p, 4);
        uint32_t name = p[5];
        size_t room = name < b->n.chars ? b->n.chars - name : 0;
        const unsigned char *end = room ? memchr(b->chars + name, '\0', room) : NULL;
        if (offset < OFFSET_MIN || offset > OFFSET_MAX || p[4] > 1)
            return corrupt(why, "the zone file has a type of local time that cannot be");
        if (!end || end - (b->chars + name) >= ZONE_ABBREVIATION)
            return corrupt(why, "the zone file has an abbreviation that does not end");
        ret[i].offset_s = offset;
        ret[i].is_dst = p[4];
        memcpy(ret[i].abbreviation, b->chars + name, (size_t)(end - (b->chars + name)) + 1);
    }
    return 0;
}

/* The stretches up to the last change are rows; from there on it is the tail. The highest local
 * time shown is carried along. */
static int read_changes(const struct block *b, struct zone *z, const char **why)
{
    int64_t reach = INT64_MIN, last = INT64_MIN;
    uint8_t kind = 0;
    for (uint32_t i = 0; i < b->n.times; i++) {
        int64_t at = time_at(b, i);
        if (at <= last || at < -TIME_S_MAX || at > TIME_S_MAX || b->kinds[i] >= b->n.types)
            return corrupt(why, "the zone file's times of change do not rise, or lead nowhere");
        z->rows[i] = (struct zone_row){ last, reach, kind };
        if (at + z->kinds[kind].offset_s > reach)
            reach = at + z->kinds[kind].offset_s;
        last = at;
        kind = b->kinds[i];
    }
    z->tail_s = last;
    z->tail_reach_s = reach;
    z->tail.standard = z->kinds[kind];
    return 0;
}

static int build(const struct block *b, struct str rule, struct zone **ret, const char **why)
{
    struct zone *z;
    int err;
    if (b->n.types == 0)
        return corrupt(why, "the zone file has no type of local time");
    if (b->n.leap > 0) {
        if (why)
            *why = "this zone counts leap seconds, which moments here do not: use the one of the "
                   "same name without \"right/\"";
        return BELFRY_INVALID;
    }
    z = zone_new(b->n.times, b->n.types);
    if (!z)
        return BELFRY_NOMEM;
    err = read_kinds(b, z->kinds, why);
    if (!err)
        err = read_changes(b, z, why);
    if (!err && rule.len > 0 && tzrule_parse(rule, &z->tail) != 0)
        err = corrupt(why, "the zone file's rule for later years cannot be read");
    if (err) {
        zone_free(z);
        return err;
    }
    *ret = z;
    return 0;
}

int tzfile_parse(struct str bytes, struct zone **ret, const char **ret_why)
{
    struct str s = bytes, rule = { NULL, 0 };
    struct counts n;
    struct block b;
    char version;
    int err;
    if (s.len > TZFILE_BYTES_MAX)
        return corrupt(ret_why, "the zone file is too large");
    err = take_header(&s, &n, &version, ret_why);
    if (!err)
        err = take_block(&s, &n, 4, &b, ret_why);
    if (!err && version >= '2') {
        err = take_header(&s, &n, &version, ret_why);
        if (!err)
            err = take_block(&s, &n, 8, &b, ret_why);
        if (!err)
            err = take_footer(s, &rule, ret_why);
    }
    return err ? err : build(&b, rule, ret, ret_why);
}
