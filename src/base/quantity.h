/* SPDX-License-Identifier: MIT */
/* Numbers for people, as text for printf: printf("%s", quantity_count(n).text). */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdint.h>

struct quantity {
    char text[32];
};

/* "1,234,567" */
struct quantity quantity_count(int64_t n);

/* "12.3 MiB" */
struct quantity quantity_bytes(int64_t n);

#endif
