/* SPDX-License-Identifier: MIT */
/* Tells the service manager the server's state, by the protocol of systemd: a datagram to
 * $NOTIFY_SOCKET. Does nothing without that variable. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* Sends "READY=1", "STOPPING=1", or several states with line breaks between. */
void notify_send(const char *state);
/* Tells that the server reads its configuration again. READY=1 must follow. */
void notify_reloading(void);

#endif
