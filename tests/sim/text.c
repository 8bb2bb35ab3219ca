/* SPDX-License-Identifier: MIT */
#include "sim/text.h"

#include <stdio.h>

#include "sim/tenants.h"

static const char *const tenants[] = { "default", "a", "b", "nobody" };

/* How many filler bytes follow: mostly few, now and then more than a segment's worth. */
static size_t filler(enum text_kind kind, uint32_t number)
{
    if (kind == TEXT_PAYLOAD)
        return number % 41 == 0 ? 1500 : number % 13 == 0 ? 300 : number % 37;
    if (kind == TEXT_RESULT || kind == TEXT_ERROR)
        return number % 29 == 0 ? 700 : number % 31 == 0 ? 1500 : number % 11;
    return 0;
}

static struct str name(enum text_kind kind, uint32_t number, char buf[TEXT_MAX])
{
    unsigned tenant = kind == TEXT_QUEUE ? tenants_of(number) : 0;
    int n = 0;

    if (kind == TEXT_TENANT)
        n = snprintf(buf, TEXT_MAX, "%s", tenants[number]);
    else if (kind == TEXT_QUEUE)
        n = snprintf(buf, TEXT_MAX, "%s%sq%u", tenant ? tenants[tenant] : "", tenant ? "@" : "",
                     tenants_kind(number));
    else
        n = snprintf(buf, TEXT_MAX, "%sq%u", kind == TEXT_ALL ? "*@" : "", number);
    return (struct str){ buf, (size_t)n };
}

struct str text_make(enum text_kind kind, uint32_t number, char buf[TEXT_MAX])
{
    static const char letters[] = "qpkwerno";

    if (kind == TEXT_RECURRENCE)
        return (struct str){ buf, number == 0 ? 0
                                              : (size_t)snprintf(buf, TEXT_MAX, "r%u",
                                                                 (number - 1) / MODEL_TENANTS) };
    if (kind == TEXT_QUEUE || kind >= TEXT_TENANT)
        return name(kind, number, buf);
    if (number == 0)
        return (struct str){ buf, 0 };
    if (kind == TEXT_KEY)
        number %= KEYS_OF_ORDER;
    int head = snprintf(buf, TEXT_MAX, "%c%u", letters[kind], number);
    size_t more = filler(kind, number);
    memset(buf + head, kind == TEXT_PAYLOAD ? '\0' : '~', more);
    return (struct str){ buf, (size_t)head + more };
}

bool text_is(struct str s, enum text_kind kind, uint32_t number)
{
    char buf[TEXT_MAX];
    return str_eq(s, text_make(kind, number, buf));
}
