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
    http_problem(&ret->body, code, status, str_of(detail), NULL);
}

static void refuse_missing(const char *thing, struct http_answer *ret)
{
    char text[64];

    snprintf(text, sizeof(text), "no such %s", thing);
    buf_reset(&ret->body, SIZE_MAX);
    ret->status = 404;
    ret->problem = true;
    http_problem(&ret->body, "NOTFOUND", 404, str_of(text), thing);
}

/* The place of a job whose id is the first field of the answer. */
static void set_location(struct http_answer *a)
{
    static const char head[] = "{\"id\":\"";

    if (a->body.len > sizeof(head) + ID_TEXT && !a->body.failed)
        snprintf(a->location, sizeof(a->location), "/v1/jobs/%.*s", ID_TEXT,
                 a->body.ptr + sizeof(head) - 1);
}

/* Whether the answer is about a new job, or the job that has its key. */
static bool is_about_new(const struct http_route *route)
{
    return (route->result && strcmp(route->result, "id") == 0) ||
           (route->shape && strcmp(route->shape, "Scheduled") == 0);
}

/* A job that was awaited is shown whole: 200 if it has ended, else 202. */
static void note_awaited(const struct session *s, struct http_answer *a)
{
    if (s->awaited == REPLY_PLAIN || a->problem)
        return;
    a->status = s->awaited == REPLY_AWAITED ? 200 : 202;
    a->location[0] = '\0';
    if (a->status == 202)
        set_location(a);
}

/* 200 instead of 201 if nothing was made, or not all of a batch. */
static int status_of(const struct json_reply *r, const struct http_route *route)
{
    return r->errors || (r->kept && !r->created) ? 200 : route->status;
}

static void conclude(const struct json_reply *r, const struct http_route *route,
                     struct http_answer *ret)
{
    const char *thing = verb_thing(http_route_verb(route));
    struct buf text;

    switch (r->outcome) {
    case JSON_OUTCOME_ERROR:
        text = ret->body;
        ret->body = (struct buf){ 0 };
        ret->status = http_status_of(r->code);
        ret->problem = true;
        http_problem(&ret->body, r->code, ret->status, buf_view(&text), thing);
        buf_fini(&text);
        break;
    case JSON_OUTCOME_NULL: refuse_missing(thing, ret); break;
    case JSON_OUTCOME_OK:
    case JSON_OUTCOME_NONE: ret->status = 204; break;
    case JSON_OUTCOME_BODY:
        ret->status = status_of(r, route);
        if (is_about_new(route))
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
    json_reply_init(&reply, &ret->body, NULL);
    if (verb_admit(&call) == 0 && http_allows(route, s->who.role))
        return true;
    if (!call.failed)
        verb_error(&call, BELFRY_NOPERM, "settings are changed by admin; this token is read-only");
    conclude(&reply, route, ret);
    return false;
}

uint64_t http_execute(struct session *s, const struct session_target *t,
                      const struct http_route *route, const struct http_call *call, void *owner,
                      struct http_answer *ret)
{
    struct json_reply reply;
    uint64_t lsn;

    json_reply_init(&reply, &ret->body, route->result);
    reply.json = call->json;
    lsn = session_call(s, t, http_route_verb(route), call->words, call->n, owner, &reply.base);
    if (s->parked || s->cold || s->no_room)
        return lsn;
    conclude(&reply, route, ret);
    note_awaited(s, ret);
    return lsn;
}

void http_serve(struct session *s, const struct engine *e, const struct http_route *route,
                const struct http_call *call, struct job *const *jobs, size_t n,
                struct http_answer *ret)
{
    struct json_reply reply;

    json_reply_init(&reply, &ret->body, route->result);
    reply.json = call->json;
    s->parked = NULL;
    verb_reply_leases(e, &reply.base, jobs, n);
    conclude(&reply, route, ret);
}

void http_fail(int err, const char *detail, struct http_answer *ret)
{
    static const struct http_route none;
    struct json_reply reply;
    struct verb_call call = { .reply = &reply.base };

    json_reply_init(&reply, &ret->body, NULL);
    verb_error(&call, err, detail);
    conclude(&reply, &none, ret);
}
