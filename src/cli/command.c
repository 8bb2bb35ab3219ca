/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/partial.h"

static const char *const placeholders[] = {
    [ARG_NAME] = "NAME",     [ARG_NAMES] = "NAMES",       [ARG_BYTES] = "TEXT",
    [ARG_PAYLOAD] = "BYTES", [ARG_KEY] = "KEY",           [ARG_ID] = "ID",
    [ARG_TOKEN] = "TOKEN",   [ARG_DURATION] = "DURATION", [ARG_MOMENT] = "MOMENT",
    [ARG_INT] = "N",         [ARG_WORD] = "WORD",         [ARG_BACKOFF] = "SPEC",
    [ARG_TENANT] = "NAME",   [ARG_RATE] = "N/TIME",       [ARG_META] = "NAME=VALUE",
    [ARG_CURSOR] = "CURSOR",
};

/* The arguments as they were given, before they become words. */
struct given {
    const char *value[VERB_ARGS_MAX]; /* of positional arguments */
    bool named[VERB_ARGS_MAX];
    const char *loose[COMMAND_WORDS_MAX]; /* words without a name */
    size_t loose_n;
    struct str options[COMMAND_WORDS_MAX]; /* names and values, as words of the request */
    bool is_id[COMMAND_WORDS_MAX];         /* of options: the word is a job's id */
    size_t options_n;
    size_t items; /* where those of ARG_ITEMS begin */
};

/* The word for a value of this type in help: "DURATION". */
static const char *placeholder_of(const struct arg *a)
{
    bool known = (size_t)a->type < sizeof(placeholders) / sizeof(*placeholders);

    if (a->words)
        return a->words;
    return known && placeholders[a->type] ? placeholders[a->type] : "VALUE";
}

static bool is_job_id(const struct arg *a)
{
    return a->type == ARG_ID && !a->thing;
}

bool command_has(const struct verb *v, enum arg_type type)
{
    for (size_t i = 0; i < VERB_ARGS_MAX && v->args[i].name; i++)
        if (v->args[i].type == type)
            return true;
    return false;
}

bool command_waits(const struct verb *v)
{
    return strcmp(v->name, "BULK") == 0;
}

bool command_gets(const struct verb *v)
{
    return strcmp(v->name, "GET") == 0;
}

bool command_is_text(const struct verb *v)
{
    return strcmp(v->name, "METRICS") == 0;
}

void command_flags(const struct verb *v, struct flag_row *ret)
{
    size_t n = 0;

    for (; n < VERB_ARGS_MAX && v->args[n].name; n++) {
        const struct arg *a = &v->args[n];

        ret[n] = (struct flag_row){ a->name, placeholder_of(a),
                                    a->positional && is_job_id(a) ? PARTIAL_HELP : a->help,
                                    .words = a->words };
    }
    if (command_pages(v))
        ret[n++] = (struct flag_row){ "all", .help = "shows everything, page after page" };
    if (command_waits(v))
        ret[n++] =
            (struct flag_row){ "no_wait",
                               .help = "ends at once, without waiting until the bulk is done" };
    if (command_gets(v))
        ret[n++] =
            (struct flag_row){ "raw", .help = "writes the payload as it is, or with --fields "
                                              "that field, and nothing else" };
    ret[n] = (struct flag_row){ 0 };
}

static int add_word(struct command *c, struct str word)
{
    if (c->n == COMMAND_WORDS_MAX)
        return cli_fail(c->why, BELFRY_INVALID, "too many arguments");
    c->words[c->n++] = word;
    return 0;
}

/* Adds a word for a job's id. In the place of a part of an id stands a whole one, so that all words
 * can be checked before the server is asked. */
static int add_id(struct command *c, struct str word)
{
    bool part = partial_is(word);
    struct job_id id;
    int err = add_word(c, part ? STR(PARTIAL_STANDIN) : word);

    if (err == 0 && part)
        c->parts[c->n - 1] = word;
    c->odd_id = c->odd_id || (!part && !id_parse(word, &id));
    return err;
}

static int read_all(struct command *c, int fd, const char *name)
{
    ssize_t n;

    do {
        if (!buf_reserve(&c->payload, 64u << 10))
            return cli_fail(c->why, BELFRY_NOMEM, "%s: out of memory", name);
        n = read(fd, c->payload.ptr + c->payload.len, c->payload.cap - c->payload.len);
        if (n > 0)
            c->payload.len += (size_t)n;
        if (c->payload.len > COMMAND_PAYLOAD_MAX)
            return cli_fail(c->why, BELFRY_TOOLARGE, "%s: larger than any server takes", name);
    } while (n > 0 || (n < 0 && errno == EINTR));
    return n < 0 ? cli_fail(c->why, BELFRY_IO, "%s: %s", name, strerror(errno)) : 0;
}

static int read_file(struct command *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), err;

    if (fd < 0)
        return cli_fail(c->why, BELFRY_IO, "%s: %s", path, strerror(errno));
    err = read_all(c, fd, path);
    close(fd);
    return err;
}

/* Adds the payload: the value itself, or the bytes of the file or input that it names. */
static int add_payload(struct command *c, const char *value, bool named)
{
    int err = 0;

    if (strcmp(value, "-") == 0)
        err = read_all(c, STDIN_FILENO, "standard input");
    else if (named && value[0] == '@')
        err = read_file(c, value + 1);
    else
        return add_word(c, str_of(value));
    return err < 0 ? err : add_word(c, buf_view(&c->payload));
}

static int add_positional(struct command *c, const struct given *g)
{
    const struct arg *args = c->verb->args;
    int err = 0;

    for (size_t i = 0; err == 0 && args[i].name && args[i].positional; i++) {
        if (args[i].type == ARG_ITEMS) {
            for (size_t k = g->items; err == 0 && k < g->loose_n; k++)
                err = add_word(c, str_of(g->loose[k]));
        } else if (args[i].type == ARG_PAYLOAD && (g->value[i] || !args[i].optional))
            err = add_payload(c, g->value[i] ? g->value[i] : "", g->named[i]);
        else if (g->value[i] && is_job_id(&args[i]))
            err = add_id(c, str_of(g->value[i]));
        else if (g->value[i])
            err = add_word(c, str_of(g->value[i]));
        else if (!args[i].optional)
            return cli_fail(c->why, BELFRY_INVALID, "no %s given", args[i].name);
    }
    return err;
}

/* Words without a name fill the positional arguments that were not named, in order. */
static int place_loose(struct command *c, struct given *g)
{
    const struct arg *args = c->verb->args;
    size_t at = 0;

    for (size_t i = 0; at < g->loose_n && args[i].name && args[i].positional; i++) {
        if (args[i].type == ARG_ITEMS) {
            g->items = at;
            at = g->loose_n;
        } else if (!g->value[i]) {
            g->value[i] = g->loose[at++];
        }
    }
    if (at < g->loose_n)
        return cli_fail(c->why, BELFRY_INVALID, "unexpected argument '%s'", g->loose[at]);
    return 0;
}

/* Takes one flag: a positional argument by its name, --all, or an option's name and value. */
static int take_flag(struct command *c, struct given *g, size_t which, const char *value)
{
    const struct arg *a = &c->verb->args[which];

    if (!a->name) {
        c->all = command_pages(c->verb);
        c->no_wait = command_waits(c->verb);
        c->raw = command_gets(c->verb);
        return 0;
    }
    if (!a->positional) {
        const char *equals = a->type == ARG_META ? strchr(value, '=') : NULL;
        struct str *option = &g->options[g->options_n];

        if (a->type == ARG_META && !equals)
            return cli_fail(c->why, BELFRY_INVALID, "--%s: expected NAME=VALUE", a->name);
        if (g->options_n + 3 > COMMAND_WORDS_MAX)
            return cli_fail(c->why, BELFRY_INVALID, "too many arguments");
        option[0] = str_of(a->name);
        option[1] = equals ? (struct str){ value, (size_t)(equals - value) } : str_of(value);
        g->is_id[g->options_n + 1] = is_job_id(a);
        if (equals)
            option[2] = str_of(equals + 1);
        g->options_n += equals ? 3 : 2;
        return 0;
    }
    if (g->value[which])
        return cli_fail(c->why, BELFRY_INVALID, "--%s is given twice", a->name);
    g->value[which] = value;
    g->named[which] = true;
    return 0;
}

static int read_flags(struct command *c, struct flags *f, struct given *g)
{
    int which, err = 0;

    while (err == 0 && (which = flag_next(f)) != FLAG_END) {
        if (which == FLAG_BAD)
            return cli_fail(c->why, BELFRY_INVALID, "%s", f->why);
        if (which >= 0)
            err = take_flag(c, g, (size_t)which, f->value);
        else if (g->loose_n == COMMAND_WORDS_MAX)
            return cli_fail(c->why, BELFRY_INVALID, "too many arguments");
        else
            g->loose[g->loose_n++] = f->value;
    }
    return err;
}

/* Whether the only word is `help`, where a name could stand. */
static bool asks_for_help(const struct verb *v, const struct given *g)
{
    return g->loose_n == 1 && strcmp(g->loose[0], "help") == 0 && v->args[0].name &&
           v->args[0].positional;
}

int command_parse(struct command *c, struct cli *cli, const struct verb *v, int argc, char **argv)
{
    struct flag_row rows[COMMAND_FLAGS_MAX];
    struct flags flags = { .cli = cli, .rows = rows, .argc = argc, .argv = argv };
    struct given given = { 0 };
    int err;

    *c = (struct command){ .verb = v };
    command_flags(v, rows);
    err = read_flags(c, &flags, &given);
    if (err < 0 || cli->help)
        return err;
    if (asks_for_help(v, &given))
        return cli_fail(c->why, BELFRY_INVALID,
                        "help is shown by `belfry help %s`; a %s called help is --%s help",
                        flag_name(str_of(v->name)).text, v->args[0].name, v->args[0].name);
    err = place_loose(c, &given);
    if (err == 0)
        err = add_word(c, str_of(v->name));
    if (err == 0)
        err = add_positional(c, &given);
    for (size_t i = 0; err == 0 && i < given.options_n; i++)
        err = given.is_id[i] ? add_id(c, given.options[i]) : add_word(c, given.options[i]);
    return err;
}

void command_fini(struct command *c)
{
    buf_fini(&c->payload);
    buf_fini(&c->ids);
}

/* A verb with an optional id needs one, or a key, or a queue. The server would say so, too, but in
 * the words of the protocol. */
static int check_id(struct command *c, uint32_t given)
{
    const struct arg *args = c->verb->args;
    bool key = command_has(c->verb, ARG_KEY), named = given & 1;

    if (!args[0].name || !args[0].optional || !is_job_id(&args[0]))
        return 0;
    for (size_t i = 1; i < VERB_ARGS_MAX && args[i].name; i++)
        if (args[i].type == ARG_KEY || (!key && args[i].type == ARG_NAME))
            named = named || given >> i & 1;
    if (named)
        return 0;
    return cli_fail(c->why, BELFRY_INVALID, "expected an id, or %s",
                    key ? "--key and --queue" : "--queue");
}

int command_check(struct command *c)
{
    struct verb_host host = { .max_payload = SIZE_MAX };
    struct arg_value values[VERB_ARGS_MAX] = { 0 };
    uint32_t given = 0;
    int err = verb_parse(c->verb, &host, c->words, c->n, c->why, sizeof(c->why), values, &given);

    if (err == 0)
        err = check_id(c, given);
    for (size_t i = 0; err == 0 && i < VERB_ARGS_MAX && c->verb->args[i].name; i++)
        if (c->verb->args[i].type == ARG_TENANT && values[i].set)
            c->tenant = values[i].str;
    c->all_tenants = err == 0 && !(c->verb->flags & VERB_HOLDS) &&
                     (!(c->verb->flags & VERB_WIDE) || command_pages(c->verb)) &&
                     str_eq(verb_tenant(c->verb, values, given), STR(TENANT_ALL));
    return err;
}
