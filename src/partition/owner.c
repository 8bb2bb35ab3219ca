/* SPDX-License-Identifier: MIT */
#include "partition/owner.h"

#include <inttypes.h>
#include <stdio.h>

void owner_name(uint16_t partition, char ret[OWNER_NAME])
{
    snprintf(ret, OWNER_NAME, "p%04x/owner", partition);
}

void owner_text(const struct owner_note *n, char ret[OWNER_TEXT])
{
    int at = snprintf(ret, OWNER_TEXT, "%s epoch %" PRIu64, n->clean ? "clean" : "open", n->epoch);

    if (n->known)
        at += snprintf(ret + at, OWNER_TEXT - (size_t)at, " last %" PRIu32, n->last);
    if (n->known && n->clean)
        snprintf(ret + at, OWNER_TEXT - (size_t)at, " elements %" PRIu64 " hash %016" PRIx64,
                 n->elements, n->hash);
}

/* False if neither this version nor an older one writes such a text. */
static bool parse(const char *text, uint64_t version, struct owner_note *ret)
{
    char word[8] = "";
    int n =
        sscanf(text, "%7s epoch %" SCNu64 " last %" SCNu32 " elements %" SCNu64 " hash %" SCNx64,
               word, &ret->epoch, &ret->last, &ret->elements, &ret->hash);

    ret->present = true;
    ret->clean = strcmp(word, "clean") == 0;
    ret->known = n >= 3;
    if (n == 1)
        ret->epoch = version;
    return (ret->clean || strcmp(word, "open") == 0) &&
           (n == 1 || n == 2 || n == (ret->clean ? 5 : 3));
}

int owner_read(struct store *s, uint16_t partition, struct owner_note *ret, uint64_t *ret_version)
{
    char name[OWNER_NAME], value[OWNER_TEXT] = { 0 };
    struct store_cell r = { 0 };
    struct owner_note note = { 0 };

    owner_name(partition, name);
    int err = store_get(s, str_of(name), value, sizeof(value) - 1, &r);
    if (err == BELFRY_NOTFOUND) {
        *ret = (struct owner_note){ .clean = true, .known = true };
        *ret_version = 0;
        return 0;
    }
    if (err && err != BELFRY_TOOLARGE)
        return err;
    if (err || !parse(value, r.version, &note))
        return store_fail(BELFRY_CORRUPT,
                          "record %s: '%.60s' is not of this version of Belfry: use a newer one",
                          name, value);
    *ret = note;
    *ret_version = r.version;
    return 0;
}

bool owner_misses_journal(const struct owner_note *n, bool runs)
{
    if (n->known)
        return n->present ? n->last > 0 : runs;
    return n->clean || n->epoch > 1 || runs;
}
