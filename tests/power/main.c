/* SPDX-License-Identifier: MIT */
/*
 * The file store, and a partition on it, on a disk that loses power: see platter.h. Usage:
 *
 *     power birth   [--drills N] [--seed S] [--mutant NAME]
 *     power store   [--drills N] [--states N] [--seed S] [--state K] [--mutant NAME]
 *     power jobs    [--drills N] [--states N] [--seed S] [--state K] [--mutant NAME] [--all]
 *     power mutants
 *
 * A drill is a run from one seed; drills have the seeds S, S + 1, ... States are disks after a loss
 * of power, opened and judged beside the run, spread over its drills. A failure says how to run it
 * again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power/drill.h"
#include "store/mutant.h"

struct figures figures;

static const struct {
    const char *name;
    const char *text;
} mutants[] = { { "NONE", "" },
#define MUTANT_ROW(name, text) { #name, text },
                STORE_MUTANTS(MUTANT_ROW)
#undef MUTANT_ROW
};

typedef bool drill_fn(const struct drill_options *o, uint64_t states, char why[1024]);

struct order {
    const char *name;
    drill_fn *drill;
    uint64_t drills;
    uint64_t states;
    bool quiet;
};

static void tell_failure(const struct order *c, const struct drill_options *o, uint64_t states,
                         const char *why)
{
    printf("FAILED: seed %" PRIu64 ": %s\n", o->seed, why);
    printf("again:  power %s --seed %" PRIu64 " --drills 1 --states %" PRIu64, c->name, o->seed,
           states);
    if (o->mutant)
        printf(" --mutant %s", mutants[o->mutant].name);
    printf("   (one state: --state K)\n");
}

/* The seed at which it failed; 0: at none. */
static uint64_t run(const struct order *c, struct drill_options o)
{
    uint64_t first = o.seed;
    uint64_t each = (c->states + c->drills - 1) / c->drills;
    for (; o.seed < first + c->drills; o.seed++) {
        char why[1024];
        if (c->drill(&o, each, why))
            continue;
        if (!c->quiet)
            tell_failure(c, &o, each, why);
        else
            printf("  %s, seed %" PRIu64 ": %s\n", c->name, o.seed, why);
        return o.seed;
    }
    return 0;
}

static const char *deed_text(enum deed deed)
{
    static const char *const texts[] = {
#define DEED_TEXT(name, text) text,
        DEEDS(DEED_TEXT)
#undef DEED_TEXT
    };
    return texts[deed];
}

/* False if one was never hit. */
static bool tell_points(bool demand)
{
    unsigned hit = 0;
    unsigned offered = 0;
    for (unsigned c = 0; c < CALL_COUNT; c++) {
        for (unsigned d = 0; d < DEED_COUNT; d++) {
            offered += figures.offered[c][d] > 0;
            hit += figures.crash_points[c][d] > 0;
            if (demand && figures.offered[c][d] > 0 && figures.crash_points[c][d] == 0)
                printf("never crashed: %s during %s\n", call_text((enum call_kind)c),
                       deed_text((enum deed)d));
        }
    }
    if (offered > 0)
        printf("crash points: %u of %u (a call to the disk during a deed)\n", hit, offered);
    return !demand || hit == offered;
}

static void tell_figures(const struct order *c, uint64_t seed)
{
    const struct figures *f = &figures;
    printf("power %s: seeds %" PRIu64 "..%" PRIu64 ", %" PRIu64 " calls to the disk\n", c->name,
           seed, seed + c->drills - 1, f->calls);
    printf("states after a loss of power: %" PRIu64 ", aimed at names: %" PRIu64
           ", files in them: %" PRIu64 "\n",
           f->states, f->aimed, f->files);
    for (unsigned i = 0; i < LOSS_COUNT; i++)
        printf("  lost %s: %" PRIu64 "\n", loss_text((enum loss)i), f->by_loss[i]);
    printf("kills: %" PRIu64 ", failed calls: %" PRIu64 " (with another: %" PRIu64
           "), short: %" PRIu64 ", flipped bits: %" PRIu64 "\n",
           f->kills, f->faults, f->doubles, f->shorts, f->rots);
    if (c->drill == drill_jobs)
        printf("batches fed: %" PRIu64 ", jobs loaded: %" PRIu64 ", runs merged: %" PRIu64
               ", segments reclaimed: %" PRIu64 "\n",
               f->fed, f->loaded, f->merged, f->reclaimed);
    else
        printf("recycled logs: %" PRIu64 ", reserves used up on a full disk: %" PRIu64 "\n",
               f->recycled, f->fills);
    printf("acknowledged things looked up: %" PRIu64 ", lost: 0\n", f->looked + shelf_looked);
}

/* Each must be noticed by one of the drills. */
static int run_mutants(void)
{
    static const struct order orders[] = {
        { "birth", drill_birth, 5, 0, true },
        { "store", drill_store, 1000, 10000, true },
        { "jobs", drill_jobs, 4, 200, true },
    };
    unsigned missed = 0;
    for (unsigned m = 1; m < STORE_MUTANT_COUNT; m++) {
        bool caught = false;
        printf("%s: %s\n", mutants[m].name, mutants[m].text);
        for (unsigned i = 0; i < 3 && !caught; i++)
            caught = run(&orders[i], (struct drill_options){ .seed = 1, .mutant = m }) != 0;
        missed += !caught;
        if (!caught)
            printf("  NOT CAUGHT\n");
        fflush(stdout);
    }
    printf("%u of %u mutants caught\n", STORE_MUTANT_COUNT - 1 - missed, STORE_MUTANT_COUNT - 1);
    return missed > 0;
}

static unsigned mutant_of(const char *name)
{
    for (unsigned m = 0; m < STORE_MUTANT_COUNT; m++) {
        if (strcmp(mutants[m].name, name) == 0)
            return m;
    }
    fprintf(stderr, "power: no mutant %s\n", name);
    exit(2);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: power store|jobs|birth [--drills N] [--states N] [--seed S] [--state K]\n"
            "                        [--mutant NAME] [--all]\n"
            "       power mutants\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct drill_options o = { .seed = 1 };
    struct order c = { .drills = 1, .states = 100 };
    if (argc < 2)
        return usage();
    c.name = argv[1];
    if (strcmp(c.name, "mutants") == 0)
        return run_mutants();
    if (strcmp(c.name, "store") == 0)
        c.drill = drill_store;
    else if (strcmp(c.name, "birth") == 0)
        c.drill = drill_birth;
    else if (strcmp(c.name, "jobs") == 0)
        c.drill = drill_jobs;
    else
        return usage();
    for (int i = 2; i < argc; i++) {
        uint64_t *number = strcmp(argv[i], "--drills") == 0   ? &c.drills
                           : strcmp(argv[i], "--states") == 0 ? &c.states
                           : strcmp(argv[i], "--seed") == 0   ? &o.seed
                           : strcmp(argv[i], "--state") == 0  ? &o.only_state
                                                              : NULL;
        if (number && i + 1 < argc)
            *number = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--mutant") == 0 && i + 1 < argc)
            o.mutant = mutant_of(argv[++i]);
        else if (strcmp(argv[i], "--all") == 0)
            o.all_jobs = true;
        else
            return usage();
    }
    if (c.drills == 0 || run(&c, o) != 0)
        return 1;
    tell_figures(&c, o.seed);
    return tell_points(c.drill == drill_store && c.drills >= 300) ? 0 : 1;
}
