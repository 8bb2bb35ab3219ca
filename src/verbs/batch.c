/* SPDX-License-Identifier: MIT */
/* BATCH: several jobs in one request, all or none of them, or each by itself. */
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "verbs/handlers.h"

#define BATCH_SPARE 65536 /* a batch may have so many bytes more than the largest payload */
#define FIRST_ITEM  2     /* index of the word behind BATCH and its mode */

/* A reply that keeps an error until the batch adds the item's number. */
struct note {
    struct reply base;
    const char *code; /* NULL: there is no error */
    char text[400];
};

static void note_error(struct reply *r, const char *code, struct str text)
{
    struct note *n = container_of(r, struct note, base);

    n->code = code;
    snprintf(n->text, sizeof(n->text), "%.*s", STR_ARG(text));
}

static const struct reply_ops noting = { .error = note_error };

struct batch_item {
    struct item item;
    struct note note;
};

struct batch {
    struct verb_call *call;
    struct batch_item *items;
    struct job_spec *specs;
    struct schedule_result *results;
    size_t n;
};

/* The number of an item's words; 0: it is no such number. */
static size_t number_of(struct str s)
{
    uint64_t v;

    return s.len <= 4 && str_number(s, &v) ? (size_t)v : 0;
}

/* The number of items, each a number and so many words; 0 after an error reply. */
static size_t count_items(struct verb_call *c)
{
    char why[96];
    size_t n = 0;

    for (size_t at = FIRST_ITEM; at < c->word_count; n++) {
        size_t words = number_of(c->words[at]);

        if (words < 2 || words > c->word_count - at - 1) {
            snprintf(why, sizeof(why),
                     "item %zu: expected the number of its words, at least 2, and these", n + 1);
            verb_error(c, BELFRY_INVALID, why);
            return 0;
        }
        at += 1 + words;
    }
    if (n <= BATCH_MAX)
        return n;
    snprintf(why, sizeof(why), "items: %zu, the limit is %d", n, BATCH_MAX);
    verb_error(c, BELFRY_INVALID, why);
    return 0;
}

/* Reads an item's words as a call of SCHEDULE. An error is noted. */
static void item_parse(const struct verb_call *c, size_t *at, struct batch_item *ret)
{
    size_t words = number_of(c->words[*at]);
    struct arg_value args[VERB_ARGS_MAX];
    struct verb_call call = {
        .engine = c->engine,
        .partition = c->partition,
        .host = c->host,
        .who = c->who,
        .reply = &ret->note.base,
        .args = args,
        .verb = verb_find(verb_table, STR("SCHEDULE")),
        .words = c->words + *at, /* the number stands in place of the verb's name */
        .word_count = words + 1,
    };
    char why[sizeof(ret->note.text)];
    int err = verb_parse(call.verb, c->host, call.words, call.word_count, why, sizeof(why), args,
                         &call.given);

    *at += words + 1;
    ret->note.base.ops = &noting;
    if (err) {
        verb_error(&call, err, why);
        return;
    }
    if (args[SCHEDULE_WAIT].set)
        verb_error(&call, BELFRY_INVALID, "wait: an item of a batch cannot wait for its job");
    else if (verb_scope(&call) == 0)
        schedule_of(&call, &ret->item);
}

static size_t spec_bytes(const struct job_spec *s)
{
    size_t bytes = s->payload.len + s->queue.len + s->key.len + s->order.len + s->backoff.len + 128;

    for (size_t i = 0; i < s->tag_count; i++)
        bytes += s->tags[i].len + 2;
    for (size_t i = 0; i < s->meta_count; i++)
        bytes += s->meta[i].name.len + s->meta[i].value.len + 4;
    return bytes + 48 * s->after_count;
}

static void refuse_item(const struct batch *b, size_t i, const char *code, const char *text)
{
    char whole[480];

    snprintf(whole, sizeof(whole), "item %zu: %s", i + 1, text);
    reply_refuse(b->call->reply, code, str_of(whole));
}

static void refuse_job(const struct batch *b, size_t i, int err)
{
    const char *detail = engine_detail(b->call->engine);

    refuse_item(b, i, error_name(err), detail[0] ? detail : error_text(err));
}

/* Whether all items are valid and fit into one commit. False after an error reply. */
static bool check_items(const struct batch *b)
{
    size_t bytes = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct note *note = &b->items[i].note;

        if (note->code) {
            refuse_item(b, i, note->code, note->text);
            return false;
        }
        bytes += spec_bytes(&b->specs[i]);
        if (bytes > b->call->host->max_payload + BATCH_SPARE) {
            refuse_item(b, i, error_name(BELFRY_TOOLARGE),
                        "with those before it larger than a payload may be; make several batches, "
                        "or use each");
            return false;
        }
    }
    return true;
}

static void run_all(const struct batch *b)
{
    size_t failed;
    int err;

    if (!check_items(b))
        return;
    err = engine_schedule_all(b->call->engine, b->specs, b->n, b->results, &failed);
    if (err && failed == b->n) {
        verb_failed(b->call, err);
    } else if (err) {
        refuse_job(b, failed, err);
    } else {
        reply_array(b->call->reply, b->n);
        for (size_t i = 0; i < b->n; i++)
            reply_scheduled(b->call->reply, b->items[i].item.map, &b->results[i]);
    }
}

/* Whether the items together wait for no more jobs than a batch may. False after an error reply. */
static bool check_afters(const struct batch *b)
{
    size_t all = 0;

    for (size_t i = 0; i < b->n; i++) {
        all += b->items[i].note.code ? 0 : b->specs[i].after_count;
        if (all > AFTERS_MAX) {
            refuse_item(b, i, error_name(BELFRY_INVALID), AFTERS_RULE);
            return false;
        }
    }
    return true;
}

/* Asks for all jobs on disk that valid items need. False: the call will run again after a fetch, or
 * an error was replied. After true, no item answers COLD. */
static bool ask_each(const struct batch *b)
{
    struct job_spec *valid = calloc(b->n, sizeof(*valid));
    size_t n = 0;

    if (!valid) {
        verb_error(b->call, BELFRY_NOMEM, "");
        return false;
    }
    for (size_t i = 0; i < b->n; i++)
        if (!b->items[i].note.code)
            valid[n++] = b->specs[i];
    int err = engine_schedule_ask(b->call->engine, valid, n);
    free(valid);
    return !verb_failed(b->call, err);
}

static void run_each(const struct batch *b)
{
    if (!check_afters(b) || !ask_each(b))
        return;
    reply_array(b->call->reply, b->n);
    for (size_t i = 0; i < b->n; i++) {
        const struct note *note = &b->items[i].note;
        int err =
            note->code ? 0 : engine_schedule_asked(b->call->engine, &b->specs[i], &b->results[i]);

        if (note->code)
            refuse_item(b, i, note->code, note->text);
        else if (err)
            refuse_job(b, i, err);
        else
            reply_scheduled(b->call->reply, b->items[i].item.map, &b->results[i]);
    }
}

void run_batch(struct verb_call *c)
{
    struct batch b = { .call = c, .n = count_items(c) };
    size_t at = FIRST_ITEM;

    if (b.n == 0)
        return;
    b.items = calloc(b.n, sizeof(*b.items));
    b.specs = calloc(b.n, sizeof(*b.specs));
    b.results = calloc(b.n, sizeof(*b.results));
    if (b.items && b.specs && b.results) {
        for (size_t i = 0; i < b.n; i++) {
            item_parse(c, &at, &b.items[i]);
            b.specs[i] = b.items[i].item.spec;
        }
        if (c->args[SUBJECT].number == 1)
            run_each(&b);
        else
            run_all(&b);
    } else {
        verb_error(c, BELFRY_NOMEM, "");
    }
    free(b.items);
    free(b.specs);
    free(b.results);
}
