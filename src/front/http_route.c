/* SPDX-License-Identifier: MIT */
#include "front/http_route.h"

#include <stdio.h>

#include "front/event_stream.h"
#include "front/login.h"

/* clang-format off */
#define KEYED     "/v1/queues/{queue}/keys/{key}"
#define CANCELLED "cancelled|running|"

const struct http_route http_routes[] = {
    { HTTP_POST, "/v1/jobs", "SCHEDULE", "scheduleJob", .status = 201, .shape = "Scheduled", .waits = true,
      .summary = "Schedules a job. Without `in` and `at` it is due at once. 201: a job was made; 200: its key was taken." },
    { HTTP_POST, "/v1/leases", "LEASE", "leaseJobs", .status = 200, .result = "jobs", .shape = "Lease", .forms = true,
      .summary = "Takes ready jobs, each under a lease: the right of a worker to the job for a time." },
    { HTTP_POST, "/v1/jobs/{id}/complete", "COMPLETE", "completeJob", .status = 204 },
    { HTTP_POST, "/v1/jobs/{id}/fail", "FAIL", "failJob", .status = 200, .shape = "Failed" },
    { HTTP_POST, "/v1/jobs/{id}/extend", "EXTEND", "extendLease", .status = 200, .shape = "Extended" },
    { HTTP_POST, "/v1/jobs/{id}/release", "RELEASE", "releaseJob", .status = 204 },
    { HTTP_POST, "/v1/jobs/batch", "BATCH", "scheduleJobs", .status = 201, .result = "results", .item = "Scheduled" },
    { HTTP_GET, "/v1/jobs", "LIST", "listJobs", .status = 200, .shape = "Page" },
    { HTTP_GET, "/v1/jobs/{id}", "GET", "getJob", .less = "key queue", .status = 200, .shape = "Job", .forms = true, .waits = true,
      .summary = "Shows a job." },
    { HTTP_PATCH, "/v1/jobs/{id}", "RESCHEDULE", "rescheduleJob", .status = 204,
      .summary = "Moves a job that is not running to another time. Without `in` and `at` it is due at once." },
    { HTTP_POST, "/v1/jobs/{id}/edit", "EDIT", "editJob", .status = 204,
      .summary = "Changes the payload and options of a job that no worker has. What is not named stays. 409 if a worker has the job, "
                 "or if it has ended." },
    { HTTP_POST, "/v1/jobs/{id}/clone", "CLONE", "cloneJob", .status = 201, .shape = "Scheduled",
      .summary = "Schedules a job with the payload and options of another one, which may have ended. 201: a job was made; 200: the key "
                 "that is given was taken." },
    { HTTP_DELETE, "/v1/jobs/{id}", "CANCEL", "cancelJob", .less = "key queue", .status = 200, .result = "outcome",
      .values = CANCELLED, .summary = "Cancels a job. 409 if the job has ended." },
    { HTTP_POST, "/v1/jobs/{id}/delete", "DELETE", "deleteJob", .less = "key queue", .status = 204,
      .summary = "Forgets a job. A job that has not ended is cancelled first. 409 if a worker has the job." },
    { HTTP_GET, "/v1/jobs/{id}/explain", "EXPLAIN", "explainJob", .less = "key queue", .status = 200, .shape = "Explanation",
      .summary = "Says why a job has not run, what it waits for, and until when." },
    { HTTP_POST, "/v1/jobs/{id}/redrive", "REDRIVE", "redriveJob", .less = "queue limit", .status = 200, .result = "redriven",
      .summary = "Puts a dead job back, its attempts counted anew." },

    { HTTP_GET, "/v1/queues", "QUEUES", "listQueues", .status = 200, .result = "queues", .shape = "Queue" },
    { HTTP_GET, "/v1/queues/{queue}", "QUEUE", "getQueue", .only = "tenant", .status = 200, .shape = "Queue",
      .summary = "Shows a queue." },
    { HTTP_PATCH, "/v1/queues/{queue}", "QUEUE", "changeQueue", .status = 200, .shape = "Queue",
      .summary = "Changes the settings of a queue that are given, and shows it." },
    { HTTP_DELETE, "/v1/queues/{queue}", "QUEUEDELETE", "deleteQueue", .status = 204 },
    { HTTP_POST, "/v1/queues/{queue}/pause", "PAUSE", "pauseQueue", .status = 204 },
    { HTTP_POST, "/v1/queues/{queue}/resume", "RESUME", "resumeQueue", .status = 204,
      .summary = "Gives out the jobs of a paused queue again." },
    { HTTP_POST, "/v1/queues/{queue}/redrive", "REDRIVE", "redriveQueue", .less = "id", .status = 200, .result = "redriven",
      .summary = "Puts a queue's dead jobs back, oldest first, attempts counted anew." },
    { HTTP_GET, KEYED, "GET", "getJobByKey", .less = "id", .status = 200, .shape = "Job", .forms = true, .waits = true,
      .summary = "Shows the job that has this key." },
    { HTTP_DELETE, KEYED, "CANCEL", "cancelJobByKey", .less = "id", .status = 200, .result = "outcome", .values = CANCELLED,
      .summary = "Cancels the job that has this key. 409 if the job has ended." },
    { HTTP_POST, KEYED "/delete", "DELETE", "deleteJobByKey", .less = "id", .status = 204,
      .summary = "Forgets the job that has this key. A job that has not ended is cancelled first. 409 if a worker has the job." },
    { HTTP_GET, KEYED "/explain", "EXPLAIN", "explainJobByKey", .less = "id", .status = 200, .shape = "Explanation",
      .summary = "Says why the job that has this key has not run." },

    { HTTP_GET, "/v1/recurrences", "RECURRENCES", "listRecurrences", .status = 200, .shape = "RecurrencePage",
      .summary = "Shows a tenant's recurrences, page by page." },
    { HTTP_GET, "/v1/recurrences/{name}", "RECURRENCE", "getRecurrence", .status = 200, .shape = "Recurrence" },
    { HTTP_PUT, "/v1/recurrences/{name}", "RECUR", "putRecurrence", .status = 200, .shape = "Recurrence",
      .summary = "Makes a recurrence, which schedules a job at each time of its rule, or changes the one of that name. Give "
                 "exactly one of `rrule`, `cron` and `every`." },
    { HTTP_DELETE, "/v1/recurrences/{name}", "RECURDELETE", "deleteRecurrence", .status = 204 },
    { HTTP_POST, "/v1/recurrences/{name}/pause", "RECURPAUSE", "pauseRecurrence", .status = 204 },
    { HTTP_POST, "/v1/recurrences/{name}/resume", "RECURRESUME", "resumeRecurrence", .status = 204,
      .summary = "Lets a paused recurrence go on; times that passed meanwhile are skipped." },
    { HTTP_POST, "/v1/recurrences/{name}/run", "RECURRUN", "runRecurrence", .status = 201, .result = "id" },
    { HTTP_POST, "/v1/preview", "PREVIEW", "previewRule", .status = 200, .result = "times", .shape = "Occurrence",
      .summary = "Shows the next times of a rule, without making a recurrence. Give exactly one of `rrule`, `cron` and `every`." },

    { HTTP_GET, "/v1/occurrences", "OCCURRENCES", "listOccurrences", .status = 200, .shape = "Occurrences",
      .summary = "Shows the times of all recurrences in a window, past and to come, in order of time, page by page." },

    { HTTP_GET, "/v1/tenants", "TENANTS", "listTenants", .status = 200, .result = "tenants", .shape = "Tenant" },
    { HTTP_GET, "/v1/tenants/{name}", "TENANT", "getTenant", .only = "", .status = 200, .shape = "Tenant",
      .summary = "Shows a tenant." },
    { HTTP_PATCH, "/v1/tenants/{name}", "TENANT", "changeTenant", .status = 200, .shape = "Tenant",
      .summary = "Changes the settings of a tenant that are given, and shows it." },
    { HTTP_DELETE, "/v1/tenants/{name}", "TENANTDELETE", "deleteTenant", .status = 204 },
    { HTTP_POST, "/v1/bulks", "BULK", "startBulk", .status = 201, .shape = "Bulk" },
    { HTTP_GET, "/v1/bulks", "BULKS", "listBulks", .status = 200, .result = "bulks", .shape = "Bulk" },
    { HTTP_DELETE, "/v1/bulks/{id}", "BULKSTOP", "stopBulk", .status = 204 },
    { HTTP_GET, "/v1/audit", "AUDIT", "listAudit", .status = 200, .shape = "AuditPage",
      .summary = "Shows the audit log, oldest first: who changed settings, tokens, recurrences and many jobs at once. A page may be "
                 "short or empty although there are more." },
    { HTTP_GET, "/v1/workers", "WORKERS", "listWorkers", .status = 200, .result = "workers", .shape = "Worker" },
    { HTTP_GET, "/v1/overview", "OVERVIEW", "getOverview", .status = 200, .shape = "Overview" },
    { HTTP_GET, "/v1/stats", "STATS", "getStats", .less = "tenant", .status = 200, .shape = "Stats",
      .summary = "Shows the server's figures; to a token of one tenant that tenant's." },
    { HTTP_GET, "/v1/tenants/{tenant}/stats", "STATS", "getTenantStats", .status = 200, .shape = "TenantStats",
      .summary = "Shows a tenant's figures." },
    { HTTP_GET, "/v1/errors", "ERRORS", "listErrors", .status = 200, .shape = "ErrorPage" },
    { HTTP_GET, "/v1/series", "SERIES", "getSeries", .status = 200, .shape = "SeriesPage" },
    { HTTP_GET, "/v1/forecast", "FORECAST", "getForecast", .status = 200, .result = "steps", .shape = "Step" },

    { HTTP_POST, "/v1/tokens", "TOKENCREATE", "createToken", .status = 201, .shape = "NewToken" },
    { HTTP_GET, "/v1/tokens", "TOKENS", "listTokens", .status = 200, .result = "tokens", .shape = "Token" },
    { HTTP_DELETE, "/v1/tokens/{name}", "TOKENREVOKE", "revokeToken", .status = 204 },

    { HTTP_POST, "/v1/session", NULL, "createSession", .status = 200, .shape = "Session", .page = HTTP_SESSION, .open = true,
      .summary = "Begins a session of a browser: its cookie stands for the token. Only pages of this server can use the cookie." },
    { HTTP_GET, "/v1/session", NULL, "getSession", .status = 200, .shape = "Session", .page = HTTP_SESSION,
      .summary = "Shows who asks: the role and the tenant of the cookie's token, or of the token in the header." },
    { HTTP_DELETE, "/v1/session", NULL, "deleteSession", .status = 204, .page = HTTP_SESSION,
      .summary = "Ends the session of the browser. Its streams of events end, too." },

    { HTTP_GET, "/healthz", NULL, "getHealth", .status = 200, .shape = "Health", .page = HTTP_HEALTHZ, .open = true,
      .summary = "Answers while the process serves at all." },
    { HTTP_GET, "/readyz", NULL, "getReadiness", .status = 200, .shape = "Health", .page = HTTP_READYZ, .open = true,
      .summary = "Answers 200 while requests are taken, 503 while they are not." },
    { HTTP_GET, "/openapi.json", NULL, "getOpenApi", .status = 200, .page = HTTP_OPENAPI, .open = true,
      .summary = "This description, as OpenAPI 3.1." },
    { HTTP_GET, "/metrics", NULL, "getMetrics", .status = 200, .page = HTTP_METRICS,
      .summary = "All figures as text that Prometheus reads." },
    { HTTP_GET, "/v1/events", NULL, "streamEvents", .status = 200, .shape = "Event", .page = HTTP_EVENTS,
      .summary = "What happens to jobs, as it happens: a stream of server-sent events that does not end. Each has the new "
                 "state as its name and this object as its data; `gap` says that some were missed, and how many." },
    { HTTP_GET, "/docs", NULL, "getDocs", .status = 200, .page = HTTP_DOCS, .open = true, .summary = "This description as a page to read." },
    { HTTP_GET, "/", NULL, "getHome", .status = 200, .page = HTTP_HOME, .open = true,
      .summary = "The dashboard for browsers; for other clients what this server is, as JSON or text, with a first job to try." },
    { HTTP_GET, "/favicon.ico", NULL, "getIcon", .status = 204, .page = HTTP_ICON, .open = true,
      .summary = "Nothing: browsers ask for it." },
    { HTTP_GET, "/ui/{file}", NULL, NULL, .status = 200, .page = HTTP_UI, .open = true },
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
    if (path.len == 1 || left.len == 1)
        return str_eq(path, left);
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
    if (r->page == HTTP_SESSION && r->method == HTTP_POST)
        return &login_options;
    return r->verb ? verb_find(verb_table, str_of(r->verb)) : NULL;
}

bool http_allows(const struct http_route *r, enum role role)
{
    const struct verb *v = http_route_verb(r);
    bool only_looks = role == ROLE_READONLY && v->flags & VERB_SHOWS;

    return verb_allows(v, role) && (!only_looks || r->method == HTTP_GET);
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
    if (a->http)
        return false;
    if (!r)
        return true;
    if (http_in_path(r, a) || (r->less && is_listed(r->less, a->name)))
        return false;
    return !r->only || is_listed(r->only, a->name);
}

const struct arg http_form = {
    "payload", ARG_WORD, .words = "text|json",
    .help = "`json`: a payload or result that is JSON comes as that value, in `payload_json` or "
            "`result_json` in place of "
            "`payload` or `result`; any other comes as with `text`, the default"
};

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
