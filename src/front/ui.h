/* SPDX-License-Identifier: MIT */
/*
 * The files of the dashboard, which are part of the program: all files of src/ui. CMake packs them
 * with gzip. A client that does not take gzip gets a file as it is.
 */
#ifndef FRONT_UI_H
#define FRONT_UI_H

#include "base/str.h"

struct ui_file {
    const char *name; /* "app.js" */
    const char *tag;  /* a hash of the content */
    struct str plain;
    struct str packed; /* by gzip */
};

/* The page at `/`. */
#define UI_INDEX "index.html"

/* NULL: there is no such file. */
const struct ui_file *ui_find(struct str name);
/* The i-th file; NULL behind the last. */
const struct ui_file *ui_file(size_t i);
/* The type of its content, by the ending of its name. */
const char *ui_type(const struct ui_file *f);

/* Whether a client takes gzip, by its header Accept-Encoding, which may be NULL. */
bool ui_takes_packed(const char *accept);

#define UI_ETAG_TEXT 24

/* The entity tag of a form of the file. Each form has one of its own. */
void ui_etag(const struct ui_file *f, bool packed, char ret[UI_ETAG_TEXT]);
/* Whether the client has a form with this tag, by its header If-None-Match, which may be NULL. */
bool ui_is_held(const char *if_none_match, const char *etag);

#endif
