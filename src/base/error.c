/* SPDX-License-Identifier: MIT */
#include "base/error.h"

const char *error_name(int err)
{
    switch (err) {
#define NAME(name, number, text) \
    case -(number): return #name;
        BELFRY_ERRORS(NAME)
#undef NAME
    default: return "ERR";
    }
}

const char *error_text(int err)
{
    switch (err) {
#define TEXT(name, number, text) \
    case -(number): return text;
        BELFRY_ERRORS(TEXT)
#undef TEXT
    default: return "unknown error";
    }
}
