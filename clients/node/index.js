/* SPDX-License-Identifier: MIT */
"use strict";

const { Client } = require("./src/client");
const { Queue } = require("./src/queue");
const { Worker } = require("./src/worker");
const { TestBelfry } = require("./src/testing");
const { RetryLater, Final, Postpone, Again } = require("./src/outcome");
const { replyError, ...errors } = require("./src/errors");

module.exports = {
    Client,
    Queue,
    Worker,
    TestBelfry,
    RetryLater,
    Final,
    UnrecoverableError: Final, // in the words of BullMQ
    Postpone,
    Again,
    ...errors,
};
