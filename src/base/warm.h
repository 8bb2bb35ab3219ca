/* SPDX-License-Identifier: MIT */
/* Memory that is touched for the first time costs a fault for each of its pages. A thread takes
 * these faults ahead of the user of the memory. It is only for speed: before warm_start, or where
 * the system cannot do this, the faults come at the first use. */
#ifndef BASE_WARM_H
#define BASE_WARM_H

#include <stdbool.h>
#include <stddef.h>

/* Once in a process. False: there is no thread to be had, and nothing is warmed. */
bool warm_start(void);
void warm_stop(void); /* when all that was asked for is done */

/* Takes the faults of pages that are about to be used, at once, on the caller's thread. */
void warm_now(void *memory, size_t bytes);
/* The thread takes the faults soon; the pages may be used or freed meanwhile. From any thread. */
void warm(void *memory, size_t bytes);

#endif
