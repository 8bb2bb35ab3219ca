/* SPDX-License-Identifier: MIT */
#include "sim/labels.h"

#include <stdio.h>
#include <string.h>

/* Few, so that jobs share them. */
static const char *const tags[] = { "red", "green:1", "a/b", "x", "T-9", "_", "0.5" };

#define TAGS (sizeof(tags) / sizeof(tags[0]))

void labels_make(uint32_t number, struct labels *ret)
{
    *ret = (struct labels){ .tag_count = number % LABELS_MAX,
                            .meta_count = number / LABELS_MAX % LABELS_MAX };
    for (size_t i = 0; i < ret->tag_count; i++)
        ret->tags[i] = str_of(tags[(number + i) % TAGS]);
    for (size_t i = 0; i < ret->meta_count; i++) {
        /* Any bytes, of any length. */
        size_t len = (number * 7 + i * 31) % sizeof(ret->values[i]);
        snprintf(ret->names[i], sizeof(ret->names[i]), "m%u.%zu", number % 10, i);
        memset(ret->values[i], (int)(number + i) & 0xff, len);
        ret->meta[i] = (struct meta){ str_of(ret->names[i]), { ret->values[i], len } };
    }
}

bool labels_are(const struct job_view *v, uint32_t number)
{
    static struct labels l;

    labels_make(number, &l);
    if (v->labels.tag_count != l.tag_count || v->labels.meta_count != l.meta_count)
        return false;
    for (size_t i = 0; i < l.tag_count; i++)
        if (!str_eq(v->labels.tags[i], l.tags[i]))
            return false;
    for (size_t i = 0; i < l.meta_count; i++)
        if (!str_eq(v->labels.meta[i].name, l.meta[i].name) ||
            !str_eq(v->labels.meta[i].value, l.meta[i].value))
            return false;
    return true;
}

bool labels_have(uint32_t number, struct str tag)
{
    static struct labels l;

    labels_make(number, &l);
    for (size_t i = 0; i < l.tag_count; i++)
        if (str_eq(l.tags[i], tag))
            return true;
    return false;
}

struct str labels_any_tag(uint64_t any)
{
    return str_of(tags[any % TAGS]);
}
