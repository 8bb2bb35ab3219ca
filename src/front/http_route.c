/* SPDX-License-Identifier: MIT */
#include "front/http_route.h"

#include <stdio.h>

#include "front/event_stream.h"

/* clang-format off */
#define KEYED "/v1/queues/{queue}/keys/{key}"

const struct http_route http_routes[] = {
    { HTTP_POST, "/v1/jobs", "SCHEDULE", .status = 201, .result = "id" },
    { HTTP_POST, "/v1/leases", "LEASE", .status = 200, .result = "jobs", .shape = "Lease" },
    { HTTP_POST, "/v1/jobs/{id}/complete", "COMPLETE", .status = 204 },
    { HTTP_POST, "/v1/jobs/{id}/fail", "FAIL", .status = 200, .shape = "Failed" },
    { HTTP_POST, "/v1/jobs/{id}/extend", "EXTEND", .status = 200, .shape = "Extended" },
    { HTTP_POST, "/v1/jobs/{id}/release", "RELEASE", .status = 204 },
    { HTTP_POST, "/v1/jobs/batch", "BATCH", .status = 201, .result = "results", .item = "id" },
    { HTTP_GET, "/v1/jobs", "LIST", .status = 200, .shape = "Page" },
    { HTTP_GET, "/v1/jobs/{id}", "GET", .less = "key queue", .status = 200, .shape = "Job" },
    { HTTP_PATCH, "/v1/jobs/{id}", "RESCHEDULE", .status = 204 },
    { HTTP_DELETE, "/v1/jobs/{id}", "CANCEL", .less = "key queue", .status = 200, .result = "outcome" },
    { HTTP_GET, "/v1/jobs/{id}/explain", "EXPLAIN", .less = "key queue", .status = 200, .shape = "Explanation" },
    { HTTP_POST, "/v1/jobs/{id}/redrive", "REDRIVE", .less = "queue limit", .status = 200, .result = "redriven",
      .summary = "Puts a dead job back, its attempts counted anew." },

    { HTTP_GET, "/v1/queues", "QUEUES", .status = 200, .result = "queues", .shape = "Queue" },
    { HTTP_GET, "/v1/queues/{queue}", "QUEUE", .only = "tenant", .status = 200, .shape = "Queue",
      .summary = "Shows a queue." },
    { HTTP_PATCH, "/v1/queues/{queue}", "QUEUE", .status = 200, .shape = "Queue",
      .summary = "Changes the settings of a queue that are given, and shows it." },
    { HTTP_POST, "/v1/queues/{queue}/pause", "PAUSE", .status = 204 },
    { HTTP_POST, "/v1/queues/{queue}/resume", "RESUME", .status = 204 },
    { HTTP_POST, "/v1/queues/{queue}/redrive", "REDRIVE", .less = "id", .status = 200, .result = "redriven",
      .summary = "Puts a queue's dead jobs back, oldest first, attempts counted anew." },
    { HTTP_GET, KEYED, "GET", .less = "id", .status = 200, .shape = "Job", .summary = "Shows the job that has this key." },
    { HTTP_DELETE, KEYED, "CANCEL", .less = "id", .status = 200, .result = "outcome",
      .summary = "Cancels the job that has this key." },
    { HTTP_GET, KEYED "/explain", "EXPLAIN", .less = "id", .status = 200, .shape = "Explanation",
      .summary = "Says why the job that has this key has not run." },

    { HTTP_GET, "/v1/recurrences", "RECURRENCES", .status = 200, .shape = "RecurrencePage" },
    { HTTP_GET, "/v1/recurrences/{name}", "RECURRENCE", .status = 200, .shape = "Recurrence" },
    { HTTP_PUT, "/v1/recurrences/{name}", "RECUR", .status = 200, .shape = "Recurrence" },
    { HTTP_DELETE, "/v1/recurrences/{name}", "RECURDELETE", .status = 204 },
    { HTTP_POST, "/v1/recurrences/{name}/pause", "RECURPAUSE", .status = 204 },
    { HTTP_POST, "/v1/recurrences/{name}/resume", "RECURRESUME", .status = 204 },
    { HTTP_POST, "/v1/recurrences/{name}/run", "RECURRUN", .status = 201, .result = "id" },
    { HTTP_POST, "/v1/preview", "PREVIEW", .status = 200, .result = "times", .shape = "Occurrence" },

    { HTTP_GET, "/v1/tenants", "TENANTS", .status = 200, .result = "tenants", .shape = "Tenant" },
    { HTTP_GET, "/v1/tenants/{name}", "TENANT", .only = "", .status = 200, .shape = "Tenant",
      .summary = "Shows a tenant." },
    { HTTP_PATCH, "/v1/tenants/{name}", "TENANT", .status = 200, .shape = "Tenant",
      .summary = "Changes the settings of a tenant that are given, and shows it." },
    { HTTP_POST, "/v1/bulks", "BULK", .status = 201, .shape = "Bulk" },
    { HTTP_GET, "/v1/bulks", "BULKS", .status = 200, .result = "bulks", .shape = "Bulk" },
    { HTTP_DELETE, "/v1/bulks/{id}", "BULKSTOP", .status = 204 },
    { HTTP_GET, "/v1/audit", "AUDIT", .status = 200, .shape = "AuditPage" },
    { HTTP_GET, "/v1/stats", "STATS", .less = "tenant", .status = 200, .shape = "Stats",
      .summary = "Shows the server's figures; to a token of one tenant that tenant's." },
    { HTTP_GET, "/v1/tenants/{tenant}/stats", "STATS", .status = 200, .shape = "TenantStats",
      .summary = "Shows a tenant's figures." },
    { HTTP_GET, "/v1/forecast", "FORECAST", .status = 200, .result = "steps", .shape = "Step" },

    { HTTP_POST, "/v1/tokens", "TOKENCREATE", .status = 201, .shape = "NewToken" },
    { HTTP_GET, "/v1/tokens", "TOKENS", .status = 200, .result = "tokens", .shape = "Token" },
    { HTTP_DELETE, "/v1/tokens/{name}", "TOKENREVOKE", .status = 204 },

    { HTTP_GET, "/healthz", .status = 200, .shape = "Health", .page = HTTP_HEALTHZ, .open = true,
      .summary = "Answers while the process serves at all." },
    { HTTP_GET, "/readyz", .status = 200, .shape = "Health", .page = HTTP_READYZ, .open = true,
      .summary = "Answers 200 while requests are taken, 503 while they are not." },
    { HTTP_GET, "/openapi.json", .status = 200, .page = HTTP_OPENAPI, .open = true, .summary = "This description, as OpenAPI 3.1." },
    { HTTP_GET, "/metrics", .status = 200, .page = HTTP_METRICS, .summary = "All figures as text that Prometheus reads." },
    { HTTP_GET, "/v1/events", .status = 200, .shape = "Event", .page = HTTP_EVENTS,
      .summary = "What happens to jobs, as it happens: a stream of server-sent events that does not end. Each has the new "
                 "state as its name and this object as its data; `gap` says that some were missed, and how many." },
    { HTTP_GET, "/docs", .status = 200, .page = HTTP_DOCS, .open = true, .summary = "The same as a page to read." },
    { 0 },
};
/* clang-format on */

/* Routes have the first of them, in the order of enum http_method. */
static const char *const method_names[] = { "GET",    "POST", "PUT",    "PATCH",
                                            "DELETE", "HEAD", "OPTIONS" };

#define METHOD_NAMES (sizeof(method_names) / sizeof(method_names[0]))

const char *http_method_name(enum http_method m)
{
    return method_names[m];
}

static enum http_method method_of(struct str name)
{
    unsigned m = 0;

    if (str_eq(name, STR("HEAD")))
        return HTTP_GET;
    while (m < HTTP_METHODS && !str_eq(name, str_of(method_names[m])))
        m++;
    return (enum http_method)m;
}

static bool matches(const char *template, struct str path, struct str *args)
{
    struct str left = str_of(template);
    size_t n = 0;

    memset(args, 0, HTTP_PATH_ARGS * sizeof(*args)); /* a row before may have begun like this one */
    if (!str_starts(path, STR("/")) || path.ptr[path.len - 1] == '/')
        return false;
    str_cut(&left, '/');
    str_cut(&path, '/');
    while (left.len && path.len) {
        struct str want = str_cut(&left, '/'), have = str_cut(&path, '/');

        if (want.ptr[0] == '{' && have.len)
            args[n++] = have;
        else if (!str_eq(want, have))
            return false;
    }
    return left.len == 0 && path.len == 0;
}

/* A row with a literal path stands before a row that has an argument in its place, and is found
 * first. */
void http_route_find(struct str method, struct str path, struct http_match *ret)
{
    enum http_method m = method_of(method);
    struct str args[HTTP_PATH_ARGS] = { { 0 } };

    *ret = (struct http_match){ 0 };
    for (const struct http_route *r = http_routes; r->path; r++) {
        if (!matches(r->path, path, args))
            continue;
        ret->allowed |= 1u << r->method;
        if (r->method == m && !ret->route) {
            ret->route = r;
            memcpy(ret->args, args, sizeof(args));
        }
    }
}

struct str http_path_arg(const struct http_route *r, size_t i)
{
    struct str rest = str_of(r->path), name;

    do {
        str_cut(&rest, '{');
        name = str_cut(&rest, '}');
    } while (i-- > 0);
    return name;
}

const struct verb *http_route_verb(const struct http_route *r)
{
    if (r->page == HTTP_EVENTS)
        return &event_options;
    return r->verb ? verb_find(verb_table, str_of(r->verb)) : NULL;
}

/* Whether a word is in a list with blanks between. */
static bool is_listed(const char *list, const char *word)
{
    struct str rest = str_of(list);

    while (rest.len)
        if (str_eq(str_cut(&rest, ' '), str_of(word)))
            return true;
    return false;
}

bool http_in_path(const struct http_route *r, const struct arg *a)
{
    for (size_t i = 0; i < HTTP_PATH_ARGS; i++)
        if (str_eq(http_path_arg(r, i), str_of(a->name)))
            return true;
    return false;
}

bool http_takes(const struct http_route *r, const struct arg *a)
{
    if (http_in_path(r, a) || (r->less && is_listed(r->less, a->name)))
        return false;
    return !r->only || is_listed(r->only, a->name);
}

bool http_arg_is_bytes(const struct arg *a)
{
    return a->type == ARG_BYTES || a->type == ARG_PAYLOAD || a->type == ARG_KEY ||
           a->type == ARG_META;
}

bool http_arg_is_json(const struct arg *a)
{
    return a->type == ARG_PAYLOAD || strcmp(a->name, "result") == 0;
}

enum http_guess http_guess(struct str first)
{
    char begin[HTTP_GUESS_BYTES + 1];

    for (size_t i = 0; i < METHOD_NAMES; i++) {
        size_t len = (size_t)snprintf(begin, sizeof(begin), "%s /", method_names[i]);
        size_t n = first.len < len ? first.len : len;

        if (memcmp(first.ptr, begin, n) == 0)
            return n == len ? HTTP_GUESS_YES : HTTP_GUESS_MORE;
    }
    return HTTP_GUESS_NO;
}

bool http_guess_words(const struct str *words, size_t n)
{
    if (n > 0 && str_ieq(words[0], "host:"))
        return true;
    if (n != 3 || !str_starts(words[2], STR("HTTP/")))
        return false;
    for (size_t i = 0; i < METHOD_NAMES; i++)
        if (str_ieq(words[0], method_names[i]))
            return true;
    return false;
}
