/* SPDX-License-Identifier: MIT */
/* What libmicrohttpd can do by itself: reads the body of a POST and answers it, on one thread.
 * Prints its port. Built and used by bench/http. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct body {
    size_t len;
    char bytes[4096];
};

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request)
{
    struct body *b = *request;
    struct MHD_Response *r;
    enum MHD_Result ok;

    (void)arg;
    (void)url;
    (void)method;
    (void)version;
    if (!b) {
        *request = b = calloc(1, sizeof(*b));
        return b ? MHD_YES : MHD_NO;
    }
    if (*size) {
        if (b->len + *size > sizeof(b->bytes))
            return MHD_NO;
        memcpy(b->bytes + b->len, data, *size);
        b->len += *size;
        *size = 0;
        return MHD_YES;
    }
    r = MHD_create_response_from_buffer(b->len, b->bytes, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(r, "Content-Type", "application/json");
    ok = MHD_queue_response(connection, 201, r);
    MHD_destroy_response(r);
    return ok;
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)arg;
    (void)connection;
    (void)code;
    free(*request);
}

int main(void)
{
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);

    if (!d)
        return 1;
    printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    for (;;)
        pause();
}
