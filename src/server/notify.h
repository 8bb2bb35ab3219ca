/* SPDX-License-Identifier: MIT */
/* Tells a service manager how it goes, by the protocol of systemd: a datagram to $NOTIFY_SOCKET.
 * Nothing happens where there is none. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* "READY=1", "STOPPING=1", or several with line breaks between. */
void notify_send(const char *state);
/* That it reads its configuration again; to be followed by READY=1. */
void notify_reloading(void);

#endif
