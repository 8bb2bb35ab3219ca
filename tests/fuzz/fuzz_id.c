/* SPDX-License-Identifier: MIT */
/* Text that is an id formats back to the same but for case and lookalikes; any number does exactly.
 */
#include "fuzz.h"

#include "base/id.h"

static void check_same(struct job_id a, struct job_id b)
{
    CHECK(a.due_ms == b.due_ms && a.partition == b.partition && a.seq == b.seq);
}

static void check_text(struct str text)
{
    struct job_id id, again;
    char formatted[ID_TEXT];
    if (!id_parse(text, &id))
        return;
    CHECK(text.len == ID_TEXT && id.due_ms >= 0 && id.due_ms >> 48 == 0);
    id_format(id, formatted);
    CHECK(id_parse((struct str){ formatted, ID_TEXT }, &again));
    check_same(id, again);
    for (size_t i = 0; i < ID_TEXT; i++) {
        char c = text.ptr[i] >= 'a' ? (char)(text.ptr[i] - 0x20) : text.ptr[i];
        c = c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
        CHECK(c == formatted[i]);
    }
}

static void check_number(const uint8_t *data)
{
    struct job_id id, again;
    char text[ID_TEXT];
    uint64_t due;
    memcpy(&due, data, 8);
    memcpy(&id.seq, data + 8, 8);
    memcpy(&id.partition, data + 16, 2);
    id.due_ms = (int64_t)(due >> 16);
    id_format(id, text);
    CHECK(id_parse((struct str){ text, ID_TEXT }, &again));
    check_same(id, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    check_text((struct str){ copy, size });
    free(copy);
    if (size >= 18)
        check_number(data);
    return 0;
}
