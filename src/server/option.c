/* SPDX-License-Identifier: MIT */
#include "server/option.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>

#include "base/error.h"

#define OPTION_FILE_MAX ((size_t)1 << 20)

__attribute__((format(printf, 3, 4))) static int option_fail(struct option_error *err, int code,
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
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
        option_fail(err, 0, "%s: expected %.*s, not \"%.100s\"", where,
                    STR_ARG(buf_view(&expected)), value);
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

/* Levenshtein's distance, with a single row of the matrix. */
static unsigned distance(struct str a, struct str b)
{
    unsigned row[OPTION_NAME_MAX + 1];
    if (a.len > OPTION_NAME_MAX || b.len > OPTION_NAME_MAX)
        return OPTION_NAME_MAX;
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (unsigned i = 0; i < a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = i + 1;
        for (unsigned j = 0; j < b.len; j++) {
            unsigned best = diagonal + (a.ptr[i] != b.ptr[j]);
            diagonal = row[j + 1];
            best = best < diagonal + 1 ? best : diagonal + 1;
            row[j + 1] = best < row[j] + 1 ? best : row[j] + 1;
        }
    }
    return row[b.len];
}

/* Finds an option by its name in the file, or with `dashes` by that of its flag. Otherwise answers
 * NULL, and *ret_nearest is the option with the most similar name, if any. */
static const struct option_row *option_find(struct str name, bool dashes,
                                            const struct option_row **ret_nearest)
{
    char text[OPTION_NAME_MAX];
    const struct option_row *row;
    unsigned nearest = (unsigned)(name.len < 6 ? 3 : 5);

    *ret_nearest = NULL;
    if (name.len > sizeof text)
        return NULL;
    for (size_t i = 0; i < name.len; i++)
        text[i] = dashes && name.ptr[i] == '-' ? '_' : name.ptr[i];
    for (size_t i = 0; (row = option_row(i)); i++) {
        unsigned d = distance((struct str){ text, name.len }, str_of(row->name));
        if (d == 0)
            return row;
        if (d < nearest) {
            nearest = d;
            *ret_nearest = row;
        }
    }
    return NULL;
}

int options_init(struct options *o)
{
    struct option_error err;
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

/* inih calls back for each line to read, and for each name and value in it. */
struct file_parse {
    struct options *o;
    struct str left;
    const char *name;
    unsigned line;
    uint64_t seen; /* bit i: row i was set */
    int code;
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
    f->code = option_fail(f->err, BELFRY_INVALID, "%s:%u: %s", f->name, f->line, what);
}

/* Hands out a line like fgets. Unlike inih it knows the number of the line, and it sees lines cut
 * short, zero bytes and foreign sections, which inih lets pass. */
static char *read_line(char *ret, int size, void *stream)
{
    struct file_parse *f = stream;
    if (f->code || f->left.len == 0)
        return NULL;
    f->line++;
    struct str line = str_cut(&f->left, '\n');
    while (line.len > 0 && strchr(" \t\r", line.ptr[0]) && line.ptr[0])
        line = (struct str){ line.ptr + 1, line.len - 1 }; /* inih joins indented lines */
    if (memchr(line.ptr, 0, line.len))
        file_fail(f, "a zero byte");
    else if (line.len > (size_t)size - 2)
        file_fail(f, "a line may have at most %d characters", size - 2);
    else if (line.len > 0 && line.ptr[0] == '[' && !str_starts(line, STR("[belfry]")))
        file_fail(f, "unknown section %.*s: options need none, or [belfry]", STR_ARG(line));
    if (f->code)
        return NULL;
    memcpy(ret, line.ptr, line.len);
    memcpy(ret + line.len, "\n", 2);
    return ret;
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
    struct file_parse *f = user;
    const struct option_row *nearest, *row = option_find(str_of(name), false, &nearest);
    uint64_t bit = row ? UINT64_C(1) << (row - option_row(0)) : 0;
    char where[300];
    if (f->code)
        return 0;
    if (*section && strcmp(section, "belfry") != 0) {
        file_fail(f, "unknown section [%s]", section);
    } else if (!row) {
        file_fail(f, "unknown option %s%s%s%s", name,
                  nearest ? ": did you mean " : "; --help lists them", nearest ? nearest->name : "",
                  nearest ? "?" : "");
    } else if (f->seen & bit) {
        file_fail(f, "%s is given twice", name);
    } else {
        f->seen |= bit;
        snprintf(where, sizeof where, "%.200s:%u: %s", f->name, f->line, row->name);
        f->code = option_set(f->o, row, value, where, f->err);
    }
    return f->code == 0;
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
        return option_fail(err, BELFRY_INVALID, "%s:%d: expected name = value, as in port = 2355",
                           name, line);
    return 0;
}

static int load_file(struct options *o, const char *path, struct option_error *err)
{
    FILE *file = fopen(path, "re");
    struct buf text = { 0 };
    int code = 0;
    if (!file)
        return option_fail(err, BELFRY_IO, "--config %s: %s", path, strerror(errno));
    while (text.len <= OPTION_FILE_MAX && buf_reserve(&text, 4096)) {
        size_t n = fread(text.ptr + text.len, 1, 4096, file);
        if (n == 0)
            break;
        text.len += n;
    }
    if (ferror(file))
        code = option_fail(err, BELFRY_IO, "--config %s: %s", path, strerror(errno));
    else if (text.failed)
        code = option_fail(err, BELFRY_NOMEM, "--config %s: out of memory", path);
    else if (text.len > OPTION_FILE_MAX)
        code = option_fail(err, BELFRY_INVALID, "--config %s: larger than 1 MiB", path);
    else
        code = options_parse_text(o, buf_view(&text), path, err);
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
        if (code)
            return code;
    }
    return 0;
}

/* Takes a flag with its value. Answers how many words of argv these are, or an error. The row is
 * NULL for --help, --version and --config, which are set in o. */
static int take_flag(struct options *o, int left, char **argv, const struct option_row **ret_row,
                     const char **ret_value, struct option_error *err)
{
    const char *arg = argv[0], *equals = strchr(arg, '=');
    struct str name = { arg + 2, equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2 };
    const struct option_row *nearest = NULL;

    *ret_row = NULL;
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "--version") == 0) {
        *(arg[2] == 'h' ? &o->help : &o->version) = true;
        return 1;
    }
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
 * override the file. */
static int load_flags(struct options *o, int argc, char **argv, bool apply,
                      struct option_error *err)
{
    char name[OPTION_NAME_MAX + 8], where[OPTION_NAME_MAX + 32];
    const struct option_row *row;
    const char *value = NULL;
    for (int i = 1; i < argc;) {
        if (strncmp(argv[i], "--", 2) != 0 || !argv[i][2])
            return option_fail(
                err, BELFRY_INVALID,
                "unexpected argument \"%.100s\": options are flags, as in --port 2355", argv[i]);
        int taken = take_flag(o, argc - i, argv + i, &row, &value, err);
        if (taken < 0)
            return taken;
        i += taken;
        if (o->help || o->version)
            return 0;
        if (!row || !apply)
            continue;
        option_flag_name(row, name);
        snprintf(where, sizeof where, "flag %s", name);
        int code = option_set(o, row, value, where, err);
        if (code)
            return code;
    }
    return 0;
}

int options_load(struct options *o, int argc, char **argv, option_env_fn env,
                 struct option_error *err)
{
    o->source = (struct option_source){ argc, argv, env };
    int code = load_flags(o, argc, argv, false, err);
    if (code || o->help || o->version)
        return code;
    if (o->config)
        code = load_file(o, o->config, err);
    if (!code)
        code = load_env(o, env, err);
    if (!code)
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
    if (code)
        option_fail(err, code, "out of memory");
    else
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

void options_print_help(FILE *out)
{
    char flag[OPTION_NAME_MAX + 8];
    const struct option_row *row;
    fputs("Usage: belfryd [--config FILE] [--OPTION VALUE]...\n\n"
          "  --config FILE\n      Read options from this file, as lines of name = value.\n"
          "  --help\n      Show this and stop.\n"
          "  --version\n      Show the version and stop.\n",
          out);
    for (size_t i = 0; (row = option_row(i)); i++) {
        struct buf expected = { 0 };
        option_expected(row, &expected);
        option_flag_name(row, flag);
        fprintf(out, "  %s VALUE\n      %s\n      Expected: %.*s. Default: %s%s\n", flag, row->help,
                STR_ARG(buf_view(&expected)), *row->initial ? row->initial : "empty",
                row->reloadable ? ". May be reloaded." : ".");
        buf_fini(&expected);
    }
    fputs("\nIn a file names are written with _ for -, in the environment in capitals after "
          "BELFRY_.\nFlags override the environment, which overrides the file.\n",
          out);
}
