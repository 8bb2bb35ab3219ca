/* SPDX-License-Identifier: MIT */
#include "cli/flag.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "cli/auth.h"
#include "cli/suggest.h"

enum {
    GLOBAL_HOST,
    GLOBAL_PORT,
    GLOBAL_AUTH_FILE,
    GLOBAL_TLS,
    GLOBAL_CA,
    GLOBAL_CERT,
    GLOBAL_CERT_KEY,
    GLOBAL_JSON,
    GLOBAL_HELP
};

const struct flag_row flag_globals[] = {
    [GLOBAL_HOST] = { .name = "host",
                      .value = "HOST",
                      .help = "address of the server; else $BELFRY_HOST, else 127.0.0.1" },
    [GLOBAL_PORT] = { .name = "port",
                      .value = "PORT",
                      .help = "port of the server; else $BELFRY_PORT, else 2355" },
    [GLOBAL_AUTH_FILE] = { .name = "auth_file",
                           .value = "FILE",
                           .help = "file with the token to show; else $BELFRY_AUTH (the token "
                                   "itself), else the file $BELFRY_AUTH_FILE, else none" },
    [GLOBAL_TLS] = { .name = "tls",
                     .help = "connect by TLS; else $BELFRY_TLS (on or off) decides" },
    [GLOBAL_CA] = { .name = "ca",
                    .value = "FILE",
                    .help =
                        "file of certificates to trust, with --tls; else $BELFRY_CA, else those "
                        "of the system" },
    [GLOBAL_CERT] = { .name = "cert",
                      .value = "FILE",
                      .help = "certificate of this client, with --tls; else $BELFRY_CERT" },
    [GLOBAL_CERT_KEY] = { .name = "cert-key",
                          .value = "FILE",
                          .help = "key of --cert; else $BELFRY_CERT_KEY" },
    [GLOBAL_JSON] = { .name = "json", .help = "answer as JSON, for programs" },
    [GLOBAL_HELP] = { .name = "help", .help = "show this", .letter = 'h' },
    { 0 },
};

static bool is_dash(char c)
{
    return c == '-' || c == '_';
}

/* Dashes do not matter: `--key-hold`, `--key_hold`, `--keyhold`. */
bool flag_is(const char *name, const char *given, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && is_dash(given[i]))
            continue;
        while (is_dash(*name))
            name++;
        if (*name++ != tolower((unsigned char)given[i]))
            return false;
    }
    return !*name && len > 0;
}

static int find_name(const struct flag_row *rows, const char *given, size_t len)
{
    for (int i = 0; rows && rows[i].name; i++)
        if (flag_is(rows[i].name, given, len))
            return i;
    return FLAG_BAD;
}

static int find_letter(const struct flag_row *rows, char letter)
{
    for (int i = 0; rows && rows[i].name; i++)
        if (rows[i].letter == letter)
            return i;
    return FLAG_BAD;
}

static int unknown(struct flags *o, const char *given, size_t len)
{
    struct suggest s;

    suggest_init(&s, (struct str){ given, len });
    for (int i = 0; o->rows && o->rows[i].name; i++)
        suggest_offer(&s, o->rows[i].name);
    for (int i = 0; flag_globals[i].name; i++)
        suggest_offer(&s, flag_globals[i].name);
    if (s.best) {
        char name[64];
        snprintf(name, sizeof(name), "%s", s.best);
        for (char *p = name; *p; p++)
            *p = *p == '_' ? '-' : *p;
        snprintf(o->why, sizeof(o->why), "unknown option --%.*s; did you mean --%s?", (int)len,
                 given, name);
    } else {
        snprintf(o->why, sizeof(o->why), "unknown option --%.*s", (int)len, given);
    }
    return FLAG_BAD;
}

/* Gives the option its value: what stands behind it in the same argument, or the next argument. */
static bool take_value(struct flags *o, const struct flag_row *row, const char *attached)
{
    o->value = attached;
    if (!row->value) {
        if (attached)
            snprintf(o->why, sizeof(o->why), "--%s takes no value", row->name);
        return !attached;
    }
    if (!attached && o->i < o->argc)
        o->value = o->argv[o->i++];
    if (!o->value)
        snprintf(o->why, sizeof(o->why), "--%s needs a value (%s)", row->name, row->value);
    return o->value;
}

static bool take_global(struct flags *o, int which, const char *attached)
{
    if (!take_value(o, &flag_globals[which], attached))
        return false;
    switch (which) {
    case GLOBAL_HOST: o->cli->host = o->value; break;
    case GLOBAL_PORT: o->cli->port = o->value; break;
    case GLOBAL_AUTH_FILE: auth_use_file(o->value); break;
    case GLOBAL_TLS: o->cli->tls = true; break;
    case GLOBAL_CA: o->cli->ca = o->value; break;
    case GLOBAL_CERT: o->cli->cert = o->value; break;
    case GLOBAL_CERT_KEY: o->cli->cert_key = o->value; break;
    case GLOBAL_JSON: o->cli->json = true; break;
    default: o->cli->help = true; break;
    }
    return true;
}

/* One argument that begins with a dash. FLAG_END: it was a global one, go on. */
static int take_option(struct flags *o, const char *arg)
{
    const char *attached = NULL;
    int own, global;

    if (arg[1] == '-') {
        const char *equals = strchr(arg, '=');
        size_t len = equals ? (size_t)(equals - arg - 2) : strlen(arg + 2);
        attached = equals ? equals + 1 : NULL;
        own = find_name(o->rows, arg + 2, len);
        global = find_name(flag_globals, arg + 2, len);
        if (own < 0 && global < 0)
            return unknown(o, arg + 2, len);
    } else {
        attached = arg[2] ? arg + 2 : NULL;
        own = find_letter(o->rows, arg[1]);
        global = find_letter(flag_globals, arg[1]);
        if (own < 0 && global < 0) {
            snprintf(o->why, sizeof(o->why), "unknown option -%c", arg[1]);
            return FLAG_BAD;
        }
    }
    if (own >= 0)
        return take_value(o, &o->rows[own], attached) ? own : FLAG_BAD;
    return take_global(o, global, attached) ? FLAG_END : FLAG_BAD;
}

int flag_next(struct flags *o)
{
    while (o->i < o->argc) {
        char *arg = o->argv[o->i++];
        if (!o->ended && strcmp(arg, "--") == 0) {
            o->ended = true;
            continue;
        }
        if (o->ended || arg[0] != '-' || !arg[1]) { /* a lone dash is a word */
            o->value = arg;
            return FLAG_WORD;
        }
        int found = take_option(o, arg);
        if (found != FLAG_END)
            return found;
    }
    return FLAG_END;
}

bool flag_int(struct flags *o, int64_t min, int64_t max, int64_t *ret)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(o->value, &end, 10);
    if (errno || end == o->value || *end || v < min || v > max) {
        snprintf(o->why, sizeof(o->why), "'%s' is not a number from %lld to %lld", o->value,
                 (long long)min, (long long)max);
        return false;
    }
    *ret = v;
    return true;
}

bool flag_duration(struct flags *o, int64_t *ret_ms)
{
    const char *why = "";

    if (time_parse_duration(str_of(o->value), ret_ms, &why) < 0) {
        snprintf(o->why, sizeof(o->why), "'%s': %s", o->value, why);
        return false;
    }
    return true;
}
