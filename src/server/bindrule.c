/* SPDX-License-Identifier: MIT */
#include "server/bindrule.h"

#include <stddef.h>

const char *bindrule_refusal(const struct bindrule *r)
{
    if (r->loopback)
        return NULL;
    if (!r->users)
        return "there are no tokens, so that anybody could do anything: start it once with bind = "
               "127.0.0.1, make the first one there (belfry token create root admin), then start "
               "it again with this bind";
    if (!r->tls && !r->insecure)
        return "what is said would be readable on its way: set tls = on with tls_cert and tls_key, "
               "or bind to 127.0.0.1 or ::1, or say insecure_plaintext = yes if the network is "
               "trusted";
    return NULL;
}
