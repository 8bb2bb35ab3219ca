/* SPDX-License-Identifier: MIT */
#include "front/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* The bytes of the files, and EMBED_ROWS: from scripts/embed.c. */
#include <ui_files.inc>

#define BYTES(array)                         \
    {                                        \
        (const char *)(array), sizeof(array) \
    }
#define EMBED_ROW(name_, tag_, plain_, packed_) \
    { .name = (name_), .tag = (tag_), .plain = BYTES(plain_), .packed = BYTES(packed_) },

static const struct ui_file ui_files[] = { EMBED_ROWS };

#define UI_FILES (sizeof(ui_files) / sizeof(ui_files[0]))

const struct ui_file *ui_file(size_t i)
{
    return i < UI_FILES ? &ui_files[i] : NULL;
}

const struct ui_file *ui_find(struct str name)
{
    for (size_t i = 0; i < UI_FILES; i++)
        if (str_eq(name, str_of(ui_files[i].name)))
            return &ui_files[i];
    return NULL;
}

const char *ui_type(const struct ui_file *f)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        { ".html", "text/html; charset=utf-8" },
        { ".js", "text/javascript; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" },
        { ".svg", "image/svg+xml" },
        { ".json", "application/json" },
        { ".png", "image/png" },
        { ".webmanifest", "application/manifest+json" },
    };
    const char *ending = strrchr(f->name, '.');

    for (size_t i = 0; ending && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "application/octet-stream";
}

/* ---- Headers of requests ---- */

static struct str trim(struct str s)
{
    return str_trim(s, " \t");
}

/* Whether parameters forbid a coding by their weight: `q=0`, or `q=0.000`. */
static bool is_forbidden(struct str parameters)
{
    while (parameters.len) {
        struct str p = trim(str_cut(&parameters, ';'));

        if (p.len > 2 && strncasecmp(p.ptr, "q=0", 3) == 0) {
            size_t i = 3;

            while (i < p.len && (p.ptr[i] == '0' || p.ptr[i] == '.'))
                i++;
            return i == p.len;
        }
    }
    return false;
}

/* A coding that is named decides before `*`, which stands for any other. */
bool ui_takes_packed(const char *accept)
{
    struct str rest = str_of(accept ? accept : "");
    bool any = false;

    while (rest.len) {
        struct str parameters = str_cut(&rest, ',');
        struct str coding = trim(str_cut(&parameters, ';'));

        if (str_ieq(coding, "gzip") || str_ieq(coding, "x-gzip"))
            return !is_forbidden(parameters);
        if (str_eq(coding, STR("*")))
            any = !is_forbidden(parameters);
    }
    return any;
}

void ui_etag(const struct ui_file *f, bool packed, char ret[UI_ETAG_TEXT])
{
    snprintf(ret, UI_ETAG_TEXT, "\"%s%s\"", f->tag, packed ? "-gz" : "");
}

/* A proxy may have made the tag weak: `W/"…"`. */
bool ui_is_held(const char *if_none_match, const char *etag)
{
    struct str rest = str_of(if_none_match ? if_none_match : "");

    while (rest.len) {
        struct str tag = trim(str_cut(&rest, ','));

        if (str_starts(tag, STR("W/")))
            tag = (struct str){ tag.ptr + 2, tag.len - 2 };
        if (str_eq(tag, str_of(etag)) || str_eq(tag, STR("*")))
            return true;
    }
    return false;
}
