/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include <assert.h>
#include <string.h>

/* Crockford's alphabet has no I, L and O, which look like digits, and no U.
 * The value of each character, with a mark: 0 is a character that has none. */
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

/* 128 bits as 2 + 12 + 12 characters: three short chains of shifts instead of a long one. */
#define ID_CHUNK 12
#define ID_LOW60 ((UINT64_C(1) << 60) - 1)

/* clang-format off */
/* The two characters for each value of ten bits. */
#define PAIR(a, b) { (a), (b) }
#define PAIRS(a) \
    PAIR(a, '0'), PAIR(a, '1'), PAIR(a, '2'), PAIR(a, '3'), PAIR(a, '4'), PAIR(a, '5'), PAIR(a, '6'), PAIR(a, '7'), \
    PAIR(a, '8'), PAIR(a, '9'), PAIR(a, 'A'), PAIR(a, 'B'), PAIR(a, 'C'), PAIR(a, 'D'), PAIR(a, 'E'), PAIR(a, 'F'), \
    PAIR(a, 'G'), PAIR(a, 'H'), PAIR(a, 'J'), PAIR(a, 'K'), PAIR(a, 'M'), PAIR(a, 'N'), PAIR(a, 'P'), PAIR(a, 'Q'), \
    PAIR(a, 'R'), PAIR(a, 'S'), PAIR(a, 'T'), PAIR(a, 'V'), PAIR(a, 'W'), PAIR(a, 'X'), PAIR(a, 'Y'), PAIR(a, 'Z')
static const char id_pairs[1024][2] = {
    PAIRS('0'), PAIRS('1'), PAIRS('2'), PAIRS('3'), PAIRS('4'), PAIRS('5'), PAIRS('6'), PAIRS('7'),
    PAIRS('8'), PAIRS('9'), PAIRS('A'), PAIRS('B'), PAIRS('C'), PAIRS('D'), PAIRS('E'), PAIRS('F'),
    PAIRS('G'), PAIRS('H'), PAIRS('J'), PAIRS('K'), PAIRS('M'), PAIRS('N'), PAIRS('P'), PAIRS('Q'),
    PAIRS('R'), PAIRS('S'), PAIRS('T'), PAIRS('V'), PAIRS('W'), PAIRS('X'), PAIRS('Y'), PAIRS('Z'),
};
/* clang-format on */

static inline void put_pairs(char *p, size_t n, uint64_t v)
{
    while (n > 0) {
        n -= 2;
        memcpy(p + n, id_pairs[v & 1023], 2);
        v >>= 10;
    }
}

static inline uint64_t get_chars(const char *p, size_t n, unsigned *marks)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = id_digits[(unsigned char)p[i]];
        *marks &= digit;
        v = v << 5 | (digit & 31);
    }
    return v;
}

void id_format(struct job_id id, char ret[ID_TEXT])
{
    assert(id.due_ms >= 0 && id.due_ms >> 48 == 0);
    uint64_t high = (uint64_t)id.due_ms << 16 | id.partition;
    put_pairs(ret, 2, high >> 56);
    put_pairs(ret + 2, ID_CHUNK, (high << 4 | id.seq >> 60) & ID_LOW60);
    put_pairs(ret + 2 + ID_CHUNK, ID_CHUNK, id.seq & ID_LOW60);
}

bool id_spell(struct str text, char *ret)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = id_digits[(unsigned char)text.ptr[i]];

        if (!digit)
            return false;
        ret[i] = id_pairs[digit & 31][1];
    }
    return true;
}

bool id_parse(struct str text, struct job_id *ret)
{
    unsigned marks = ID_MARK;

    if (text.len != ID_TEXT)
        return false;
    uint64_t top = get_chars(text.ptr, 2, &marks);
    uint64_t middle = get_chars(text.ptr + 2, ID_CHUNK, &marks);
    uint64_t low = get_chars(text.ptr + 2 + ID_CHUNK, ID_CHUNK, &marks);
    /* 26 characters hold 130 bits: the first has only three to give. */
    if (!marks || top >> 8)
        return false;
    uint64_t high = top << 56 | middle >> 4;
    *ret = (struct job_id){ .due_ms = (int64_t)(high >> 16),
                            .partition = (uint16_t)high,
                            .seq = middle << 60 | low };
    return true;
}
