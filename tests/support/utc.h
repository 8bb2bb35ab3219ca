/* SPDX-License-Identifier: MIT */
/* For tests of moments that are shown in the local zone. */
#ifndef TESTS_UTC_H
#define TESTS_UTC_H

/* The setup of a group of tests: the local zone is UTC from here on. */
int utc(void **state);

#endif
