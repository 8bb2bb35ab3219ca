/* SPDX-License-Identifier: MIT */
/* The manual pages belfry.1, belfryd.8 and belfry.ini.5, from the tables in the code. */
#ifndef SCRIPTS_GENMAN_H
#define SCRIPTS_GENMAN_H

#include "base/buf.h"

void man_belfry(struct buf *out);
void man_belfryd(struct buf *out);
void man_belfry_ini(struct buf *out);

#endif
