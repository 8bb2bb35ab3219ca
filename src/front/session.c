/* SPDX-License-Identifier: MIT */
#include "front/session.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "base/list.h"
#include "base/suggest.h"
#include "base/time.h"
#include "front/resp.h"

void session_init(struct session *s, uint64_t id)
{
    *s = (struct session){ .id = id, .proto = 2 };
}

/* ---- Requests about the connection ---- */

struct ask {
    struct session *s;
    const struct session_target *t;
    const struct str *words;
    size_t n;
    struct reply *reply;
};

static void ask_fail(const struct ask *a, const char *code, const char *text)
{
    reply_refuse(a->reply, code, str_of(text));
}

static void set_name(const struct ask *a, struct str name)
{
    snprintf(a->s->name, sizeof(a->s->name), "%.*s", STR_ARG(name));
}

static void put_field(const struct ask *a, const char *name, const char *value)
{
    reply_text(a->reply, name);
    reply_text(a->reply, value);
}

static void put_number(const struct ask *a, const char *name, int64_t value)
{
    reply_text(a->reply, name);
    reply_integer(a->reply, value);
}

/* False after an error reply. */
static bool show_token(const struct ask *a, struct str user, struct str password)
{
    int err;

    if (engine_token_count(partition_engine(a->t->partition)) == 0) {
        ask_fail(a, "ERR", "there are no tokens: connect without a password");
        return false;
    }
    err = session_auth(a->s, a->t, user, password);
    if (err)
        ask_fail(a, error_name(err), session_auth_why(a->s, err));
    return !err;
}

/* HELLO [2|3] [AUTH user password] [SETNAME name] */
static void ask_hello(const struct ask *a)
{
    int proto = a->s->proto;
    size_t auth = 0;

    if (a->n > 1) {
        if (a->words[1].len != 1 || (a->words[1].ptr[0] != '2' && a->words[1].ptr[0] != '3')) {
            ask_fail(a, "NOPROTO", "expected protocol version 2 or 3");
            return;
        }
        proto = a->words[1].ptr[0] - '0';
    }
    for (size_t i = 2; i < a->n; i += 2) {
        if (str_ieq(a->words[i], "SETNAME") && i + 1 < a->n) {
            set_name(a, a->words[i + 1]);
        } else if (str_ieq(a->words[i], "AUTH") && i + 2 < a->n) {
            auth = i++;
        } else {
            ask_fail(a, "INVALID", "usage: HELLO [2|3] [AUTH user token] [SETNAME name]");
            return;
        }
    }
    if (auth && !show_token(a, a->words[auth + 1], a->words[auth + 2]))
        return;
    a->s->proto = proto;
    container_of(a->reply, struct resp_reply, base)->proto = proto;
    reply_map(a->reply, 6);
    put_field(a, "server", "belfry");
    put_field(a, "version", BELFRY_VERSION);
    put_number(a, "proto", proto);
    put_number(a, "id", (int64_t)a->s->id);
    put_field(a, "mode", "standalone");
    put_field(a, "role", "master"); /* clients look for Redis's word */
}

static void ask_ping(const struct ask *a)
{
    if (a->n > 1)
        reply_bytes(a->reply, a->words[1]);
    else
        reply_status(a->reply, "PONG");
}

static void ask_echo(const struct ask *a)
{
    reply_bytes(a->reply, a->words[1]);
}

static void ask_quit(const struct ask *a)
{
    a->s->quit = true;
    reply_status(a->reply, "OK");
}

static void ask_reset(const struct ask *a)
{
    struct session fresh;

    session_init(&fresh, a->s->id);
    memcpy(fresh.address, a->s->address, sizeof(fresh.address));
    fresh.remote = a->s->remote;
    *a->s = fresh;
    reply_status(a->reply, "RESET");
}

static void ask_select(const struct ask *a)
{
    if (str_eq(a->words[1], STR("0")))
        reply_status(a->reply, "OK");
    else
        ask_fail(a, "INVALID", "there is only database 0; queues keep work apart");
}

/* Client libraries send this when they connect. */
static void ask_client(const struct ask *a)
{
    if (str_ieq(a->words[1], "SETNAME") && a->n == 3) {
        set_name(a, a->words[2]);
        reply_status(a->reply, "OK");
    } else if (str_ieq(a->words[1], "GETNAME")) {
        reply_text(a->reply, a->s->name);
    } else if (str_ieq(a->words[1], "ID")) {
        reply_integer(a->reply, (int64_t)a->s->id);
    } else if (str_ieq(a->words[1], "UNBLOCK") && a->n == 3) {
        session_unblock(a->s, a->t->host, a->words[2], a->reply);
    } else if (str_ieq(a->words[1], "SETINFO")) {
        reply_status(a->reply, "OK");
    } else {
        ask_fail(a, "INVALID", "CLIENT: expected SETNAME, GETNAME, SETINFO, ID or UNBLOCK");
    }
}

/* AUTH token, AUTH name secret, or AUTH anything token: libraries send all three. */
static void ask_auth(const struct ask *a)
{
    bool both = a->n == 3;

    if (a->n > 3)
        ask_fail(a, "INVALID", "usage: AUTH token, or AUTH name secret");
    else if (show_token(a, both ? a->words[1] : (struct str){ 0 }, a->words[both ? 2 : 1]))
        reply_status(a->reply, "OK");
}

/* Figures of the whole server. */
static void put_figures(struct buf *text, const struct verb_host_stats *h,
                        const struct engine_stats *s, const struct partition_stats *p)
{
    buf_printf(text,
               "# Clients\r\nconnected_clients:%llu\r\nblocked_clients:%llu\r\n"
               "# Memory\r\nused_memory:%llu\r\nused_memory_rss:%llu\r\nmaxmemory:%llu\r\n"
               "# Stats\r\ntotal_commands_processed:%llu\r\n"
               "# Jobs\r\nhot_jobs:%llu\r\ncold_jobs:%llu\r\nruns:%llu\r\nrun_bytes:%llu\r\n",
               (unsigned long long)h->connections, (unsigned long long)s->waiters,
               (unsigned long long)p->memory_bytes, (unsigned long long)h->rss_bytes,
               (unsigned long long)h->memory_limit_bytes, (unsigned long long)h->commands,
               (unsigned long long)s->hot_jobs, (unsigned long long)s->cold_jobs,
               (unsigned long long)s->runs, (unsigned long long)s->run_bytes);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        buf_printf(text, "jobs_%s:%llu\r\n", job_state_name((enum job_state)i),
                   (unsigned long long)s->jobs[i]);
}

/* Clients ask for this when they connect. Figures are for tokens of all tenants whose role may see
 * STATS. */
static void ask_info(const struct ask *a)
{
    struct engine *e = partition_engine(a->t->partition);
    struct verb_host_stats h;
    struct engine_stats s;
    struct partition_stats p;
    struct buf text = { 0 };

    a->t->host->stats(a->t->host, &h);
    engine_stats(e, &s);
    partition_stats(a->t->partition, &p);
    buf_printf(&text,
               "# Server\r\nserver:belfry\r\nbelfry_version:%s\r\nredis_mode:standalone\r\n"
               "loading:0\r\nuptime_in_seconds:%lld\r\n",
               BELFRY_VERSION, (long long)h.uptime_ms / 1000);
    if (verb_allows(verb_find(verb_table, STR("STATS")), a->s->who.role) && !a->s->who.confined)
        put_figures(&text, &h, &s, &p);
    reply_bytes(a->reply, buf_view(&text));
    buf_fini(&text);
}

/* ---- COMMAND, so that redis-cli completes and hints ---- */

#define CASE_TEXT         32
#define COMMAND_NAMES_MAX 100

static struct str in_case(const char *name, int (*convert)(int c), char ret[CASE_TEXT])
{
    size_t n = 0;

    for (; name[n] && n + 1 < CASE_TEXT; n++)
        ret[n] = (char)convert((unsigned char)name[n]);
    return (struct str){ ret, n };
}

static void doc_argument(const struct ask *a, const struct arg *g)
{
    bool optional = !g->positional || g->optional;
    char token[CASE_TEXT];

    reply_map(a->reply, g->positional ? 3 : 4);
    put_field(a, "name", g->name);
    put_field(a, "type", g->type == ARG_INT ? "integer" : "string");
    if (!g->positional) {
        reply_text(a->reply, "token");
        reply_bytes(a->reply, in_case(g->name, toupper, token));
    }
    reply_text(a->reply, "flags");
    reply_array(a->reply, optional);
    if (optional)
        reply_status(a->reply, "optional");
}

static void doc_verb(const struct ask *a, const struct verb *v)
{
    char name[CASE_TEXT];
    size_t args = 0;

    while (v->args[args].type != ARG_END)
        args++;
    reply_bytes(a->reply, in_case(v->name, tolower, name));
    reply_map(a->reply, args ? 4 : 3);
    put_field(a, "summary", v->summary);
    put_field(a, "since", "0.1.0");
    put_field(a, "group", "belfry");
    if (args) {
        reply_text(a->reply, "arguments");
        reply_array(a->reply, args);
        for (size_t i = 0; i < args; i++)
            doc_argument(a, &v->args[i]);
    }
}

static void info_verb(const struct ask *a, const struct verb *v)
{
    int arity = 1;

    for (const struct arg *g = v->args; g->positional && !g->optional; g++)
        arity++;
    reply_array(a->reply, 6);
    reply_text(a->reply, v->name);
    reply_integer(a->reply, -arity);
    reply_array(a->reply, 1);
    reply_status(a->reply, v->flags & VERB_READS ? "readonly" : "write");
    for (int i = 0; i < 3; i++)
        reply_integer(a->reply, 0); /* no argument is a key of Redis */
}

static size_t verb_count(void)
{
    size_t n = 0;

    while (verb_table[n].name)
        n++;
    return n;
}

static bool is_among(const struct verb *v, const struct verb *const *some, size_t n)
{
    while (n-- > 0)
        if (some[n] == v)
            return true;
    return false;
}

/* Each verb once, and no unknown names, as Redis does it. */
static void docs_of_verbs(const struct ask *a)
{
    const struct verb *named[COMMAND_NAMES_MAX];
    size_t n = 0;

    for (size_t i = 2; i < a->n; i++) {
        const struct verb *v = verb_find(verb_table, a->words[i]);

        if (v && !is_among(v, named, n))
            named[n++] = v;
    }
    reply_map(a->reply, a->n > 2 ? n : verb_count());
    for (size_t i = 0; a->n > 2 ? i < n : verb_table[i].name != NULL; i++)
        doc_verb(a, a->n > 2 ? named[i] : &verb_table[i]);
}

static void infos_of_verbs(const struct ask *a)
{
    size_t all = a->n > 2 ? a->n - 2 : verb_count();

    reply_array(a->reply, all);
    for (size_t i = 0; i < all; i++) {
        const struct verb *v = a->n > 2 ? verb_find(verb_table, a->words[i + 2]) : &verb_table[i];

        if (v)
            info_verb(a, v);
        else
            reply_null(a->reply);
    }
}

/* COMMAND [COUNT | DOCS [name...] | INFO [name...]] */
static void ask_command(const struct ask *a)
{
    bool docs = a->n > 1 && str_ieq(a->words[1], "DOCS");

    if (a->n > 1 && str_ieq(a->words[1], "COUNT")) {
        reply_integer(a->reply, (int64_t)verb_count());
        return;
    }
    if (a->n > 1 && !docs && !str_ieq(a->words[1], "INFO")) {
        ask_fail(a, "INVALID", "COMMAND: expected COUNT, DOCS or INFO");
        return;
    }
    if (a->n > 2 + COMMAND_NAMES_MAX)
        ask_fail(a, "INVALID", "COMMAND: expected at most 100 names");
    else if (docs)
        docs_of_verbs(a);
    else
        infos_of_verbs(a);
}

static void refuse_verb(const struct ask *a, struct str name);

/* HELP [verb] */
static void ask_help(const struct ask *a)
{
    const struct verb *v = a->n > 1 ? verb_find(verb_table, a->words[1]) : NULL;
    struct buf line = { 0 };

    if (a->n > 1 && !v) {
        refuse_verb(a, a->words[1]);
        return;
    }
    reply_array(a->reply, v ? 3 : verb_count());
    for (const struct verb *each = v ? v : verb_table; each->name; each++) {
        line.len = 0;
        verb_usage(each, &line);
        reply_bytes(a->reply, buf_view(&line));
        if (v) {
            reply_text(a->reply, v->summary);
            line.len = 0;
            buf_printf(&line, "Example: %s", v->example);
            reply_bytes(a->reply, buf_view(&line));
            break;
        }
    }
    buf_fini(&line);
}

static const struct ask_row {
    const char *name;
    size_t min_words;
    bool sees_state;
    bool open; /* also to clients that have shown no token */
    void (*run)(const struct ask *a);
} ask_rows[] = {
    { "PING", 1, false, true, ask_ping },        { "HELLO", 1, false, true, ask_hello },
    { "COMMAND", 1, false, false, ask_command }, { "CLIENT", 2, false, false, ask_client },
    { "INFO", 1, true, false, ask_info },        { "HELP", 1, false, false, ask_help },
    { "ECHO", 2, false, false, ask_echo },       { "SELECT", 2, false, false, ask_select },
    { "AUTH", 2, false, true, ask_auth },        { "RESET", 1, false, true, ask_reset },
    { "QUIT", 1, false, true, ask_quit },        { 0 },
};

static const struct ask_row *ask_find(struct str name)
{
    for (const struct ask_row *row = ask_rows; row->name; row++)
        if (str_ieq(name, row->name))
            return row;
    return NULL;
}

static void refuse_verb(const struct ask *a, struct str name)
{
    struct suggest s = { .given = name };
    char text[160];
    int shown = (int)(name.len < 64 ? name.len : 64);

    for (const struct verb *v = verb_table; v->name; v++)
        suggest_offer(&s, v->name);
    for (const struct ask_row *row = ask_rows; row->name; row++)
        suggest_offer(&s, row->name);
    if (s.best)
        snprintf(text, sizeof(text), "unknown verb '%.*s'; did you mean %s?", shown, name.ptr,
                 s.best);
    else
        snprintf(text, sizeof(text), "unknown verb '%.*s'; HELP lists all verbs", shown, name.ptr);
    ask_fail(a, "UNKNOWN", text);
}

/* Whether a request about the connection has a small answer. */
static bool is_small(const struct str *words, size_t n)
{
    const struct ask_row *row = ask_find(words[0]);

    return !row || (row->open && (n == 1 || row->run != ask_ping));
}

/* NOAUTH is the answer to every request of an unknown client. */
uint64_t session_refuse_unknown(const struct session *s, const struct session_target *t,
                                struct reply *r)
{
    struct engine *e = partition_engine(t->partition);
    struct verb_call call = { .reply = r };

    verb_error(&call, BELFRY_NOAUTH, identity_why(&s->who, e));
    return engine_visible_lsn(e); /* the answer shows that there are tokens */
}

static uint64_t execute_ask(const struct ask *a)
{
    const struct ask_row *row = ask_find(a->words[0]);
    struct engine *e = partition_engine(a->t->partition);

    if (identity_check(&a->s->who, e, a->s->remote) < 0 && !(row && row->open))
        return session_refuse_unknown(a->s, a->t, a->reply);
    if (row && a->n >= row->min_words) {
        row->run(a);
    } else if (row) {
        ask_fail(a, "INVALID", "too few arguments");
    } else {
        refuse_verb(a, a->words[0]);
    }
    return row && row->sees_state ? engine_visible_lsn(e) : 0;
}

int session_auth(struct session *s, const struct session_target *t, struct str user,
                 struct str password)
{
    struct str address = str_of(s->address);
    int64_t mono_ms = time_mono_ms();
    uint32_t failures;
    int err;

    /* A right token is taken whatever came before it: only wrong ones are counted. */
    err = identity_show(&s->who, partition_engine(t->partition), user, password);
    s->refused = !err && t->admit ? t->admit(s) : NULL;
    if (s->refused)
        return BELFRY_BUSY;
    if (!err || !t->guard)
        return err;
    if (!guard_admits(t->guard, address, mono_ms))
        return BELFRY_BUSY;
    failures = guard_failed(t->guard, address, mono_ms);
    if (t->host->auth_failed)
        t->host->auth_failed(t->host, address, failures);
    return err;
}

const char *session_auth_why(const struct session *s, int err)
{
    if (err && s->refused)
        return s->refused;
    return err == BELFRY_BUSY ? "this token is wrong, and so were many others from this address: "
                                "try again in a minute"
                              : error_text(err);
}

/* While memory is short, a session may add jobs once in a millisecond. So clients that add little
 * do not wait for clients that add much. */
static bool lacks_room(struct session *s, const struct session_target *t)
{
    int64_t now = engine_now(partition_engine(t->partition));

    if (!partition_pressed(t->partition))
        return false;
    if (partition_crammed(t->partition) || s->added_ms == now)
        return true;
    s->added_ms = now;
    return false;
}

uint64_t session_call(struct session *s, const struct session_target *t, const struct verb *v,
                      const struct str *words, size_t n, void *owner, struct reply *reply)
{
    struct arg_value args[VERB_ARGS_MAX];
    char kept[NAME_MAX_BYTES];
    struct verb_call call = {
        .engine = partition_engine(t->partition),
        .partition = t->partition,
        .host = t->host,
        .reply = reply,
        .args = args,
        .verb = v,
        .words = words,
        .word_count = n,
        .owner = owner,
        .who = &s->who,
        .address = str_of(s->address),
        .kept = kept,
    };
    uint64_t changes = engine_changes(call.engine);
    bool again = s->cold;
    char why[512];
    int err;

    if (session_awaits(s))
        return session_go_on(s, t, &call);
    s->cold = s->no_room = s->crowded = false;
    s->awaited = REPLY_PLAIN;
    if (identity_check(&s->who, call.engine, s->remote) < 0)
        return session_refuse_unknown(s, t, reply);
    if (verb_admit(&call) < 0)
        return engine_visible_lsn(call.engine);
    /* A request that waited for the disk was let in before, so it does not wait for room. */
    s->crowded = t->crowded && v->flags & (VERB_READS | VERB_TAKES) && !again;
    s->no_room = s->crowded || (v->flags & VERB_ADDS && !again && lacks_room(s, t));
    if (s->no_room)
        return 0;
    err = verb_parse(v, t->host, words, n, why, sizeof(why), args, &call.given);
    if (err) {
        verb_error(&call, err, why);
        return 0;
    }
    if (verb_scope(&call) < 0)
        return engine_visible_lsn(call.engine);
    if (session_lacks_ration(s, t, &call))
        return 0;
    engine_scope(call.engine, call.tenant);
    v->run(&call);
    session_note(s, &call);
    if (verb_is_audited(&call) && !call.cold && !call.failed &&
        engine_changes(call.engine) != changes)
        session_audit(s, t, &call);
    return v->flags & VERB_TAKES ? engine_offered_lsn(call.engine)
                                 : engine_visible_lsn(call.engine);
}

uint64_t session_execute(struct session *s, const struct session_target *t, const struct str *words,
                         size_t n, void *owner, struct buf *out)
{
    const struct verb *v = verb_find(verb_table, words[0]);
    struct resp_reply reply = resp_reply_of(out, s->proto);
    size_t before = out->len;
    uint64_t lsn;

    s->verb = v ? v->name : NULL;
    s->quick = v && v->flags & VERB_QUICK;
    if (!v) {
        s->cold = false;
        s->no_room = s->crowded = t->crowded && !is_small(words, n);
        if (s->no_room)
            return 0;
        return execute_ask(&(struct ask){ s, t, words, n, &reply.base });
    }
    lsn = session_call(s, t, v, words, n, owner, &reply.base);
    assert(!s->cold || out->len == before);
    (void)before;
    return lsn;
}

void session_fail(struct session *s, int err, const char *detail, struct buf *out)
{
    struct resp_reply reply = resp_reply_of(out, s->proto);
    struct verb_call call = { .reply = &reply.base };

    verb_error(&call, err, detail);
}

void session_serve(struct session *s, const struct engine *e, struct job *const *jobs, size_t n,
                   struct buf *out)
{
    struct resp_reply reply = resp_reply_of(out, s->proto);

    s->parked = NULL;
    verb_reply_leases(e, &reply.base, jobs, n);
}
