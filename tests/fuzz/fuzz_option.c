/* SPDX-License-Identifier: MIT */
/* Options that were read, written as a file again, read as the same. A refusal names file and line.
 */
#include "fuzz.h"

#include "base/error.h"
#include "server/option.h"

static const char *string_of(const struct options *o, const struct option_row *row)
{
    return *(char *const *)(const void *)((const char *)o + row->offset);
}

static int64_t number_of(const struct options *o, const struct option_row *row)
{
    return *(const int64_t *)(const void *)((const char *)o + row->offset);
}

static void put_word(const char *words, int64_t index, struct buf *out)
{
    while (index-- > 0)
        words += strcspn(words, "|") + 1;
    buf_append(out, words, strcspn(words, "|"));
}

static void write_file(const struct options *o, struct buf *out)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row(i)); i++) {
        buf_text(out, row->name);
        buf_text(out, "="); /* no blank after it: that would make a value that starts with ; none */
        if (row->type == OPTION_STRING)
            buf_text(out, string_of(o, row));
        else if (row->type == OPTION_WORD)
            put_word(row->words, number_of(o, row), out);
        else
            buf_int(out, number_of(o, row));
        buf_text(out, "\n");
    }
}

static void check_again(const struct options *o)
{
    struct options again;
    struct option_error err = { 0 };
    struct buf text = { 0 };
    const struct option_row *row;
    write_file(o, &text);
    CHECK(options_init(&again) == 0);
    if (options_parse_text(&again, buf_view(&text), "again", &err) != 0) {
        fprintf(stderr, "%s\n%.*s\n", err.text, STR_ARG(buf_view(&text)));
        abort();
    }
    for (size_t i = 0; (row = option_row(i)); i++) {
        if (row->type == OPTION_STRING)
            CHECK(strcmp(string_of(o, row), string_of(&again, row)) == 0);
        else
            CHECK(number_of(o, row) == number_of(&again, row));
        CHECK(row->type == OPTION_STRING || row->type == OPTION_WORD ||
              (number_of(o, row) >= row->min && number_of(o, row) <= row->max));
    }
    buf_fini(&text);
    options_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options o;
    struct option_error err = { 0 };
    char *copy = fuzz_copy((struct str){ (const char *)data, size });
    CHECK(options_init(&o) == 0);
    int code = options_parse_text(&o, (struct str){ copy, size }, "fuzz.ini", &err);
    CHECK(code == 0 || code == BELFRY_INVALID);
    if (code == 0)
        check_again(&o);
    else
        CHECK(strncmp(err.text, "fuzz.ini:", 9) == 0 && strlen(err.text) > 12);
    options_fini(&o);
    free(copy);
    return 0;
}
