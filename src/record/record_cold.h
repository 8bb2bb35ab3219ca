/* SPDX-License-Identifier: MIT */
/* The records about runs; see record.h. */
#ifndef RECORD_COLD_H
#define RECORD_COLD_H

#include "record/record.h"

#define FED_FIELDS(F)                                                                             \
    F(SIGNED, frontier_at, "the frontier: its moment")                                            \
    F(NUMBER, frontier_seq, "the frontier: its sequence number")                                  \
    F(NUMBER, graves, "those up to this serial number are in the runs")                           \
    F(NUMBER, serial, "of the grave of the first stale job; the others follow")                   \
    F(BYTES, runs, "run_desc_put")                                                                \
    F(BYTES, seqs, "of the jobs: zigzag differences")                                             \
    F(BYTES, tallies, "tally_put")                                                                \
    F(BYTES, stale,                                                                               \
      "jobs that changed meanwhile, whose entries do not count: seq, key, queue, slot, gone_ms, " \
      "bytes")
FIELD_STRUCT(fed_record, FED_FIELDS);

#define MERGED_FIELDS(F)              \
    F(BYTES, drops, "files, varints") \
    F(BYTES, runs, "run_desc_put")    \
    F(BYTES, tallies, "tally_put")
FIELD_STRUCT(merged_record, MERGED_FIELDS);

#define LOADED_FIELDS(F)                                                    \
    F(BYTES, queue, "of the class; empty: by due time")                     \
    F(BYTE, class, "its number")                                            \
    F(COUNT, number, "of the youngest run that was read")                   \
    F(SIGNED, upto_at, "everything up to here has been loaded: the moment") \
    F(NUMBER, upto_seq, "and the sequence number")                          \
    F(NUMBER, count, "of images")                                           \
    F(BYTES, images, "bodies of PUT records, each with its length")

struct loaded_record {
    LOADED_FIELDS(FIELD_MEMBER)
    uint64_t lane;   /* CLASS_ASIDE only: the lane of the jobs */
    uint64_t serial; /* CLASS_ASIDE only: the serial number of the first grave; the others follow */
};

#define TAKEN_FIELDS(F)               \
    F(NUMBER, serial, "of its grave") \
    F(BYTES, key, "its place")        \
    F(BYTES, image, "body of a PUT record")
FIELD_STRUCT(taken_record, TAKEN_FIELDS);

#define GRAVE_FIELDS(F)                                                                         \
    F(NUMBER, serial, "its number")                                                             \
    F(SIGNED, gone_ms, "there could be something at its place until then; 0: see the frontier") \
    F(BYTES, key, "its place")
FIELD_STRUCT(grave_record, GRAVE_FIELDS);

#define TALLY_FIELDS(F)                                                                            \
    F(BYTES, queue, "in full")                                                                     \
    F(BYTES, counts, "zigzag, one for each slot")                                                  \
    F(BYTES, floors,                                                                               \
      "class, number, at, seq; with TALLY_FROM set: class.from; CLASS_ASIDE: lane, and the point " \
      "behind which its jobs are")                                                                 \
    F(LATER_SIGNED, bytes, "of the jobs on disk")
FIELD_STRUCT(tally_record, TALLY_FIELDS);

#define TALLY_FROM 0x80u

#define COLD_FIELDS(F)                                           \
    F(SIGNED, frontier_at, "the frontier: its moment")           \
    F(NUMBER, frontier_seq, "the frontier: its sequence number") \
    F(NUMBER, next_file, "of the next run")                      \
    F(NUMBER, next_grave, "its serial number")
FIELD_STRUCT(cold_record, COLD_FIELDS);

#define SECRET_FIELDS(F)           \
    F(NUMBER, a, "half of it")     \
    F(NUMBER, b, "the other half") \
    F(COUNT, first, "runs from this number on have no names without it")
FIELD_STRUCT(secret_record, SECRET_FIELDS);

/* As ROW_RECORDS. */
#define COLD_ROW_RECORDS(X)                                                                \
    X(FED, fed, FED_FIELDS, true)                                                          \
    X(MERGED, merged, MERGED_FIELDS, true)                                                 \
    X(TAKEN, taken, TAKEN_FIELDS, ret->key.len > 0)                                        \
    X(GRAVE, grave, GRAVE_FIELDS, ret->key.len > 0)                                        \
    X(TALLY, tally, TALLY_FIELDS, ret->queue.len > 0 && ret->queue.len <= QUEUE_MAX_BYTES) \
    X(COLD, cold, COLD_FIELDS, true)                                                       \
    X(SECRET, secret, SECRET_FIELDS, (ret->a | ret->b) != 0)

#endif
