/* SPDX-License-Identifier: MIT */
#include "server/acked.h"

#include <linux/sockios.h>
#include <linux/tcp.h> /* Its tcp_info has more fields than netinet/tcp.h, with which it clashes. */
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

uint64_t socket_acked(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t len = sizeof(info);
    int queued = 0;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        return info.tcpi_bytes_acked;
    return ioctl(fd, SIOCOUTQ, &queued) < 0 ? 0 : (uint64_t)queued;
}
