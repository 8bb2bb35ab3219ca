/* SPDX-License-Identifier: MIT */
/* The simulator's command line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/mutant.h"
#include "sim/run.h"
#include "sim/world.h"

#define MUTANT_SEEDS 2000
#define DAMAGE_SEEDS 300

static const struct {
    const char *name;
    const char *text;
} mutants[] = { { "none", "the engine as it is" },
#define MUTANT_ROW(name, text) { #name, text },
                MUTANTS(MUTANT_ROW)
#undef MUTANT_ROW
};

struct args {
    uint64_t first;
    uint64_t last;
    uint64_t steps;
    unsigned mutant;
    bool mutants;
    bool churn;
    bool threads;
    bool damage;
    bool cover;
    bool verbose;
};

static void usage(void)
{
    fputs("usage: sim [--seed N | --seeds A..B] [--steps K] [--mutant NAME]\n"
          "           [--cover] [--verbose]\n"
          "       sim --mutants\n"
          "       sim --churn | --threads [--seed N]\n"
          "       sim --damage [--seed N | --seeds A..B] [--mutant NAME]\n",
          stderr);
    exit(2);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void begin(const struct args *a, uint64_t seed)
{
    char again[200];
    int n = snprintf(again, sizeof(again), "sim --seed %" PRIu64, seed);

    if (a->steps)
        n += snprintf(again + n, sizeof(again) - (size_t)n, " --steps %" PRIu64, a->steps);
    if (a->mutant)
        snprintf(again + n, sizeof(again) - (size_t)n, " --mutant %s", mutants[a->mutant].name);
    trace_begin(again, a->verbose);
}

static void run_seeds(const struct args *a, struct run_totals *totals)
{
    bool progress = isatty(STDOUT_FILENO) && !a->verbose && a->first != a->last;

    for (uint64_t seed = a->first; seed <= a->last; seed++) {
        begin(a, seed);
        run_seed(seed, a->steps, a->mutant, totals);
        if (progress && seed % 20 == 0) {
            printf("\rseed %" PRIu64, seed);
            fflush(stdout);
        }
    }
    if (progress)
        printf("\r");
}

static int many(const struct args *a)
{
    struct run_totals totals = { 0 };
    double start = seconds();
    uint64_t seeds = a->last - a->first + 1;

    run_seeds(a, &totals);
    if (a->cover)
        cover_print();
    printf("%" PRIu64 " seeds passed in %.1f s: %" PRIu64 " steps, %" PRIu64 " leases, %" PRIu64
           " crashes, %" PRIu64 " segments reclaimed, %" PRIu64 " bytes beyond a budget\n",
           seeds, seconds() - start, totals.steps, totals.leases, totals.crashes, totals.reclaimed,
           totals.memory_max);
    return cover_missed(seeds) ? 1 : 0;
}

/* ---- Mutants ---- */

/* In a child: runs seeds until one fails, which ends it. What it has to say goes to `out`. */
static _Noreturn void hunt(const struct args *a, int out)
{
    struct run_totals totals = { 0 };

    if (dup2(out, STDOUT_FILENO) < 0 || !freopen("/dev/null", "w", stderr))
        exit(3);
    if (a->mutant == MUTANT_DAMAGE_SILENT || a->mutant == MUTANT_DAMAGE_WIDE)
        run_damage(1, DAMAGE_SEEDS, a->mutant); /* nothing is damaged otherwise */
    run_seeds(a, &totals);
    exit(0);
}

/* The lines that say what a run failed with. */
static void last_words(FILE *in, char why[JUDGE_TEXT], char again[JUDGE_TEXT])
{
    char line[1000];

    *why = *again = '\0';
    while (fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "FAILED: ", 8) == 0)
            snprintf(why, JUDGE_TEXT, "%.*s", JUDGE_TEXT - 1, line + 8);
        if (strncmp(line, "again: ", 7) == 0)
            snprintf(again, JUDGE_TEXT, "%.*s", JUDGE_TEXT - 1, line + 7);
    }
}

/* Where the hunt begins. Few seeds show some mutants: a little before one that did. */
static uint64_t first_seed(unsigned mutant)
{
    static const uint16_t seeds[MUTANT_COUNT] = {
        [MUTANT_GRAVE_LOST] = 3240,      [MUTANT_WALK_BLIND] = 2420,
        [MUTANT_KEY_STALE] = 2140,       [MUTANT_OVERTAKING] = 2090,
        [MUTANT_MISSED_EARLY] = 980,     [MUTANT_FED_NOT_OWED] = 860,
        [MUTANT_HOLD_AGAIN] = 720,       [MUTANT_TAKEN_FED] = 605,
        [MUTANT_HISTORY_NEWEST] = 599,   [MUTANT_CROWDED] = 490,
        [MUTANT_BATCH_WHOLE] = 480,      [MUTANT_HISTORY_HALF] = 415,
        [MUTANT_CUT_WIDE] = 352,         [MUTANT_SUMS_LOST] = 326,
        [MUTANT_LEASES_SHARED] = 285,    [MUTANT_TORN_ACCEPTED] = 250,
        [MUTANT_HOLDERS_SHARED] = 215,   [MUTANT_FED_TWICE] = 135,
        [MUTANT_CENSUS_LEFT] = 127,      [MUTANT_DAMAGE_SILENT] = 71,
        [MUTANT_RUN_DROPPED_EARLY] = 69, [MUTANT_OLD_NAMES_LOST] = 45,
        [MUTANT_EARLY_DROP] = 44,        [MUTANT_EXPIRED_EARLY] = 43,
        [MUTANT_ASKED_IGNORED] = 43,     [MUTANT_EXPLAIN_OFF] = 40,
        [MUTANT_BYTES_IGNORED] = 38,     [MUTANT_ASIDE_OVERTAKEN] = 38,
        [MUTANT_EXPIRY_LOST] = 35,       [MUTANT_WORKER_PAST] = 34,
        [MUTANT_LANES_UNNAMED] = 33,     [MUTANT_AUDIT_MERGED] = 29,
        [MUTANT_HOLD_SHORT] = 23,        [MUTANT_FORGOTTEN_EARLY] = 21,
        [MUTANT_HOLD_LOST] = 21,         [MUTANT_LEASED_IGNORED] = 21,
        [MUTANT_ASK_LOST] = 21,          [MUTANT_TENANT_REMOVAL_LOST] = 20,
        [MUTANT_CRAMMED_SHARED] = 10,
    };

    return seeds[mutant] ? seeds[mutant] : 1;
}

static bool caught(unsigned mutant)
{
    uint64_t first = first_seed(mutant);
    struct args a = { .first = first, .last = first + MUTANT_SEEDS, .mutant = mutant };
    char why[JUDGE_TEXT], again[JUDGE_TEXT];
    int ends[2], status;

    if (pipe(ends) < 0)
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        hunt(&a, ends[1]);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    last_words(in, why, again);
    fclose(in);
    waitpid(child, &status, 0);
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status) == 1;
    const char *seed = strstr(again, "--seed ");
    printf("%-22s %-7s seed %5d  %s\n", mutants[mutant].name, failed ? "caught" : "MISSED",
           seed ? atoi(seed + 7) : 0, failed ? why : mutants[mutant].text);
    return failed;
}

static int all_mutants(void)
{
    int missed = 0;

    for (unsigned m = 1; m < MUTANT_COUNT; m++)
        missed += !caught(m);
    printf("%d of %d mutants caught\n", MUTANT_COUNT - 1 - missed, MUTANT_COUNT - 1);
    return missed ? 1 : 0;
}

/* ---- Arguments ---- */

static uint64_t number(const char *text)
{
    char *end;
    uint64_t n = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end)
        usage();
    return n;
}

static void range(const char *text, struct args *a)
{
    char first[32];
    const char *dots = text ? strstr(text, "..") : NULL;

    if (!dots || (size_t)(dots - text) >= sizeof(first))
        usage();
    snprintf(first, sizeof(first), "%.*s", (int)(dots - text), text);
    a->first = number(first);
    a->last = number(dots + 2);
}

static unsigned mutant_named(const char *name)
{
    for (unsigned m = 1; name && m < MUTANT_COUNT; m++)
        if (strcasecmp(name, mutants[m].name) == 0)
            return m;
    fputs("mutants:", stderr);
    for (unsigned m = 1; m < MUTANT_COUNT; m++)
        fprintf(stderr, " %s", mutants[m].name);
    fputs("\n", stderr);
    exit(2);
}

static void parse(char **argv, struct args *a)
{
    for (; *argv; argv++) {
        if (strcmp(*argv, "--seed") == 0)
            a->first = a->last = number(*++argv);
        else if (strcmp(*argv, "--seeds") == 0)
            range(*++argv, a);
        else if (strcmp(*argv, "--steps") == 0)
            a->steps = number(*++argv);
        else if (strcmp(*argv, "--mutant") == 0)
            a->mutant = mutant_named(*++argv);
        else if (strcmp(*argv, "--mutants") == 0)
            a->mutants = true;
        else if (strcmp(*argv, "--churn") == 0)
            a->churn = true;
        else if (strcmp(*argv, "--threads") == 0)
            a->threads = true;
        else if (strcmp(*argv, "--damage") == 0)
            a->damage = true;
        else if (strcmp(*argv, "--cover") == 0)
            a->cover = true;
        else if (strcmp(*argv, "--verbose") == 0)
            a->verbose = true;
        else
            usage();
        if (!*argv)
            usage();
    }
}

int main(int argc, char **argv)
{
    struct args a = { .first = 1, .last = 100 };

    (void)argc;
    parse(argv + 1, &a);
    if (a.mutants)
        return all_mutants();
    if (a.churn) {
        trace_begin("sim --churn", a.verbose);
        run_churn(a.first);
        return 0;
    }
    if (a.threads) {
        trace_begin("sim --threads", a.verbose);
        run_threads(a.first);
        return 0;
    }
    if (a.damage) {
        run_damage(a.first, a.last, a.mutant);
        return 0;
    }
    return many(&a);
}
