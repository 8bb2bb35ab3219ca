/* SPDX-License-Identifier: MIT */
/* Options as text for people: the help, the values in force, a sample file. */
#include <ctype.h>

#include "server/option.h"

#define WIDTH 80

/* Prints words in lines of at most WIDTH characters, each behind `indent`. */
static void print_wrapped(FILE *out, const char *indent, const char *text)
{
    size_t at = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (at > 0 && at + 1 + n > WIDTH) {
            fputc('\n', out);
            at = 0;
        }
        at += (size_t)fprintf(out, "%s%.*s", at > 0 ? " " : indent, (int)n, p);
        p += n;
        while (*p == ' ')
            p++;
    }
    fputc('\n', out);
}

/* "Expected: a size from …. Default: 256MiB. May be reloaded." */
static void print_form(FILE *out, const char *indent, const struct option_row *row)
{
    struct buf text = { 0 };
    buf_text(&text, "Expected: ");
    option_expected(row, &text);
    buf_printf(&text, ". Default: %s.%s%c", *row->initial ? row->initial : "empty",
               row->reloadable ? " May be reloaded." : "", '\0');
    if (!text.failed)
        print_wrapped(out, indent, text.ptr);
    buf_fini(&text);
}

void options_print_help(FILE *out)
{
    char flag[OPTION_NAME_MAX + 8];
    const struct option_row *row;
    fputs("Usage: belfryd [--config FILE] [--OPTION VALUE]...\n"
          "       belfryd token create NAME ROLE [--tenant TENANT] [--expire DURATION]\n"
          "           [--OPTION VALUE]...\n\n"
          "belfryd serves. With token create it makes a token in a data directory that no\n"
          "server uses, and writes the token to standard output.\n\n"
          "  --config FILE\n      Read options from this file, as lines of name = value. With a - "
          "before\n      its name, the file may be missing.\n"
          "  --check-config\n      Check all options, show their values and where each comes from, "
          "and\n      stop. The exit code is 2 if something is wrong.\n"
          "  -h, --help\n      Show this and stop.\n"
          "  -V, --version\n      Show the version and stop.\n",
          out);
    for (size_t i = 0; (row = option_row(i)); i++) {
        option_flag_name(row, flag);
        fprintf(out, "  %s VALUE\n", flag);
        print_wrapped(out, "      ", row->help);
        print_form(out, "      ", row);
    }
    fputs("\nIn a file names are written with _ for -, in the environment in capitals after\n"
          "BELFRY_. Flags override the environment, which overrides the file.\n"
          "Sizes: 1K and 1KiB are 1024 bytes, 1KB is 1000 bytes; also M, G, T.\n",
          out);
}

static void print_origin(const struct options *o, const struct option_row *row, FILE *out)
{
    const struct option_origin *x = &o->source.of[row - option_row(0)];
    char name[OPTION_NAME_MAX + 8];
    switch (x->from) {
    case OPTION_FROM_DEFAULT: fputs("the default", out); break;
    case OPTION_FROM_FILE:
        fprintf(out, "%s:%u", o->config[0] == '-' ? o->config + 1 : o->config, x->line);
        break;
    case OPTION_FROM_ENVIRONMENT:
        option_env_name(row, name);
        fputs(name, out);
        break;
    case OPTION_FROM_FLAG:
        option_flag_name(row, name);
        fprintf(out, "flag %s", name);
        break;
    }
}

void options_print(const struct options *o, FILE *out)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row(i)); i++) {
        struct buf value = { 0 };
        option_value(row, o, &value);
        if (option_is_secret(row) && value.len > 0)
            fprintf(out, "; %s is not shown: from ", row->name);
        else
            fprintf(out, "%s = %-*.*s ; ", row->name, (int)(32 - strlen(row->name)),
                    STR_ARG(buf_view(&value)));
        print_origin(o, row, out);
        fputc('\n', out);
        buf_fini(&value);
    }
}

void options_print_sample(FILE *out)
{
    const struct option_row *row;
    fputs("# Options of belfryd, with their defaults. Take the ; away from those that you change.\n"
          "# belfryd --check-config --config FILE checks this file and shows all values.\n",
          out);
    for (size_t i = 0; (row = option_row(i)); i++) {
        fputc('\n', out);
        print_wrapped(out, "# ", row->help);
        print_form(out, "# ", row);
        fprintf(out, ";%s = %s\n", row->name, row->initial);
    }
}

/* Variables of the command line and of this program that are no options. */
static bool is_known(struct str name)
{
    static const char *const known[] = { "AUTH",     "AUTH_FILE", "CA",  "CERT",      "HOST",
                                         "CERT_KEY", "GREETING",  "URL", "ROOT_TOKEN" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(name, str_of(known[i])))
            return true;
    return false;
}

void options_unknown_env(char *const *env,
                         void (*fn)(void *arg, const char *name, const char *nearest), void *arg)
{
    for (; *env; env++) {
        struct str whole = { *env, strcspn(*env, "=") };
        struct str name = { *env + 7, whole.len < 7 ? 0 : whole.len - 7 };
        const struct option_row *nearest = NULL;
        char text[200], near[OPTION_NAME_MAX + 8] = "", lower[OPTION_NAME_MAX + 1];
        if (!str_starts(whole, STR("BELFRY_")) || is_known(name))
            continue;
        size_t n = name.len < OPTION_NAME_MAX ? name.len : OPTION_NAME_MAX;
        for (size_t i = 0; i < n; i++)
            lower[i] = (char)tolower((unsigned char)name.ptr[i]);
        snprintf(text, sizeof text, "%.*s", STR_ARG(whole));
        const struct option_row *row = option_find((struct str){ lower, n }, false, &nearest);
        nearest = row ? row : nearest;
        if (nearest)
            option_env_name(nearest, near);
        if (strcmp(text, near) != 0)
            fn(arg, text, near);
    }
}
