/* SPDX-License-Identifier: MIT */
"use strict";
/* What a handler says about its job besides a result: things that it throws or returns. */

const { durationWord } = require("./duration");

/** Thrown: the attempt has failed, and the next one comes after this pause instead of the back-off. */
class RetryLater extends Error {
    constructor(pause, message = "retry later", options) {
        super(message, options);
        this.name = "RetryLater";
        this.pause = durationWord(pause, "RetryLater");
    }
}

/** Thrown: the job has failed for good. It is dead, whatever attempts are left. */
class Final extends Error {
    constructor(message = "failed for good", options) {
        super(message, options);
        this.name = "Final";
    }
}

/** Thrown: this is not the time. The job is given back without costing an attempt, and offered again after the pause. */
class Postpone extends Error {
    constructor(pause, message = "postponed") {
        super(message);
        this.name = "Postpone";
        this.pause = durationWord(pause, "Postpone");
    }
}

/** Returned: the job is done for now, and runs again after this pause with its attempts counted anew. */
class Again {
    constructor(pause) {
        this.pause = durationWord(pause, "Again");
    }
}

module.exports = { RetryLater, Final, Postpone, Again };
