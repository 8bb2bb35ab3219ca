/* SPDX-License-Identifier: MIT */
"use strict";
/* A real belfryd for tests: on a free port, in a folder of its own, ended with the process. */

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Client } = require("..");

const BUILD = process.env.BELFRY_BUILD ?? "build";
const PROGRAM = process.env.BELFRYD ?? path.resolve(__dirname, "../../..", BUILD, "belfryd");
const OURS = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BELFRY")));

class Server {
    #process = null;
    #directory = fs.mkdtempSync(path.join(os.tmpdir(), "belfry-node-"));
    #flags;
    port = 0;

    constructor(flags = []) {
        this.#flags = flags;
        process.on("exit", () => this.#sweep());
    }

    get directory() {
        return this.#directory;
    }

    async start() {
        const portFile = path.join(this.#directory, "port");
        fs.rmSync(portFile, { force: true });
        const flags = ["--data", path.join(this.#directory, "data"), "--bind", "127.0.0.1", "--port", String(this.port), "--port-file", portFile, "--min-every", "1ms", ...this.#flags]; // prettier-ignore
        const log = fs.openSync(path.join(this.#directory, "log"), "a");
        this.#process = spawn(PROGRAM, flags, { stdio: ["ignore", log, log], env: OURS });
        fs.closeSync(log);
        let ended = null;
        this.#process.once("exit", (code, signal) => (ended = code ?? signal));
        for (const end = Date.now() + 30000; Date.now() < end; await sleep(5)) {
            if (ended !== null) throw new Error(`${PROGRAM} ended with ${ended}:\n${this.log()}`);
            this.port = Number(fs.existsSync(portFile) && fs.readFileSync(portFile, "utf8")) || this.port;
            if (fs.existsSync(portFile) && this.port) return this;
        }
        throw new Error(`${PROGRAM} does not start:\n${this.log()}`);
    }

    log() {
        return fs.readFileSync(path.join(this.#directory, "log"), "utf8").slice(-4000);
    }

    async kill(signal = "SIGKILL") {
        const child = this.#process;
        if (!child || child.exitCode !== null || child.signalCode !== null) return;
        const gone = new Promise((resolve) => child.once("exit", resolve));
        child.kill(signal);
        await gone;
    }

    client(options) {
        return new Client({ port: this.port, ...options });
    }

    async stop() {
        await this.kill();
        this.#sweep();
    }

    #sweep() {
        this.#process?.kill("SIGKILL");
        fs.rmSync(this.#directory, { recursive: true, force: true });
    }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, what = condition, ms = 10000) {
    for (const end = Date.now() + ms; Date.now() < end; await sleep(5)) {
        const value = await condition();
        if (value) return value;
    }
    throw new Error(`after ${ms} ms still not: ${what}`);
}

module.exports = { Server, sleep, until };
