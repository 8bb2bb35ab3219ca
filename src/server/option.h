/* SPDX-License-Identifier: MIT */
/*
 * The options of the process. One table drives the configuration file, the environment, the
 * command-line flags, the help text and docs/configuration.md:
 *
 *     file          sync_interval = 500ms        (INI; no section, or [belfry])
 *     environment   BELFRY_SYNC_INTERVAL=500ms   (empty counts as unset)
 *     flag          --sync-interval 500ms        or --sync-interval=500ms
 *
 * Each source overrides the sources above it, and the file overrides the defaults. Adding an option
 * is a member of struct options and a row in option_table.c.
 */
#ifndef SERVER_OPTION_H
#define SERVER_OPTION_H

#include <stdio.h>

#include "base/buf.h"

/* In the order of the words in the rows. */
enum option_durability { DURABILITY_SYNC, DURABILITY_INTERVAL, DURABILITY_NONE };
enum option_log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum option_log_format { LOG_FORMAT_AUTO, LOG_FORMAT_JSON, LOG_FORMAT_TEXT };
enum option_tls { TLS_OFF, TLS_ON, TLS_ONLY };
enum option_log_jobs { LOG_JOBS_OFF, LOG_JOBS_ENDED, LOG_JOBS_ALL };

/* The shape of getenv, so that tests have an environment of their own. */
typedef char *(*option_env_fn)(const char *name);

/* Where a value came from. */
enum option_from {
    OPTION_FROM_DEFAULT,
    OPTION_FROM_FILE,
    OPTION_FROM_ENVIRONMENT,
    OPTION_FROM_FLAG,
};

struct option_origin {
    enum option_from from;
    unsigned line; /* of the file */
};

#define OPTION_ROWS_MAX 96

/* Where the options came from, to read them again and to show it. */
struct option_source {
    int argc;
    char **argv;
    option_env_fn env;
    struct option_origin of[OPTION_ROWS_MAX]; /* by row */
};

/* Strings are owned. All numbers have one type, so that a row needs only an offset. */
struct options {
    char *data;
    char *bind;
    char *port_file;       /* empty: none */
    char *root_token_file; /* empty: none */
    int64_t port;          /* 0: any free one */
    int64_t durability;
    int64_t sync_interval_ms;
    int64_t sync_delay_ms;
    int64_t segment_size;
    int64_t memory;
    int64_t max_running;
    int64_t slow_start_ms;
    int64_t slow_work_ms;
    struct {
        int64_t retention_ms;
        int64_t max;
        int64_t rate;
        int64_t burst;
    } audit;
    int64_t min_every_ms;
    struct {
        int64_t attempts_kept;
        int64_t size;
    } history;
    int64_t tenant_bytes;
    int64_t metrics_queues;
    int64_t max_payload;
    int64_t clients_memory; /* 0: a part of `memory` */
    int64_t max_connections;
    int64_t output_limit;
    int64_t client_timeout_ms;
    int64_t idle_timeout_ms; /* 0: never */
    int64_t auth_timeout_ms;
    int64_t drain_timeout_ms;
    struct {
        char *allow;   /* as push_guard_parse reads it */
        char *ports;   /* as push_guard_ports reads it */
        char *ca_file; /* empty: the system's */
        int64_t max;
    } push;
    struct {
        int64_t level;
        int64_t format;
        int64_t rate; /* lines of one message in a second; 0: any number */
        int64_t jobs;
        int64_t jobs_rate; /* lines in a second; 0: any number */
    } log;
    struct {
        int64_t mode;
        char *cert; /* empty: none */
        char *key;
        char *client_ca;
        int64_t handshake_timeout_ms;
        int64_t insecure_plaintext;
    } tls;
    int64_t max_connections_per_address; /* 0: any number */
    int64_t max_headers;
    int64_t keepalive_timeout_ms;
    int64_t idempotency_hold_ms; /* 0: the key_hold of the queue alone counts */
    int64_t max_streams;
    int64_t events_memory;
    struct {
        char *endpoint; /* empty: no traces are exported */
        char *headers;
        char *service;
    } otlp;
    struct {
        int64_t on;
        char *prefix; /* as http_check reads it; empty: none */
        char *label;
        int64_t session_ms;
    } ui;

    /* By flags only. */
    const char *config; /* borrowed from argv; NULL: no file. Behind a dash it may be missing. */
    struct {
        bool help;
        bool version;
        bool check;
    } shows; /* instead of serving */
    struct option_source source;
};

#define OPTION_ERROR_LINE 512
#define OPTION_ERROR_REST 32 /* for "and 7 more errors" */

/* The errors in the options, with a line for each. All zero: there is none. */
struct option_error {
    char text[4096];
    size_t end;  /* the end of the last whole line in text */
    size_t more; /* errors that had no room */
    int code;    /* the code of the first error */
};

/* Sets the defaults. 0 or NOMEM; options_fini is right after either. */
int options_init(struct options *o);
void options_fini(struct options *o);

/* Takes over file, environment and flags, on top of the defaults. argv[0] is skipped, argv must
 * outlive the options, and env may be NULL. After --help or --version it takes nothing more.
 * Errors: INVALID, IO if the file cannot be read, NOMEM. err has a line for each wrong value: its
 * source, the value and the expected form. Some options may have been set then. */
int options_load(struct options *o, int argc, char **argv, option_env_fn env,
                 struct option_error *err);

/* Loads again from the sources of options_load, and takes over reloadable options. The names of
 * other options that differ go to ret_ignored, separated by ", ". On an error nothing changes. */
int options_reload(struct options *o, struct buf *ret_ignored, struct option_error *err);

/* A configuration file's text; `name` is for messages, which are added to those of err. */
int options_parse_text(struct options *o, struct str text, const char *name,
                       struct option_error *err);

/* ---- option_print.c ---- */

/* In lines of at most 80 characters. */
void options_print_help(FILE *out);
/* All values, as a file that could be loaded. A comment says where each came from. */
void options_print(const struct options *o, FILE *out);
/* A file of all options with their help, commented out. */
void options_print_sample(FILE *out);
/* Visits the variables of an environment that look like options and are none, with the name of the
 * most similar option's variable, or an empty one. */
void options_unknown_env(char *const *env,
                         void (*fn)(void *arg, const char *name, const char *nearest), void *arg);

/* The table, for these functions and for generated documents. */
enum option_type { OPTION_STRING, OPTION_INT, OPTION_SIZE, OPTION_DURATION, OPTION_WORD };

struct option_row {
    const char *name; /* as in the file */
    enum option_type type;
    bool reloadable;
    size_t offset;       /* of a char * or an int64_t in struct options */
    const char *initial; /* the default, as text */
    int64_t min;         /* STRING: of its length */
    int64_t max;
    const char *words; /* WORD: "sync|interval|none"; STRING: OPTION_SECRET or NULL */
    const char *help;
};

#define OPTION_NAME_MAX 32
#define OPTION_SECRET   "secret" /* the value is never shown */

static inline bool option_is_secret(const struct option_row *row)
{
    return row->type == OPTION_STRING && row->words;
}

/* Finds an option by its name in the file, or with `dashes` by that of its flag. Otherwise answers
 * NULL, and *ret_nearest is the option with the most similar name, if any. */
const struct option_row *option_find(struct str name, bool dashes,
                                     const struct option_row **ret_nearest);

const struct option_row *option_row(size_t i); /* NULL past the last row */
/* Appends the accepted form, as in "a size from 64KiB to 1GiB, such as 32MiB". */
void option_expected(const struct option_row *row, struct buf *out);
/* "BELFRY_SYNC_INTERVAL" and "--sync-interval" */
void option_env_name(const struct option_row *row, char ret[OPTION_NAME_MAX + 8]);
void option_flag_name(const struct option_row *row, char ret[OPTION_NAME_MAX + 8]);
/* Reads a value of the row's type; false if it is not acceptable. Of a STRING only the length is
 * checked, and *ret is that. */
bool option_parse(const struct option_row *row, struct str text, int64_t *ret);
/* Appends a value as option_parse reads it. */
void option_value(const struct option_row *row, const struct options *o, struct buf *out);

#endif
