/* SPDX-License-Identifier: MIT */
/*
 * Writes the reference pages that follow from tables in the code: `gendocs DIR` writes them,
 * `gendocs --check DIR` answers 1 if what is there differs. `gendocs --man DIR` writes manual pages
 * and a sample of the configuration, which are installed. The same code gives the same bytes.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "cli/command.h"
#include "cli/partial.h"
#include "cli/help.h"
#include "cli/program.h"
#include "genman.h"
#include "record/record_cold.h"
#include "record/series.h"
#include "server/option.h"
#include "verbs/verb.h"

#define GENERATED \
    "<!-- Made by scripts/gendocs.c (make docs): change the tables, not this page. -->\n\n"

/* ---- Words ---- */

/* Text in a cell of a table. */
static void put_cell(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_text(out, "\\");
        buf_append(out, text, 1);
    }
}

static void put_upper(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_append(out, &(char){ (char)toupper((unsigned char)*text) }, 1);
}

static void put_lower(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_append(out, &(char){ (char)tolower((unsigned char)*text) }, 1);
}

/* "a|b|c" as "`a`, `b` or `c`" */
static void put_words(struct buf *out, const char *words)
{
    while (*words) {
        size_t len = strcspn(words, "|");
        const char *rest = words + len + (words[len] == '|');

        buf_printf(out, "`%.*s`", (int)len, words);
        if (*rest)
            buf_text(out, strchr(rest, '|') ? ", " : " or ");
        words = rest;
    }
}

static void put_duration(struct buf *out, int64_t ms)
{
    char text[TIME_TEXT];

    buf_append(out, text, time_format_duration(ms, text));
}

static void put_duration_range(struct buf *out, const struct arg *a)
{
    buf_text(out, "duration");
    if (a->min > 0) {
        buf_text(out, ", at least ");
        put_duration(out, a->min);
    }
    if (a->max < TIME_DURATION_MAX) {
        buf_text(out, ", at most ");
        put_duration(out, a->max);
    }
}

/* What an argument's value may be. */
static void put_kind(struct buf *out, const struct arg *a)
{
    switch (a->type) {
    case ARG_END: break;
    case ARG_NAME: buf_text(out, "name"); break;
    case ARG_NAMES: buf_printf(out, "1 to %d names, commas between", LEASE_QUEUES_MAX); break;
    case ARG_BYTES:
        buf_text(out, "bytes");
        if (a->max)
            buf_printf(out, ", at most %lld", (long long)a->max);
        break;
    case ARG_PAYLOAD: buf_text(out, "bytes, at most `max_payload`"); break;
    case ARG_KEY: buf_text(out, "key"); break;
    case ARG_ID: buf_text(out, "id"); break;
    case ARG_TOKEN: buf_text(out, "token"); break;
    case ARG_DURATION: put_duration_range(out, a); break;
    case ARG_MOMENT: buf_text(out, "moment"); break;
    case ARG_INT:
        buf_printf(out, "whole number, %lld to %lld", (long long)a->min, (long long)a->max);
        break;
    case ARG_WORD: put_words(out, a->words); break;
    case ARG_BACKOFF: buf_text(out, "back-off"); break;
    case ARG_TENANT: buf_text(out, "name, or `*` for all tenants"); break;
    case ARG_ITEMS: buf_text(out, "words"); break;
    case ARG_META: buf_text(out, "name, value"); break;
    case ARG_RATE: buf_text(out, "number/duration, or 0"); break;
    case ARG_CURSOR: buf_text(out, "cursor"); break;
    }
}

/* ---- docs/protocol.md ---- */

static const char protocol_intro[] =
    "# The protocol\n"
    "\n"
    "Belfry speaks RESP, the protocol of Redis, in versions 2 and 3. So any Redis client\n"
    "can talk to it, with arrays of bulk strings, or with lines typed into a terminal. A\n"
    "client may pipeline requests; the replies come in the order of the requests.\n"
    "\n"
    "A request is a verb, then its positional arguments, then options as name and value in\n"
    "any order. The names of verbs and options may be in either case. An unknown option, an\n"
    "option that is given twice, and a value out of its range are errors that name the\n"
    "option and change nothing.\n"
    "\n"
    "A reply leaves when everything it tells of is on disk (see `durability` in\n"
    "[configuration.md](configuration.md)). There is one exception: the reply to LEASE does\n"
    "not wait for the record of the lease itself. [glossary.md](glossary.md) explains the\n"
    "words.\n"
    "\n"
    "## Values\n"
    "\n"
    "| kind | accepted values |\n"
    "| --- | --- |\n"
    "| name | 1 to 128 of `A-Z a-z 0-9 . _ - : /` |\n"
    "| key | any 1 to 512 bytes |\n"
    "| id | 26 characters, as SCHEDULE answered them; ids sort by the due time at creation |\n"
    "| token | a whole number, as LEASE answered it; it grows with every lease of a job |\n"
    "| duration | `250ms` `10s` `5m` `1h30m` `2d` `1w`. Units go from large to small, each once. "
    "The last one may have a fraction (`1.5s`). A bare whole number is milliseconds |\n"
    "| moment | RFC 3339 with its zone (`2030-01-31T09:00:00.250+01:00`), or whole milliseconds "
    "since 1970, up to the year 9999 |\n"
    "| back-off | `1m,5m,15m`: the pause before each retry in turn, the last one for all further "
    "retries. `exp:2s:1h`: a pause that doubles each time, up to the second duration. "
    "`fixed:20s`: always this pause. The server draws the pause at random near that: from half "
    "to all of it for `exp`, within a tenth for the others |\n"
    "| cursor | as LIST answered it |\n"
    "\n"
    "Moments in replies are milliseconds since 1970, and durations are milliseconds. The\n"
    "names of such fields end in `_ms`.\n"
    "\n"
    "## RESP2 and RESP3\n"
    "\n"
    "A connection begins in RESP2; `HELLO 3` changes it to RESP3. These replies differ:\n"
    "\n"
    "| reply | RESP2 | RESP3 |\n"
    "| --- | --- | --- |\n"
    "| map | array of names and values in turn | map |\n"
    "| null | null bulk string | null |\n"
    "| true, false | 1, 0 | boolean |\n"
    "\n";

static void put_argument(struct buf *out, const struct arg *a)
{
    buf_text(out, "| ");
    if (a->positional)
        buf_printf(out, a->optional ? "[%s]" : "%s", a->name);
    else
        put_upper(out, a->name);
    buf_text(out, " | ");
    put_kind(out, a);
    buf_text(out, " | ");
    put_cell(out, a->help);
    buf_text(out, " |\n");
}

/* Who may call it, and whether for one tenant. */
static void put_roles(struct buf *out, const struct verb *v)
{
    char roles[64];

    verb_roles(v, roles, sizeof(roles));
    buf_printf(out, "Roles: %s%s.\n\n", roles, v->flags & VERB_SERVER ? ", of tenant `*`" : "");
}

static void put_verb(struct buf *out, const struct verb *v)
{
    buf_printf(out, "### %s\n\n%s\n\n    ", v->name, v->summary);
    verb_usage(v, out);
    buf_text(out, "\n\n");
    put_roles(out, v);
    if (v->args[0].type != ARG_END)
        buf_text(out, "| argument | value | meaning |\n| --- | --- | --- |\n");
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        put_argument(out, a);
    buf_printf(out, "%sAnswers %s.", v->args[0].type != ARG_END ? "\n" : "", v->returns);
    if (v->flags & VERB_TAKES)
        buf_text(
            out,
            " The connection waits meanwhile: later requests on it are answered after this one.");
    buf_printf(out, "\n\n    %s\n\n", v->example);
}

static const char session_text[] =
    "## About the connection\n"
    "\n"
    "The server understands the requests that Redis clients send of themselves. Once there\n"
    "are tokens (see [security.md](security.md)), it answers only PING, HELLO, AUTH, RESET\n"
    "and QUIT without one. Every other request without a token is answered with `NOAUTH`.\n"
    "\n"
    "| request | answer |\n"
    "| --- | --- |\n"
    "| HELLO [2\\|3] [AUTH user token] [SETNAME name] | a map that describes the server, in the "
    "requested protocol |\n"
    "| PING [text] | PONG, or the text |\n"
    "| ECHO text | the text |\n"
    "| HELP [verb] | usage of all verbs, or of one verb with an example |\n"
    "| COMMAND [COUNT \\| DOCS [verb...] \\| INFO [verb...]] | the verbs, for clients that "
    "complete and hint |\n"
    "| INFO | figures as text, in the form of Redis; STATS has more |\n"
    "| CLIENT SETNAME name \\| GETNAME \\| SETINFO ... \\| ID | as in Redis |\n"
    "| CLIENT UNBLOCK id | the request of that connection (by its CLIENT ID) waits no longer: a "
    "LEASE answers an empty array, GET and SCHEDULE the job so far: "
    "1; or 0 if none waited there. Roles: admin, worker; of the same tenant |\n"
    "| SELECT 0 | OK; there is one database, and queues keep work apart |\n"
    "| AUTH token \\| AUTH name secret | OK; the connection has the rights of the token until "
    "its next AUTH or RESET, or until the token is revoked. A token is `name.secret`. Libraries "
    "send a user and a password: any user with the token as password will do |\n"
    "| RESET | RESET; the connection is as new |\n"
    "| QUIT | OK, and the server closes the connection |\n"
    "\n";

static void put_errors(struct buf *out)
{
    buf_text(out, "## Errors\n\n"
                  "An error is a line `-CODE text`. The code is for programs and never changes its "
                  "meaning; the\ntext says more, for people.\n\n"
                  "| code | number | meaning |\n| --- | --- | --- |\n");
#define ROW(name, number, status, detail, text, hint) \
    buf_printf(out, "| %s | %d | %s |\n", #name, number, text);
    BELFRY_ERRORS(ROW)
#undef ROW
    buf_text(out,
             "\nTwo more codes are about the connection, in the words of Redis: `NOPROTO` (HELLO "
             "with another\nversion than 2 or 3) and `ERR`.\n");
}

static void put_protocol(struct buf *out)
{
    buf_text(out, GENERATED);
    buf_text(out, protocol_intro);
    buf_text(out, "## Verbs\n\n");
    for (const struct verb *v = verb_table; v->name; v++)
        put_verb(out, v);
    buf_text(out, session_text);
    put_errors(out);
}

/* ---- docs/configuration.md ---- */

static const char configuration_intro[] =
    "# Configuration\n"
    "\n"
    "Every option has a default, so `belfryd` alone is enough. An option is set in a file\n"
    "(`belfryd --config FILE`, lines of `name = value`, `#` or `;` for comments), in the\n"
    "environment, or as a flag. Flags override the environment, which overrides the file.\n"
    "For example, these three set one option:\n"
    "\n"
    "    memory = 1GiB                     in the file\n"
    "    BELFRY_MEMORY=1GiB belfryd        in the environment\n"
    "    belfryd --memory 1GiB             as a flag\n"
    "\n"
    "If the server does not accept a value, it does not start, and its messages name all\n"
    "wrong options. A variable `BELFRY_…` that is no option is ignored, with a warning in\n"
    "the log. `belfryd --check-config` checks the file, the environment and the flags,\n"
    "shows all values, and says where each comes from. With a dash before its name\n"
    "(`--config -/etc/belfry/belfry.ini`), the file may be missing. In a file, a comment\n"
    "behind a value begins with ` ;`.\n"
    "\n"
    "Sizes have units: `1K` and `1KiB` are 1024 bytes, `1KB` is 1000 bytes. `M`, `G` and\n"
    "`T` follow in the same way, and a number alone is bytes. So `memory = 512M` is 512 MiB.\n"
    "Durations are such as `500ms`, `30s`, `5m`, `12h`, `90d` or `1h30m`.\n"
    "\n"
    "SIGHUP reads the file again. The server takes over the options that can change while\n"
    "it runs. For each other option that changed, the log says that it needs a restart.\n"
    "Settings of a queue (lease, attempts, back-off, retention) are not options: they are\n"
    "stored with the jobs, see QUEUE in [protocol.md](protocol.md).\n"
    "\n"
    "| in a file | flag | environment | default | can change while running |\n"
    "| --- | --- | --- | --- | --- |\n";

static void put_configuration(struct buf *out)
{
    const struct option_row *row;
    char flag[OPTION_NAME_MAX + 8], env[OPTION_NAME_MAX + 8];

    buf_text(out, GENERATED);
    buf_text(out, configuration_intro);
    for (size_t i = 0; (row = option_row(i)); i++) {
        option_flag_name(row, flag);
        option_env_name(row, env);
        buf_printf(out, "| [%s](#%s) | `%s` | `%s` | %s%s%s | %s |\n", row->name, row->name, flag,
                   env, *row->initial ? "`" : "", *row->initial ? row->initial : "empty",
                   *row->initial ? "`" : "", row->reloadable ? "yes" : "no");
    }
    for (size_t i = 0; (row = option_row(i)); i++) {
        buf_printf(out, "\n## %s\n\n%s\n\nAccepted: ", row->name, row->help);
        option_expected(row, out);
        buf_text(out, ".\n");
    }
}

/* ---- docs/cli.md ---- */

/* The flag of a verb has the words of the command line in place of those of the protocol. */
static void put_flag(struct buf *out, const struct flag_row *row, const struct verb *v)
{
    struct buf help = { 0 };

    if (v)
        help_words(v, row->help, &help);
    else
        buf_text(&help, row->help);
    buf_append(&help, "", 1);
    buf_text(out, "| `");
    if (row->letter)
        buf_printf(out, "-%c`, `", row->letter);
    buf_text(out, "--");
    for (const char *c = row->name; *c; c++)
        buf_append(out, *c == '_' ? "-" : c, 1);
    if (row->value)
        buf_text(out, " ");
    put_cell(out, row->value ? row->value : "");
    buf_text(out, "` | ");
    put_cell(out, help.ptr);
    buf_text(out, " |\n");
    buf_fini(&help);
}

static void put_flags(struct buf *out, const struct flag_row *rows, const struct verb *v)
{
    if (!rows || !rows->name)
        return;
    buf_text(out, "| option | meaning |\n| --- | --- |\n");
    for (; rows->name; rows++)
        put_flag(out, rows, v);
    buf_text(out, "\n");
}

static void put_tool(struct buf *out, const struct program *p)
{
    buf_printf(out, "### %s\n\n%s\n\n    belfry %s %s\n\n", p->name, p->summary, p->name, p->usage);
    if (p->detail)
        buf_printf(out, "```\n%s\n```\n\n", p->detail);
    put_flags(out, p->rows, NULL);
}

static void put_command(struct buf *out, const struct verb *v)
{
    struct flag_row rows[COMMAND_FLAGS_MAX];

    buf_text(out, "### ");
    put_lower(out, v->name);
    buf_text(out, "\n\n");
    help_words(v, v->summary, out);
    buf_text(out, "\n\n    ");
    help_example(v, out);
    buf_text(out, "\n\n");
    command_flags(v, rows);
    put_flags(out, rows, v);
}

static void put_cli(struct buf *out)
{
    buf_text(out, GENERATED
             "# The command line\n\n"
             "    belfry [--host HOST] [--port PORT] [--json] COMMAND ...\n\n"
             "Every verb of [the protocol](protocol.md) is a command, and there are "
             "tools besides. An argument that\nthe protocol takes by position may "
             "be given by position or by name. The output is a table for people,\nand "
             "JSON with `--json`. A table has a few columns at first, on a terminal "
             "and in a pipe;\n`--wide` shows all fields, and `--fields id,state` "
             "some. With `--json`, an error is one object on standard error:\n`code`, "
             "`status` (as in HTTP), `detail`, `hint` and `exit`.\n\n"
             "    belfry list --state dead --fields id,queue,error\n"
             "    belfry get 01… --raw > payload\n"
             "    for i in 1 2 3; do echo $i | belfry schedule mail -; done\n\n" PARTIAL_DOC "\n\n"
             "    belfry cancel 8k3\n\n"
             "## Options of every command\n\n");
    put_flags(out, flag_globals, NULL);
    buf_text(out, "## Tools\n\n");
    for (const struct program *p = program_table; p->name; p++)
        put_tool(out, p);
    buf_text(out, "## Verbs\n\n");
    for (const struct verb *v = verb_table; v->name; v++)
        put_command(out, v);
    buf_text(out, "## Exit codes\n\n| code | meaning |\n| --- | --- |\n");
#define ROW(name, number, text) buf_printf(out, "| %d | %s |\n", number, text);
    CLI_EXITS(ROW)
#undef ROW
    buf_text(out,
             "\n`belfry check` and `belfry repair` end with 0 if all is well, with 2 if the "
             "directory is damaged, and\nwith 3 if it cannot be read or is no data directory.\n");
}

/* ---- docs/internals/records.md ---- */

struct field_row {
    const char *kind;
    const char *name;
    const char *what;
};

#define ROW(kind, name, what) { #kind, #name, what },
#define ROWS(kind, FIELDS)    static const struct field_row kind##_rows[] = { FIELDS(ROW){ 0 } }

#define RECORD_ROWS(NAME, codec, FIELDS, good) ROWS(codec, FIELDS);
ROW_RECORDS(RECORD_ROWS)
COLD_ROW_RECORDS(RECORD_ROWS)
#undef RECORD_ROWS
ROWS(put, IMAGE_FIELDS);
ROWS(trail, TRAIL_FIELDS);
ROWS(later, TRAIL_LATER_FIELDS);
ROWS(loaded, LOADED_FIELDS);
ROWS(token, TOKEN_FIELDS);
ROWS(token_live, TOKEN_LIVE_FIELDS);
#undef ROW
#undef ROWS

/* How a field of a kind stands in a body. */
static const char *field_form(const char *kind)
{
    static const struct {
        const char *kind;
        const char *form;
    } forms[] = {
        { "NUMBER", "varint" },
        { "COUNT", "varint" },
        { "LATER_COUNT", "varint; older versions do not have it" },
        { "LATER_SIGNED", "zigzag; older versions do not have it" },
        { "LATER_BYTES", "bytes; they are there only if there are any" },
        { "BITS", "varint" },
        { "BYTE", "u8" },
        { "FLAG", "u8" },
        { "IF_SET", "u8; only if it is set" },
        { "SIGNED", "zigzag" },
        { "MOMENT", "zigzag" },
        { "SINCE_START", "zigzag, less start_ms" },
        { "SINCE_BORN", "zigzag, less born_ms" },
        { "AT", "zigzag" },
        { "AT_SINCE", "zigzag, less due_ms" },
        { "BYTES", "bytes" },
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (strcmp(forms[i].kind, kind) == 0)
            return forms[i].form;
    return "?";
}

static void put_fields(struct buf *out, const struct field_row *rows)
{
    buf_text(out, "| field | form | says |\n| --- | --- | --- |\n");
    for (; rows->name; rows++) {
        buf_printf(out, "| %s | %s | ", rows->name, field_form(rows->kind));
        put_cell(out, rows->what);
        buf_text(out, " |\n");
    }
    buf_text(out, "\n");
}

static const struct field_row *fields_of(enum record_type type)
{
    switch (type) {
#define RECORD_CASE(NAME, codec, FIELDS, good) \
    case RECORD_##NAME: return codec##_rows;
        ROW_RECORDS(RECORD_CASE)
        COLD_ROW_RECORDS(RECORD_CASE)
#undef RECORD_CASE
    case RECORD_PUT: return put_rows;
    case RECORD_LOADED: return loaded_rows;
    case RECORD_TOKEN: return token_rows;
    case RECORD_QUEUE:
    case RECORD_TENANT:
    case RECORD_RUN: break; /* see put_besides */
    }
    return NULL;
}

/* What stands in a body besides its rows. */
static void put_besides(struct buf *out, enum record_type type)
{
    if (type == RECORD_PUT) {
        buf_text(out, "If has_trail is set, what happened to the job since it was first leased "
                      "follows:\n\n");
        put_fields(out, trail_rows);
        buf_text(out, "Bodies of older versions end before these:\n\n");
        put_fields(out, later_rows);
    } else if (type == RECORD_LOADED) {
        buf_text(out, "For jobs that were set aside the lane (u64) and the serial number of the "
                      "first one's grave (varint) follow.\n\n");
    } else if (type == RECORD_RUN) {
        buf_text(out, "The body is the description of a run (run_desc_put in coldkey.c).\n\n");
    } else if (type == RECORD_TOKEN) {
        buf_text(out, "If gone is 0, these follow:\n\n");
        put_fields(out, token_live_rows);
    } else if (!fields_of(type)) {
        buf_text(out, "See settings.h and record.c.\n\n");
    }
}

static void put_records(struct buf *out)
{
    buf_text(out, GENERATED
             "# Records\n\n"
             "The body of each record has these fields, in this order. The tables follow from the "
             "rows in\n`src/record`. `varint` is LEB128, `zigzag` a varint of a signed number, "
             "`bytes` a varint length and\nthat many bytes; moments are milliseconds since 1970. A "
             "body may be longer than its reader knows:\nthe reader ignores the rest.\n\n");
#define RECORD(NAME, number, codec, kind, type, what)         \
    buf_printf(out, "## %d " #NAME ": %s\n\n", number, what); \
    if (fields_of(RECORD_##NAME))                             \
        put_fields(out, fields_of(RECORD_##NAME));            \
    put_besides(out, RECORD_##NAME);
    RECORDS(RECORD)
#undef RECORD
    out->len--; /* the last of two line ends */
}

/* ---- Files ---- */

static void put_sample(struct buf *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (f) {
        options_print_sample(f);
        fclose(f);
        buf_append(out, text, size);
    }
    free(text);
}

struct page {
    const char *name;
    void (*put)(struct buf *out);
};

static const struct page pages[] = {
    { "protocol.md", put_protocol },
    { "configuration.md", put_configuration },
    { "cli.md", put_cli },
    { "internals/records.md", put_records },
    { 0 },
};

static const struct page installed[] = {
    { "belfry.1", man_belfry },
    { "belfryd.8", man_belfryd },
    { "belfry.ini.5", man_belfry_ini },
    { "belfry.ini", put_sample },
    { 0 },
};

static bool is_there(const char *path, struct str want)
{
    struct buf have = { 0 };
    FILE *f = fopen(path, "r");
    bool same = f && buf_reserve(&have, want.len + 1);

    if (same) {
        have.len = fread(have.ptr, 1, want.len + 1, f);
        same = str_eq(buf_view(&have), want);
    }
    if (f)
        fclose(f);
    buf_fini(&have);
    return same;
}

static bool write_page(const char *path, struct str text)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text.ptr, 1, text.len, f) == text.len;

    if (f && fclose(f) != 0)
        ok = false;
    if (!ok)
        perror(path);
    return ok;
}

int main(int argc, char **argv)
{
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0, ok = true;
    bool man = argc == 3 && strcmp(argv[1], "--man") == 0;

    if (argc != 2 && !check && !man) {
        fputs("usage: gendocs [--check | --man] DIR\n", stderr);
        return 2;
    }
    for (const struct page *p = man ? installed : pages; p->name; p++) {
        struct buf page = { 0 };
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", argv[argc - 1], p->name);
        p->put(&page);
        if (!check) {
            ok = write_page(path, buf_view(&page)) && ok;
        } else if (!is_there(path, buf_view(&page))) {
            fprintf(stderr, "%s differs from what the code says: make docs\n", path);
            ok = false;
        }
        buf_fini(&page);
    }
    return ok ? 0 : 1;
}
