/* SPDX-License-Identifier: MIT */
#include "server/option.h"

#include <ctype.h>

#include "base/time.h"

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)

#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

#define AT(member) offsetof(struct options, member)
#define FIXED      false
#define RELOADABLE true

/* clang-format off */
static const struct option_row option_table[] = {
    { "data", OPTION_STRING, FIXED, AT(data), "./data", 1, 4000, NULL,
      "Directory of the stored jobs; created if missing." },
    { "bind", OPTION_STRING, FIXED, AT(bind), "127.0.0.1", 1, 255, NULL,
      "Address to listen on." },
    { "port", OPTION_INT, FIXED, AT(port), "2355", 0, 65535, NULL,
      "Port to listen on; 0 takes any free one." },
    { "port_file", OPTION_STRING, FIXED, AT(port_file), "", 0, 4000, NULL,
      "File to write the port to once listening; empty for none." },
    { "durability", OPTION_WORD, FIXED, AT(durability), "sync", 0, 0, "sync|interval|none",
      "When an acknowledged change survives a loss of power: sync, at once; interval, after at most "
      "sync_interval; none, when the system gets round to it." },
    { "sync_interval", OPTION_DURATION, FIXED, AT(sync_interval_ms), "1s", 1, HOUR, NULL,
      "How often to sync with durability interval." },
    { "sync_delay", OPTION_DURATION, FIXED, AT(sync_delay_ms), "0ms", 0, 10 * SECOND, NULL,
      "Added to every sync, to show a slower disk in benchmarks." },
    { "segment_size", OPTION_SIZE, FIXED, AT(segment_size), "32MiB", 64 * KIB, GIB, NULL,
      "Size at which a journal's segment is closed and the next one begun." },
    { "memory", OPTION_SIZE, FIXED, AT(memory), "256MiB", 16 * MIB, 1024 * GIB, NULL,
      "Bounds what jobs and their indexes take in memory; what does not fit waits on disk." },
    { "history_size", OPTION_SIZE, FIXED, AT(history_size), "1GiB", MIB, 1024 * GIB, NULL,
      "Bounds what done, cancelled and expired jobs take on disk: beyond it the oldest are forgotten before their "
      "RETAIN is over, and counted as total_history_dropped. Dead jobs and those whose key is held are kept." },
    { "max_running", OPTION_INT, FIXED, AT(max_running), "0", 0, 1000000000, NULL,
      "Jobs that are leased at a time, of all queues together; 0 is any number. Queues and tenants have "
      "limits of their own." },
    { "slow_start", OPTION_DURATION, FIXED, AT(slow_start_ms), "0ms", 0, DAY, NULL,
      "How long after a start it takes until as many jobs as may run at a time do: from a tenth of max_running "
      "(of 1000 where that is 0) their number grows evenly; 0 for no time." },
    { "audit_retention", OPTION_DURATION, FIXED, AT(audit_retention_ms), "90d", HOUR, 3650 * DAY, NULL,
      "How long entries of the audit log are kept." },
    { "max_payload", OPTION_SIZE, RELOADABLE, AT(max_payload), "1MiB", 1, 16 * MIB, NULL,
      "Largest payload of a job, and largest argument of a request. A request as a whole may have twice this and "
      "1 MiB more." },
    { "max_connections", OPTION_INT, RELOADABLE, AT(max_connections), "16000", 1, 1000000, NULL,
      "Connections at a time; further ones are told BUSY and closed." },
    { "output_limit", OPTION_SIZE, RELOADABLE, AT(output_limit), "64MiB", 64 * KIB, 16 * GIB, NULL,
      "Unread output at which a connection is cut off." },
    { "client_timeout", OPTION_DURATION, RELOADABLE, AT(client_timeout_ms), "30s", 10, DAY, NULL,
      "A client that stops in the middle of a request, or does not read its replies, is cut off "
      "after this." },
    { "idle_timeout", OPTION_DURATION, RELOADABLE, AT(idle_timeout_ms), "0ms", 0, 365 * DAY, NULL,
      "A client that says nothing is cut off after this; 0 for never." },
    { "drain_timeout", OPTION_DURATION, RELOADABLE, AT(drain_timeout_ms), "10s", 0, HOUR, NULL,
      "How long a shutdown waits for replies that are under way." },
    { "push_allow", OPTION_STRING, FIXED, AT(push_allow), "", 0, 4000, NULL,
      "Addresses that are not public and may be pushed to all the same, with commas between: networks such as "
      "`10.1.0.0/16`, single addresses, `private` for all private networks, `loopback` for this machine. "
      "Metadata addresses of clouds only by the very address." },
    { "push_ca_file", OPTION_STRING, FIXED, AT(push_ca_file), "", 0, 4000, NULL,
      "File of certificates to trust in pushing to https; empty for the system's." },
    { "push_max", OPTION_INT, FIXED, AT(push_max), "256", 1, 10000, NULL,
      "Pushes at a time, of all queues together; of one tenant half of it. Queues have limits of their own." },
    { "log_level", OPTION_WORD, RELOADABLE, AT(log_level), "info", 0, 0, "debug|info|warn|error",
      "The least important lines to log." },
    { "log_format", OPTION_WORD, RELOADABLE, AT(log_format), "json", 0, 0, "json|text",
      "Form of the log lines: one JSON object each, or text for people." },
    { "tls", OPTION_WORD, FIXED, AT(tls), "off", 0, 0, "off|on|only",
      "Whether TLS is spoken, on the same port, for RESP and HTTP: on, other machines have to and this one may; "
      "only, everybody has to." },
    { "tls_cert", OPTION_STRING, RELOADABLE, AT(tls_cert), "", 0, 4000, NULL,
      "File with the server's certificate in PEM, followed by those that lead to one that clients believe. "
      "SIGHUP loads the files again; if something is wrong with them the log says so, and those before stay." },
    { "tls_key", OPTION_STRING, RELOADABLE, AT(tls_key), "", 0, 4000, NULL,
      "File with the certificate's private key in PEM, without a passphrase." },
    { "tls_client_ca", OPTION_STRING, RELOADABLE, AT(tls_client_ca), "", 0, 4000, NULL,
      "File with certificates in PEM: only clients that have a certificate from one of these are served by TLS; "
      "empty to ask for none." },
    { "tls_handshake_timeout", OPTION_DURATION, RELOADABLE, AT(tls_handshake_timeout_ms), "10s", 10, HOUR, NULL,
      "A handshake that takes longer is given up." },
    { "insecure_plaintext", OPTION_WORD, FIXED, AT(insecure_plaintext), "no", 0, 0, "no|yes",
      "Serves other machines also without TLS: everybody on the way can read and change what is said." },
    { "max_connections_per_address", OPTION_INT, RELOADABLE, AT(max_connections_per_address), "0", 0, 1000000, NULL,
      "Connections at a time from one address (of IPv6: one network of 64 bits); further ones are told BUSY and "
      "closed; 0 is any number." },
    { "max_headers", OPTION_SIZE, FIXED, AT(max_headers), "16KiB", 4 * KIB, MIB, NULL,
      "Memory for the first line and the headers of a request in HTTP, with some bytes for each header; one that "
      "needs more is answered with status 431, or 414 if the first line is too long." },
    { "keepalive_timeout", OPTION_DURATION, RELOADABLE, AT(keepalive_timeout_ms), "0ms", 0, DAY, NULL,
      "A connection in HTTP that was answered is closed after this, unless its next request comes; 0 for "
      "client_timeout. One that does not take its answer is cut off after the longer of the two." },
    { "log_jobs", OPTION_WORD, RELOADABLE, AT(log_jobs), "off", 0, 0, "off|ended|all",
      "Log lines about jobs: ended, one for each attempt that ended and for each job that ended without one; all, one "
      "for each change of a job." },
    { "log_jobs_rate", OPTION_INT, RELOADABLE, AT(log_jobs_rate), "1000", 0, 1000000, NULL,
      "Lines about jobs in a second; further ones are left out, and a line says how many; 0 for any number." },
    { "max_streams", OPTION_INT, RELOADABLE, AT(max_streams), "100", 0, 10000, NULL,
      "Readers of /v1/events at a time; further ones are refused. Those with tokens of one tenant may be half of them, "
      "but at least one." },
    { "events_memory", OPTION_SIZE, FIXED, AT(events_memory), "4MiB", 64 * KIB, 64 * MIB, NULL,
      "Memory for the last events, taken while somebody reads them: a reader that falls behind by more misses some, and "
      "is told so." },
    { "otlp_endpoint", OPTION_STRING, FIXED, AT(otlp_endpoint), "", 0, 4000, NULL,
      "Where traces of jobs are sent as OTLP over HTTP, such as http://127.0.0.1:4318: /v1/traces is added; empty for "
      "none." },
    { "otlp_headers", OPTION_STRING, FIXED, AT(otlp_headers), "", 0, 8000, NULL,
      "Headers to send along: name=value, with commas between." },
    { "otlp_service", OPTION_STRING, FIXED, AT(otlp_service), "belfry", 1, 255, NULL,
      "The name of this service in traces." },
};
/* clang-format on */

const struct option_row *option_row(size_t i)
{
    return i < sizeof option_table / sizeof *option_table ? &option_table[i] : NULL;
}

static void put_size(int64_t v, struct buf *out)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB" };
    int u = 0;
    for (; u < 3 && v > 0 && v % 1024 == 0; u++)
        v /= 1024;
    buf_int(out, v);
    buf_text(out, units[u]);
}

static void put_duration(int64_t ms, struct buf *out)
{
    char text[TIME_TEXT];
    buf_append(out, text, time_format_duration(ms, text));
}

static void put_range(const struct option_row *row, const char *kind, struct buf *out,
                      void (*put)(int64_t v, struct buf *out))
{
    buf_text(out, kind);
    buf_text(out, " from ");
    put(row->min, out);
    buf_text(out, " to ");
    put(row->max, out);
    buf_text(out, ", such as ");
    buf_text(out, row->initial);
}

static void put_int(int64_t v, struct buf *out)
{
    buf_int(out, v);
}

void option_expected(const struct option_row *row, struct buf *out)
{
    switch (row->type) {
    case OPTION_STRING:
        buf_printf(out, "text of %s%jd characters", row->min ? "1 to " : "at most ",
                   (intmax_t)row->max);
        break;
    case OPTION_INT: put_range(row, "a whole number", out, put_int); break;
    case OPTION_SIZE: put_range(row, "a size", out, put_size); break;
    case OPTION_DURATION: put_range(row, "a duration", out, put_duration); break;
    case OPTION_WORD:
        for (const char *p = row->words; *p; p++)
            buf_append(out, *p == '|' ? " or " : p, *p == '|' ? 4 : 1);
        break;
    }
}

void option_env_name(const struct option_row *row, char ret[OPTION_NAME_MAX + 8])
{
    char *p = stpcpy(ret, "BELFRY_");
    for (const char *s = row->name; *s; s++)
        *p++ = (char)toupper((unsigned char)*s);
    *p = '\0';
}

void option_flag_name(const struct option_row *row, char ret[OPTION_NAME_MAX + 8])
{
    char *p = stpcpy(ret, "--");
    for (const char *s = row->name; *s; s++)
        *p++ = *s == '_' ? '-' : *s;
    *p = '\0';
}

/* Digits, and a unit of 1024s for a size. */
static bool parse_number(struct str s, bool units, int64_t *ret)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int64_t v = 0;
    size_t i = 0;
    for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s.ptr[i] - '0', &v))
            return false;
    struct str unit = { s.ptr + i, s.len - i };
    *ret = v;
    if (i == 0 || unit.len == 0)
        return i > 0;
    for (int u = 0; units && u < 5; u++)
        if (str_ieq(unit, names[u]))
            return !__builtin_mul_overflow(v, INT64_C(1) << (10 * u), ret);
    return false;
}

static bool parse_word(struct str s, const char *words, int64_t *ret)
{
    for (int64_t i = 0;; i++) {
        size_t len = strcspn(words, "|");
        if (str_eq(s, (struct str){ words, len })) {
            *ret = i;
            return true;
        }
        if (!words[len])
            return false;
        words += len + 1;
    }
}

bool option_parse(const struct option_row *row, struct str text, int64_t *ret)
{
    const char *why;
    bool good = false;
    int64_t v = 0;
    switch (row->type) {
    case OPTION_STRING:
        v = (int64_t)text.len;
        good = true;
        break;
    case OPTION_INT: good = parse_number(text, false, &v); break;
    case OPTION_SIZE: good = parse_number(text, true, &v); break;
    case OPTION_DURATION: good = time_parse_duration(text, &v, &why) == 0; break;
    case OPTION_WORD: return parse_word(text, row->words, ret);
    }
    if (!good || v < row->min || v > row->max)
        return false;
    *ret = v;
    return true;
}
