/* SPDX-License-Identifier: MIT */
/* A small RESP client over one TCP connection. Commands are queued and sent together, so several
 * may be under way; replies come in their order. Blocking calls wait for the server; the others
 * never do and serve callers with a poll loop of their own. Not thread-safe. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/buf.h"
#include "cli/cli.h"
#include "front/resp.h"

#define CLIENT_CONNECT_MS 5000

struct client {
    int fd; /* -1: closed */
    struct buf out;
    struct buf in;
    size_t start; /* offset in `in` of the bytes that have not been read as values */
    size_t used;  /* bytes of the value that was given last */
    struct resp_values values;
    bool reached;  /* a server took the connection, whatever failed then */
    char why[256]; /* detail of the last failure */
};

/* Connects within timeout_ms. 0, or IO with why. The struct need not be initialised. */
int client_open(struct client *c, const char *host, const char *port, int timeout_ms);

/* Connects as client_open() does and sends HELLO 3, so that replies have maps, with the token if
 * there is one (auth.h). Refuses a server that is not Belfry. WRONGPASS (the server refused the
 * token), INVALID (the token cannot be read), or an error as of client_open(). */
int client_open_belfry(struct client *c, const char *host, const char *port, int timeout_ms);

/* Closes the connection, if it is open, and keeps why. */
void client_close(struct client *c);

/* The words of a command, as two arguments of the functions below. */
#define CLIENT_WORDS(...) \
    (const struct str[]){ __VA_ARGS__ }, sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str)

/* Appends a command to a buffer. In c->out it waits for the next flush or push. */
void client_put(struct buf *out, const struct str *words, size_t n);

/* Sends all that is queued. Blocks. 0, IO. */
int client_flush(struct client *c);

/* Reads the next reply; its values are borrowed until the next read. Blocks. 0, IO, PROTOCOL. An
 * error reply is a value of type RESP_ERROR, not a failure. */
int client_read(struct client *c, const struct resp_values **ret);

/* Adds a command, flushes, and reads the reply. */
int client_call(struct client *c, const struct str *words, size_t n,
                const struct resp_values **ret);

/* ---- For poll loops: these never block ---- */

/* Sends as much as the socket takes. 0, IO. The caller waits for POLLOUT if c->out.len > 0. */
int client_push(struct client *c);
/* Receives bytes that have come. 1 if there were any, 0 if not, IO if the connection has ended. */
int client_pull(struct client *c);
/* Gives a reply that has come already: 1, or 0 if there is none yet, PROTOCOL. */
int client_next(struct client *c, const struct resp_values **ret);

/* ---- client_tls.c: the caller waits for the handshake. From then on a relay (tls/relay.h) has the
 * connection, and the client's descriptor is a plain one. So poll loops need not know of TLS. ----
 */

/* Sets the options for every connection that is opened from now on. Borrowed, and read then. */
void client_tls_use(const struct cli *cli);
/* Replaces c->fd, connected to `host`, if TLS is asked for. 0, or IO with c->why and fd closed. */
int client_tls_begin(struct client *c, const char *host, int timeout_ms);
/* Whether the options ask for TLS. */
bool client_uses_tls(void);
/* Why TLS ended a connection; NULL if it did not. Borrowed until the next call. */
const char *client_tls_why(void);

/* ---- Values of a reply ---- */

/* The index of the name behind the one at `key`, in a map. */
static inline size_t client_next_key(const struct resp_values *v, size_t key)
{
    return v->at[v->at[key].next].next;
}

/* The value of a name in the map at index `at`; NULL if there is none or it is no map. */
const struct resp_value *client_field(const struct resp_values *v, size_t at, const char *name);
/* That value, if it is an integer or a boolean; else `otherwise`. */
int64_t client_int(const struct resp_values *v, size_t at, const char *name, int64_t otherwise);
/* That value, if it is a string; else an empty one. */
struct str client_text(const struct resp_values *v, size_t at, const char *name);

#endif
