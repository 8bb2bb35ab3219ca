/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_quote.h"
#include "cli/address.h"
#include "base/suggest.h"

static bool speaks_json;

static const char *variable(const char *name, const char *otherwise)
{
    const char *set = getenv(name);

    return set && *set ? set : otherwise;
}

static const char *const variables[] = { "URL",  "HOST", "PORT",     "TLS",       "CA",
                                         "CERT", "AUTH", "CERT_KEY", "AUTH_FILE", "DATA" };

#define VARIABLES (sizeof(variables) / sizeof(*variables))

/* Warns of a variable whose name differs by one typing mistake from a variable of this program.
 * Other variables may be options of the server, or belong to the job that runs this process. */
static void look_at(struct str name)
{
    struct suggest s = { .given = name };

    for (size_t i = 0; i < VARIABLES; i++)
        suggest_offer(&s, variables[i]);
    if (s.best && s.distance == 1 && name.len >= strlen(s.best))
        cli_say("warning: BELFRY_%.*s means nothing; did you mean BELFRY_%s?", STR_ARG(name),
                s.best);
}

static void look_at_environment(void)
{
    extern char **environ;

    for (char **at = environ; at && *at; at++) {
        struct str name = { *at + strlen("BELFRY_"), 0 };

        if (strncmp(*at, "BELFRY_", strlen("BELFRY_")) != 0)
            continue;
        name.len = strcspn(name.ptr, "=");
        look_at(name);
    }
}

static int read_tls(struct cli *c)
{
    const char *tls = variable("BELFRY_TLS", NULL);

    if (!tls)
        return CLI_OK;
    c->tls = strcmp(tls, "on") == 0 || strcmp(tls, "only") == 0;
    if (!c->tls && strcmp(tls, "off") != 0)
        return cli_usage("BELFRY_TLS: expected off, on or only, not '%s'", tls);
    return CLI_OK;
}

int cli_init(struct cli *c)
{
    const char *url = variable("BELFRY_URL", NULL), *host = variable("BELFRY_HOST", NULL);
    const char *port = variable("BELFRY_PORT", NULL);
    char why[ADDRESS_WHY];

    *c = (struct cli){ .host = "127.0.0.1",
                       .port = "2355",
                       .ca = variable("BELFRY_CA", ""),
                       .cert = variable("BELFRY_CERT", ""),
                       .cert_key = variable("BELFRY_CERT_KEY", "") };
    look_at_environment();
    if (url && !address_url(c, url, true, why))
        return cli_usage("BELFRY_URL: %s", why);
    if (host && !address_host(c, host, why))
        return cli_usage("BELFRY_HOST: %s", why);
    if (port && !address_port(c, port, why))
        return cli_usage("BELFRY_PORT: %s", why);
    return url ? CLI_OK : read_tls(c);
}

void cli_speak_json(void)
{
    speaks_json = true;
}

bool cli_speaks_json(void)
{
    return speaks_json;
}

/* Writes a whole line at once. */
static void put_line(struct buf *line)
{
    buf_text(line, "\n");
    fflush(stdout);
    fwrite(line->ptr, 1, line->len, stderr);
    buf_fini(line);
}

static void put_format(struct buf *out, const char *format, va_list args)
{
    char text[2048];
    int n = vsnprintf(text, sizeof(text), format, args);

    if (n > 0)
        buf_append(out, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void cli_say(const char *format, ...)
{
    struct buf line = { 0 }, text = { 0 };
    va_list args;

    va_start(args, format);
    put_format(&text, format, args);
    va_end(args);
    if (speaks_json) {
        json_quote_in(&line, "{\"message\":", buf_view(&text), "}");
    } else {
        buf_text(&line, "belfry: ");
        buf_str(&line, buf_view(&text));
    }
    buf_fini(&text);
    put_line(&line);
}

int cli_error(enum cli_exit exit, const char *code, int status, const char *hint,
              const char *format, ...)
{
    struct buf line = { 0 }, text = { 0 };
    va_list args;

    va_start(args, format);
    put_format(&text, format, args);
    va_end(args);
    if (speaks_json) {
        json_quote_in(&line, "{\"code\":", str_of(code), "");
        if (status)
            buf_printf(&line, ",\"status\":%d", status);
        json_quote_in(&line, ",\"detail\":", buf_view(&text), "");
        if (hint && *hint)
            json_quote_in(&line, ",\"hint\":", str_of(hint), "");
        buf_printf(&line, ",\"exit\":%d}", (int)exit);
    } else {
        buf_printf(&line, "belfry: %s%s", status ? code : "", status ? ": " : "");
        buf_str(&line, buf_view(&text));
        if (hint && *hint)
            buf_printf(&line, "\nbelfry: %s", hint);
    }
    buf_fini(&text);
    put_line(&line);
    return (int)exit;
}
