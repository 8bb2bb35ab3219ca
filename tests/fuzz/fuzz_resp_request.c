/* SPDX-License-Identifier: MIT */
/*
 * A stream of requests gives equal requests whether it comes whole or in pieces, and nothing is
 * decided before the place says so. Looking on from a place finds what reading from the beginning
 * finds. A request that is written as an array reads back as an equal request. The first byte seeds
 * how the stream is cut.
 */
#include "fuzz.h"

#include "front/resp.h"

#define MAX_BULK 4096

static enum resp_status read_exact(struct resp_request *r, struct str in, size_t *used,
                                   struct buf *log)
{
    char *copy = fuzz_copy(in);
    enum resp_status status = resp_read_request(r, (struct str){ copy, in.len }, MAX_BULK, used);
    CHECK(status == RESP_OK || r->n == 0);
    CHECK((status == RESP_BAD) == (r->why != NULL));
    if (status == RESP_OK) {
        CHECK(*used > 0 && *used <= in.len && r->n <= RESP_ARGS_MAX);
        resp_array(log, r->n);
        for (size_t i = 0; i < r->n; i++)
            resp_bulk(log, r->args[i]);
    } else if (status == RESP_BAD) {
        buf_text(log, r->why);
    } else {
        CHECK(r->place.need == 0 || r->place.need > in.len);
        CHECK(r->place.at <= in.len);
    }
    free(copy);
    return status;
}

static void read_whole(struct str in, struct buf *log)
{
    struct resp_request r = { 0 };
    size_t used = 0;
    while (read_exact(&r, in, &used, log) == RESP_OK)
        in = (struct str){ in.ptr + used, in.len - used };
    resp_request_fini(&r);
}

/* Looks on, with input of exactly these bytes. */
static bool look_exact(struct resp_place *place, struct str in)
{
    char *copy = fuzz_copy(in);
    bool whole = resp_look_on(place, (struct str){ copy, in.len }, MAX_BULK);

    CHECK(place->at <= in.len);
    free(copy);
    return whole;
}

/* Reads as a connection does, in pieces of 1 to 16 bytes. It reads again even where a connection
 * would look on. */
static void read_pieces(struct str in, uint32_t seed, struct buf *log)
{
    struct resp_request r = { 0 };
    struct resp_place place = { 0 };
    enum resp_status status = RESP_OK;
    size_t have = 0, used = 0;
    for (;;) {
        bool half = have > 0 && status == RESP_MORE,
             begun = have > 0 && in.ptr[0] == '*' && !place.left;
        bool whole = !half || look_exact(&place, (struct str){ in.ptr, have });

        status = read_exact(&r, (struct str){ in.ptr, have }, &used, log);
        CHECK(!half || begun || whole == (status != RESP_MORE));
        if (!half || begun)
            place = r.place;
        if (status == RESP_BAD || (status == RESP_MORE && have == in.len))
            break;
        if (status == RESP_OK) {
            in = (struct str){ in.ptr + used, in.len - used };
            have -= used;
            continue;
        }
        seed = seed * 1664525 + 1013904223;
        have += 1 + (seed >> 16) % 16;
        have = have < in.len ? have : in.len;
    }
    resp_request_fini(&r);
}

/* The log is itself a stream of requests, but for the reason at its end. */
static void check_written(struct str log)
{
    struct resp_request r = { 0 };
    struct buf again = { 0 };
    size_t used = 0, at = 0;
    while (at < log.len && log.ptr[at] == '*') {
        struct str rest = { log.ptr + at, log.len - at };
        CHECK(resp_read_request(&r, rest, SIZE_MAX / 2, &used) == RESP_OK);
        resp_array(&again, r.n);
        for (size_t i = 0; i < r.n; i++)
            resp_bulk(&again, r.args[i]);
        at += used;
    }
    CHECK(again.len == at && (at == 0 || memcmp(again.ptr, log.ptr, at) == 0));
    buf_fini(&again);
    resp_request_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = { 0 }, pieces = { 0 };
    if (size == 0)
        return 0;
    struct str in = { (const char *)data + 1, size - 1 };
    read_whole(in, &whole);
    read_pieces(in, data[0], &pieces);
    CHECK(str_eq(buf_view(&whole), buf_view(&pieces)));
    check_written(buf_view(&whole));
    buf_fini(&whole);
    buf_fini(&pieces);
    return 0;
}
