/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include "record/name.h"
#include "record/role.h"

void record_put_token(struct buf *out, const struct token_record *r)
{
    size_t mark = record_open(out, RECORD_TOKEN);

    wire_put_bytes(out, r->name);
    wire_put_u8(out, r->gone);
    if (!r->gone) {
        wire_put_u8(out, (uint8_t)r->role);
        wire_put_bytes(out, r->tenant);
        wire_put_zigzag(out, r->created_ms);
        wire_put_zigzag(out, r->expires_ms);
        wire_put_bytes(out, r->hash);
    }
    record_close(out, mark);
}

/* The server's own secret has neither role nor tenant. */
static bool is_plausible(const struct token_record *r)
{
    if (str_eq(r->name, STR(TOKEN_KEY_NAME)))
        return r->role == ROLE_NONE && r->tenant.len == 0;
    return name_valid(r->name) && r->role > ROLE_NONE && r->role < ROLE_END &&
           (name_valid(r->tenant) || str_eq(r->tenant, STR(TENANT_ALL)));
}

bool record_get_token(struct str body, struct token_record *ret)
{
    struct wire_reader r = wire_reader_of(body);
    unsigned gone;

    *ret = (struct token_record){ .name = wire_bytes(&r) };
    gone = wire_u8(&r);
    ret->gone = gone == 1;
    if (gone)
        return !r.bad && gone == 1 && name_valid(ret->name);
    ret->role = wire_u8(&r);
    ret->tenant = wire_bytes(&r);
    ret->created_ms = wire_zigzag(&r);
    ret->expires_ms = wire_zigzag(&r);
    ret->hash = wire_bytes(&r);
    return !r.bad && ret->hash.len == TOKEN_HASH_BYTES && ret->expires_ms >= 0 && is_plausible(ret);
}
