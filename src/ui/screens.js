/* SPDX-License-Identifier: MIT */
/* The table of screens: a row has its path, its key, the verb that its reader must be allowed, and its modules. */
import { now } from "./now.js";
import { queues } from "./queues.js";
import { queue } from "./queue.js";
import { jobs } from "./jobs.js";
import { job } from "./job.js";
import { future } from "./future.js";
import { recurrences } from "./recurrences.js";
import { recurrence } from "./recurrence.js";
import { dead } from "./dead.js";
import { tenants, tenant } from "./tenants.js";
import { workers } from "./workers.js";
import { operations } from "./operations.js";

export const SCREENS = [
    { path: "now", key: "n", name: "Now", verb: "STATS", all: now },
    { path: "queues", key: "q", name: "Queues", verb: "QUEUES", all: queues, one: queue },
    { path: "jobs", key: "j", name: "Jobs", verb: "LIST", all: jobs, one: job },
    { path: "future", key: "f", name: "Future", verb: "FORECAST", all: future },
    { path: "recurrences", key: "c", name: "Recurrences", verb: "RECURRENCES", all: recurrences, one: recurrence },
    { path: "workers", key: "w", name: "Workers", verb: "WORKERS", all: workers },
    { path: "dead", key: "d", name: "Dead letters", verb: "LIST", all: dead },
    { path: "tenants", key: "t", name: "Tenants", verb: "TENANTS", all: tenants, one: tenant },
    { path: "operations", key: "o", name: "Operations", verb: "AUDIT", all: operations },
];
