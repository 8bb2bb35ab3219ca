/* SPDX-License-Identifier: MIT */
/* The listening socket: it accepts connections, and refuses politely when there are too many. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "server/tls.h"

#define ACCEPT_TURN 64 /* accepted in one turn, so that a flood does not hold up other clients */

/* The bytes of a client that the kernel takes beyond those that are under way. Without this limit,
 * the kernel copies some MiB at once for a client that does not read, and no account has them. */
#define UNSENT_BYTES (128 << 10)

#define OWN_FILES INT64_C(64) /* descriptors that the journal and the loop need */

#define BUSY_ALL "-BUSY too many clients: max_connections is reached\r\n"
#define BUSY_ONE \
    "-BUSY too many clients from your address: max_connections_per_address is reached\r\n"

static void refuse_client(int fd, const char *busy)
{
    if (send(fd, busy, strlen(busy), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* The client is turned away in any case. */
    }
    close(fd);
}

/* Out of descriptors: gives up the spare one to be able to turn the client away. */
static void refuse_without_fd(struct server *s)
{
    int fd;

    close(s->spare_fd);
    fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        refuse_client(fd, BUSY_ALL);
    s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static bool is_one_too_many(const struct server *s, const struct peer *peer)
{
    uint64_t most = (uint64_t)s->options.max_connections_per_address;

    return most && peers_count(&s->peers, peer) >= most;
}

/* Whether there are as many connections as there may be. A link of TLS counts until the relay has
 * given it back, even if its client was just replaced. */
static bool is_full(const struct server *s)
{
    return peers_total(&s->peers) >= (uint64_t)s->options.max_connections;
}

static void on_connection(uv_poll_t *handle, int status, int events)
{
    struct server *s = handle->data;
    struct sockaddr_storage from;
    struct peer peer;
    int one = 1, unsent = UNSENT_BYTES;

    (void)status;
    (void)events;
    tls_collect(s);
    for (int i = 0; i < ACCEPT_TURN; i++) {
        socklen_t len = sizeof(from);
        int fd =
            accept4(s->listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                refuse_without_fd(s);
            return;
        }
        peer_set(&peer, (const struct sockaddr *)&from);
        peer.since_ms = time_mono_ms();
        if (is_full(s) && (!strangers_replace(s) || is_full(s))) {
            refuse_client(fd, BUSY_ALL);
        } else if (is_one_too_many(s, &peer)) {
            refuse_client(fd, BUSY_ONE);
        } else {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
            conn_open(s, fd, &peer);
        }
    }
}

void listen_fit(struct server *s)
{
    struct rlimit files;
    int64_t most,
        own = OWN_FILES + s->options.push.max,
        each = s->options.tls.mode == TLS_OFF ? 1 : 3; /* with TLS also the pair of sockets */

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    most = files.rlim_max > INT32_MAX ? INT32_MAX : (int64_t)files.rlim_max;
    most = (most > 2 * own ? most - own : OWN_FILES) / each;
    if (s->options.max_connections <= most)
        return;
    s->options.max_connections = most;
    log_warn(&s->log, "max_connections is lowered: the limit on open files (ulimit -n) is too low",
             "max_connections", LOG_INT(most));
}

static int listen_fail(struct server *s, const char *what, const char *why)
{
    log_error(&s->log, what, "bind", s->options.bind, "port", LOG_INT(s->options.port), "error",
              why);
    return BELFRY_IO;
}

static int bind_to(struct server *s, const struct addrinfo *a)
{
    const char *why;
    struct peer at;
    int one = 1;

    peer_set(&at, a->ai_addr);
    why = tls_bind_refusal(&s->options, &at, engine_token_count(s->host.engine) > 0);
    if (why)
        return listen_fail(s, "only loopback is served", why);
    s->listen_fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->listen_fd < 0)
        return listen_fail(s, "cannot make a socket", strerror(errno));
    setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(s->listen_fd, a->ai_addr, a->ai_addrlen) < 0 || listen(s->listen_fd, 4096) < 0)
        return listen_fail(s, "cannot listen", strerror(errno));
    return 0;
}

static int port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);

    if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

/* Makes a new file that this user can write and every user can read. The server never writes to a
 * file or link that exists, because another user may have put it there. */
static FILE *make_file(const char *path)
{
    int fd;

    unlink(path); /* may be left from a server that was killed */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

/* Writes a file beside it and renames that, so that a reader sees it whole. */
static int write_port_file(struct server *s, const char *port)
{
    struct buf temp = { 0 };
    FILE *f;
    int err = 0;

    buf_printf(&temp, "%s.tmp%c", s->options.port_file, '\0');
    f = temp.failed ? NULL : make_file(temp.ptr);
    if (!f || fprintf(f, "%s\n", port) < 0)
        err = BELFRY_IO;
    if (f && fclose(f) != 0)
        err = BELFRY_IO;
    if (!err && rename(temp.ptr, s->options.port_file) < 0)
        err = BELFRY_IO;
    if (err)
        listen_fail(s, "cannot write the port file", strerror(errno));
    buf_fini(&temp);
    return err;
}

int listen_open(struct server *s)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found;
    char port[16];
    int err;

    snprintf(port, sizeof(port), "%d", (int)s->options.port);
    err = getaddrinfo(s->options.bind, port, &hints, &found);
    if (err)
        return listen_fail(s, "cannot resolve the address to bind to", gai_strerror(err));
    err = bind_to(s, found);
    freeaddrinfo(found);
    if (err)
        return err;
    s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    uv_poll_init_socket(&s->loop, &s->listener, s->listen_fd);
    s->listener.data = s;
    listen_resume(s);
    s->port = port_of(s->listen_fd);
    snprintf(port, sizeof(port), "%d", s->port);
    log_info(&s->log, "listening", "bind", s->options.bind, "port", LOG_INT(s->port), "data",
             s->options.data);
    return s->options.port_file[0] ? write_port_file(s, port) : 0;
}

void listen_pause(struct server *s)
{
    uv_poll_stop(&s->listener);
}

void listen_resume(struct server *s)
{
    uv_poll_start(&s->listener, UV_READABLE, on_connection);
}

void listen_close(struct server *s)
{
    if (s->listen_fd >= 0)
        close(s->listen_fd);
    if (s->spare_fd >= 0)
        close(s->spare_fd);
}
