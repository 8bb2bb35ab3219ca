/* SPDX-License-Identifier: MIT */
/* Bulks as most tests ask for them. */
#ifndef TESTS_BULKS_H
#define TESTS_BULKS_H

#include "engine/bulk.h"

/* All jobs of a queue, whatever their state, that the action can be about. */
struct bulk_spec bulk_of(enum bulk_action action, const char *queue);

#endif
