/* SPDX-License-Identifier: MIT */
/*
 * The fields of records. Each record has a list of rows, in the order of its body:
 *
 *     F(kind, member, what it says)
 *
 * The kind says how the field stands in the body, and which type the member has. The struct follows
 * from the rows, and so do the encoder and the decoder (codec.h).
 */
#ifndef RECORD_FIELD_H
#define RECORD_FIELD_H

#include <stdint.h>

#include "base/str.h"

#define FIELD_NUMBER      uint64_t   /* varint */
#define FIELD_COUNT       uint32_t   /* varint */
#define FIELD_LATER_COUNT uint32_t   /* varint that bodies of older versions do not have: then 0 */
#define FIELD_BITS        unsigned   /* varint */
#define FIELD_BYTE        unsigned   /* u8 */
#define FIELD_FLAG        bool       /* u8 */
#define FIELD_IF_SET      bool       /* u8 that is there only if the flag is set */
#define FIELD_SIGNED      int64_t    /* zigzag */
#define FIELD_MOMENT      int64_t    /* zigzag: a moment or a duration, which is checked */
#define FIELD_SINCE_START int64_t    /* zigzag: a moment, less start_ms */
#define FIELD_SINCE_BORN  int64_t    /* zigzag: a moment, less born_ms */
#define FIELD_AT          int64_t    /* zigzag: a moment, or AT_NEVER */
#define FIELD_AT_SINCE    int64_t    /* zigzag: a moment or AT_NEVER, less due_ms */
#define FIELD_BYTES       struct str /* length and bytes */

#define FIELD_MEMBER(kind, name, what) FIELD_##kind name;

#endif
