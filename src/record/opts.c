/* SPDX-License-Identifier: MIT */
#include "record/opts.h"

#include "base/time.h"
#include "record/limits.h"

static void put_bytes(struct buf *out, enum job_opt type, struct str bytes)
{
    if (bytes.len > 0) {
        wire_put_u8(out, (uint8_t)type);
        wire_put_bytes(out, bytes);
    }
}

static void put_number(struct buf *out, enum job_opt type, int64_t number, bool given)
{
    if (given) {
        wire_put_u8(out, (uint8_t)type);
        wire_put_varint(out, (uint64_t)number);
    }
}

#define PUT_BYTES(type, member)    put_bytes(out, type, o->member);
#define PUT_NUMBER(type, member)   put_number(out, type, o->member, o->member >= 0);
#define PUT_POSITIVE(type, member) put_number(out, type, o->member, o->member > 0);
#define PUT_FLAG(type, member)     put_number(out, type, 1, o->member);

void job_opts_put(struct buf *out, const struct job_opts *o, int64_t born_ms)
{
    wire_put_zigzag(out, o->created_ms - born_ms);
#define PUT(name, number, kind, member) PUT_##kind(OPT_##name, member)
    JOB_OPTS(PUT)
#undef PUT
}

#define NEXT_BYTES    ret->bytes = wire_bytes(r)
#define NEXT_NUMBER   ret->number = (int64_t)wire_varint(r)
#define NEXT_POSITIVE NEXT_NUMBER
#define NEXT_FLAG     NEXT_NUMBER

bool job_opt_next(struct wire_reader *r, struct opt *ret)
{
    if (r->p >= r->end)
        return false;
    *ret = (struct opt){ .type = (enum job_opt)wire_u8(r) };
    switch (ret->type) {
#define NEXT(name, number, kind, member) \
    case OPT_##name: NEXT_##kind; break;
        JOB_OPTS(NEXT)
#undef NEXT
    case OPT_TAG: NEXT_BYTES; break;
    case OPT_AFTERFAIL: NEXT_NUMBER; break;
    case OPT_META:
        ret->bytes = wire_bytes(r);
        ret->value = wire_bytes(r);
        break;
    case OPT_AFTER:
    case OPT_TOLD:
    case OPT_LISTENER:
        ret->number = (int64_t)wire_varint(r);
        ret->seq = wire_varint(r);
        break;
    case OPT_NOMINAL:
        ret->number = (int64_t)wire_varint(r);
        ret->bytes = wire_bytes(r);
        break;
    default: return false; /* of a newer version: the rest cannot be read */
    }
    if (ret->number < 0 || (ret->type >= OPT_AFTER && ret->number > TIME_MOMENT_MAX) ||
        ((ret->type == OPT_KEY || ret->type == OPT_ORDER) && ret->bytes.len > KEY_MAX_BYTES))
        r->bad = true;
    return !r->bad;
}

/* An option that is not given is zero, except for numbers. */
#define NONE_BYTES(member)
#define NONE_NUMBER(member) .member = -1,
#define NONE_POSITIVE(member)
#define NONE_FLAG(member)
#define READ_BYTES    o.bytes
#define READ_NUMBER   o.number
#define READ_POSITIVE o.number
#define READ_FLAG     (o.number == 1)

void job_opts_read(struct str opts, int64_t born_ms, struct job_opts *ret)
{
    struct wire_reader r = wire_reader_of(opts);
    int64_t created = wire_zigzag(&r);

    job_opts_read_rest(r, ret);
    ret->created_ms = (int64_t)((uint64_t)born_ms + (uint64_t)created);
}

void job_opts_read_rest(struct wire_reader r, struct job_opts *ret)
{
    static const struct job_opts none = {
#define NONE(name, number, kind, member) NONE_##kind(member)
        JOB_OPTS(NONE)
#undef NONE
    };
    struct opt o;

    *ret = none;
    while (r.p < r.end && job_opt_next(&r, &o)) {
        switch (o.type) {
#define READ(name, number, kind, member) \
    case OPT_##name: ret->member = READ_##kind; break;
            JOB_OPTS(READ)
#undef READ
        case OPT_AFTERFAIL: ret->after_fail = (enum after_fail)o.number; break;
        case OPT_AFTER: ret->afters++; break;
        case OPT_LISTENER: ret->listeners++; break;
        case OPT_TOLD:
        case OPT_NOMINAL:
        case OPT_TAG:
        case OPT_META: break; /* see job_opt_next */
        }
    }
}

void cold_keys_of(struct str opts, struct str *ret_key, struct str *ret_order)
{
    struct job_opts o;

    *ret_key = *ret_order = (struct str){ 0 };
    if (opts_are_bare(opts))
        return;
    job_opts_read(opts, 0, &o);
    *ret_key = o.key;
    *ret_order = o.order;
}

void opts_put_id(struct buf *out, enum job_opt type, struct job_id id)
{
    wire_put_u8(out, (uint8_t)type);
    wire_put_varint(out, (uint64_t)id.due_ms);
    wire_put_varint(out, id.seq);
}
