/* SPDX-License-Identifier: MIT */
#include "front/session.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "base/list.h"
#include "base/time.h"
#include "front/resp.h"

/* The reply vtable on RESP. */
struct resp_reply {
    struct reply base;
    struct buf *out;
    int proto;
};

static struct resp_reply *of(struct reply *r)
{
    return container_of(r, struct resp_reply, base);
}

static void write_status(struct reply *r, const char *word)
{
    resp_simple(of(r)->out, word);
}

static void write_error(struct reply *r, const char *code, struct str text)
{
    resp_error(of(r)->out, code, text);
}

static size_t mark(const struct reply *r)
{
    return container_of(r, const struct resp_reply, base)->out->len;
}

static void write_again(struct reply *r, size_t from, size_t to)
{
    struct buf *out = of(r)->out;

    if (buf_reserve(out, to - from)) {
        memcpy(out->ptr + out->len, out->ptr + from, to - from);
        out->len += to - from;
    }
}

static void write_integer(struct reply *r, int64_t v)
{
    resp_int(of(r)->out, v);
}

static void write_bytes(struct reply *r, struct str s)
{
    resp_bulk(of(r)->out, s);
}

static void write_null(struct reply *r)
{
    resp_null(of(r)->out, of(r)->proto);
}

static void write_boolean(struct reply *r, bool v)
{
    resp_bool(of(r)->out, of(r)->proto, v);
}

static void write_array(struct reply *r, size_t n)
{
    resp_array(of(r)->out, n);
}

static void write_map(struct reply *r, size_t pairs)
{
    resp_map(of(r)->out, of(r)->proto, pairs);
}

static const struct reply_ops resp_reply_ops = {
    .status = write_status,
    .error = write_error,
    .integer = write_integer,
    .bytes = write_bytes,
    .null = write_null,
    .boolean = write_boolean,
    .array = write_array,
    .map = write_map,
    .mark = mark,
    .again = write_again,
};

static struct resp_reply reply_of(const struct session *s, struct buf *out)
{
    return (struct resp_reply){ { &resp_reply_ops }, out, s->proto };
}

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
    struct buf *out;
};

static void fail(const struct ask *a, const char *code, const char *text)
{
    resp_error(a->out, code, str_of(text));
}

static void set_name(const struct ask *a, struct str name)
{
    snprintf(a->s->name, sizeof(a->s->name), "%.*s", STR_ARG(name));
}

static void field(const struct ask *a, const char *name, const char *value)
{
    resp_bulk(a->out, str_of(name));
    resp_bulk(a->out, str_of(value));
}

/* False after an error reply. */
static bool show_token(const struct ask *a, struct str user, struct str password)
{
    int err;

    if (engine_token_count(partition_engine(a->t->partition)) == 0) {
        fail(a, "ERR", "there are no tokens: connect without a password");
        return false;
    }
    err = session_auth(a->s, a->t, user, password);
    if (err)
        fail(a, error_name(err), session_auth_why(err));
    return !err;
}

/* HELLO [2|3] [AUTH user password] [SETNAME name] */
static void ask_hello(const struct ask *a)
{
    int proto = a->s->proto;
    size_t auth = 0;

    if (a->n > 1) {
        if (a->words[1].len != 1 || (a->words[1].ptr[0] != '2' && a->words[1].ptr[0] != '3')) {
            fail(a, "NOPROTO", "expected protocol version 2 or 3");
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
            fail(a, "INVALID", "usage: HELLO [2|3] [AUTH user token] [SETNAME name]");
            return;
        }
    }
    if (auth && !show_token(a, a->words[auth + 1], a->words[auth + 2]))
        return;
    a->s->proto = proto;
    resp_map(a->out, proto, 6);
    field(a, "server", "belfry");
    field(a, "version", BELFRY_VERSION);
    resp_bulk(a->out, STR("proto"));
    resp_int(a->out, proto);
    resp_bulk(a->out, STR("id"));
    resp_int(a->out, (int64_t)a->s->id);
    field(a, "mode", "standalone");
    field(a, "role", "master"); /* clients look for Redis's word */
}

static void ask_ping(const struct ask *a)
{
    if (a->n > 1)
        resp_bulk(a->out, a->words[1]);
    else
        resp_simple(a->out, "PONG");
}

static void ask_echo(const struct ask *a)
{
    resp_bulk(a->out, a->words[1]);
}

static void ask_quit(const struct ask *a)
{
    a->s->quit = true;
    resp_simple(a->out, "OK");
}

static void ask_reset(const struct ask *a)
{
    struct session fresh;

    session_init(&fresh, a->s->id);
    memcpy(fresh.address, a->s->address, sizeof(fresh.address));
    fresh.remote = a->s->remote;
    *a->s = fresh;
    resp_simple(a->out, "RESET");
}

static void ask_select(const struct ask *a)
{
    if (str_eq(a->words[1], STR("0")))
        resp_simple(a->out, "OK");
    else
        fail(a, "INVALID", "there is only database 0; queues keep work apart");
}

/* What client libraries send of themselves. */
static void ask_client(const struct ask *a)
{
    if (str_ieq(a->words[1], "SETNAME") && a->n == 3) {
        set_name(a, a->words[2]);
        resp_simple(a->out, "OK");
    } else if (str_ieq(a->words[1], "GETNAME")) {
        resp_bulk(a->out, str_of(a->s->name));
    } else if (str_ieq(a->words[1], "ID")) {
        resp_int(a->out, (int64_t)a->s->id);
    } else if (str_ieq(a->words[1], "SETINFO")) {
        resp_simple(a->out, "OK");
    } else {
        fail(a, "INVALID", "CLIENT: expected SETNAME, GETNAME, SETINFO or ID");
    }
}

/* AUTH token, AUTH name secret, and AUTH anything token: what libraries send. */
static void ask_auth(const struct ask *a)
{
    bool both = a->n == 3;

    if (a->n > 3)
        fail(a, "INVALID", "usage: AUTH token, or AUTH name secret");
    else if (show_token(a, both ? a->words[1] : (struct str){ 0 }, a->words[both ? 2 : 1]))
        resp_simple(a->out, "OK");
}

/* What clients look for when they connect; figures are for those who may see all of them. */
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
    if (a->s->who.confined) {
        resp_bulk(a->out, buf_view(&text));
        buf_fini(&text);
        return;
    }
    buf_printf(&text,
               "# Clients\r\nconnected_clients:%llu\r\nblocked_clients:%llu\r\n"
               "# Memory\r\nused_memory:%llu\r\nused_memory_rss:%llu\r\nmaxmemory:%llu\r\n"
               "# Stats\r\ntotal_commands_processed:%llu\r\n"
               "# Jobs\r\nhot_jobs:%llu\r\ncold_jobs:%llu\r\nruns:%llu\r\nrun_bytes:%llu\r\n",
               (unsigned long long)h.connections, (unsigned long long)s.waiters,
               (unsigned long long)p.memory_bytes, (unsigned long long)h.rss_bytes,
               (unsigned long long)h.memory_limit_bytes, (unsigned long long)h.commands,
               (unsigned long long)s.hot_jobs, (unsigned long long)s.cold_jobs,
               (unsigned long long)s.runs, (unsigned long long)s.run_bytes);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        buf_printf(&text, "jobs_%s:%llu\r\n", job_state_name((enum job_state)i),
                   (unsigned long long)s.jobs[i]);
    resp_bulk(a->out, buf_view(&text));
    buf_fini(&text);
}

/* ---- COMMAND, so that redis-cli completes and hints ---- */

static void doc_argument(const struct ask *a, const struct arg *g)
{
    char token[32] = { 0 };

    for (size_t i = 0; g->name[i] && i + 1 < sizeof(token); i++)
        token[i] = (char)toupper((unsigned char)g->name[i]);
    resp_map(a->out, a->s->proto, g->positional ? 3 : 4);
    field(a, "name", g->name);
    field(a, "type", g->type == ARG_INT ? "integer" : "string");
    if (!g->positional)
        field(a, "token", token);
    resp_bulk(a->out, STR("flags"));
    resp_array(a->out, !g->positional || g->optional ? 1 : 0);
    if (!g->positional || g->optional)
        resp_simple(a->out, "optional");
}

static void doc_verb(const struct ask *a, const struct verb *v)
{
    char name[32] = { 0 };
    size_t args = 0;

    for (size_t i = 0; v->name[i] && i + 1 < sizeof(name); i++)
        name[i] = (char)tolower((unsigned char)v->name[i]);
    while (v->args[args].type != ARG_END)
        args++;
    resp_bulk(a->out, str_of(name));
    resp_map(a->out, a->s->proto, args ? 4 : 3);
    field(a, "summary", v->summary);
    field(a, "since", "0.1.0");
    field(a, "group", "belfry");
    if (args) {
        resp_bulk(a->out, STR("arguments"));
        resp_array(a->out, args);
        for (size_t i = 0; i < args; i++)
            doc_argument(a, &v->args[i]);
    }
}

static void info_verb(const struct ask *a, const struct verb *v)
{
    int arity = 1;

    for (const struct arg *g = v->args; g->positional && !g->optional; g++)
        arity++;
    resp_array(a->out, 6);
    resp_bulk(a->out, str_of(v->name));
    resp_int(a->out, -arity);
    resp_array(a->out, 1);
    resp_simple(a->out, v->flags & VERB_READS ? "readonly" : "write");
    resp_int(a->out, 0); /* no arguments are keys in Redis's sense */
    resp_int(a->out, 0);
    resp_int(a->out, 0);
}

static size_t verb_count(void)
{
    size_t n = 0;

    while (verb_table[n].name)
        n++;
    return n;
}

/* COMMAND [COUNT | DOCS [name...] | INFO [name...]] */
static void ask_command(const struct ask *a)
{
    bool docs = a->n > 1 && str_ieq(a->words[1], "DOCS");
    bool info = a->n == 1 || str_ieq(a->words[1], "INFO");
    size_t n = 0;

    if (a->n > 1 && str_ieq(a->words[1], "COUNT")) {
        resp_int(a->out, (int64_t)verb_count());
        return;
    }
    if (!docs && !info) {
        fail(a, "INVALID", "COMMAND: expected COUNT, DOCS or INFO");
        return;
    }
    if (a->n > 2) { /* Redis leaves unknown names out of DOCS and answers null for them in INFO */
        for (size_t i = 2; i < a->n; i++)
            n += verb_find(verb_table, a->words[i]) != NULL;
        docs ? resp_map(a->out, a->s->proto, n) : resp_array(a->out, a->n - 2);
        for (size_t i = 2; i < a->n; i++) {
            const struct verb *v = verb_find(verb_table, a->words[i]);

            if (v)
                docs ? doc_verb(a, v) : info_verb(a, v);
            else if (!docs)
                resp_null(a->out, a->s->proto);
        }
        return;
    }
    docs ? resp_map(a->out, a->s->proto, verb_count()) : resp_array(a->out, verb_count());
    for (const struct verb *v = verb_table; v->name; v++)
        docs ? doc_verb(a, v) : info_verb(a, v);
}

/* HELP [verb] */
static void ask_help(const struct ask *a)
{
    const struct verb *v = a->n > 1 ? verb_find(verb_table, a->words[1]) : NULL;
    struct buf line = { 0 };

    if (a->n > 1 && !v) {
        fail(a, "UNKNOWN", "no such verb; HELP lists them all");
        return;
    }
    resp_array(a->out, v ? 3 : verb_count());
    for (const struct verb *each = v ? v : verb_table; each->name; each++) {
        line.len = 0;
        verb_usage(each, &line);
        resp_bulk(a->out, buf_view(&line));
        if (v) {
            resp_bulk(a->out, str_of(v->summary));
            line.len = 0;
            buf_printf(&line, "Example: %s", v->example);
            resp_bulk(a->out, buf_view(&line));
            break;
        }
    }
    buf_fini(&line);
}

static const struct {
    const char *name;
    size_t min_words;
    bool sees_state;
    bool open; /* to those who have shown no token, too */
    void (*run)(const struct ask *a);
} asks[] = {
    { "PING", 1, false, true, ask_ping },        { "HELLO", 1, false, true, ask_hello },
    { "COMMAND", 1, false, false, ask_command }, { "CLIENT", 2, false, false, ask_client },
    { "INFO", 1, true, false, ask_info },        { "HELP", 1, false, false, ask_help },
    { "ECHO", 2, false, false, ask_echo },       { "SELECT", 2, false, false, ask_select },
    { "AUTH", 2, false, true, ask_auth },        { "RESET", 1, false, true, ask_reset },
    { "QUIT", 1, false, true, ask_quit },
};

/* NOAUTH is an answer to whatever was asked. */
static uint64_t refuse_unknown(const struct session *s, const struct session_target *t,
                               struct reply *r)
{
    struct engine *e = partition_engine(t->partition);
    struct verb_call call = { .reply = r };

    verb_error(&call, BELFRY_NOAUTH, identity_why(&s->who, e));
    return engine_visible_lsn(e); /* it tells that there are tokens */
}

/* Whether it may be answered now. */
static bool may_ask(const struct ask *a)
{
    if (identity_check(&a->s->who, partition_engine(a->t->partition), a->s->remote) == 0)
        return true;
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
        if (str_ieq(a->words[0], asks[i].name))
            return asks[i].open;
    return false;
}

static bool execute_ask(const struct ask *a)
{
    char text[160];

    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        if (!str_ieq(a->words[0], asks[i].name))
            continue;
        if (a->n < asks[i].min_words)
            fail(a, "INVALID", "too few arguments");
        else
            asks[i].run(a);
        return asks[i].sees_state;
    }
    snprintf(text, sizeof(text), "unknown verb '%.*s'; HELP lists all verbs",
             (int)(a->words[0].len < 64 ? a->words[0].len : 64), a->words[0].ptr);
    fail(a, "UNKNOWN", text);
    return false;
}

int session_auth(struct session *s, const struct session_target *t, struct str user,
                 struct str password)
{
    struct str address = str_of(s->address);
    int64_t mono_ms = time_mono_us() / 1000;
    uint32_t failures;
    int err;

    if (t->guard && !guard_admits(t->guard, address, mono_ms))
        return BELFRY_BUSY;
    err = identity_show(&s->who, partition_engine(t->partition), user, password);
    if (err && t->guard) {
        failures = guard_failed(t->guard, address, mono_ms);
        if (t->host->auth_failed)
            t->host->auth_failed(t->host, address, failures);
    }
    return err;
}

const char *session_auth_why(int err)
{
    return err == BELFRY_BUSY
               ? "too many wrong tokens came from this address: try again in a minute"
               : error_text(err);
}

/* While memory is short a session may add once in a millisecond, so that those who add little do
 * not wait for those who add much. */
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

/* What was changed is in the audit log before the answer leaves, as that waits for both. If there
 * is no memory for that, nothing of it has happened. */
static void audit(const struct session *s, struct verb_call *call)
{
    if (verb_audit(call, str_of(s->name), str_of(s->address)) < 0)
        engine_tear(call->engine);
}

uint64_t session_call(struct session *s, const struct session_target *t, const struct verb *v,
                      const struct str *words, size_t n, void *owner, struct reply *reply)
{
    struct arg_value args[VERB_ARGS_MAX];
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
    };
    uint64_t lsn = engine_lsn(call.engine);
    bool again = s->cold;
    char why[512];
    int err;

    s->cold = s->no_room = false;
    if (identity_check(&s->who, call.engine, s->remote) < 0)
        return refuse_unknown(s, t, reply);
    if (verb_admit(&call) < 0)
        return engine_visible_lsn(call.engine);
    /* A request that had room and then waited for the disk needs no room again. */
    s->no_room = v->flags & VERB_ADDS && !again && lacks_room(s, t);
    if (s->no_room)
        return 0;
    err = verb_parse(v, t->host, words, n, args, why, sizeof(why));
    if (err) {
        verb_error(&call, err, why);
        return 0;
    }
    if (verb_scope(&call) < 0)
        return engine_visible_lsn(call.engine);
    engine_scope(call.engine, call.tenant);
    v->run(&call);
    s->parked = call.parked;
    s->cold = call.cold;
    if (v->flags & (VERB_ADMIN | VERB_AUDITS) && !call.cold && !call.failed &&
        engine_lsn(call.engine) != lsn)
        audit(s, &call);
    return v->flags & VERB_TAKES ? engine_offered_lsn(call.engine)
                                 : engine_visible_lsn(call.engine);
}

uint64_t session_execute(struct session *s, const struct session_target *t, const struct str *words,
                         size_t n, void *owner, struct buf *out)
{
    const struct verb *v = verb_find(verb_table, words[0]);
    struct resp_reply reply = reply_of(s, out);
    size_t before = out->len;
    uint64_t lsn;

    if (!v) {
        struct ask a = { s, t, words, n, out };

        s->cold = s->no_room = false;
        if (!may_ask(&a))
            return refuse_unknown(s, t, &reply.base);
        return execute_ask(&a) ? engine_visible_lsn(partition_engine(t->partition)) : 0;
    }
    lsn = session_call(s, t, v, words, n, owner, &reply.base);
    assert(!s->cold || out->len == before);
    (void)before;
    return lsn;
}

void session_fail(struct session *s, int err, const char *detail, struct buf *out)
{
    struct resp_reply reply = reply_of(s, out);
    struct verb_call call = { .reply = &reply.base };

    verb_error(&call, err, detail);
}

void session_serve(struct session *s, const struct engine *e, struct job *const *jobs, size_t n,
                   struct buf *out)
{
    struct resp_reply reply = reply_of(s, out);

    s->parked = NULL;
    verb_reply_leases(e, &reply.base, jobs, n);
}
