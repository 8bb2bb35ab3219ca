/* SPDX-License-Identifier: MIT */
/* Who uses the pages, and what they may do. The roles of each verb are those of the protocol. */
import { get, post, remove } from "./api.js";

const LOOK = ["admin", "read-only"],
    MAKE = ["admin", "producer"],
    LIST = ["admin", "producer", "read-only"];
const ROLES = {
    STATS: LOOK,
    QUEUES: LOOK,
    OVERVIEW: LOOK,
    SERIES: LOOK,
    WORKERS: LOOK,
    QUEUE: LOOK,
    TENANT: LOOK,
    TENANTS: LOOK,
    BULKS: LOOK,
    AUDIT: LOOK,
    FORECAST: LOOK,
    GET: [...LIST, "worker"],
    LIST,
    ERRORS: LIST,
    OCCURRENCES: LIST,
    EXPLAIN: LIST,
    PREVIEW: LIST,
    RECURRENCE: LIST,
    RECURRENCES: LIST,
    SCHEDULE: MAKE,
    CANCEL: MAKE,
    DELETE: MAKE,
    RESCHEDULE: MAKE,
    EDIT: MAKE,
    CLONE: MAKE,
    RECUR: MAKE,
};

export class Session {
    constructor(answer) {
        Object.assign(this, { role: "admin", tenant: "*", label: "", version: "", open: false }, answer);
    }

    /** Whether the role may call a verb. A verb without a row is for admins alone: QUEUE! and TENANT!, which change settings, too. */
    may(verb) {
        return (ROLES[verb] ?? ["admin"]).includes(this.role);
    }

    /** Whether the token is about every tenant. */
    get everywhere() {
        return this.tenant === "*";
    }

    get root() {
        return this.role === "admin" && this.everywhere;
    }
}

export const present = async () => new Session(await get(["session"]));
export const login = async (token) => new Session(await post(["session"], { token }));
export const logout = () => remove(["session"]);
