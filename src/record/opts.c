/* SPDX-License-Identifier: MIT */
#include "record/opts.h"

#include "base/time.h"

void job_opts_put(struct buf *out, const struct job_opts *o, int64_t born_ms)
{
    wire_put_zigzag(out, o->created_ms - born_ms);
    if (o->key.len > 0) {
        wire_put_u8(out, OPT_KEY);
        wire_put_bytes(out, o->key);
    }
    if (o->attempts >= 0) {
        wire_put_u8(out, OPT_ATTEMPTS);
        wire_put_varint(out, (uint64_t)o->attempts);
    }
    if (o->backoff.len > 0) {
        wire_put_u8(out, OPT_BACKOFF);
        wire_put_bytes(out, o->backoff);
    }
    if (o->lease_ms >= 0) {
        wire_put_u8(out, OPT_LEASE);
        wire_put_varint(out, (uint64_t)o->lease_ms);
    }
    if (o->retain_ms >= 0) {
        wire_put_u8(out, OPT_RETAIN);
        wire_put_varint(out, (uint64_t)o->retain_ms);
    }
    if (o->expire_ms > 0) {
        wire_put_u8(out, OPT_EXPIRE);
        wire_put_varint(out, (uint64_t)o->expire_ms);
    }
    if (o->order.len > 0) {
        wire_put_u8(out, OPT_ORDER);
        wire_put_bytes(out, o->order);
    }
    if (o->push.len > 0) {
        wire_put_u8(out, OPT_PUSH);
        wire_put_bytes(out, o->push);
    }
    if (o->notify) {
        wire_put_u8(out, OPT_NOTIFY);
        wire_put_varint(out, 1);
    }
    if (o->passing) {
        wire_put_u8(out, OPT_GATES);
        wire_put_varint(out, 1);
    }
}

bool job_opt_next(struct wire_reader *r, struct opt *ret)
{
    if (r->p >= r->end)
        return false;
    *ret = (struct opt){ .type = (enum job_opt)wire_u8(r) };
    switch (ret->type) {
    case OPT_KEY:
    case OPT_BACKOFF:
    case OPT_ORDER:
    case OPT_PUSH:
    case OPT_TAG: ret->bytes = wire_bytes(r); break;
    case OPT_META:
        ret->bytes = wire_bytes(r);
        ret->value = wire_bytes(r);
        break;
    case OPT_ATTEMPTS:
    case OPT_LEASE:
    case OPT_RETAIN:
    case OPT_AFTERFAIL:
    case OPT_EXPIRE:
    case OPT_NOTIFY:
    case OPT_GATES: ret->number = (int64_t)wire_varint(r); break;
    case OPT_AFTER:
    case OPT_LISTENER:
        ret->number = (int64_t)wire_varint(r);
        ret->seq = wire_varint(r);
        break;
    case OPT_NOMINAL:
        ret->number = (int64_t)wire_varint(r);
        ret->bytes = wire_bytes(r);
        break;
    default: return false; /* from a newer version: what follows cannot be read */
    }
    if (ret->number < 0 || (ret->type >= OPT_AFTER && ret->number > TIME_MOMENT_MAX))
        r->bad = true;
    return !r->bad;
}

void job_opts_read(struct str opts, int64_t born_ms, struct job_opts *ret)
{
    struct wire_reader r = wire_reader_of(opts);

    struct opt o;

    *ret = (struct job_opts){ .attempts = -1, .lease_ms = -1, .retain_ms = -1 };
    ret->created_ms = (int64_t)((uint64_t)born_ms + (uint64_t)wire_zigzag(&r));
    while (job_opt_next(&r, &o)) {
        switch (o.type) {
        case OPT_KEY: ret->key = o.bytes; break;
        case OPT_ATTEMPTS: ret->attempts = o.number; break;
        case OPT_BACKOFF: ret->backoff = o.bytes; break;
        case OPT_LEASE: ret->lease_ms = o.number; break;
        case OPT_RETAIN: ret->retain_ms = o.number; break;
        case OPT_EXPIRE: ret->expire_ms = o.number; break;
        case OPT_ORDER: ret->order = o.bytes; break;
        case OPT_PUSH: ret->push = o.bytes; break;
        case OPT_NOTIFY: ret->notify = o.number == 1; break;
        case OPT_GATES: ret->passing = o.number == 1; break;
        case OPT_AFTERFAIL: ret->after_fail = (enum after_fail)o.number; break;
        case OPT_AFTER: ret->afters++; break;
        case OPT_LISTENER: ret->listeners++; break;
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
