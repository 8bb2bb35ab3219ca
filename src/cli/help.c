/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/command.h"
#include "base/suggest.h"
#include "cli/synonym.h"
#include "cli/term.h"
#include "cli/text.h"
#include "front/resp.h"

#define NAME_COLUMNS 24
#define NARROWEST    40
#define WIDEST       100
#define WIDTH        80 /* columns of a line where the output is no terminal */

static size_t line_columns(void)
{
    size_t width = term_look(fileno(stdout)).width;

    return width == 0 ? WIDTH : width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

static void heading(const char *text)
{
    bool colour = term_look(fileno(stdout)).colour;

    printf("\n%s%s%s\n", colour ? TERM_BOLD : "", text, colour ? TERM_PLAIN : "");
}

/* Text wrapped at blanks and line breaks, starting in column `at`, further lines from `indent`. */
static void wrap(struct str text, size_t at, size_t indent)
{
    size_t most = line_columns();
    bool first = true;

    while (text.len > 0) {
        size_t len = 0, columns;

        while (len < text.len && text.ptr[len] != ' ' && text.ptr[len] != '\n')
            len++;
        columns = text_columns((struct str){ text.ptr, len });
        if (!first && at + 1 + columns > most) {
            printf("\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", (int)len, text.ptr);
        at += columns + !first;
        first = false;
        text = str_from(text, len + (len < text.len));
    }
    putchar('\n');
}

/* Two columns, the second wrapped. */
static void entry_in(size_t columns, const char *name, struct str text)
{
    printf("  %-*s", (int)columns - 2, name);
    if (strlen(name) >= columns - 2)
        printf("\n%*s", (int)columns, "");
    wrap(text, columns, columns);
}

static void entry(const char *name, const char *text)
{
    entry_in(line_columns() < 60 ? NAME_COLUMNS / 2 : NAME_COLUMNS, name, str_of(text));
}

static struct str first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");

    return end ? (struct str){ text, (size_t)(end - text) + 1 } : str_of(text);
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

/* The groups of commands: verbs by their flags, and the tools. */
static const struct {
    const char *name;
    unsigned flags, mask;
} groups[] = {
    { "Jobs", 0, VERB_ADMIN | VERB_READS },
    { "Looking", VERB_READS, VERB_ADMIN | VERB_READS },
    { "Settings", VERB_ADMIN, VERB_ADMIN },
};

#define GROUPS (sizeof(groups) / sizeof(*groups))

static void help_all(void)
{
    printf("All commands of belfry\n");
    for (size_t i = 0; i < GROUPS; i++) {
        heading(groups[i].name);
        for (const struct verb *v = verb_table; v->name; v++) {
            struct buf text = { 0 };

            if ((v->flags & groups[i].mask) != groups[i].flags)
                continue;
            help_words(v, v->summary, &text);
            buf_append(&text, "", 1);
            entry_in(NAME_COLUMNS / 2 + 4, flag_name(str_of(v->name)).text,
                     first_sentence(text.ptr));
            buf_fini(&text);
        }
    }
    heading("Tools");
    for (const struct program *p = program_table; p->name; p++)
        entry_in(NAME_COLUMNS / 2 + 4, p->name, first_sentence(p->summary));
}

/* The names of all commands of a group on a few lines. */
static void list_names(size_t group)
{
    struct buf names = { 0 };

    if (group == GROUPS)
        for (const struct program *p = program_table; p->name; p++)
            buf_printf(&names, "%s ", p->name);
    for (const struct verb *v = verb_table; group < GROUPS && v->name; v++)
        if ((v->flags & groups[group].mask) == groups[group].flags)
            buf_printf(&names, "%s ", flag_name(str_of(v->name)).text);
    names.len -= names.len > 0;
    entry_in(12, group < GROUPS ? groups[group].name : "Tools", buf_view(&names));
    buf_fini(&names);
}

void help_overview(void)
{
    static const char *const everyday[][2] = {
        { "schedule", "add a job, now or later" },
        { "work", "run a command for each job of a queue" },
        { "list", "list jobs" },
        { "get", "show a job, its attempts and its error" },
        { "explain", "say why a job has not run" },
        { "cancel", "cancel a job" },
        { "redrive", "put dead jobs back, to run again" },
        { "recur", "run a job again and again, by cron or RRULE" },
        { "top", "watch the server and its queues" },
    };

    printf("belfry: the command line of Belfry, a durable job scheduler\n\n"
           "Usage: belfry [options] COMMAND ...\n");
    heading("Everyday commands");
    for (size_t i = 0; i < sizeof(everyday) / sizeof(*everyday); i++)
        entry_in(12, everyday[i][0], str_of(everyday[i][1]));
    heading("All commands");
    for (size_t i = 0; i <= GROUPS; i++)
        list_names(i);
    heading("Examples");
    printf("  belfry schedule hello --in 2s --payload hi\n"
           "  belfry work hello -- cat\n"
           "  belfry list --state dead --json\n");
    heading("More");
    entry_in(28, "belfry help COMMAND", STR("a command's arguments and options"));
    entry_in(28, "belfry help all", STR("every command with a sentence"));
    entry_in(28, "belfry help options", STR("options of every command: --host, --json, …"));
    entry_in(28, "belfry help exit-codes", STR("the meaning of the exit codes"));
}

static void help_options(void)
{
    printf("Options of every command\n\n");
    flag_entries(flag_globals);
}

/* One line that names the options of every command. */
static void name_globals(void)
{
    struct buf text = { 0 };

    for (const struct flag_row *row = flag_globals; row->name; row++)
        buf_printf(&text, "--%s%s", flag_name(str_of(row->name)).text, row[1].name ? ", " : "");
    printf("\nOptions of every command (belfry help options):\n  ");
    wrap(buf_view(&text), 2, 2);
    buf_fini(&text);
}

/* ---- The words of the protocol, as a user of the command line types them ---- */

static const struct arg *find_arg(const struct verb *v, struct str name)
{
    for (size_t i = 0; i < VERB_ARGS_MAX && v->args[i].name; i++)
        if (str_ieq(name, v->args[i].name))
            return &v->args[i];
    return NULL;
}

/* An argument of this verb, or else of any. */
static const struct arg *any_arg(const struct verb *v, struct str name)
{
    const struct arg *a = find_arg(v, name);

    for (const struct verb *other = verb_table; !a && other->name; other++)
        a = find_arg(other, name);
    return a;
}

static bool ends_in(const struct buf *out, struct str end)
{
    return out->len >= end.len && memcmp(out->ptr + out->len - end.len, end.ptr, end.len) == 0;
}

/* LIMIT and RATE are errors, too. */
static bool means_error(const struct buf *out, struct str word)
{
    return error_find(word) && (ends_in(out, STR("answers ")) || ends_in(out, STR("answer ")) ||
                                ends_in(out, STR("with ")));
}

static void put_word(const struct verb *v, struct str word, struct buf *out)
{
    const struct arg *a = means_error(out, word) ? NULL : any_arg(v, word);
    const struct verb *verb = verb_find(verb_table, word);
    bool own = a && find_arg(v, word) && !(verb && ends_in(out, STR("by ")));

    if (own || (a && !verb))
        buf_printf(out, "--%s", flag_name(word).text);
    else if (verb)
        buf_text(out, flag_name(word).text);
    else
        buf_str(out, word);
}

void help_words(const struct verb *v, const char *text, struct buf *out)
{
    bool inside = false; /* a word, which does not begin here */

    while (*text) {
        size_t len = inside ? 0 : strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        bool whole = len >= 2 && !isalnum((unsigned char)text[len]);

        if (whole)
            put_word(v, (struct str){ text, len }, out);
        else
            buf_append(out, text, len = len ? len : 1);
        inside = isalnum((unsigned char)text[len - 1]) || text[len - 1] == '`';
        text += len;
    }
}

static void exit_codes(void)
{
    printf("Exit codes of belfry\n\n");
#define PRINT(name, number, text) \
    printf("  %d  ", number);     \
    wrap(STR(text), 5, 5);
    CLI_EXITS(PRINT)
#undef PRINT
    putchar('\n');
    wrap(STR("`belfry work` ends with 0 when it was asked to stop; with --once, 1 if the job's "
             "command "
             "failed."),
         0, 0);
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

static void wrap_words(const struct verb *v, const char *text, size_t at)
{
    struct buf out = { 0 };

    help_words(v, text, &out);
    wrap(buf_view(&out), at, at);
    buf_fini(&out);
}

static void print_usage(const struct verb *v)
{
    printf("Usage: belfry %s", flag_name(str_of(v->name)).text);
    for (size_t i = 0; i < VERB_ARGS_MAX && v->args[i].name && v->args[i].positional; i++) {
        bool optional = v->args[i].optional || v->args[i].type == ARG_PAYLOAD;
        printf(optional ? " [%s]" : " %s", v->args[i].name);
    }
    printf(" [options]\n\n");
    wrap_words(v, v->summary, 0);
}

static void print_notes(const struct verb *v)
{
    if (command_has(v, ARG_PAYLOAD)) {
        putchar('\n');
        wrap(STR("A payload of - is read from standard input, and --payload @FILE from a file. A "
                 "payload that is left out is empty."),
             0, 0);
    }
    if (command_has(v, ARG_DURATION))
        printf("\nDURATION is like 250ms, 10s, 5m, 1h30m, 2d or 1w.\n");
    if (command_has(v, ARG_MOMENT)) {
        if (!command_has(v, ARG_DURATION))
            putchar('\n');
        wrap(STR("MOMENT is like 2030-01-31T09:00:00+01:00, or milliseconds since 1970."), 0, 0);
    }
}

/* The arguments of a verb that stand in rows. */
static void verb_entries(const struct verb *v, const struct flag_row *rows, size_t n, bool flags)
{
    for (size_t i = 0; i < n && rows[i].name; i++) {
        struct flag_row row[2] = { rows[i], { 0 } };
        struct buf text = { 0 };

        help_words(v, rows[i].help, &text);
        buf_append(&text, "", 1);
        row[0].help = text.ptr;
        if (flags)
            flag_entries(row);
        else
            entry(row[0].name, row[0].help);
        buf_fini(&text);
    }
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
    heading("Example");
    help_example(v, &example);
    printf("  %.*s\n", STR_ARG(buf_view(&example)));
    buf_fini(&example);
    if (first > 0)
        heading("Arguments, by position or as --name value");
    verb_entries(v, rows, first, false);
    if (rows[first].name)
        heading("Options");
    verb_entries(v, rows + first, COMMAND_FLAGS_MAX - first, true);
    print_notes(v);
    heading("Answer");
    printf("  ");
    wrap_words(v, v->returns, 2);
    name_globals();
}

/* Lines of a tool's help: one that begins with two blanks has a name and a text, and others are
 * parts of paragraphs. */
static void print_detail(struct str detail)
{
    while (detail.len > 0) {
        struct str line = str_cut(&detail, '\n');
        size_t at = line.len > 2 && line.ptr[0] == ' ' ? 2 : 0;

        if (at == 0) {
            while (line.len > 0 && detail.len > 0 && !strchr(" \n", detail.ptr[0])) {
                struct str more = str_cut(&detail, '\n');
                line.len = (size_t)(more.ptr + more.len - line.ptr);
            }
            wrap(line, 0, 0);
            continue;
        }
        while (at + 1 < line.len && !(line.ptr[at] == ' ' && line.ptr[at + 1] == ' '))
            at++;
        while (at < line.len && line.ptr[at] == ' ')
            at++;
        if (at + 1 >= line.len) {
            printf("%.*s\n", STR_ARG(line));
        } else {
            printf("%.*s", (int)at, line.ptr);
            wrap(str_from(line, at), at, at);
        }
    }
}

void help_program(const struct program *p)
{
    printf("Usage: belfry %s ", p->name);
    wrap(str_of(p->usage), strlen("Usage: belfry ") + strlen(p->name) + 1, 4);
    putchar('\n');
    wrap(str_of(p->summary), 0, 0);
    if (p->detail) {
        putchar('\n');
        print_detail(str_of(p->detail));
    }
    if (p->rows) {
        heading("Options");
        flag_entries(p->rows);
    }
    name_globals();
}

int help_unknown(const char *name)
{
    const struct synonym *synonym = synonym_find(str_of(name));
    struct suggest s = { .given = str_of(name) };

    if (synonym)
        return cli_usage("no command '%s'; here that is: belfry %s", name, synonym->command);
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
    const struct synonym *synonym = topic ? synonym_find(str_of(topic)) : NULL;

    if (!topic)
        help_overview();
    else if (strcmp(topic, "all") == 0)
        help_all();
    else if (strcmp(topic, "options") == 0)
        help_options();
    else if (strcmp(topic, "exit-codes") == 0)
        exit_codes();
    else if (v)
        help_verb(v);
    else if (p)
        help_program(p);
    else if (synonym && synonym->runs)
        return help_topic(synonym->command);
    else
        return help_unknown(topic);
    return CLI_OK;
}
