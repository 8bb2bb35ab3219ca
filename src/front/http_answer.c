/* SPDX-License-Identifier: MIT */
/* A verb's reply as an answer in HTTP. */
#include <stdio.h>

#include "front/http_call.h"
#include "front/http_status.h"
#include "front/json_reply.h"

void http_answer_fini(struct http_answer *a)
{
    buf_fini(&a->body);
}

void http_refuse(const char *code, int status, const char *detail, struct http_answer *ret)
{
    buf_reset(&ret->body, SIZE_MAX);
    ret->status = status;
    ret->problem = true;
    http_problem(&ret->body, code, status, str_of(detail));
}

static void refuse_missing(const struct http_route *r, struct http_answer *ret)
{
    char text[64];

    snprintf(text, sizeof(text), "no such %s", verb_thing(http_route_verb(r)));
    http_refuse("NOTFOUND", 404, text, ret);
}

static void set_location(struct http_answer *a)
{
    static const char head[] = "{\"id\":\"";

    if (a->body.len == sizeof(head) - 1 + ID_TEXT + 2 && !a->body.failed)
        snprintf(a->location, sizeof(a->location), "/v1/jobs/%.*s", ID_TEXT,
                 a->body.ptr + sizeof(head) - 1);
}

static void conclude(const struct json_reply *r, const struct http_route *route,
                     struct http_answer *ret)
{
    struct buf text;

    switch (r->outcome) {
    case JSON_OUTCOME_ERROR:
        text = ret->body;
        ret->body = (struct buf){ 0 };
        ret->status = http_status_of(r->code);
        ret->problem = true;
        http_problem(&ret->body, r->code, ret->status, buf_view(&text));
        buf_fini(&text);
        break;
    case JSON_OUTCOME_NULL: refuse_missing(route, ret); break;
    case JSON_OUTCOME_OK:
    case JSON_OUTCOME_NONE: ret->status = 204; break;
    case JSON_OUTCOME_BODY:
        ret->status = r->errors ? 200 : route->status; /* of a batch: not all were made */
        if (ret->status == 201 && !route->item)
            set_location(ret);
        break;
    }
}

bool http_admit(const struct session *s, const struct http_route *route, struct http_answer *ret)
{
    struct json_reply reply;
    struct verb_call call = { .reply = &reply.base,
                              .verb = http_route_verb(route),
                              .who = &s->who };

    if (!call.verb)
        return true;
    json_reply_init(&reply, &ret->body, NULL, NULL);
    if (verb_admit(&call) == 0)
        return true;
    conclude(&reply, route, ret);
    return false;
}

uint64_t http_execute(struct session *s, const struct session_target *t,
                      const struct http_route *route, const struct http_call *call, void *owner,
                      struct http_answer *ret)
{
    struct json_reply reply;
    uint64_t lsn;

    json_reply_init(&reply, &ret->body, route->result, route->item);
    lsn = session_call(s, t, http_route_verb(route), call->words, call->list.n, owner, &reply.base);
    if (!s->parked && !s->cold && !s->no_room)
        conclude(&reply, route, ret);
    return lsn;
}

void http_serve(struct session *s, const struct engine *e, const struct http_route *route,
                struct job *const *jobs, size_t n, struct http_answer *ret)
{
    struct json_reply reply;

    json_reply_init(&reply, &ret->body, route->result, route->item);
    s->parked = NULL;
    verb_reply_leases(e, &reply.base, jobs, n);
    conclude(&reply, route, ret);
}

void http_fail(int err, const char *detail, struct http_answer *ret)
{
    static const struct http_route none;
    struct json_reply reply;
    struct verb_call call = { .reply = &reply.base };

    json_reply_init(&reply, &ret->body, NULL, NULL);
    verb_error(&call, err, detail);
    conclude(&reply, &none, ret);
}
