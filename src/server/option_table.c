/* SPDX-License-Identifier: MIT */
#include "server/option.h"

#include <ctype.h>

#include "base/time.h"
#include "record/attempts.h"
#include "record/limits.h"

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
      "Directory of the stored jobs. The server creates it if it is missing." },
    { "bind", OPTION_STRING, FIXED, AT(bind), "127.0.0.1", 1, 255, NULL,
      "Address to listen on, such as `0.0.0.0` for all interfaces." },
    { "port", OPTION_INT, FIXED, AT(port), "2355", 0, 65535, NULL,
      "Port to listen on. 0 takes any free port." },
    { "port_file", OPTION_STRING, FIXED, AT(port_file), "", 0, 4000, NULL,
      "File to which the server writes its port once it listens. Empty for none." },
    { "root_token_file", OPTION_STRING, FIXED, AT(root_token_file), "", 0, 4000, NULL,
      "File with the first token, as `name.secret` with a secret of 32 characters or more. A server that has no token "
      "yet makes it at its start, as an admin of all tenants, and may serve other machines at once. Once there is a "
      "token, the file is not read. The variable BELFRY_ROOT_TOKEN can hold the token itself instead." },
    { "durability", OPTION_WORD, FIXED, AT(durability), "sync", 0, 0, "sync|interval|none",
      "When an acknowledged change survives a loss of power. `sync`: at once. `interval`: after sync_interval at "
      "most. `none`: when the operating system has written it." },
    { "sync_interval", OPTION_DURATION, FIXED, AT(sync_interval_ms), "1s", 1, HOUR, NULL,
      "How often the server syncs with durability interval, such as `200ms`." },
    { "sync_delay", OPTION_DURATION, FIXED, AT(sync_delay_ms), "0ms", 0, 10 * SECOND, NULL,
      "Time that is added to every sync, to show a slower disk in benchmarks." },
    { "segment_size", OPTION_SIZE, FIXED, AT(segment_size), "32MiB", 64 * KIB, GIB, NULL,
      "Size at which the server closes a segment of the journal and begins the next one." },
    { "memory", OPTION_SIZE, FIXED, AT(memory), "256MiB", 16 * MIB, 1024 * GIB, NULL,
      "Memory for jobs and their indexes. Jobs that do not fit wait on disk." },
    { "history_size", OPTION_SIZE, FIXED, AT(history.size), "1GiB", MIB, 1024 * GIB, NULL,
      "Disk space for done, cancelled and expired jobs. Beyond it, the server forgets the oldest before their "
      "RETAIN is over, and counts them as total_history_dropped. Dead jobs, and jobs whose key is held, are kept." },
    { "tenant_bytes", OPTION_SIZE, FIXED, AT(tenant_bytes), "0B", 0, 1024 * (1024 * GIB), NULL,
      "Bytes that the server keeps of each tenant that has no MAX_BYTES of its own: its jobs, ended ones too, and its "
      "recurrences. Its oldest history gives way to new jobs. Beyond it, these are answered with LIMIT. 0 is any number." },
    { "metrics_queues", OPTION_INT, FIXED, AT(metrics_queues), "100", 0, 1000, NULL,
      "How many queues have series of their own in METRICS, by name. The others have one together, with tenant and "
      "queue `~other`." },
    { "max_running", OPTION_INT, FIXED, AT(max_running), "0", 0, 1000000000, NULL,
      "How many jobs are leased at a time, in all queues together. 0 is any number. Queues and tenants have limits "
      "of their own." },
    { "slow_start", OPTION_DURATION, FIXED, AT(slow_start_ms), "0ms", 0, DAY, NULL,
      "How long the number of running jobs grows after a start. It grows evenly, from a tenth of max_running (of "
      "1000 where that is 0) to all of it. 0 for no slow start." },
    { "min_every", OPTION_DURATION, FIXED, AT(min_every_ms), "1s", 1, HOUR, NULL,
      "The least duration that RECUR accepts for EVERY. Recurrences that exist go on as they are." },
    { "attempts_kept", OPTION_INT, FIXED, AT(history.attempts_kept), "100", 1, ATTEMPTS_KEPT_MAX, NULL,
      "How many attempts of a job the server remembers for GET. Beyond it, the first ten stay, or the first half if "
      "that is less, and the newest. GET says how many were left out. An attempt has about 40 bytes, and at most 430." },
    { "audit_retention", OPTION_DURATION, FIXED, AT(audit.retention_ms), "90d", HOUR, 3650 * DAY, NULL,
      "How long the server keeps entries of the audit log." },
    { "audit_max", OPTION_INT, FIXED, AT(audit.max), "1000000", 0, 1000000000, NULL,
      "How many entries of the audit log the server keeps. Beyond it, the server forgets the oldest before "
      "audit_retention is over, and counts them as audit_dropped. An entry has about 200 bytes, and at most 2 KB. 0 for "
      "any number." },
    { "audit_rate", OPTION_INT, RELOADABLE, AT(audit.rate), "10", 0, 1000000, NULL,
      "How many changes a second the audit log takes from one tenant. Further changes are refused with RATE, or "
      "status 429, and an entry says how many were. A tenant's admins have as many again. Admins of tenant `*` have "
      "no limit. 0 for any number." },
    { "audit_burst", OPTION_INT, RELOADABLE, AT(audit.burst), "10000", 1, 1000000000, NULL,
      "How many changes the audit log takes at once from a tenant that has made few before." },
    { "max_payload", OPTION_SIZE, RELOADABLE, AT(max_payload), "1MiB", 1, 16 * MIB, NULL,
      "Largest payload of a job, and largest argument of a request. A whole request may have twice this size and 1 "
      "MiB more. With more than 2MiB, one large request over HTTP may hold up others for more than 10 ms." },
    { "max_connections", OPTION_INT, RELOADABLE, AT(max_connections), "16000", 1, 1000000, NULL,
      "How many connections are open at a time. Further ones get the answer BUSY and are closed." },
    { "clients_memory", OPTION_SIZE, RELOADABLE, AT(clients_memory), "0", 0, 1024 * GIB, NULL,
      "Memory for what clients have sent and not read, of all connections together. One tenant may use half of it, "
      "two tenants a third each, and so on. Beyond that, requests with large answers wait, and connections that "
      "keep others waiting and move nothing for 2 s are closed. 0 for an eighth of memory, but at least 16 MiB." },
    { "output_limit", OPTION_SIZE, RELOADABLE, AT(output_limit), "64MiB", 64 * KIB, 16 * GIB, NULL,
      "Size of unread replies at which the server cuts off a connection. An answer over HTTP that is larger is "
      "refused." },
    { "client_timeout", OPTION_DURATION, RELOADABLE, AT(client_timeout_ms), "30s", 10, DAY, NULL,
      "Time after which the server cuts off a client that stops in the middle of a request, or does not read its "
      "replies." },
    { "idle_timeout", OPTION_DURATION, RELOADABLE, AT(idle_timeout_ms), "0ms", 0, 365 * DAY, NULL,
      "Time after which the server cuts off a client that sends nothing. 0 for never." },
    { "auth_timeout", OPTION_DURATION, RELOADABLE, AT(auth_timeout_ms), "10s", 10, DAY, NULL,
      "Time for a client to show a token, where one is needed, from its connection on. A handshake of TLS and "
      "requests without a token count in. Then the server closes the connection." },
    { "drain_timeout", OPTION_DURATION, RELOADABLE, AT(drain_timeout_ms), "10s", 0, HOUR, NULL,
      "How long a shutdown waits for replies under way." },
    { "push_allow", OPTION_STRING, FIXED, AT(push.allow), "", 0, 4000, NULL,
      "Addresses to which the server may push although they are not public, with commas between: networks such as "
      "`10.1.0.0/16`, single addresses, `private` for all private networks, `loopback` for this machine. Metadata "
      "addresses of clouds must be listed by the very address." },
    { "push_ports", OPTION_STRING, FIXED, AT(push.ports), "80,443,1024-65535", 0, 1000, NULL,
      "Ports of public addresses to which the server may push, with commas between, such as `80,443,8000-8999`. Empty "
      "for all. An address that push_allow names may have any port." },
    { "push_ca_file", OPTION_STRING, FIXED, AT(push.ca_file), "", 0, 4000, NULL,
      "File of certificates that the server trusts when it pushes to https. Empty for those of the system." },
    { "push_max", OPTION_INT, FIXED, AT(push.max), "256", 1, 10000, NULL,
      "How many pushes are under way at a time, of all queues together. One tenant may have half of them. Queues "
      "have limits of their own." },
    { "log_level", OPTION_WORD, RELOADABLE, AT(log.level), "info", 0, 0, "debug|info|warn|error",
      "The least important level that is logged." },
    { "log_format", OPTION_WORD, RELOADABLE, AT(log.format), "auto", 0, 0, "auto|json|text",
      "Form of the log lines. `json`: one JSON object for each line. `text`: lines for people. `auto`: `text` on a "
      "terminal, and `json` elsewhere." },
    { "log_rate", OPTION_INT, RELOADABLE, AT(log.rate), "10", 0, 1000000, NULL,
      "How many lines with one message are logged in a second. The lines of ten seconds may come at once. Further ones "
      "are left out, and a line says how many. Lines about jobs have log_jobs_rate, and lines about entries of the "
      "audit log have audit_rate. 0 for any number." },
    { "tls", OPTION_WORD, FIXED, AT(tls.mode), "off", 0, 0, "off|on|only",
      "Whether the port speaks TLS, for RESP and HTTP. `on`: other machines must use TLS, and this machine may. "
      "`only`: every client must use TLS." },
    { "tls_cert", OPTION_STRING, RELOADABLE, AT(tls.cert), "", 0, 4000, NULL,
      "File with the certificate of the server in PEM, followed by the intermediate certificates up to one that "
      "clients trust. SIGHUP loads the files again. If they are wrong, the log says so, and the old ones stay." },
    { "tls_key", OPTION_STRING, RELOADABLE, AT(tls.key), "", 0, 4000, NULL,
      "File with the certificate's private key in PEM, without a passphrase." },
    { "tls_client_ca", OPTION_STRING, RELOADABLE, AT(tls.client_ca), "", 0, 4000, NULL,
      "File with certificates of authorities in PEM. With it, TLS clients need a certificate that one of these "
      "issued. Empty to ask for none." },
    { "tls_handshake_timeout", OPTION_DURATION, RELOADABLE, AT(tls.handshake_timeout_ms), "10s", 10, HOUR, NULL,
      "Time after which the server gives up a TLS handshake." },
    { "insecure_plaintext", OPTION_WORD, FIXED, AT(tls.insecure_plaintext), "no", 0, 0, "no|yes",
      "`yes`: the server also serves other machines without TLS. Then every machine on the way can read and change "
      "the traffic." },
    { "max_connections_per_address", OPTION_INT, RELOADABLE, AT(max_connections_per_address), "0", 0, 1000000, NULL,
      "How many connections are open at a time from one address (for IPv6: from one /64 network). Further ones get "
      "the answer BUSY and are closed. 0 is any number." },
    { "max_headers", OPTION_SIZE, FIXED, AT(max_headers), "16KiB", 4 * KIB, MIB, NULL,
      "Memory for the first line and the headers of an HTTP request, with some bytes for each header. A request "
      "that needs more is answered with status 431, or 414 if the first line is too long." },
    { "keepalive_timeout", OPTION_DURATION, RELOADABLE, AT(keepalive_timeout_ms), "0ms", 0, DAY, NULL,
      "Time after an answer in which the next HTTP request must come; then the server closes the connection. 0 for "
      "client_timeout. A connection that does not take its answer is cut off after the longer of the two." },
    { "idempotency_hold", OPTION_DURATION, RELOADABLE, AT(idempotency_hold_ms), "1d", 0, KEY_HOLD_MAX_MS, NULL,
      "How long a key that HTTP's header Idempotency-Key gave stays taken after its job is done, dead or cancelled. "
      "The key_hold of the queue counts where it is longer. 0 leaves it to the queue alone." },
    { "slow_work", OPTION_DURATION, RELOADABLE, AT(slow_work_ms), "5ms", 0, HOUR, NULL,
      "Work that holds the loop for so long is counted as slow, and the log names it: a request, or work of the "
      "server itself. Each kind has ten lines at once, and one in a second then. 0ms for all work, which costs time." },
    { "log_jobs", OPTION_WORD, RELOADABLE, AT(log.jobs), "off", 0, 0, "off|ended|all",
      "Log lines about jobs. `ended`: one for each attempt that ended, and for each job that ended without an "
      "attempt. `all`: one for each change of a job." },
    { "log_jobs_rate", OPTION_INT, RELOADABLE, AT(log.jobs_rate), "1000", 0, 1000000, NULL,
      "How many lines about jobs are logged in a second. Further ones are left out, and a line says how many. 0 "
      "for any number." },
    { "max_streams", OPTION_INT, RELOADABLE, AT(max_streams), "100", 0, 10000, NULL,
      "How many readers /v1/events has at a time. Further ones are refused. Readers with tokens of one tenant may "
      "be half of them, but at least one." },
    { "events_memory", OPTION_SIZE, FIXED, AT(events_memory), "4MiB", 64 * KIB, 64 * MIB, NULL,
      "Memory for the last events, used while there is a reader. A reader that falls behind by more misses some "
      "events, and is told so." },
    { "otlp_endpoint", OPTION_STRING, FIXED, AT(otlp.endpoint), "", 0, 4000, NULL,
      "Address to which the server sends traces of jobs as OTLP over HTTP, such as http://127.0.0.1:4318; it adds "
      "/v1/traces. Empty for none." },
    { "otlp_headers", OPTION_STRING, FIXED, AT(otlp.headers), "", 0, 8000, OPTION_SECRET,
      "Headers that the server sends along with traces: name=value, with commas between." },
    { "otlp_service", OPTION_STRING, FIXED, AT(otlp.service), "belfry", 1, 255, NULL,
      "The name of this service in traces." },
    { "ui", OPTION_WORD, RELOADABLE, AT(ui.on), "yes", 0, 0, "no|yes",
      "Whether browsers get the dashboard at `/`. `no`: they get a short page with links and a first job to try." },
    { "ui_prefix", OPTION_STRING, FIXED, AT(ui.prefix), "", 0, 40, NULL,
      "Path below which the server answers everything a second time, such as `/belfry`. A proxy can then hand on this "
      "part of its own paths as it is. Empty for none." },
    { "ui_label", OPTION_STRING, RELOADABLE, AT(ui.label), "", 0, 40, NULL,
      "Text of a badge in the dashboard, such as `staging`, to tell servers apart. Empty for none." },
    { "ui_session", OPTION_DURATION, RELOADABLE, AT(ui.session_ms), "12h", SECOND, 365 * DAY, NULL,
      "How long the session of a browser lasts after its login. It ends earlier if its token is revoked or expires, and "
      "when the server ends." },
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

static void put_value(enum option_type type, int64_t v, struct buf *out)
{
    char text[TIME_TEXT];
    if (type == OPTION_SIZE)
        put_size(v, out);
    else if (type == OPTION_DURATION)
        buf_append(out, text, time_format_duration(v, text));
    else
        buf_int(out, v);
}

static void put_range(const struct option_row *row, const char *kind, struct buf *out)
{
    buf_printf(out, "%s from ", kind);
    put_value(row->type, row->min, out);
    buf_text(out, " to ");
    put_value(row->type, row->max, out);
    buf_printf(out, ", such as %s", row->initial);
}

void option_expected(const struct option_row *row, struct buf *out)
{
    switch (row->type) {
    case OPTION_STRING:
        buf_printf(out, "text of %s%jd characters", row->min ? "1 to " : "at most ",
                   (intmax_t)row->max);
        break;
    case OPTION_INT: put_range(row, "a whole number", out); break;
    case OPTION_SIZE: put_range(row, "a size", out); break;
    case OPTION_DURATION: put_range(row, "a duration", out); break;
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

void option_value(const struct option_row *row, const struct options *o, struct buf *out)
{
    const void *at = (const char *)o + row->offset;
    if (row->type == OPTION_STRING) {
        buf_text(out, *(char *const *)at);
    } else if (row->type == OPTION_WORD) {
        struct str words = str_of(row->words), word = { 0 };
        for (int64_t i = *(const int64_t *)at; i >= 0; i--)
            word = str_cut(&words, '|');
        buf_str(out, word);
    } else {
        put_value(row->type, *(const int64_t *)at, out);
    }
}

/* A unit of a size. K, M, G, T and KiB, MiB, … are powers of 1024; KB, MB, … are powers of 1000, as
 * they are by SI. 0: there is no such unit. */
static int64_t unit_of(struct str s)
{
    static const char letters[] = "KMGT";
    bool binary = s.len == 1 || (s.len == 3 && str_ieq((struct str){ s.ptr + 1, 2 }, "iB"));
    bool decimal = s.len == 2 && str_ieq((struct str){ s.ptr + 1, 1 }, "B");
    if (str_ieq(s, "B"))
        return 1;
    for (int64_t i = 0, two = KIB, ten = 1000; (binary || decimal) && i < 4;
         i++, two *= KIB, ten *= 1000)
        if (toupper((unsigned char)s.ptr[0]) == letters[i])
            return binary ? two : ten;
    return 0;
}

/* Digits, and a unit for a size. */
static bool parse_number(struct str s, bool units, int64_t *ret)
{
    int64_t v = 0;
    size_t i = 0;
    for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s.ptr[i] - '0', &v))
            return false;
    struct str unit = { s.ptr + i, s.len - i };
    *ret = v;
    if (i == 0 || unit.len == 0)
        return i > 0;
    return units && unit_of(unit) && !__builtin_mul_overflow(v, unit_of(unit), ret);
}

static bool parse_word(struct str s, const char *words, int64_t *ret)
{
    struct str rest = str_of(words);
    for (int64_t i = 0; rest.len > 0; i++) {
        if (str_eq(s, str_cut(&rest, '|'))) {
            *ret = i;
            return true;
        }
    }
    return false;
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
