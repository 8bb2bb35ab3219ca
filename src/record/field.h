/* SPDX-License-Identifier: MIT */
/*
 * The fields of stored forms. Each form has a list of rows, in the order of its bytes:
 *
 *     F(kind, member, what it says)
 *
 * The kind says how the field is encoded, and which type the member has. The struct, the encoder
 * and the decoder (codec.h) follow from the rows.
 */
#ifndef RECORD_FIELD_H
#define RECORD_FIELD_H

#include <stdint.h>

#include "base/str.h"

#define FIELD_NUMBER       uint64_t /* varint */
#define FIELD_COUNT        uint32_t /* varint */
#define FIELD_LATER_COUNT  uint32_t /* varint that bodies of older versions do not have: then 0 */
#define FIELD_LATER_SIGNED int64_t  /* zigzag that bodies of older versions do not have: then -1 */
#define FIELD_BITS         unsigned /* varint */
#define FIELD_PLAIN        int64_t  /* varint: a number that is never negative */
#define FIELD_BYTE         unsigned /* u8 */
#define FIELD_ENUM(tag)    enum tag /* u8 */
#define FIELD_LETTER       char     /* u8 */
#define FIELD_FLAG         bool     /* u8 */
#define FIELD_IF_SET       bool     /* u8 that is there only if the flag is set */
#define FIELD_SIGNED       int64_t  /* zigzag */
#define FIELD_MOMENT       int64_t  /* zigzag: a moment or a duration, which is checked */
#define FIELD_OPTIONAL     int64_t  /* zigzag: a moment or -1, which is checked */
#define FIELD_SINCE_START  int64_t  /* zigzag: a moment, less start_ms */
#define FIELD_FROM_START   int64_t  /* zigzag: a number, less start_ms */
#define FIELD_SINCE_BORN   int64_t  /* zigzag: a moment, less born_ms */
#define FIELD_AT           int64_t  /* zigzag: a moment, or AT_NEVER */
#define FIELD_AT_SINCE     int64_t  /* zigzag: a moment or AT_NEVER, less due_ms */
#define FIELD_BYTES        struct str /* length and bytes */
#define FIELD_LATER_BYTES  struct str /* length and bytes, which are there only if there are any */

#define FIELD_MEMBER(kind, name, what) FIELD_##kind name;
/* Defines the struct of a form that is its rows. */
#define FIELD_STRUCT(tag, FIELDS) \
    struct tag {                  \
        FIELDS(FIELD_MEMBER)      \
    }

#endif
