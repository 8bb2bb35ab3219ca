/* SPDX-License-Identifier: MIT */
/* Records and their numbers. */
#ifndef ENGINE_LOG_DATA_H
#define ENGINE_LOG_DATA_H

#include "engine/log/token_data.h"

struct log {
    struct buf *out;  /* the commit that is open */
    uint64_t bytes;   /* of all records that were written, for measuring a part of them */
    uint64_t changes; /* records that readers see: see engine_changes */
    uint64_t visible_lsn;
    uint64_t offered_lsn;
    int64_t strict_until_ms; /* monotonic: until then a LEASE's answer waits for its record, too */
    uint32_t oldest;         /* the segment that the journal begins with; 0: no record says */
    uint64_t last_epoch;     /* the greatest epoch of any commit that was replayed */
    uint64_t next_seq;
    bool whole;     /* records belong into one commit until commit_end */
    bool listening; /* the host is told of events */
    struct token_set tokens;
};

#endif
