/* SPDX-License-Identifier: MIT */
/* What users see. */
#ifndef ENGINE_LOOK_H
#define ENGINE_LOOK_H

#include "engine/engine_data.h"

bool job_passes(const struct engine *e, const struct list_filter *f, const struct job *j);
/* Whether this answer, which may be NULL, is the page that is wanted. */
bool want_page_is(const struct cold_answer *a, const struct cold_want *w);

#endif
