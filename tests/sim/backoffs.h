/* SPDX-License-Identifier: MIT */
/* Back-offs that simulated jobs use, once as text for the engine and once as numbers for the model.
 */
#ifndef SIM_BACKOFFS_H
#define SIM_BACKOFFS_H

#include <stdbool.h>
#include <stdint.h>

#define BACKOFFS        9
#define BACKOFF_DEFAULT 1 /* the one that a new queue has */

/* Its text; number 0 is none of its own. */
const char *backoffs_text(unsigned number);

/* The range that the pause after `failures` failures is drawn from. */
void backoffs_range(unsigned number, uint32_t failures, int64_t *ret_low, int64_t *ret_high);

#endif
