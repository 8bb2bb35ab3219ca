/* SPDX-License-Identifier: MIT */
/* The records about what is on disk besides the journal; see record.h. */
#ifndef RECORD_COLD_H
#define RECORD_COLD_H

#include "record/record.h"

struct fed_record {
    int64_t frontier_at;
    uint64_t frontier_seq;
    uint64_t graves;    /* those up to this serial number are in the runs */
    uint64_t serial;    /* of the grave of the first stale one; the others follow */
    struct str runs;    /* run_desc_put */
    struct str seqs;    /* of the jobs: zigzag differences */
    struct str tallies; /* tally_put */
    struct str stale;   /* jobs that changed meanwhile, whose entries do not count: seq, key, queue,
                           slot, gone_ms */
};

struct merged_record {
    struct str drops; /* files, varints */
    struct str runs;
    struct str tallies;
};

struct loaded_record {
    struct str queue; /* empty: by due time; else of the class */
    unsigned class;
    uint32_t number; /* of the youngest run that was read */
    int64_t upto_at; /* everything up to here has been loaded */
    uint64_t upto_seq;
    uint64_t count;
    struct str images; /* bodies of PUT records, each with its length */
    uint64_t lane;     /* CLASS_ASIDE only: which, */
    uint64_t serial;   /* and of the first one's grave; the others follow */
};

struct taken_record {
    uint64_t serial; /* of its grave */
    struct str key;
    struct str image;
};

struct grave_record {
    uint64_t serial;
    int64_t gone_ms; /* there could be something at its place until then; 0: see the frontier */
    struct str key;
};

struct tally_record {
    struct str queue;
    struct str counts; /* zigzag, one for each slot */
    struct str floors; /* class, number, at, seq; with TALLY_FROM set: class.from; CLASS_ASIDE:
                          lane, and the point behind which its jobs are */
};

#define TALLY_FROM 0x80u

struct cold_record {
    int64_t frontier_at;
    uint64_t frontier_seq;
    uint64_t next_file;
    uint64_t next_grave;
};

void record_put_fed(struct buf *out, const struct fed_record *r);
void record_put_merged(struct buf *out, const struct merged_record *r);
void record_put_loaded(struct buf *out, const struct loaded_record *r);
void record_put_taken(struct buf *out, const struct taken_record *r);
void record_put_run(struct buf *out, const struct str *desc);
void record_put_grave(struct buf *out, const struct grave_record *r);
void record_put_tally(struct buf *out, const struct tally_record *r);
void record_put_cold(struct buf *out, const struct cold_record *r);

/* As in record.h. */
bool record_get_fed(struct str body, struct fed_record *ret);
bool record_get_merged(struct str body, struct merged_record *ret);
bool record_get_loaded(struct str body, struct loaded_record *ret);
bool record_get_taken(struct str body, struct taken_record *ret);
bool record_get_run(struct str body, struct str *ret);
bool record_get_grave(struct str body, struct grave_record *ret);
bool record_get_tally(struct str body, struct tally_record *ret);
bool record_get_cold(struct str body, struct cold_record *ret);

#endif
