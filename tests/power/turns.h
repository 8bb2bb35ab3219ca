/* SPDX-License-Identifier: MIT */
/*
 * Threads that take turns: one runs at a time, and which one is next is drawn from a seed, so that
 * a run with threads can be repeated. They change over where turns_offer is called (at each call to
 * the disk), at locks that another one has, and where one waits.
 *
 * A party is the set of threads that one store and its users have. The thread that runs the test
 * belongs to the party that it has entered last; those of others wait until it is back.
 */
#ifndef POWER_TURNS_H
#define POWER_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct party;

/* Enters a new party, with the calling thread in it; turns_leave goes back to the one before. All
 * its other threads must have been joined by then. */
struct party *turns_enter(uint64_t seed);
void turns_leave(struct party *p);

/* Perhaps it is another thread's turn. */
void turns_offer(void);

struct turns_thread;
/* A thread of the current party. */
struct turns_thread *turns_start(void *(*fn)(void *), void *arg);
bool turns_finished(const struct turns_thread *t);
void turns_join(struct turns_thread *t);

#endif
