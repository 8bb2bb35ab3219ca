/* SPDX-License-Identifier: MIT */
/* What tests know of figures over time. */
#ifndef SUPPORT_VERIFY_SERIES_H
#define SUPPORT_VERIFY_SERIES_H

#include "engine/engine.h"
#include "record/series.h"

/* A hash of all steps that are kept, which engine_hash contains. */
uint64_t series_hash(const struct engine *e);
/* Checks that steps are in order and their sums right; aborts on a difference. */
void series_verify(const struct engine *e);
/* What the server's figures count: all hours, or all minutes, and what is not kept yet. */
void series_total(const struct engine *e, bool hours, uint64_t ret[SERIES_COUNT_TOTAL]);

#endif
