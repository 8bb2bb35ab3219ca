/* SPDX-License-Identifier: MIT */
"use strict";
/* Where the server is, and how to speak to it: a URL, options, or the environment. */

const fs = require("node:fs");
const { milliseconds } = require("./duration");

const OPTIONS = new Set(
    "url host port token tls tenant timeout connectTimeout name connect telemetry events".split(" "),
);

function parseUrl(text) {
    let url;
    try {
        url = new URL(text);
    } catch {
        throw new TypeError(`url: expected belfry://[token@]host[:port][?tls], not ${JSON.stringify(text)}`);
    }
    if (url.protocol !== "belfry:")
        throw new TypeError(`url: expected belfry://[token@]host[:port][?tls], not the scheme ${url.protocol}`);
    for (const name of url.searchParams.keys())
        if (name !== "tls" && name !== "tenant")
            throw new TypeError(`url: unknown parameter ${name}; there are tls and tenant`);
    const words = url.searchParams;
    const found = {
        host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, "$1") || undefined,
        port: url.port ? Number(url.port) : undefined,
        // A token is name.secret. Redis libraries write it as user and password: both forms are understood.
        token: decodeURIComponent(url.password || url.username) || undefined,
        tls: words.has("tls") ? ["", "on", "yes", "true", "1"].includes(words.get("tls")) : undefined,
        tenant: words.get("tenant") ?? undefined,
    };
    if (url.password && !found.token.includes(".")) found.token = `${decodeURIComponent(url.username)}.${found.token}`;
    return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

function tokenOfEnvironment() {
    if (process.env.BELFRY_AUTH) return process.env.BELFRY_AUTH;
    if (process.env.BELFRY_AUTH_FILE) return fs.readFileSync(process.env.BELFRY_AUTH_FILE, "utf8").trim();
    return null;
}

/** The whole configuration of a client.
 * @param {string | object} [given] a URL, or options
 * @param {object} [more] options beside a URL */
function configOf(given, more) {
    const options = typeof given === "string" ? { ...more, url: given } : { ...given, ...more };
    for (const name of Object.keys(options))
        if (!OPTIONS.has(name))
            throw new TypeError(
                `unknown option ${name} of a client; there are ${[...OPTIONS].filter((one) => one !== "connect" && one !== "events").join(", ")}`,
            );
    const url = options.url ?? (options.host || options.port || options.connect ? null : process.env.BELFRY_URL);
    const { url: _, ...own } = options;
    const config = { host: "127.0.0.1", port: 2355, tls: false, name: "", ...(url ? parseUrl(url) : {}) };
    for (const [name, value] of Object.entries(own)) if (value !== undefined) config[name] = value;
    config.token ??= tokenOfEnvironment();
    config.timeout = milliseconds(config.timeout ?? 30000, "timeout");
    config.connectTimeout = milliseconds(config.connectTimeout ?? 10000, "connectTimeout");
    if (!Number.isInteger(config.port) || config.port < 1 || config.port > 65535)
        throw new TypeError(`port: expected a whole number from 1 to 65535, not ${config.port}`);
    config.where = `${config.host.includes(":") ? `[${config.host}]` : config.host}:${config.port}`;
    return config;
}

module.exports = { configOf };
