/* SPDX-License-Identifier: MIT */
/*
 * Every text in the simulation (payload, key, error, ...) is a number, so that the model needs no
 * memory for it; the number says the bytes. 0 is the empty text.
 */
#ifndef SIM_TEXT_H
#define SIM_TEXT_H

#include <stdint.h>

#include "base/str.h"

#define TEXT_MAX 4096

/* A key is of its ordering key: that times this, and its own number. */
#define KEYS_OF_ORDER 256

/* Names of queues in full, of tenants and of kinds, 0 .. ; the other kinds of text differ in their
 * first byte. */
enum text_kind {
    TEXT_QUEUE,
    TEXT_PAYLOAD,
    TEXT_KEY,
    TEXT_WORKER,
    TEXT_ERROR,
    TEXT_RESULT,
    TEXT_NOTE,
    TEXT_ORDER,
    TEXT_TENANT,
    TEXT_KIND,      /* the name of the queues of a kind */
    TEXT_ALL,       /* the queues of a kind of all tenants, as a worker asks for them */
    TEXT_RECURRENCE /* the name of the recurrence of this number, from 1 on */
};

/* Writes the text into buf and returns it. */
struct str text_make(enum text_kind kind, uint32_t number, char buf[TEXT_MAX]);

bool text_is(struct str s, enum text_kind kind, uint32_t number);

#endif
