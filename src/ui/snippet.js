/* SPDX-License-Identifier: MIT */
/* One request in several tongues, to copy. */
import { copy } from "./dialog.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";

const TONGUES = ["curl", "belfry", "redis-cli", "Node", "Python"];
const quote = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;
const base = () => new URL("v1/", location.href.replace(/#.*/, "")).href;
const port = () => location.port || (location.protocol === "https:" ? "443" : "80");
const other = (tenant, text) => (tenant && tenant !== "default" ? text : "");

/** What can be said: each row has the request in every tongue. */
const KINDS = {
    job: {
        curl: ({ id, tenant }) => `curl -s ${quote(`${base()}jobs/${id}${other(tenant, `?tenant=${tenant}`)}`)}`,
        belfry: ({ id, tenant }) => `belfry get ${id}${other(tenant, ` --tenant ${tenant}`)}`,
        "redis-cli": ({ id, tenant }) => `redis-cli -p ${port()} GET ${id}${other(tenant, ` TENANT ${tenant}`)}`,
        Node: ({ id, tenant }) =>
            `const answer = await fetch("${base()}jobs/${id}${other(tenant, `?tenant=${tenant}`)}");\nconsole.log(await answer.json());`,
        Python: ({ id, tenant }) =>
            `import redis\nr = redis.Redis(port=${port()}, decode_responses=True, protocol=3)\nprint(r.execute_command("GET", "${id}"${other(tenant, `, "TENANT", "${tenant}"`)}))`,
    },
    worker: {
        curl: ({ queue, tenant }) =>
            `curl -s --json ${quote(JSON.stringify({ queues: [queue], wait: "30s", ...(other(tenant, "x") && { tenant }) }))} ${base()}leases`,
        belfry: ({ queue, tenant }) => `belfry work ${queue}${other(tenant, ` --tenant ${tenant}`)} -- cat`,
        "redis-cli": ({ queue, tenant }) =>
            `redis-cli -p ${port()} LEASE ${queue} WAIT 30s${other(tenant, ` TENANT ${tenant}`)}`,
        Node: ({ queue, tenant }) =>
            `import Redis from "ioredis";\nconst r = new Redis(${port()});\nconst jobs = await r.call("LEASE", "${queue}", "WAIT", "30s"${other(tenant, `, "TENANT", "${tenant}"`)});`,
        Python: ({ queue, tenant }) =>
            `import redis\nr = redis.Redis(port=${port()}, decode_responses=True, protocol=3)\nfor job in r.execute_command("LEASE", "${queue}", "WAIT", "30s"${other(tenant, `, "TENANT", "${tenant}"`)}):\n    r.execute_command("COMPLETE", job["id"], job["token"])`,
    },
};

/** @param {keyof KINDS} kind */
export function snippets(page, kind, values) {
    const chosen = page.own.tongue ?? TONGUES[0];
    const text = KINDS[kind][chosen](values);
    return h(
        "div",
        { class: "snippets" },
        h(
            "div",
            { class: "tabs", role: "group", "aria-label": "Language" },
            TONGUES.map((name) =>
                h(
                    "button",
                    {
                        "aria-pressed": String(name === chosen),
                        onclick: () => {
                            page.own.tongue = name;
                            page.redraw();
                        },
                    },
                    name,
                ),
            ),
            h(
                "button",
                { class: "quiet square", "aria-label": "Copy", title: "Copy", onclick: () => copy(text) },
                icon("copy"),
            ),
        ),
        h("pre", { class: "code", tabindex: "0" }, text),
    );
}
