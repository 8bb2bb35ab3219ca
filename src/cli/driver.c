/* SPDX-License-Identifier: MIT */
#include "cli/driver.h"

#include "base/error.h"

void driver_filler(struct buf *out, size_t bytes)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog and runs on; ";

    while (bytes > 0) {
        size_t n = bytes < sizeof(text) - 1 ? bytes : sizeof(text) - 1;
        buf_append(out, text, n);
        bytes -= n;
    }
}

void driver_digits(char *at, size_t width, uint64_t n)
{
    while (width > 0) {
        at[--width] = (char)('0' + n % 10);
        n /= 10;
    }
}

void driver_word(struct buf *out, const char *prefix, uint64_t n)
{
    char text[32], *end = buf_digits(stpcpy(text, prefix), n);

    resp_bulk(out, (struct str){ text, (size_t)(end - text) });
}

void driver_payload(const struct target *t, struct buf *out, uint64_t n)
{
    size_t at;

    resp_bulk(out, buf_view(&t->now));
    at = out->len - t->now.len - 2;
    if (t->now.len >= DRIVER_NUMBER_DIGITS && !out->failed)
        driver_digits(out->ptr + at, DRIVER_NUMBER_DIGITS, n);
}

int driver_ask(struct client *c, struct str *words, size_t n, const struct resp_values **ret)
{
    int err = client_call(c, words, n, ret);

    if (err == 0 && (*ret)->at[0].type == RESP_ERROR)
        return cli_fail(c->why, BELFRY_INVALID, "%.*s", STR_ARG((*ret)->at[0].text));
    return err;
}
