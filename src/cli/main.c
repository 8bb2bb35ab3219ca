/* SPDX-License-Identifier: MIT */
/* belfry: the command line. Verbs come from the verb table, tools from the program table. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>

#include "cli/call.h"
#include "cli/help.h"
#include "cli/program.h"
#include "cli/synonym.h"

#ifndef BELFRY_VERSION
#define BELFRY_VERSION "unknown"
#endif

static const struct flag_row own_flags[] = {
    { "version", NULL, "show the version", .letter = 'V' },
    { 0 },
};

/* --help or -h as the first argument is answered here; elsewhere the program parses it. */
static int run_program(struct cli *cli, const struct program *p, int argc, char **argv)
{
    if (cli->help || (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))) {
        help_program(p);
        return CLI_OK;
    }
    return p->run(cli, argc, argv);
}

static int run_command(struct cli *cli, const char *name, int argc, char **argv)
{
    const struct verb *v = verb_find(verb_table, str_of(name));
    const struct program *p = program_find(str_of(name));
    const struct synonym *synonym = synonym_find(str_of(name));

    if (p)
        return run_program(cli, p, argc, argv);
    if (v)
        return call_run(cli, v, argc, argv);
    if (synonym && synonym->runs)
        return run_command(cli, synonym->command, argc, argv);
    return help_unknown(name);
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct flags f = { .cli = &cli, .rows = own_flags, .argc = argc, .argv = argv, .i = 1 };
    int which;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            cli_speak_json();
    if (cli_init(&cli) != CLI_OK)
        return CLI_USAGE;
    which = flag_next(&f);
    setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN);
    client_tls_use(&cli);
    if (which == FLAG_BAD)
        return cli_usage("%s; see belfry help", f.why);
    if (which == FLAG_WORD)
        return run_command(&cli, f.value, argc - f.i, argv + f.i);
    if (which >= 0) {
        puts("belfry " BELFRY_VERSION);
        return CLI_OK;
    }
    help_overview();
    return cli.help ? CLI_OK : CLI_USAGE;
}
