/* SPDX-License-Identifier: MIT */
/* The limits of values that users give. */
#ifndef RECORD_LIMITS_H
#define RECORD_LIMITS_H

#include <stdint.h>

#define NAME_MAX_BYTES    128
#define QUEUE_MAX_BYTES   (2 * NAME_MAX_BYTES + 1) /* tenant@queue */
#define KEY_MAX_BYTES     512                      /* of an ordering key, too */
#define BACKOFF_MAX_BYTES 200
#define ERROR_MAX_BYTES   1024  /* of an error text or note; longer ones are cut */
#define RESULT_MAX_BYTES  65536 /* of a result; larger is an error */
#define TAGS_MAX          16
#define METAS_MAX         32
#define META_MAX_BYTES    1024 /* of a value */
#define AFTER_MAX         64   /* jobs that a job may wait for */
#define LISTENERS_MAX     1000 /* jobs that may wait for a job */
#define AFTERS_MAX        4096 /* jobs that all jobs of a batch may wait for together */
#define AFTERS_TEXT       "expected at most 4096 of them in a batch"
#define AFTERS_RULE       "after: " AFTERS_TEXT
#define QUIET_MAX_BYTES   200
#define TZ_MAX_BYTES      128
#define SPREAD_MAX_MS     INT64_C(86400000)
#define URL_MAX_BYTES     2000 /* of a URL that jobs are pushed to */
#define HEADERS_MAX_BYTES 4096 /* of the headers of a push */
#define HEADERS_MAX       32
#define SECRETS_MAX_BYTES 200
#define PUSH_TIMEOUT_MAX  INT64_C(3600000)
#define PUSH_RUNNING_MAX  1000
#define PUSH_MARGIN_MS    15000 /* the time that a lease for a push lasts beyond its timeout */
#define BATCH_MAX         1000  /* jobs of a BATCH */
#define LEASE_COUNT_MAX   1000
#define LEASE_BYTES_MAX   (2u << 20) /* bytes at which LEASE gives no further job in one answer */
#define LEASE_GRACE_MS    10000
#define LEASE_MAX_MS      INT64_C(604800000) /* a week */
#define AWAIT_MAX_MS      INT64_C(86400000)  /* the longest wait for the end of a job */
#define AWAITED_KEEP_MS   10000 /* a job whose end is awaited is kept as long after it */
#define KEY_HOLD_MAX_MS   INT64_C(2592000000) /* 30 days */
#define LEASE_QUEUES_MAX  64
#define POISON_STALLS     10 /* stalls in a row that end a job, whatever attempts it has left */

#endif
