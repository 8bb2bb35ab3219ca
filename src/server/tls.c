/* SPDX-License-Identifier: MIT */
#include "server/tls.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "front/http_guess.h"
#include "server/conn.h"
#include "tls/context.h"
#include "tls/relay.h"

#define CLOSE_MS 2000 /* for what is under way when the server ends */

struct tls {
    SSL_CTX *context;
    struct relay *relay;
    uint64_t links;
    pthread_mutex_t lock; /* for what follows */
    struct list gone;     /* guests that are to be counted no more */
};

/* A connection as the relay has it. */
struct guest {
    struct tls *tls;
    struct list gone;
    struct peer peer;
    bool counted; /* at its address */
};

/* In the relay's thread. */
static void on_gone(void *ticket)
{
    struct guest *g = ticket;

    pthread_mutex_lock(&g->tls->lock);
    list_append(&g->tls->gone, &g->gone);
    pthread_mutex_unlock(&g->tls->lock);
}

static struct guest *guest_new(struct server *s, const struct peer *peer)
{
    struct guest *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->tls = s->tls;
    g->peer = *peer;
    g->counted = peers_add_link(&s->peers, peer);
    s->tls->links++;
    return g;
}

static void guest_free(struct server *s, struct guest *g)
{
    s->tls->links--;
    if (g->counted)
        peers_remove_link(&s->peers, &g->peer);
    free(g);
}

uint64_t tls_links(const struct server *s)
{
    return s->tls ? s->tls->links : 0;
}

void tls_collect(struct server *s)
{
    struct list gone, *node, *after;

    if (!s->tls)
        return;
    list_init(&gone);
    pthread_mutex_lock(&s->tls->lock);
    list_each_safe (node, after, &s->tls->gone) {
        list_remove(node);
        list_append(&gone, node);
    }
    pthread_mutex_unlock(&s->tls->lock);
    list_each_safe (node, after, &gone) {
        list_remove(node);
        guest_free(s, container_of(node, struct guest, gone));
    }
}

const char *tls_options_wrong(const struct options *o)
{
    if (o->tls.mode == TLS_OFF && (o->tls.cert[0] || o->tls.key[0] || o->tls.client_ca[0]))
        return "tls_cert, tls_key or tls_client_ca is given, but tls is off: say tls = on or only";
    if (o->tls.mode == TLS_ONLY && o->tls.insecure_plaintext)
        return "tls = only and insecure_plaintext = yes contradict each other";
    return NULL;
}

bool tls_may_be_plain(const struct options *o, const struct peer *peer)
{
    if (peer->tls || o->tls.mode == TLS_OFF)
        return true; /* with TLS off, where it listens decides */
    return o->tls.mode == TLS_ON && (o->tls.insecure_plaintext || peer_is_loopback(peer));
}

/* Nothing can be told of HTTP before so much has come; on a pair of sockets nobody could wait for
 * it. */
static bool enough(struct str first)
{
    return http_guess(first) != HTTP_GUESS_MORE;
}

static SSL_CTX *load(const struct server *s, char why[TLS_WHY])
{
    const struct options *o = &s->options;
    struct tls_files files = { o->tls.cert, o->tls.key, o->tls.client_ca };
    struct tls_names names = { "tls_cert", "tls_key", "tls_client_ca" };
    SSL_CTX *context = tls_server_context(&files, &names, why);
    char until[TIME_TEXT] = "";

    if (!context)
        return NULL;
    if (tls_expires_ms(context))
        time_format_moment(tls_expires_ms(context), until);
    log_line(&s->log, LOG_LEVEL_INFO, "certificate loaded", "tls_cert", o->tls.cert, "until", until,
             "client_certificates", o->tls.client_ca[0] ? "demanded" : "not asked for", NULL);
    if (tls_expires_ms(context) && tls_expires_ms(context) < time_wall_ms())
        log_line(&s->log, LOG_LEVEL_WARN, "the certificate has ended: clients will refuse it",
                 "tls_cert", o->tls.cert, "until", until, NULL);
    return context;
}

int tls_open(struct server *s)
{
    struct relay_options o = { enough, (int)s->options.tls.handshake_timeout_ms,
                               (int)s->options.client_timeout_ms, on_gone };
    const char *wrong = tls_options_wrong(&s->options);
    char why[TLS_WHY];
    int err = 0;

    if (wrong) {
        log_line(&s->log, LOG_LEVEL_ERROR, "TLS cannot be set up", "error", wrong, NULL);
        return BELFRY_INVALID;
    }
    if (s->options.tls.mode == TLS_OFF)
        return 0;
    s->tls = calloc(1, sizeof(*s->tls));
    if (!s->tls)
        return BELFRY_NOMEM;
    pthread_mutex_init(&s->tls->lock, NULL);
    list_init(&s->tls->gone);
    s->tls->context = load(s, why);
    if (s->tls->context)
        err = relay_new(&o, &s->tls->relay);
    if (s->tls->context && !err)
        return 0;
    log_line(&s->log, LOG_LEVEL_ERROR, "TLS cannot be set up", "error", err ? error_text(err) : why,
             NULL);
    return err ? err : BELFRY_INVALID;
}

void tls_reload(struct server *s)
{
    char why[TLS_WHY];
    SSL_CTX *fresh;

    if (!s->tls)
        return;
    relay_set_times(s->tls->relay, (int)s->options.tls.handshake_timeout_ms,
                    (int)s->options.client_timeout_ms);
    fresh = load(s, why);
    if (!fresh) {
        log_line(&s->log, LOG_LEVEL_ERROR, "certificate not loaded, the one before stays", "error",
                 why, NULL);
        return;
    }
    SSL_CTX_free(s->tls->context);
    s->tls->context = fresh;
}

void tls_close(struct server *s)
{
    if (!s->tls)
        return;
    relay_free(s->tls->relay, CLOSE_MS);
    tls_collect(s);
    pthread_mutex_destroy(&s->tls->lock);
    SSL_CTX_free(s->tls->context);
    free(s->tls);
    s->tls = NULL;
}

void tls_adopt(struct server *s, int fd, const struct peer *peer)
{
    struct peer within = *peer;
    SSL *ssl = SSL_new(s->tls->context);
    struct guest *guest = ssl ? guest_new(s, peer) : NULL;
    char label[RELAY_LABEL];
    int plain;

    if (!guest) {
        SSL_free(ssl);
        close(fd);
        return;
    }
    SSL_set_accept_state(ssl);
    peer_text(peer, label, sizeof(label));
    plain = relay_add(s->tls->relay, ssl, fd, label, guest);
    if (plain < 0) {
        guest_free(s, guest);
        return;
    }
    within.tls = true;
    conn_open(s, plain, &within);
}

void tls_sweep(struct server *s)
{
    struct relay_failures failures;
    char count[LOG_NUMBER];

    tls_collect(s);
    if (s->tls && relay_take_failures(s->tls->relay, &failures))
        log_line(&s->log, LOG_LEVEL_WARN, "connections ended by TLS", "count",
                 log_number((int64_t)failures.count, count), "last_address", failures.label,
                 "last_why", failures.why, NULL);
}
