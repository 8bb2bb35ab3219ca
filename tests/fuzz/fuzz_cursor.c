/* SPDX-License-Identifier: MIT */
/* Text that is a cursor formats back to the same; any cursor survives its text. */
#include "fuzz.h"

#include "verbs/cursor.h"

static void check_text(struct str text)
{
    struct list_cursor c;
    char again[CURSOR_TEXT];
    if (!cursor_parse(text, &c))
        return;
    CHECK(c.more && c.phase <= LIST_SORTED && c.key_len <= sizeof(c.key) && c.due_ms >= 0);
    CHECK(str_eq((struct str){ again, cursor_format(&c, again) }, text));
}

static void check_number(const uint8_t *data, size_t size)
{
    struct list_cursor c = { .more = true }, again;
    char text[CURSOR_TEXT];
    size_t len = size - 42 < sizeof(c.key) ? size - 42 : sizeof(c.key);
    c.phase = data[0] % (LIST_SORTED + 1);
    c.stripes_log2 = data[1];
    memcpy(&c.stripe, data + 2, 8);
    memcpy(&c.due_ms, data + 10, 8);
    c.due_ms &= INT64_MAX;
    memcpy(&c.seq, data + 18, 8);
    memcpy(&c.walk, data + 26, 4);
    memcpy(&c.since, data + 30, 4);
    memcpy(&c.epoch, data + 34, 8);
    c.key_len = (uint16_t)len;
    memcpy(c.key, data + 42, len);
    CHECK(cursor_parse((struct str){ text, cursor_format(&c, text) }, &again));
    CHECK(again.phase == c.phase && again.stripes_log2 == c.stripes_log2 &&
          again.stripe == c.stripe && again.due_ms == c.due_ms && again.seq == c.seq &&
          again.walk == c.walk && again.since == c.since && again.epoch == c.epoch &&
          again.key_len == len && !memcmp(again.key, c.key, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    check_text((struct str){ copy, size });
    free(copy);
    if (size >= 42)
        check_number(data, size);
    return 0;
}
