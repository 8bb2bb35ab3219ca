/* SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include "cli/call.h"
#include "cli/help.h"

/* `belfry token create` and so on, for verbs that are one word. */
static int run_token(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *word, *verb;
    } words[] = { { "create", "TOKENCREATE" }, { "list", "TOKENS" }, { "revoke", "TOKENREVOKE" } };

    for (size_t i = 0; argc > 0 && i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(argv[0], words[i].word) == 0)
            return call_run(cli, verb_find(verb_table, str_of(words[i].verb)), argc - 1, argv + 1);
    return cli_usage("token: expected create, list or revoke; see belfry help token");
}

static int run_help(struct cli *cli, int argc, char **argv)
{
    (void)cli;
    return help_topic(argc > 0 ? argv[0] : NULL);
}

const struct program program_table[] = {
    { "work", "QUEUE[,QUEUE...] [options] (-- COMMAND [ARGS...] | --shell TEXT)",
      "Runs a command for each job of some queues.",
      "The command gets the payload of the job as its standard input. Its environment has\n"
      "BELFRY_ID, BELFRY_TOKEN, BELFRY_TENANT, BELFRY_QUEUE, BELFRY_ATTEMPT, BELFRY_DUE_MS,\n"
      "BELFRY_PRIORITY and, if the job has a key, BELFRY_KEY. For an occurrence it also has\n"
      "BELFRY_RECURRENCE and BELFRY_NOMINAL_MS. Metadata are in BELFRY_META_NAME, with the name\n"
      "in capitals, and _ in place of every character that is no letter or digit. A variable\n"
      "that two names would have is not set. A value with a byte 0 is base64, in the variable\n"
      "with _BASE64 behind its name. TRACEPARENT and TRACESTATE come from metadata of these\n"
      "names. The lease is extended while the command runs. The command can add a line to the\n"
      "log of its job, which GET LOG yes shows:\n"
      "\n"
      "  belfry log \"$BELFRY_ID\" \"$BELFRY_TOKEN\" \"300 of 1200 rows\"\n"
      "\n"
      "  exit status 0     the job is completed\n"
      "  exit status 75    the job is released and offered again in 10s, which costs no attempt\n"
      "  anything else     the attempt has failed, with the end of standard error as its error\n"
      "\n"
      "With --json, standard error has one object in each line: started, done, failed, released,\n"
      "lost, output (a line of the command's standard error), stopped. With -j, lines of output\n"
      "stand behind the id of their job.\n"
      "\n"
      "If the job is cancelled or its lease is lost, the command and its children get SIGTERM,\n"
      "and SIGKILL 5s later. At the first SIGINT or SIGTERM, belfry takes no further jobs and\n"
      "waits for running commands. At the second it ends them and gives their jobs back.",
      work_flags, NULL, work_run },
    { "top", "[options]", "Shows the server and its queues, live.",
      "belfry prints once if standard output is not a terminal.\n"
      "\n"
      "  arrows, page up, page down    scroll\n"
      "  s                             sort by the next column\n"
      "  space                         look now\n"
      "  p                             pause\n"
      "  q                             quit",
      top_flags, NULL, top_run },
    { "events", "[options]", "Shows the changes of jobs, as they happen.",
      "One line is one change. belfry follows until ^C, connects again if the server goes away, "
      "and\n"
      "goes on behind the last change that it has shown. Where changes were missed, it says so.",
      events_flags, NULL, events_run },
    { "ping", "[options]", "Asks the server for a sign of life, and says how long it took.", NULL,
      ping_flags, NULL, ping_run },
    { "version", "", "Shows the versions of this program and of the server.", NULL, NULL, NULL,
      version_run },
    { "bench", "[options]", "Measures a server under load.",
      "Without --op: schedule, lease and late, on a queue of its own that is left empty.\n"
      "\n"
      "  schedule   jobs due over an hour are added\n"
      "  lease      due jobs are taken and finished, a hundred at a time\n"
      "  lone       like schedule, with one connection and one command at a time\n"
      "  late       how late waiting workers get jobs, beside a bare timer of this machine\n"
      "  fill       due jobs are added, and left there\n"
      "  drain      jobs of fill or schedule are taken and finished; each must come once, as it "
      "was sent, and none early\n"
      "  ping       how long a PING takes, sent every 5ms: beside a load, until ^C",
      bench_flags, NULL, bench_run },
    { "check", "[DIR]", "Reads a data directory and reports damage; changes nothing.",
      "Without DIR, belfry reads $BELFRY_DATA, or else ./data. A server may be running. belfry\n"
      "reads all of the journal and the runs. Damage in the journal keeps a server from\n"
      "starting; damage in a run does not.\n"
      "\n"
      "  exit code 0    all is whole\n"
      "  exit code 2    there is damage; belfry says what, where, and what to do\n"
      "  exit code 3    it cannot be read: nothing is known",
      NULL, NULL, check_run },
    { "repair", "[DIR] [--dry-run]", "Keeps what is whole of a damaged data directory.",
      "Without DIR, belfry repairs $BELFRY_DATA, or else ./data. No server may be running. The\n"
      "exit codes are those of check. The code is 2 if runs stay damaged, although a server\n"
      "starts on them. belfry keeps the files that it replaces in\n"
      "DIR/damaged.",
      repair_flags, NULL, repair_run },
    { "token", "create NAME ROLE [--tenant NAME] [--expire DURATION] | list | revoke NAME",
      "Makes, shows and ends tokens: who may do what.",
      "These are other names of tokencreate, tokens and tokenrevoke. ROLE is admin, producer,\n"
      "worker or read-only; see belfry help tokencreate. The first token must be an admin of all\n"
      "tenants:\n"
      "\n"
      "  belfry --json token create root admin\n"
      "\n"
      "A token is shown once, when it is made. belfry reads it from a file (--auth-file, or\n"
      "$BELFRY_AUTH_FILE) or from $BELFRY_AUTH.",
      NULL, "create|list|revoke", run_token },
    { "completion", COMPLETION_SHELLS, "Prints a completion script for a shell.",
      "  bash   belfry completion bash > /etc/bash_completion.d/belfry\n"
      "  zsh    belfry completion zsh > ~/.zfunc/_belfry\n"
      "  fish   belfry completion fish > ~/.config/fish/completions/belfry.fish",
      NULL, COMPLETION_SHELLS, completion_run },
    { "help", "[COMMAND | all | options | exit-codes]", "Shows help.", NULL, NULL, NULL, run_help },
    { 0 },
};

const struct program *program_find(struct str name)
{
    for (const struct program *p = program_table; p->name; p++)
        if (str_ieq(name, p->name))
            return p;
    return NULL;
}
