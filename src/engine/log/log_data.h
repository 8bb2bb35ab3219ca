/* SPDX-License-Identifier: MIT */
/* Records and their numbers. */
#ifndef ENGINE_LOG_DATA_H
#define ENGINE_LOG_DATA_H

#include "engine/log/token_data.h"

struct log {
    struct buf *out; /* the commit that is open */
    uint64_t visible_lsn;
    uint64_t offered_lsn;
    int64_t strict_until_ms; /* monotonic: until then leases wait for their records, too */
    uint32_t oldest;         /* segment that the journal begins with; 0: no record says */
    uint64_t last_epoch;     /* the greatest of any commit that was replayed */
    uint64_t next_seq;
    bool whole;     /* records that follow belong into one commit */
    bool listening; /* events are told */
    struct token_set tokens;
    uint64_t tell_seq; /* the ended job that others are being told of; 0: none */
};

#endif
