/* SPDX-License-Identifier: MIT */
#include "cli/flag.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "cli/address.h"
#include "base/suggest.h"

/* Sets the file for auth_token(), and for the commands that this process runs. */
static bool take_auth_file(struct flags *f, void *ret)
{
    (void)ret;
    setenv("BELFRY_AUTH_FILE", f->value, 1);
    unsetenv("BELFRY_AUTH"); /* else that token would come first */
    return true;
}

static bool take_host(struct flags *f, void *ret)
{
    (void)ret;
    return address_host(f->cli, f->value, f->why);
}

static bool take_port(struct flags *f, void *ret)
{
    (void)ret;
    return address_port(f->cli, f->value, f->why);
}

static bool take_url(struct flags *f, void *ret)
{
    (void)ret;
    return address_url(f->cli, f->value, false, f->why);
}

const struct flag_row flag_globals[] = {
    { "host", "HOST[:PORT]", "address of the server; else $BELFRY_HOST, else 127.0.0.1",
      .take = take_host },
    { "port", "PORT", "port of the server; else $BELFRY_PORT, else 2355", .take = take_port },
    { "url", "URL",
      "both at once, as belfry://HOST:PORT, or belfrys://HOST:PORT for TLS; else $BELFRY_URL",
      .take = take_url },
    { "auth_file", "FILE",
      "file with the token to show; else $BELFRY_AUTH (the token itself), else the file "
      "$BELFRY_AUTH_FILE, else none",
      .take = take_auth_file },
    { "tls", NULL,
      "connect by TLS; else $BELFRY_TLS decides: `off`, or `on` or `only`, which ask for TLS",
      FLAG_SET(struct cli, tls) },
    { "ca", "FILE",
      "file of certificates to trust, with --tls; else $BELFRY_CA, else those of the system",
      FLAG_TEXT(struct cli, ca) },
    { "cert", "FILE", "certificate of this client, with --tls; else $BELFRY_CERT",
      FLAG_TEXT(struct cli, cert) },
    { "cert-key", "FILE", "key of --cert; else $BELFRY_CERT_KEY", FLAG_TEXT(struct cli, cert_key) },
    { "json", NULL, "answer as JSON, for programs; errors are JSON on standard error, too",
      FLAG_SET(struct cli, json) },
    { "fields", "A,B", "show these fields only, in this order", FLAG_TEXT(struct cli, fields) },
    { "wide", NULL, "show all fields, and cut none of them", FLAG_SET(struct cli, wide) },
    { "no_header", NULL, "leave out the heading of a table", FLAG_SET(struct cli, no_header) },
    { "help", NULL, "show this", .letter = 'h', FLAG_SET(struct cli, help) },
    { 0 },
};

bool flag_refuse(struct flags *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(f->why, sizeof(f->why), format, args);
    va_end(args);
    return false;
}

struct flag_name flag_name(struct str name)
{
    struct flag_name n = { "" };

    for (size_t i = 0; i < name.len && i + 1 < sizeof(n.text); i++)
        n.text[i] = (char)(name.ptr[i] == '_' ? '-' : tolower((unsigned char)name.ptr[i]));
    return n;
}

/* ---- Values ---- */

bool flag_int(struct flags *f, int64_t min, int64_t max, int64_t *ret)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(f->value, &end, 10);
    if (errno || end == f->value || *end || v < min || v > max)
        return flag_refuse(f, "'%s' is not a number from %lld to %lld", f->value, (long long)min,
                           (long long)max);
    *ret = v;
    return true;
}

bool flag_take_set(struct flags *f, void *ret)
{
    (void)f;
    *(bool *)ret = true;
    return true;
}

bool flag_take_text(struct flags *f, void *ret)
{
    *(const char **)ret = f->value;
    return true;
}

bool flag_take_int(struct flags *f, void *ret)
{
    int64_t v;

    if (!flag_int(f, f->row->min, f->row->max, &v))
        return false;
    memcpy(ret, &v,
           f->row->size); /* every supported machine is little-endian; see CMakeLists.txt */
    return true;
}

bool flag_take_duration(struct flags *f, void *ret)
{
    const char *why = "";
    int64_t ms;

    if (time_parse_duration(str_of(f->value), &ms, &why) < 0)
        return flag_refuse(f, "'%s': %s", f->value, why);
    if (ms < f->row->min)
        return flag_refuse(f, "'%s' is no time at all", f->value);
    *(int64_t *)ret = ms;
    return true;
}

/* ---- Arguments ---- */

static bool is_dash(char c)
{
    return c == '-' || c == '_';
}

/* Dashes and case do not matter: `--key-hold`, `--key_hold`, `--keyhold`. */
static bool is_named(const char *name, struct str given)
{
    for (size_t i = 0; i < given.len; i++) {
        if (i > 0 && is_dash(given.ptr[i]))
            continue;
        while (is_dash(*name))
            name++;
        if (*name++ != tolower((unsigned char)given.ptr[i]))
            return false;
    }
    return !*name && given.len > 0;
}

/* The row of a name, or of a letter if the name is empty. */
static const struct flag_row *find_row(const struct flag_row *rows, struct str name, char letter)
{
    for (; rows && rows->name; rows++)
        if (name.len > 0 ? is_named(rows->name, name) : letter && rows->letter == letter)
            return rows;
    return NULL;
}

static bool refuse_unknown(struct flags *f, struct str name, char letter)
{
    struct suggest s = { .given = name };

    if (letter)
        return flag_refuse(f, "unknown option -%c", letter);
    for (const struct flag_row *row = f->rows; row && row->name; row++)
        suggest_offer(&s, row->name);
    for (const struct flag_row *row = flag_globals; row->name; row++)
        suggest_offer(&s, row->name);
    if (!s.best)
        return flag_refuse(f, "unknown option --%.*s", STR_ARG(name));
    return flag_refuse(f, "unknown option --%.*s; did you mean --%s?", STR_ARG(name),
                       flag_name(str_of(s.best)).text);
}

/* Finds the option's value: the rest of its argument, or the next argument. */
static bool find_value(struct flags *f, const struct flag_row *row, const char *attached)
{
    f->row = row;
    f->value = attached;
    if (!row->value)
        return !attached || flag_refuse(f, "--%s takes no value", row->name);
    if (!attached && f->i < f->argc)
        f->value = f->argv[f->i++];
    return f->value || flag_refuse(f, "--%s needs a value (%s)", row->name, row->value);
}

static bool store_value(struct flags *f, void *ret)
{
    return f->row->take(f, (char *)ret + f->row->at);
}

/* Reads one argument that begins with a dash. FLAG_END: it was a global option. */
static int read_option(struct flags *f, const char *arg)
{
    bool is_long = arg[1] == '-';
    const char *equals = is_long ? strchr(arg, '=') : NULL;
    const char *attached = is_long ? (equals ? equals + 1 : NULL) : arg[2] ? arg + 2 : NULL;
    struct str name = { arg + 2, is_long ? strcspn(arg + 2, "=") : 0 };
    char letter = is_long ? 0 : arg[1];
    const struct flag_row *own = find_row(f->rows, name, letter);
    const struct flag_row *global = own ? NULL : find_row(flag_globals, name, letter);

    if (own)
        return find_value(f, own, attached) ? (int)(own - f->rows) : FLAG_BAD;
    if (!global)
        refuse_unknown(f, name, letter);
    return global && find_value(f, global, attached) && store_value(f, f->cli) ? FLAG_END
                                                                               : FLAG_BAD;
}

int flag_next(struct flags *f)
{
    while (f->i < f->argc) {
        char *arg = f->argv[f->i++];
        if (!f->ended && strcmp(arg, "--") == 0) {
            f->ended = true;
            continue;
        }
        if (f->ended || arg[0] != '-' || !arg[1]) { /* a lone dash is a word */
            f->value = arg;
            return FLAG_WORD;
        }
        int found = read_option(f, arg);
        if (found != FLAG_END)
            return found;
    }
    return FLAG_END;
}

int flag_read(struct flags *f, void *ret)
{
    int which;

    while ((which = flag_next(f)) >= 0)
        if (!store_value(f, ret))
            return FLAG_BAD;
    return which;
}
