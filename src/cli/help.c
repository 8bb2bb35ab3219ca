/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/suggest.h"
#include "cli/term.h"
#include "front/resp.h"

#define NAME_COLUMNS 24
#define LINE_COLUMNS 96

static void heading(const char *text)
{
    bool colour = term_look(fileno(stdout)).colour;

    printf("\n%s%s%s\n", colour ? TERM_BOLD : "", text, colour ? TERM_PLAIN : "");
}

/* Text wrapped at words, starting in column `at`, further lines from `indent`. */
static void wrap(const char *text, size_t at, size_t indent)
{
    bool first = true;

    while (*text) {
        size_t len = strcspn(text, " ");
        if (!first && at + 1 + len > LINE_COLUMNS) {
            printf("\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", (int)len, text);
        at += len + !first;
        first = false;
        text += len + (text[len] == ' ');
    }
    putchar('\n');
}

/* Two columns, the second wrapped. */
static void entry(const char *name, const char *text)
{
    printf("  %-*s", NAME_COLUMNS - 2, name);
    if (strlen(name) >= NAME_COLUMNS - 2)
        printf("\n%*s", NAME_COLUMNS, "");
    wrap(text, NAME_COLUMNS, NAME_COLUMNS);
}

static void flag_entries(const struct flag_row *rows)
{
    for (; rows->name; rows++) {
        char left[160], letter[] = "-?, ";

        letter[1] = rows->letter;
        snprintf(left, sizeof(left), "%s--%s%s%s", rows->letter ? letter : "",
                 flag_name(str_of(rows->name)).text, rows->value ? " " : "",
                 rows->value ? rows->value : "");
        entry(left, rows->help);
    }
}

static void list_verbs(unsigned flags, unsigned mask)
{
    for (const struct verb *v = verb_table; v->name; v++)
        if ((v->flags & mask) == flags)
            entry(flag_name(str_of(v->name)).text, v->summary);
}

void help_overview(void)
{
    printf("belfry: the command line of Belfry, a durable job scheduler\n\n"
           "Usage: belfry [--host HOST] [--port PORT] [--json] COMMAND ...\n");
    heading("Jobs");
    list_verbs(0, VERB_ADMIN | VERB_READS);
    heading("Looking");
    list_verbs(VERB_READS, VERB_ADMIN | VERB_READS);
    heading("Settings");
    list_verbs(VERB_ADMIN, VERB_ADMIN);
    heading("Tools");
    for (const struct program *p = program_table; p->name; p++)
        entry(p->name, p->summary);
    heading("Options of every command");
    flag_entries(flag_globals);
    heading("Examples");
    printf("  belfry schedule hello --in 2s --payload hi\n"
           "  belfry work hello -- cat\n"
           "  belfry list --state dead --json\n");
    heading("More");
    printf("  belfry help COMMAND       a command's arguments and options\n"
           "  belfry help exit-codes    what the exit codes mean\n");
}

static void exit_codes(void)
{
    printf("Exit codes of belfry\n\n");
#define PRINT(name, number, text) printf("  %d  %s\n", number, text);
    CLI_EXITS(PRINT)
#undef PRINT
    printf("\n`belfry work` ends with 0 when it was asked to stop; with --once, 1 if the job's "
           "command "
           "failed.\n");
}

/* Words of an example as a shell wants them. */
static void put_quoted(struct buf *out, struct str word)
{
    bool plain = word.len > 0;

    for (size_t i = 0; i < word.len; i++)
        plain = plain && (isalnum((unsigned char)word.ptr[i]) || word.ptr[i] & 0x80 ||
                          strchr("._-:/,+=@", word.ptr[i]));
    buf_text(out, plain ? "" : "'");
    buf_str(out, word);
    buf_text(out, plain ? "" : "'");
}

static bool is_option(const struct verb *v, struct str word)
{
    for (size_t i = 0; i < VERB_ARGS_MAX && v->args[i].name; i++)
        if (!v->args[i].positional && str_ieq(word, v->args[i].name))
            return true;
    return false;
}

void help_example(const struct verb *v, struct buf *out)
{
    struct resp_request r = { 0 };
    struct buf line = { 0 };
    size_t used, at = 1;

    buf_printf(&line, "%s\r\n", v->example);
    buf_printf(out, "belfry %s", flag_name(str_of(v->name)).text);
    if (resp_read_request(&r, buf_view(&line), SIZE_MAX, &used) == RESP_OK) {
        for (size_t i = 0; at < r.n && v->args[i].name && v->args[i].positional; i++) {
            if (v->args[i].optional && is_option(v, r.args[at]))
                break;
            do {
                buf_text(out, " ");
                put_quoted(out, r.args[at++]);
            } while (v->args[i].type == ARG_ITEMS && at < r.n);
        }
        for (; at + 1 < r.n; at += 2) {
            buf_printf(out, " --%s ", flag_name(r.args[at]).text);
            put_quoted(out, r.args[at + 1]);
        }
    }
    resp_request_fini(&r);
    buf_fini(&line);
}

static void print_usage(const struct verb *v)
{
    printf("Usage: belfry %s", flag_name(str_of(v->name)).text);
    for (size_t i = 0; i < VERB_ARGS_MAX && v->args[i].name && v->args[i].positional; i++) {
        bool optional = v->args[i].optional || v->args[i].type == ARG_PAYLOAD;
        printf(optional ? " [%s]" : " %s", v->args[i].name);
    }
    printf(" [options]\n\n");
    wrap(v->summary, 0, 0);
}

static void print_notes(const struct verb *v)
{
    if (command_has(v, ARG_PAYLOAD))
        printf(
            "\nA payload of - is read from standard input, and --payload @FILE from a file; if it "
            "is left\nout it is read from standard input unless that is a terminal.\n");
    if (command_has(v, ARG_DURATION))
        printf("\nDURATION is like 250ms, 10s, 5m, 1h30m, 2d or 1w.\n");
    if (command_has(v, ARG_MOMENT))
        printf("%sMOMENT is like 2030-01-31T09:00:00+01:00, or milliseconds since 1970.\n",
               command_has(v, ARG_DURATION) ? "" : "\n");
}

void help_verb(const struct verb *v)
{
    struct flag_row rows[COMMAND_FLAGS_MAX];
    struct buf example = { 0 };
    size_t first = 0;

    print_usage(v);
    command_flags(v, rows);
    while (first < VERB_ARGS_MAX && v->args[first].name && v->args[first].positional)
        first++;
    if (first > 0)
        heading("Arguments, by position or as --name value");
    for (size_t i = 0; i < first; i++)
        entry(v->args[i].name, v->args[i].help);
    if (rows[first].name)
        heading("Options");
    flag_entries(&rows[first]);
    print_notes(v);
    heading("Answer");
    printf("  ");
    wrap(v->returns, 2, 2);
    heading("Example");
    help_example(v, &example);
    printf("  %.*s\n", STR_ARG(buf_view(&example)));
    buf_fini(&example);
}

void help_program(const struct program *p)
{
    printf("Usage: belfry %s %s\n\n%s\n", p->name, p->usage, p->summary);
    if (p->detail)
        printf("\n%s\n", p->detail);
    if (p->rows) {
        heading("Options");
        flag_entries(p->rows);
    }
    printf("\nOptions of every command: --host HOST, --port PORT, --tls, --ca FILE, --cert FILE,\n"
           "--cert-key FILE, --json, --help.\n");
}

int help_unknown(const char *name)
{
    struct suggest s = { .given = str_of(name) };

    for (const struct verb *v = verb_table; v->name; v++)
        suggest_offer(&s, v->name);
    for (const struct program *p = program_table; p->name; p++)
        suggest_offer(&s, p->name);
    if (!s.best)
        return cli_usage("no command '%s'; see belfry help", name);
    return cli_usage("no command '%s'; did you mean '%s'? All are in belfry help", name,
                     flag_name(str_of(s.best)).text);
}

int help_topic(const char *topic)
{
    const struct verb *v = topic ? verb_find(verb_table, str_of(topic)) : NULL;
    const struct program *p = topic ? program_find(str_of(topic)) : NULL;

    if (!topic)
        help_overview();
    else if (strcmp(topic, "exit-codes") == 0)
        exit_codes();
    else if (v)
        help_verb(v);
    else if (p)
        help_program(p);
    else
        return help_unknown(topic);
    return CLI_OK;
}
