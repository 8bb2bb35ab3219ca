/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <assert.h>

/* Crockford's: no I, L, O (they look like digits) and no U. */
static const char id_alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* Value of each character, with a mark: 0 is a character that has none. */
#define ID_MARK  0x80
#define D(value) (ID_MARK | (value))
/* clang-format off */
static const unsigned char id_digits[256] = {
    ['0'] = D(0), ['1'] = D(1), ['2'] = D(2), ['3'] = D(3), ['4'] = D(4), ['5'] = D(5), ['6'] = D(6), ['7'] = D(7),
    ['8'] = D(8), ['9'] = D(9), ['A'] = D(10), ['a'] = D(10), ['B'] = D(11), ['b'] = D(11), ['C'] = D(12), ['c'] = D(12),
    ['D'] = D(13), ['d'] = D(13), ['E'] = D(14), ['e'] = D(14), ['F'] = D(15), ['f'] = D(15), ['G'] = D(16), ['g'] = D(16),
    ['H'] = D(17), ['h'] = D(17), ['J'] = D(18), ['j'] = D(18), ['K'] = D(19), ['k'] = D(19), ['M'] = D(20), ['m'] = D(20),
    ['N'] = D(21), ['n'] = D(21), ['P'] = D(22), ['p'] = D(22), ['Q'] = D(23), ['q'] = D(23), ['R'] = D(24), ['r'] = D(24),
    ['S'] = D(25), ['s'] = D(25), ['T'] = D(26), ['t'] = D(26), ['V'] = D(27), ['v'] = D(27), ['W'] = D(28), ['w'] = D(28),
    ['X'] = D(29), ['x'] = D(29), ['Y'] = D(30), ['y'] = D(30), ['Z'] = D(31), ['z'] = D(31), ['O'] = D(0), ['o'] = D(0),
    ['I'] = D(1), ['i'] = D(1), ['L'] = D(1), ['l'] = D(1),
};
/* clang-format on */

void id_format(struct job_id id, char ret[ID_TEXT])
{
    assert(id.due_ms >= 0 && id.due_ms >> 48 == 0);
    unsigned __int128 v =
        (unsigned __int128)((uint64_t)id.due_ms << 16 | id.partition) << 64 | id.seq;
    for (int i = ID_TEXT - 1; i >= 0; i--) {
        ret[i] = id_alphabet[v & 31];
        v >>= 5;
    }
}

bool id_parse(struct str text, struct job_id *ret)
{
    unsigned __int128 v = 0;
    unsigned marks = ID_MARK;

    if (text.len != ID_TEXT)
        return false;
    for (size_t i = 0; i < ID_TEXT; i++) {
        unsigned digit = id_digits[(unsigned char)text.ptr[i]];
        marks &= digit;
        v = v << 5 | (digit & 31);
    }
    /* 26 characters hold 130 bits: the first has only three to give. */
    if (!marks || id_digits[(unsigned char)text.ptr[0]] > D(7))
        return false;
    uint64_t high = (uint64_t)(v >> 64);
    *ret = (struct job_id){ .due_ms = (int64_t)(high >> 16),
                            .partition = (uint16_t)high,
                            .seq = (uint64_t)v };
    return true;
}
