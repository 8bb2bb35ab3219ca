/* SPDX-License-Identifier: MIT */
#include "base/error.h"

static const struct error_row rows[] = {
#define ROW(name, number, status, detail, text, hint) \
    { -(number), status, ERROR_##detail, #name, text, hint },
    BELFRY_ERRORS(ROW)
#undef ROW
};

#define ROWS (sizeof(rows) / sizeof(*rows))

const struct error_row *error_row(int err)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].err == err)
            return &rows[i];
    return NULL;
}

const struct error_row *error_find(struct str name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (str_eq(name, str_of(rows[i].name)))
            return &rows[i];
    return NULL;
}

const char *error_name(int err)
{
    const struct error_row *row = error_row(err);

    return row ? row->name : err == BELFRY_COLD ? "COLD" : "ERR";
}

const char *error_text(int err)
{
    const struct error_row *row = error_row(err);

    return row ? row->text : "unknown error";
}
