/* SPDX-License-Identifier: MIT */
/* Tenants, kinds, and the posts where workers wait. */
#ifndef ENGINE_TENANT_H
#define ENGINE_TENANT_H

#include "engine/engine_data.h"

void tenants_init(struct engine *e);
void tenants_free(struct engine *e);
struct tenant *tenant_find(const struct engine *e, struct str name);
struct tenant *tenant_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when it may have become without use: then it is gone. Likewise below. */
void tenant_settle(struct engine *e, struct tenant *t);
struct kind *kind_find(const struct engine *e, struct str name);
struct kind *kind_obtain(struct engine *e, struct str name);
void kind_settle(struct engine *e, struct kind *k);
void post_init(struct post *p);
/* Asks for engine_dispatch to look at it, if somebody waits. */
void post_call(struct engine *e, struct post *p);

#endif
