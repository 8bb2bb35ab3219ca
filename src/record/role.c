/* SPDX-License-Identifier: MIT */
#include "record/role.h"

const char *role_name(enum role r)
{
    static const char *const names[] = { [ROLE_NONE] = "none",
#define NAME(name, number, text) [ROLE_##name] = text,
                                         ROLES(NAME)
#undef NAME
    };
    return names[r];
}
