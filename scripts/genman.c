/* SPDX-License-Identifier: MIT */
#include "genman.h"

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/partial.h"
#include "cli/program.h"
#include "server/option.h"

#define WIDTH 78
#define DATE  "2026-11-18" /* of the form of these pages */

/* ---- Text ---- */

/* A character that the formatter would take for a command is escaped. */
static void put_plain(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            buf_text(out, "\\e");
        else if (text[i] == '-')
            buf_text(out, "\\-");
        else
            buf_append(out, text + i, 1);
    }
}

/* A word, of which a part in back quotes is bold. *bold is kept from word to word. */
static void put_word(struct buf *out, const char *text, size_t n, bool *bold)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(text + i, "`");

        len = len < n - i ? len : n - i;
        put_plain(out, text + i, len);
        i += len;
        if (i < n) {
            *bold = !*bold;
            buf_text(out, *bold ? "\\fB" : "\\fR");
        }
    }
}

/* Text in lines of at most WIDTH bytes, none of which is a command. */
static void put_text(struct buf *out, const char *text)
{
    bool bold = false;
    size_t at = 0;

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (n > 0 && at > 0 && at + n + 8 > WIDTH) {
            buf_text(out, "\n");
            at = 0;
        }
        if (n > 0) {
            size_t before = out->len;

            buf_text(out, at > 0 ? " " : *text == '.' || *text == '\'' ? "\\&" : "");
            put_word(out, text, n, &bold);
            at += out->len - before;
        }
        text += n + (text[n] != '\0');
    }
    buf_text(out, bold ? "\\fR\n" : "\n");
}

/* Lines as they stand. */
static void put_lines(struct buf *out, const char *text)
{
    buf_text(out, ".PP\n.nf\n");
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (*text == '.' || *text == '\'')
            buf_text(out, "\\&");
        put_plain(out, text, n);
        buf_text(out, "\n");
        text += n + (text[n] == '\n');
    }
    buf_text(out, ".fi\n");
}

static void put_head(struct buf *out, const char *name, int section, const char *what)
{
    buf_printf(out, ".\\\" Made by scripts/genman.c from the tables in the code.\n.TH ");
    for (const char *c = name; *c; c++)
        buf_append(out, &(char){ (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c) }, 1);
    buf_printf(out, " %d \"" DATE "\" \"Belfry %s\" \"Belfry\"\n.SH NAME\n%s \\- %s\n", section,
               BELFRY_VERSION, name, what);
}

static void put_see_also(struct buf *out, const char *pages)
{
    buf_printf(out, ".SH SEE ALSO\n%s\n", pages);
}

/* ---- belfry(1) ---- */

static void put_flag(struct buf *out, const struct flag_row *row)
{
    buf_text(out, ".TP\n\\fB");
    if (row->letter)
        buf_printf(out, "\\-%c\\fR, \\fB", row->letter);
    buf_text(out, "\\-\\-");
    struct flag_name name = flag_name(str_of(row->name));
    put_plain(out, name.text, strlen(name.text));
    buf_text(out, "\\fR");
    if (row->value) {
        buf_text(out, " ");
        put_plain(out, row->value, strlen(row->value));
    }
    buf_text(out, "\n");
    put_text(out, row->help);
}

static void put_flags(struct buf *out, const struct flag_row *rows)
{
    for (; rows && rows->name; rows++)
        put_flag(out, rows);
}

static void put_tool(struct buf *out, const struct program *p)
{
    buf_printf(out, ".SS %s\n", p->name);
    put_text(out, p->summary);
    buf_text(out, ".PP\n");
    struct buf usage = { 0 };
    buf_printf(&usage, "belfry %s %s%c", p->name, p->usage, '\0');
    put_text(out, usage.ptr);
    buf_fini(&usage);
    if (p->detail)
        put_lines(out, p->detail);
    put_flags(out, p->rows);
}

static void put_verb(struct buf *out, const struct verb *v)
{
    struct flag_row rows[COMMAND_FLAGS_MAX];
    struct buf example = { 0 };

    buf_printf(out, ".SS %s\n", flag_name(str_of(v->name)).text);
    put_text(out, v->summary);
    help_example(v, &example);
    buf_append(&example, "", 1);
    put_lines(out, example.ptr);
    buf_fini(&example);
    command_flags(v, rows);
    put_flags(out, rows);
}

void man_belfry(struct buf *out)
{
    put_head(out, "belfry", 1, "the command line of the Belfry job server");
    buf_text(out, ".SH SYNOPSIS\n.B belfry\n[\\fB\\-\\-host\\fR HOST] [\\fB\\-\\-port\\fR PORT] "
                  "[\\fB\\-\\-json\\fR]\nCOMMAND ...\n.SH DESCRIPTION\n");
    put_text(out, "Every verb of the server is a command, and there are tools besides. An argument "
                  "that the protocol takes by position may be given by position or by name. The "
                  "output is a table for people, and JSON with `--json`.");
    buf_text(out, ".PP\n");
    put_text(out, PARTIAL_DOC);
    buf_text(out, ".SH OPTIONS\nEvery command takes these.\n");
    put_flags(out, flag_globals);
    buf_text(out, ".SH TOOLS\n");
    for (const struct program *p = program_table; p->name; p++)
        put_tool(out, p);
    buf_text(out, ".SH VERBS\n");
    for (const struct verb *v = verb_table; v->name; v++)
        put_verb(out, v);
    buf_text(out, ".SH EXIT STATUS\n");
#define ROW(name, number, text)              \
    buf_printf(out, ".TP\n.B %d\n", number); \
    put_text(out, text);
    CLI_EXITS(ROW)
#undef ROW
    put_see_also(out, ".BR belfryd (8),\n.BR belfry.ini (5)");
}

/* ---- belfryd(8) and belfry.ini(5) ---- */

/* What a value may be, the default, and whether it can change. */
static void put_form(struct buf *out, const struct option_row *row)
{
    struct buf form = { 0 };

    buf_text(&form, "Accepted: ");
    option_expected(row, &form);
    buf_printf(&form, ". Default: %s.%s%c", *row->initial ? row->initial : "empty",
               row->reloadable ? " It can change while the server runs." : "", '\0');
    put_text(out, form.ptr);
    buf_fini(&form);
}

void man_belfryd(struct buf *out)
{
    const struct option_row *row;
    char flag[OPTION_NAME_MAX + 8];

    put_head(out, "belfryd", 8, "the Belfry job server");
    buf_text(out, ".SH SYNOPSIS\n.B belfryd\n[\\fB\\-\\-config\\fR FILE] "
                  "[\\fB\\-\\-check\\-config\\fR] [\\fB\\-\\-OPTION\\fR VALUE]...\n.br\n"
                  ".B belfryd token create\nNAME ROLE [\\fB\\-\\-tenant\\fR TENANT]\n"
                  "[\\fB\\-\\-expire\\fR DURATION] [\\fB\\-\\-OPTION\\fR VALUE]...\n"
                  ".SH DESCRIPTION\n");
    put_text(out,
             "belfryd runs jobs at their time. It serves RESP, as Redis clients speak it, and HTTP "
             "on one port. It keeps all jobs in its data directory, which one server uses at a "
             "time. Without tokens it serves this machine only.");
    buf_text(out, ".PP\n");
    put_text(out,
             "`belfryd token create` makes a token in a data directory that no server uses, and "
             "writes it to standard output. The roles are admin, producer, worker and "
             "read-only. The first token must be an admin. Root acts as the owner of the "
             "directory.");
    buf_text(out, ".SH OPTIONS\n.TP\n\\fB\\-\\-config\\fR FILE\n");
    put_text(out, "Reads options from this file, see belfry.ini(5). With a dash before its name, "
                  "the file may be missing.");
    buf_text(out, ".TP\n\\fB\\-\\-check\\-config\\fR\n");
    put_text(out, "Checks all options, shows their values and where each comes from, and stops.");
    buf_text(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR; \\fB\\-V\\fR, \\fB\\-\\-version\\fR\n");
    put_text(out, "Shows the help, or the version, and stops.");
    for (size_t i = 0; (row = option_row(i)); i++) {
        option_flag_name(row, flag);
        buf_text(out, ".TP\n\\fB");
        put_plain(out, flag, strlen(flag));
        buf_text(out, "\\fR VALUE\n");
        put_text(out, row->help);
        put_form(out, row);
    }
    buf_text(out, ".SH SIGNALS\n.TP\nSIGTERM, SIGINT\n");
    put_text(out, "The server answers the requests under way, and stops.");
    buf_text(out, ".TP\nSIGHUP\n");
    put_text(out, "The server reads its options and certificates again. The log names options that "
                  "need a restart.");
    buf_text(out, ".SH ENVIRONMENT\n");
    put_text(out, "Each option has a variable: its name in capitals behind `BELFRY_`. Flags "
                  "override the environment, which overrides the file. `BELFRY_ROOT_TOKEN` holds "
                  "the first token of a server that has none yet, see root_token_file.");
    buf_text(out, ".SH EXIT STATUS\n");
    put_text(out, "0 after a stop by a signal, 1 if the server cannot serve, and 2 if an option is "
                  "wrong.");
    put_see_also(out, ".BR belfry (1),\n.BR belfry.ini (5)");
}

void man_belfry_ini(struct buf *out)
{
    const struct option_row *row;

    put_head(out, "belfry.ini", 5, "options of the Belfry job server");
    buf_text(out, ".SH DESCRIPTION\n");
    put_text(out,
             "A file of options for `belfryd --config FILE`. Each line is `name = value`. A line "
             "that begins with # or ; is a comment, and so is the rest of a line behind a blank "
             "and ; . An unknown name, a name that is given twice and a value that is not accepted "
             "keep the server from starting.");
    buf_text(out, ".PP\n");
    put_text(out, "Sizes: `1K` and `1KiB` are 1024 bytes, `1KB` is 1000 bytes, and M, G and T "
                  "follow in the same way. Durations: `500ms`, `30s`, `5m`, `12h`, `90d`, "
                  "`1h30m`.");
    buf_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; (row = option_row(i)); i++) {
        buf_printf(out, ".TP\n.B %s\n", row->name);
        put_text(out, row->help);
        put_form(out, row);
    }
    buf_text(out, ".SH FILES\n.TP\n.I /etc/belfry/belfry.ini\n");
    put_text(out, "The file that the systemd unit names. It may be missing.");
    put_see_also(out, ".BR belfryd (8),\n.BR belfry (1)");
}
