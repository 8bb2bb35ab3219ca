/* SPDX-License-Identifier: MIT */
/*
 * What both drills share: figures, crash states that are judged in between, and how a failure is
 * told. A drill is one run from one seed.
 */
#ifndef POWER_DRILL_H
#define POWER_DRILL_H

#include "power/calls.h"
#include "power/shelf.h"

struct figures {
    uint64_t drills;
    uint64_t calls;  /* to the disk */
    uint64_t states; /* of the disk after a loss of power that were opened and judged */
    uint64_t aimed;  /* of them, at a rename, a removal or a name that was not safe */
    uint64_t by_loss[LOSS_COUNT];
    uint64_t files;    /* in them */
    uint64_t kills;    /* of the process, without a loss of power */
    uint64_t faults;   /* calls that failed */
    uint64_t doubles;  /* while another was not yet over */
    uint64_t shorts;   /* reads and writes that were cut short */
    uint64_t rots;     /* bits that were flipped */
    uint64_t looked;   /* acknowledged elements or jobs that were looked up */
    uint64_t recycled; /* logs that were removed and became spares */
    uint64_t fills;    /* full disks on which the reserve was used up */
    uint64_t fed;      /* batches of jobs that went to disk, and so on: partition_stats */
    uint64_t loaded;
    uint64_t merged;
    uint64_t reclaimed;
    uint64_t crash_points[CALL_COUNT][16]; /* by call and by what was being done */
    uint64_t offered[CALL_COUNT][16];
};

extern struct figures figures;

/* What the drills do, for the table of crash points. */
#define DEEDS(X)              \
    X(OPEN, "open")           \
    X(CREATE, "first append") \
    X(APPEND, "append")       \
    X(LOOSE, "loose append")  \
    X(SYNC, "sync")           \
    X(REMOVE, "remove")       \
    X(READ, "read") X(LIST, "list") X(SCAN, "scan") X(CAS, "cas") X(SPARE, "making a spare")

enum deed {
#define DEED_ENUM(name, text) DEED_##name,
    DEEDS(DEED_ENUM)
#undef DEED_ENUM
        DEED_COUNT
};

struct drill_options {
    uint64_t seed;
    unsigned mutant;
    uint64_t only_state; /* 0: all. Else nothing but this state is judged, and told of */
    bool all_jobs;       /* each is looked up in each state, not a sample of them */
};

/* Whether a state should be taken there: around a change of a name, or when something becomes safe
 * while a name is not. */
bool call_is_aimed(const struct platter *p, const struct call *c, bool done);
uint64_t platter_files(const struct platter *p);

/* Notes what is wrong, unless something was before. Answers false. */
bool drill_fail(char *why, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Each answers false with what is wrong. */
bool drill_store(const struct drill_options *o, uint64_t states, char why[1024]);
bool drill_birth(const struct drill_options *o, uint64_t states, char why[1024]);
bool drill_jobs(const struct drill_options *o, uint64_t states, char why[1024]);

#endif
