/* SPDX-License-Identifier: MIT */
#include "server/offline_token.h"

#include <errno.h>
#include <grp.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "front/resp.h"
#include "server/option.h"
#include "server/server.h"
#include "verbs/verb.h"

#define NAMES_MAX 4 /* NAME, ROLE, and some that are too many */
#define OWN_MAX   6 /* TENANT and EXPIRE with their values, and some that are too many */

/* The words of the verb, and the options of the server. */
struct making {
    struct str words[1 + NAMES_MAX + OWN_MAX];
    size_t word_count;
    int argc;
    char **argv;
    struct options options;
    struct store *store;
    struct partition *partition;
};

__attribute__((format(printf, 2, 3))) static int fail(int code, const char *format, ...)
{
    va_list args;

    fputs("belfryd: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

bool offline_token_is_meant(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "token") == 0;
}

/* ---- Arguments ---- */

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_eq(name, str_of(*names)))
            return true;
    return false;
}

/* The options of the verb may stand between those of the server. Names come first in the words,
 * wherever they stand. */
static void take_arguments(struct making *m, int argc, char **argv)
{
    static const char *const own[] = { "tenant", "expire", NULL };
    static const char *const alone[] = { "help", "version", "check-config", NULL };
    struct str names[NAMES_MAX], options[OWN_MAX];
    size_t name_count = 0, option_count = 0;

    m->argv[m->argc++] = argv[0];
    for (int i = 3; i < argc; i++) {
        bool is_long = strncmp(argv[i], "--", 2) == 0;
        struct str value = str_of(argv[i] + (is_long ? 2 : 0)), name = str_cut(&value, '=');
        bool whole = !is_long || strchr(argv[i], '=') || is_one_of(name, alone) || i + 1 == argc;

        if (argv[i][0] != '-') {
            if (name_count < NAMES_MAX)
                names[name_count++] = str_of(argv[i]);
        } else if (is_long && is_one_of(name, own)) {
            if (option_count < OWN_MAX)
                options[option_count++] = name;
            if (option_count < OWN_MAX && (!whole || strchr(argv[i], '=')))
                options[option_count++] = whole ? value : str_of(argv[i + 1]);
            i += !whole;
        } else {
            m->argv[m->argc++] = argv[i];
            if (!whole)
                m->argv[m->argc++] = argv[++i];
        }
    }
    m->words[m->word_count++] = STR("TOKENCREATE");
    for (size_t i = 0; i < name_count; i++)
        m->words[m->word_count++] = names[i];
    for (size_t i = 0; i < option_count; i++)
        m->words[m->word_count++] = options[i];
}

static int load_options(struct making *m)
{
    struct option_error err;

    if (options_init(&m->options) < 0)
        return fail(1, "out of memory");
    if (options_load(&m->options, m->argc, m->argv, getenv, &err) < 0)
        return fail(2, "%s", err.text);
    return 0;
}

/* Checks the words before anything is opened. */
static int check_words(const struct making *m, struct arg_value args[VERB_ARGS_MAX],
                       uint32_t *ret_given)
{
    struct verb_host host = { .max_payload = (size_t)m->options.max_payload };
    char why[512];

    if (m->word_count < 3)
        return fail(2, "expected a name and a role: " OFFLINE_TOKEN_USAGE);
    if (verb_parse(verb_find(verb_table, m->words[0]), &host, m->words, m->word_count, why,
                   sizeof(why), args, ret_given) < 0)
        return fail(2, "%s", why);
    return 0;
}

/* ---- The data directory ---- */

/* Files that this process makes have to belong to the user of the server, which could not open them
 * otherwise. Therefore root becomes the owner of the directory. The owner may not have access to
 * the directories above, so root goes there first. */
static int become_owner(struct making *m)
{
    struct stat st;
    uid_t me = geteuid();

    if (stat(m->options.data, &st) < 0 || st.st_uid == me)
        return 0;
    if (me != 0)
        return fail(1, "%s belongs to user %lu: make the token as that user", m->options.data,
                    (unsigned long)st.st_uid);
    if (chdir(m->options.data) < 0 || setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 ||
        setuid(st.st_uid) < 0)
        return fail(1, "%s: cannot act as its owner, user %lu: %s", m->options.data,
                    (unsigned long)st.st_uid, strerror(errno));
    snprintf(m->options.data, strlen(m->options.data) + 1, "%s", ".");
    return 0;
}

static int open_store(struct making *m)
{
    struct store_options o;
    int err;

    hosting_store_options(&m->options, &o);
    err = store_open(m->options.data, &o, &m->store);
    if (err == BELFRY_LOCKED)
        return fail(1, "%s: ask the server that runs there instead: belfry token create",
                    store_detail());
    return err ? fail(1, "cannot open the data directory: %s: %s", error_text(err), store_detail())
               : 0;
}

static int open_partition(struct making *m)
{
    struct partition_options o = { .seed = (uint64_t)time_mono_us() };
    struct partition_report report;
    int64_t wall_ms = time_wall_ms();
    int err;

    if (!hash_key_draw(&o.secret))
        return fail(1, "the system has no random bytes");
    hosting_partition_options(&m->options, &o);
    o.durable = true; /* Nothing could sync the token later. */
    err = partition_open(m->store, &o, wall_ms, time_mono_ms(), &m->partition, &report);
    return err ? fail(1, "cannot open the journal: %s: %s", error_text(err), store_detail()) : 0;
}

/* ---- The token ---- */

/* The answer of TOKENCREATE: its token and note, or why there is none. */
static int print_answer(struct str reply)
{
    struct resp_values v = { 0 };
    struct str token = { 0 }, note = { 0 };
    size_t used;
    int code = 1;

    if (resp_read_value(&v, reply, &used) != RESP_OK) {
        fail(1, "out of memory");
    } else if (v.at[0].type == RESP_ERROR) {
        fail(1, "%.*s", STR_ARG(v.at[0].text));
    } else {
        for (size_t key = 1; key + 1 < v.at[0].next; key = v.at[key + 1].next) {
            if (str_eq(v.at[key].text, STR("token")))
                token = v.at[key + 1].text;
            else if (str_eq(v.at[key].text, STR("note")))
                note = v.at[key + 1].text;
        }
        fprintf(stderr, "belfryd: %.*s\n", STR_ARG(note));
        code = printf("%.*s\n", STR_ARG(token)) > 0 && fflush(stdout) == 0
                   ? 0
                   : fail(1, "the token was made, but cannot be written here: %s: revoke it",
                          strerror(errno));
    }
    resp_values_fini(&v);
    return code;
}

/* The change and its entry in the audit log are on disk when this answers 0. */
static int execute(struct making *m, struct verb_call *c)
{
    int err;

    c->verb->run(c);
    if (c->failed)
        return 0; /* The reply has the error. */
    err = verb_audit(c, STR("belfryd"), STR(""));
    if (!err)
        err = partition_flush(m->partition);
    return err ? fail(1, "the token could not be stored: %s: %s", error_text(err), store_detail())
               : 0;
}

static int create(struct making *m, const struct arg_value *args, uint32_t given)
{
    struct verb_host host = { .max_payload = (size_t)m->options.max_payload };
    struct buf out = { 0 };
    struct resp_reply reply = resp_reply_of(&out, 3);
    char kept[NAME_MAX_BYTES];
    struct verb_call call = {
        .engine = partition_engine(m->partition),
        .partition = m->partition,
        .host = &host,
        .reply = &reply.base,
        .args = args,
        .given = given,
        .verb = verb_find(verb_table, m->words[0]),
        .words = m->words,
        .word_count = m->word_count,
        .kept = kept,
    };
    int code;

    call.tenant = verb_tenant(call.verb, args, given);
    code = execute(m, &call);
    if (!code)
        code = out.failed ? fail(1, "out of memory") : print_answer(buf_view(&out));
    OPENSSL_cleanse(out.ptr, out.len);
    buf_fini(&out);
    return code;
}

/* Executes the steps until one answers an exit code. */
static int make(struct making *m)
{
    struct arg_value args[VERB_ARGS_MAX];
    uint32_t given;
    int code = load_options(m);

    if (!code && m->options.shows.help) {
        puts("Usage: " OFFLINE_TOKEN_USAGE);
        return 0;
    }
    if (!code)
        code = check_words(m, args, &given);
    if (!code)
        code = become_owner(m);
    if (!code)
        code = open_store(m);
    if (!code)
        code = open_partition(m);
    return code ? code : create(m, args, given);
}

int offline_token_run(int argc, char **argv)
{
    struct making m = { .argv = calloc((size_t)argc + 1, sizeof(*m.argv)) };
    int code;

    if (argc < 3 || strcmp(argv[2], "create") != 0) {
        free(m.argv);
        return fail(2, "belfryd token: expected " OFFLINE_TOKEN_USAGE);
    }
    if (!m.argv)
        return fail(1, "out of memory");
    take_arguments(&m, argc, argv);
    code = make(&m);
    partition_close(m.partition);
    store_close(m.store);
    options_fini(&m.options);
    free(m.argv);
    return code;
}
