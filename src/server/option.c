/* SPDX-License-Identifier: MIT */
#include "server/option.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/suggest.h"

#define OPTION_FILE_MAX ((size_t)1 << 20)

/* Adds a line. Lines that do not fit are counted, and one line says how many. */
__attribute__((format(printf, 3, 4))) static int option_fail(struct option_error *err, int code,
                                                             const char *format, ...)
{
    char line[OPTION_ERROR_LINE];
    size_t used = strlen(err->text);
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    err->code = err->code ? err->code : code;
    if (err->more == 0 && used + strlen(line) + 2 <= sizeof err->text - OPTION_ERROR_REST) {
        snprintf(err->text + used, sizeof err->text - used, "%s%s", used ? "\n" : "", line);
        err->end = strlen(err->text);
    } else {
        snprintf(err->text + err->end, sizeof err->text - err->end, "\nand %zu more errors",
                 ++err->more);
    }
    return code;
}

/* Whether reading may go on to find further errors. */
static bool is_bad_input(int code)
{
    return code == BELFRY_INVALID;
}

static int64_t *number_at(struct options *o, const struct option_row *row)
{
    return (int64_t *)(void *)((char *)o + row->offset);
}

static char **string_at(struct options *o, const struct option_row *row)
{
    return (char **)(void *)((char *)o + row->offset);
}

static int option_set(struct options *o, const struct option_row *row, const char *value,
                      const char *where, struct option_error *err)
{
    int64_t number;
    if (!option_parse(row, str_of(value), &number)) {
        struct buf expected = { 0 };
        option_expected(row, &expected);
        option_fail(err, BELFRY_INVALID, "%s: expected %.*s, not \"%.100s\"", where,
                    STR_ARG(buf_view(&expected)), option_is_secret(row) ? "(hidden)" : value);
        buf_fini(&expected);
        return BELFRY_INVALID;
    }
    if (row->type != OPTION_STRING) {
        *number_at(o, row) = number;
        return 0;
    }
    char *copy = strdup(value);
    if (!copy)
        return option_fail(err, BELFRY_NOMEM, "%s: out of memory", where);
    free(*string_at(o, row));
    *string_at(o, row) = copy;
    return 0;
}

const struct option_row *option_find(struct str name, bool dashes,
                                     const struct option_row **ret_nearest)
{
    char text[OPTION_NAME_MAX];
    const struct option_row *row;
    struct suggest s = { .given = { text, name.len } };

    *ret_nearest = NULL;
    if (name.len > sizeof text)
        return NULL;
    for (size_t i = 0; i < name.len; i++)
        text[i] = dashes && name.ptr[i] == '-' ? '_' : name.ptr[i];
    for (size_t i = 0; (row = option_row(i)); i++) {
        if (str_eq(s.given, str_of(row->name)))
            return row;
        suggest_offer(&s, row->name);
        if (s.best == row->name)
            *ret_nearest = row;
    }
    return NULL;
}

int options_init(struct options *o)
{
    struct option_error err = { 0 };
    const struct option_row *row;
    *o = (struct options){ 0 };
    for (size_t i = 0; (row = option_row(i)); i++) {
        int code = option_set(o, row, row->initial, row->name, &err);
        if (code)
            return code;
    }
    return 0;
}

void options_fini(struct options *o)
{
    const struct option_row *row;
    if (!o)
        return;
    for (size_t i = 0; (row = option_row(i)); i++)
        if (row->type == OPTION_STRING)
            free(*string_at(o, row));
    *o = (struct options){ 0 };
}

/* Notes where the value of a row came from. */
static void note_origin(struct options *o, const struct option_row *row, enum option_from from,
                        unsigned line)
{
    o->source.of[row - option_row(0)] = (struct option_origin){ from, line };
}

/* inih calls back for each line to read, and for each name and value in it. */
struct file_parse {
    struct options *o;
    struct str left;
    const char *name;
    unsigned line;
    bool section_told; /* the section is unknown, and the error has been told */
    int code;          /* an error after which nothing more is read */
    struct option_error *err;
};

__attribute__((format(printf, 2, 3))) static void file_fail(struct file_parse *f,
                                                            const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    option_fail(f->err, BELFRY_INVALID, "%s:%u: %s", f->name, f->line, what);
}

/* Hands out a line like fgets, or an empty one in the place of a wrong one. Unlike inih it knows
 * the number of the line, and it sees lines cut short, zero bytes and foreign sections, which inih
 * lets pass. */
static char *read_line(char *ret, int size, void *stream)
{
    struct file_parse *f = stream;
    if (f->code || f->left.len == 0)
        return NULL;
    f->line++;
    struct str line = str_cut(&f->left, '\n');
    while (line.len > 0 && strchr(" \t\r", line.ptr[0]) && line.ptr[0])
        line = (struct str){ line.ptr + 1, line.len - 1 }; /* inih joins indented lines */
    if (memchr(line.ptr, 0, line.len)) {
        file_fail(f, "a zero byte");
        line.len = 0;
    } else if (line.len > (size_t)size - 2) {
        file_fail(f, "a line may have at most %d characters", size - 2);
        line.len = 0;
    } else if (line.len > 0 && line.ptr[0] == '[') {
        f->section_told = !str_starts(line, STR("[belfry]"));
        if (f->section_told)
            file_fail(f, "unknown section %.*s: options need none, or [belfry]", STR_ARG(line));
    }
    memcpy(ret, line.ptr, line.len);
    memcpy(ret + line.len, "\n", 2);
    return ret;
}

static bool is_given(const struct options *o, const struct option_row *row)
{
    return o->source.of[row - option_row(0)].from == OPTION_FROM_FILE;
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct file_parse *f = user;
    const struct option_row *nearest, *row = option_find(str_of(name), false, &nearest);
    char where[300];
    if (*section && strcmp(section, "belfry") != 0) {
        if (!f->section_told)
            file_fail(f, "unknown section [%s]", section);
        f->section_told = true;
    } else if (!row) {
        file_fail(f, "unknown option %s%s%s%s", name,
                  nearest ? ": did you mean " : "; --help lists them", nearest ? nearest->name : "",
                  nearest ? "?" : "");
    } else if (is_given(f->o, row)) {
        file_fail(f, "%s is given twice", name);
    } else {
        snprintf(where, sizeof where, "%.200s:%u: %s", f->name, f->line, row->name);
        int code = option_set(f->o, row, value, where, f->err);
        note_origin(f->o, row, OPTION_FROM_FILE, f->line);
        f->code = is_bad_input(code) ? 0 : code;
    }
    return 1;
}

int options_parse_text(struct options *o, struct str text, const char *name,
                       struct option_error *err)
{
    struct file_parse f = { .o = o, .left = text, .name = name, .err = err };
    int line = ini_parse_stream(read_line, &f, take_pair, &f);
    if (f.code)
        return f.code;
    if (line < 0)
        return option_fail(err, BELFRY_NOMEM, "%s: out of memory", name);
    if (line > 0)
        option_fail(err, BELFRY_INVALID, "%s:%d: expected name = value, as in port = 2355", name,
                    line);
    return err->code;
}

/* A name behind a dash is that of a file that may be missing. */
static int load_file(struct options *o, const char *path, struct option_error *err)
{
    bool may_miss = path[0] == '-' && path[1];
    const char *name = may_miss ? path + 1 : path;
    FILE *file = fopen(name, "re");
    struct buf text = { 0 };
    int code = 0;
    if (!file && may_miss && errno == ENOENT)
        return 0;
    if (!file)
        return option_fail(err, BELFRY_IO, "--config %s: %s", name, strerror(errno));
    while (text.len <= OPTION_FILE_MAX && buf_reserve(&text, 4096)) {
        size_t n = fread(text.ptr + text.len, 1, 4096, file);
        if (n == 0)
            break;
        text.len += n;
    }
    if (ferror(file))
        code = option_fail(err, BELFRY_IO, "--config %s: %s", name, strerror(errno));
    else if (text.failed)
        code = option_fail(err, BELFRY_NOMEM, "--config %s: out of memory", name);
    else if (text.len > OPTION_FILE_MAX)
        code = option_fail(err, BELFRY_INVALID, "--config %s: larger than 1 MiB", name);
    else
        code = options_parse_text(o, buf_view(&text), name, err);
    fclose(file);
    buf_fini(&text);
    return code;
}

static int load_env(struct options *o, option_env_fn env, struct option_error *err)
{
    char name[OPTION_NAME_MAX + 8], where[OPTION_NAME_MAX + 32];
    const struct option_row *row;
    for (size_t i = 0; env && (row = option_row(i)); i++) {
        option_env_name(row, name);
        const char *value = env(name);
        if (!value || !*value)
            continue;
        snprintf(where, sizeof where, "environment variable %s", name);
        int code = option_set(o, row, value, where, err);
        note_origin(o, row, OPTION_FROM_ENVIRONMENT, 0);
        if (code && !is_bad_input(code))
            return code;
    }
    return err->code;
}

/* --help, --version and --check-config, which take no value. */
static bool take_switch(struct options *o, const char *arg)
{
    bool *which = strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0      ? &o->shows.help
                  : strcmp(arg, "--version") == 0 || strcmp(arg, "-V") == 0 ? &o->shows.version
                  : strcmp(arg, "--check-config") == 0                      ? &o->shows.check
                                                                            : NULL;
    if (which)
        *which = true;
    return which;
}

/* Takes a flag with its value. Answers how many words of argv these are, or an error. The row is
 * NULL for flags that are no options, which are set in o. */
static int take_flag(struct options *o, int left, char **argv, const struct option_row **ret_row,
                     const char **ret_value, struct option_error *err)
{
    const char *arg = argv[0], *equals = strchr(arg, '=');
    const struct option_row *nearest = NULL;

    *ret_row = NULL;
    if (take_switch(o, arg))
        return 1;
    if (strncmp(arg, "--", 2) != 0 || !arg[2])
        return option_fail(err, BELFRY_INVALID,
                           "unexpected argument \"%.100s\": options are flags, as in --port 2355",
                           arg);
    struct str name = { arg + 2, equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2 };
    bool config = str_eq(name, STR("config"));
    if (!config && !(*ret_row = option_find(name, true, &nearest))) {
        char flag[OPTION_NAME_MAX + 8] = "--help lists them";
        if (nearest)
            option_flag_name(nearest, flag);
        return option_fail(err, BELFRY_INVALID, "unknown flag --%.*s%s%s%s",
                           (int)(name.len < 200 ? name.len : 200), name.ptr,
                           nearest ? ": did you mean " : "; ", flag, nearest ? "?" : "");
    }
    if (!equals && left < 2)
        return option_fail(err, BELFRY_INVALID, "flag %s: its value is missing", arg);
    *ret_value = equals ? equals + 1 : argv[1];
    if (config)
        o->config = *ret_value;
    return equals ? 1 : 2;
}

/* Takes all flags, and applies options only if told so: --config must be known first, as flags
 * override the file. Words behind one that is no flag have no meaning, so the first ends it. */
static int load_flags(struct options *o, int argc, char **argv, bool apply,
                      struct option_error *err)
{
    char name[OPTION_NAME_MAX + 8], where[OPTION_NAME_MAX + 32];
    const struct option_row *row;
    const char *value = NULL;
    for (int i = 1; i < argc;) {
        int taken = take_flag(o, argc - i, argv + i, &row, &value, err);
        if (taken < 0)
            return taken;
        i += taken;
        if (o->shows.help || o->shows.version)
            return 0;
        if (!row || !apply)
            continue;
        option_flag_name(row, name);
        snprintf(where, sizeof where, "flag %s", name);
        int code = option_set(o, row, value, where, err);
        note_origin(o, row, OPTION_FROM_FLAG, 0);
        if (code && !is_bad_input(code))
            return code;
    }
    return err->code;
}

int options_load(struct options *o, int argc, char **argv, option_env_fn env,
                 struct option_error *err)
{
    *err = (struct option_error){ 0 };
    o->source = (struct option_source){ .argc = argc, .argv = argv, .env = env };
    int code = load_flags(o, argc, argv, false, err);
    if (code || o->shows.help || o->shows.version)
        return code;
    if (o->config)
        code = load_file(o, o->config, err);
    if (!code || is_bad_input(code))
        code = load_env(o, env, err);
    if (!code || is_bad_input(code))
        code = load_flags(o, argc, argv, true, err);
    return code;
}

static bool differs(struct options *a, struct options *b, const struct option_row *row)
{
    if (row->type == OPTION_STRING)
        return strcmp(*string_at(a, row), *string_at(b, row)) != 0;
    return *number_at(a, row) != *number_at(b, row);
}

int options_reload(struct options *o, struct buf *ret_ignored, struct option_error *err)
{
    struct options fresh;
    const struct option_row *row;
    int code = options_init(&fresh);
    if (code) {
        *err = (struct option_error){ 0 };
        option_fail(err, code, "out of memory");
    } else
        code = options_load(&fresh, o->source.argc, o->source.argv, o->source.env, err);
    for (size_t i = 0; !code && (row = option_row(i)); i++) {
        if (!differs(o, &fresh, row))
            continue;
        if (!row->reloadable) {
            buf_text(ret_ignored, ret_ignored->len ? ", " : "");
            buf_text(ret_ignored, row->name);
        } else if (row->type == OPTION_STRING) {
            char *old = *string_at(o, row);
            *string_at(o, row) = *string_at(&fresh, row);
            *string_at(&fresh, row) = old;
        } else {
            *number_at(o, row) = *number_at(&fresh, row);
        }
    }
    options_fini(&fresh);
    return code;
}
