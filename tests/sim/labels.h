/* SPDX-License-Identifier: MIT */
/* Tags and metadata of a job, all from one number; 0 stands for none. */
#ifndef SIM_LABELS_H
#define SIM_LABELS_H

#include "engine/types.h"

#define LABELS_MAX 4

struct labels {
    struct str tags[LABELS_MAX];
    size_t tag_count;
    struct meta meta[LABELS_MAX];
    size_t meta_count;
    char names[LABELS_MAX][32];
    char values[LABELS_MAX][80];
};

void labels_make(uint32_t number, struct labels *ret);
/* A job shows these, as they were given. */
bool labels_are(const struct job_view *v, uint32_t number);
bool labels_have(uint32_t number, struct str tag);
struct str labels_any_tag(uint64_t any);

#endif
