/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <ctype.h>
#include <stdint.h>

#define LONGEST 32

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static char plain(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Edits to make one of the other; two neighbours in the wrong order are one edit. */
static size_t edits(struct str a, struct str b)
{
    size_t d[LONGEST + 1][LONGEST + 1];

    if (a.len > LONGEST || b.len > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= a.len; i++) {
        for (size_t j = 0; j <= b.len; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t differ = plain(a.ptr[i - 1]) != plain(b.ptr[j - 1]);
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differ);
            if (i > 1 && j > 1 && plain(a.ptr[i - 1]) == plain(b.ptr[j - 2]) &&
                plain(a.ptr[i - 2]) == plain(b.ptr[j - 1]) && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[a.len][b.len];
}

void suggest_offer(struct suggest *s, const char *name)
{
    /* Of three letters one may be wrong: with two it would be another word. */
    size_t most = s->given.len <= 4 ? 1 + (s->given.len > 3) : s->given.len / 3 + 1;
    size_t len = strlen(name), distance = SIZE_MAX;

    /* A name of another length needs as many edits at least. */
    if (len <= s->given.len + most && s->given.len <= len + most)
        distance = edits(s->given, str_of(name));

    /* The beginning of a name is as near as it gets. */
    if (s->given.len >= 3 && len > s->given.len &&
        strncasecmp(name, s->given.ptr, s->given.len) == 0)
        distance = 1;
    if (distance <= most && (!s->best || distance < s->distance)) {
        s->distance = distance;
        s->best = name;
    }
}
