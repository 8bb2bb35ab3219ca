/* SPDX-License-Identifier: MIT */
#include "server/tls.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "front/http_route.h"
#include "tls/context.h"
#include "tls/relay.h"

#define CLOSE_MS 2000 /* for bytes under way when the server ends */

struct tls {
    SSL_CTX *context;
    struct relay *relay;
    pthread_mutex_t lock; /* for `gone` */
    struct list gone;     /* guests that count no more */
};

/* A connection as the relay has it. */
struct guest {
    struct tls *tls;
    struct list gone;
    struct peer peer;
    bool counted; /* Its address counts this link. */
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
    g->counted = peers_add(&s->peers, peer, PEER_LINK);
    return g;
}

static void guest_free(struct server *s, struct guest *g)
{
    peers_remove(&s->peers, &g->peer, PEER_LINK, g->counted);
    free(g);
}

void tls_collect(struct server *s)
{
    struct list gone;

    if (!s->tls)
        return;
    list_init(&gone);
    pthread_mutex_lock(&s->tls->lock);
    list_splice(&gone, &s->tls->gone);
    pthread_mutex_unlock(&s->tls->lock);
    list_each_of_safe (struct guest, g, &gone, gone)
        guest_free(s, g);
}

/* Why these options do not go together, or NULL. */
static const char *options_wrong(const struct options *o)
{
    if (o->tls.mode == TLS_OFF && (o->tls.cert[0] || o->tls.key[0] || o->tls.client_ca[0]))
        return "tls_cert, tls_key or tls_client_ca is given, but tls is off: say tls = on or only";
    if (o->tls.mode == TLS_ONLY && o->tls.insecure_plaintext)
        return "tls = only and insecure_plaintext = yes contradict each other";
    return NULL;
}

const char *tls_bind_refusal(const struct options *o, const struct peer *at, bool has_tokens)
{
    if (peer_is_loopback(at))
        return NULL;
    if (!has_tokens)
        return "there are no tokens, so that anybody could do anything: make the first one with "
               "belfryd token create root admin, with the same --data, or give it with "
               "root_token_file or BELFRY_ROOT_TOKEN";
    if (o->tls.mode == TLS_OFF && !o->tls.insecure_plaintext)
        return "what is said would be readable on its way: set tls = on with tls_cert and tls_key, "
               "or bind to 127.0.0.1 or ::1, or say insecure_plaintext = yes if the network is "
               "trusted";
    return NULL;
}

bool tls_may_be_plain(const struct options *o, const struct peer *peer)
{
    if (peer->tls || o->tls.mode == TLS_OFF)
        return true; /* with TLS off, tls_bind_refusal has decided */
    return o->tls.mode == TLS_ON && (o->tls.insecure_plaintext || peer_is_loopback(peer));
}

/* The relay holds the first bytes back until they tell the protocol: on a pair of sockets the
 * server could not wait for more. */
static bool enough(struct str first)
{
    return http_guess(first) != HTTP_GUESS_MORE;
}

static SSL_CTX *load_context(const struct server *s, char why[TLS_WHY])
{
    const struct options *o = &s->options;
    struct tls_files files = { .cert = { "tls_cert", o->tls.cert },
                               .key = { "tls_key", o->tls.key },
                               .ca = { "tls_client_ca", o->tls.client_ca } };
    SSL_CTX *context = tls_context(TLS_SERVER, &files, why);
    char until[TIME_TEXT] = "";

    if (!context)
        return NULL;
    if (tls_expires_ms(context))
        time_format_moment(tls_expires_ms(context), until);
    log_info(&s->log, "certificate loaded", "tls_cert", o->tls.cert, "until", until,
             "client_certificates", o->tls.client_ca[0] ? "demanded" : "not asked for");
    if (tls_expires_ms(context) && tls_expires_ms(context) < time_wall_ms())
        log_warn(&s->log, "the certificate has ended: clients will refuse it", "tls_cert",
                 o->tls.cert, "until", until);
    return context;
}

static int tls_fail(const struct server *s, int err, const char *why)
{
    log_error(&s->log, "TLS cannot be set up", "error", why);
    return err;
}

int tls_open(struct server *s)
{
    struct relay_options o = { enough, (int)s->options.tls.handshake_timeout_ms,
                               (int)s->options.client_timeout_ms, on_gone };
    const char *wrong = options_wrong(&s->options);
    char why[TLS_WHY];
    int err;

    if (wrong)
        return tls_fail(s, BELFRY_INVALID, wrong);
    if (s->options.tls.mode == TLS_OFF)
        return 0;
    s->tls = calloc(1, sizeof(*s->tls));
    if (!s->tls)
        return BELFRY_NOMEM;
    pthread_mutex_init(&s->tls->lock, NULL);
    list_init(&s->tls->gone);
    s->tls->context = load_context(s, why);
    if (!s->tls->context)
        return tls_fail(s, BELFRY_INVALID, why);
    err = relay_new(&o, &s->tls->relay);
    return err ? tls_fail(s, err, error_text(err)) : 0;
}

void tls_reload(struct server *s)
{
    char why[TLS_WHY];
    SSL_CTX *fresh;

    if (!s->tls)
        return;
    relay_set_times(s->tls->relay, (int)s->options.tls.handshake_timeout_ms,
                    (int)s->options.client_timeout_ms);
    fresh = load_context(s, why);
    if (!fresh) {
        log_error(&s->log, "certificate not loaded, the one before stays", "error", why);
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

    tls_collect(s);
    if (s->tls && relay_take_failures(s->tls->relay, &failures))
        log_warn(&s->log, "connections ended by TLS", "count", LOG_INT(failures.count),
                 "last_address", failures.label, "last_why", failures.why);
}
