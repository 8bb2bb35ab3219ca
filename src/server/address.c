/* SPDX-License-Identifier: MIT */
#include "server/client.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

void client_address(int fd, char *ret, size_t size)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);
    char host[48], port[8];

    ret[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&a, &len) == 0 &&
        getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(ret, size, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}
