/* SPDX-License-Identifier: MIT */
/*
 * Deliberate bugs of the file store, one at a time, to check that tests/power would notice them.
 * They exist only in builds with BELFRY_MUTANTS; elsewhere STORE_MUTANT() is constant false.
 */
#ifndef STORE_MUTANT_H
#define STORE_MUTANT_H

#include <stdbool.h>

#define STORE_MUTANTS(X)                                                           \
    X(OFFERED_EARLY, "a spare is offered before its old name is gone for good")    \
    X(REMOVAL_UNSYNCED, "the directory of a removed log is not synced")            \
    X(STOCK_UNSYNCED, "a start does not sync what an earlier process has renamed") \
    X(FORMAT_TRUSTED, "a start does not sync the format that it finds")            \
    X(SPARE_SHARED, "a spare that is a log too is used")                           \
    X(DIRS_TRUSTED, "a directory that exists is not made to last")                 \
    X(SPARE_HALF, "files of half the size become spares")                          \
    X(DOUBT_SHOWN, "a cell in doubt is shown before it lasts")                     \
    X(CELL_UNSYNCED, "the directory of a changed cell is not synced")              \
    X(PLACE_UNSYNCED, "the directory of a new log is not synced")                  \
    X(NAME_FIRST, "a log has its name before its header is synced")                \
    X(FSYNC_FORGIVEN, "a log is appended to though a sync of it failed")           \
    X(RESTORE_SKIPPED, "what a failed sync may have dropped is not written again") \
    X(TORN_KEPT, "a torn element is not cut off")                                  \
    X(ALWAYS_FIRM, "each element says that all before it is durable")              \
    X(SALT_KEPT, "a recycled file has the salt that it had")

enum store_mutant {
    STORE_MUTANT_NONE,
#define STORE_MUTANT_ENUM(name, text) STORE_MUTANT_##name,
    STORE_MUTANTS(STORE_MUTANT_ENUM)
#undef STORE_MUTANT_ENUM
        STORE_MUTANT_COUNT
};

#ifdef BELFRY_MUTANTS
#define STORE_MUTANT(chosen, name) ((chosen) == STORE_MUTANT_##name)
#else
#define STORE_MUTANT(chosen, name) ((void)(chosen), false)
#endif

#endif
