/* SPDX-License-Identifier: MIT */
/* The screen Operations: the audit log, bulks, tokens, push endpoints and storage. */
import { call, get, post } from "./api.js";
import { ask, attempt, copy, dialog, form } from "./dialog.js";
import { h } from "./dom.js";
import { bytes, capital, count, moment, number, percent, span } from "./format.js";
import { act, empty, facts, head, meter, owner, scrolls, section, when } from "./parts.js";
import { href } from "./route.js";
import { grid } from "./table.js";

const DAY_MS = 86400000,
    PAGE = 1000;
const REFUSED = /^(?!OK\b)[A-Z]{2,}\b/; // an outcome that begins with the code of an error

/** A tab: its name, who may see it, its data, and its view. */
const TABS = {
    audit: { label: "Audit log", may: (p) => p.may("AUDIT"), load: loadAudit, view: audit },
    bulks: { label: "Bulks", may: (p) => p.may("BULKS"), load: loadBulks, view: bulks },
    tokens: { label: "Tokens", may: (p) => p.session.root, load: (p) => get(["tokens"], {}, p.signal), view: tokens },
    push: {
        label: "Push endpoints",
        may: (p) => p.may("QUEUES"),
        load: (p) => get(["queues"], { tenant: p.tenant }, p.signal),
        view: push,
    },
    storage: {
        label: "Storage",
        may: (p) => p.session.everywhere && p.may("STATS"),
        load: (p) => get(["stats"], {}, p.signal),
        view: storage,
    },
};
const tabOf = (page) => (TABS[page.route.query.get("tab")]?.may(page) ? page.route.query.get("tab") : "audit");

/** AUDIT answers the oldest first, so the days are asked from the newest on, until there are enough entries. */
async function loadAudit(page) {
    const days = Number(page.route.query.get("days") ?? 1);
    const entries = [];
    let cursor = null;
    do {
        const answer = await get(
            ["audit"],
            { tenant: page.tenant, from: Date.now() - days * DAY_MS, limit: PAGE, cursor },
            page.signal,
        );
        entries.push(...answer.entries);
        cursor = answer.cursor;
    } while (cursor && entries.length < 5 * PAGE);
    return { entries: entries.reverse(), more: Boolean(cursor), days };
}

function audit({ entries, more, days }, page) {
    return section(
        "Audit log",
        {
            note: `${count(entries.length, "entry", "entries")}${more ? ", and more" : ""}, newest first`,
            actions: h(
                "div",
                { class: "tabs", role: "group", "aria-label": "How far back" },
                [1, 7, 30, 90].map((n) =>
                    h(
                        "button",
                        { "aria-pressed": String(n === days), onclick: () => page.ask({ days: n }) },
                        n === 1 ? "a day" : `${n} days`,
                    ),
                ),
            ),
        },
        entries.length
            ? h(
                  "div",
                  scrolls("Audit log"),
                  grid(
                      [h("th", null, "When"), h("th", null, "Who"), h("th", null, "Request"), h("th", null, "Outcome")],
                      entries
                          .slice(0, 300)
                          .map((e) =>
                              h(
                                  "tr",
                                  { "data-key": e.id },
                                  h("td", { class: "nowrap" }, when(e.at_ms)),
                                  h(
                                      "td",
                                      null,
                                      e.user ?? h("span", { class: "muted" }, "no token"),
                                      h("div", { class: "muted" }, [e.client, e.address].filter(Boolean).join(" ")),
                                  ),
                                  h("td", null, h("code", { class: "break" }, e.request), owner(page, e.tenant)),
                                  h("td", { class: REFUSED.test(e.outcome) ? "error" : null }, e.outcome),
                              ),
                          ),
                  ),
              )
            : empty("Nothing was changed in this time."),
    );
}

async function loadBulks(page) {
    let owners = [page.tenant];
    if (page.tenant === "*") owners = (await get(["tenants"], {}, page.signal)).tenants.map((t) => t.tenant);
    const answers = await Promise.all(owners.slice(0, 50).map((tenant) => get(["bulks"], { tenant }, page.signal)));
    return answers.flatMap((a) => a.bulks).sort((a, b) => b.created_ms - a.created_ms);
}

const filterOf = (b) =>
    [
        b.queue && `queue:${b.queue}`,
        b.states?.length === 1 && `state:${b.states[0]}`,
        b.tag && `tag:${b.tag}`,
        b.from_ms && `from ${moment(b.from_ms)}`,
        b.to_ms && `to ${moment(b.to_ms)}`,
    ]
        .filter(Boolean)
        .join(" ");

function bulks(list, page) {
    const stop = (b) => async () =>
        (await attempt(() => call("DELETE", ["bulks", b.id], { query: { tenant: b.tenant } }), "The bulk stops.")) &&
        page.refresh();
    return section(
        "Bulks",
        { note: "Those that run, and those of the last day" },
        list.length
            ? h(
                  "div",
                  scrolls("Bulks"),
                  grid(
                      [
                          h("th", null, "Action"),
                          h("th", null, "Filter"),
                          h("th", null, "State"),
                          h("th", { class: "num" }, "Matched"),
                          h("th", { class: "num" }, "Changed"),
                          h("th", { class: "num" }, "Skipped"),
                          h("th", null, "Began"),
                          h("th", null, h("span", { class: "hidden" }, "Actions")),
                      ],
                      list.map((b) =>
                          h(
                              "tr",
                              { "data-key": b.id },
                              h(
                                  "td",
                                  { class: "strong" },
                                  capital(b.action),
                                  b.dry_run && h("span", { class: "owner" }, "dry run"),
                                  owner(page, b.tenant),
                              ),
                              h("td", null, h("code", { class: "break" }, filterOf(b) || "–")),
                              h("td", null, b.state, b.error && h("div", { class: "error" }, b.error)),
                              h("td", { class: "num" }, number(b.matched)),
                              h("td", { class: "num" }, number(b.changed)),
                              h("td", { class: "num" }, number(b.skipped)),
                              h("td", { class: "nowrap" }, when(b.created_ms)),
                              h(
                                  "td",
                                  { class: "end" },
                                  b.state === "running" && act(page, "BULKSTOP", "Stop", stop(b), "small"),
                              ),
                          ),
                      ),
                  ),
              )
            : empty(
                  "No bulk runs, and none ended during the last day.",
                  "Select all that match on the screen Jobs to begin one.",
              ),
    );
}

async function makeToken(page) {
    const made = await form(
        "New token",
        [
            { name: "name", label: "Name", required: true, hint: "for this list and the audit log" },
            { name: "role", label: "Role", options: ["read-only", "producer", "worker", "admin"], value: "read-only" },
            { name: "tenant", label: "Tenant", value: "*", hint: "* for all tenants" },
            { name: "expire", label: "Valid for", hint: "such as 30d; empty for ever" },
        ],
        "Make the token",
        (values) =>
            post(
                ["tokens"],
                { name: values.name, role: values.role, ...(values.expire && { expire: values.expire }) },
                { tenant: values.tenant },
            ),
    );
    if (!made?.token) return;
    await dialog("The token", (close) =>
        h(
            "div",
            null,
            h(
                "div",
                { class: "prose" },
                h("p", null, "This is the only time that the token is shown: the server keeps a hash."),
                h("pre", { class: "code", tabindex: "0" }, made.token),
            ),
            h(
                "div",
                { class: "actions" },
                h("button", { onclick: () => copy(made.token) }, "Copy"),
                h("button", { class: "primary", onclick: () => close() }, "I have it"),
            ),
        ),
    );
    page.refresh();
}

async function revoke(page, token) {
    if (
        !(await ask(
            `Revoke ${token.name}?`,
            "Clients that use it have no rights from their next request on.",
            "Revoke the token",
            { danger: true },
        ))
    )
        return;
    if (await attempt(() => call("DELETE", ["tokens", token.name]), `${token.name} is revoked.`)) page.refresh();
}

function tokens({ tokens: list }, page) {
    return section(
        "Tokens",
        {
            note: list.length ? count(list.length, "token") : null,
            actions: act(page, "TOKENCREATE", "New token …", () => makeToken(page)),
        },
        list.length
            ? h(
                  "div",
                  scrolls("Tokens"),
                  grid(
                      [
                          h("th", null, "Name"),
                          h("th", null, "Role"),
                          h("th", null, "Tenant"),
                          h("th", null, "Made"),
                          h("th", null, "Ends"),
                          h("th", null, h("span", { class: "hidden" }, "Actions")),
                      ],
                      list.map((t) =>
                          h(
                              "tr",
                              { "data-key": t.name },
                              h("td", { class: "strong" }, t.name),
                              h("td", null, t.role),
                              h("td", null, t.tenant),
                              h("td", null, when(t.created_ms)),
                              h("td", null, t.expired ? "has ended" : t.expires_ms ? when(t.expires_ms) : "never"),
                              h(
                                  "td",
                                  { class: "end" },
                                  act(page, "TOKENREVOKE", "Revoke …", () => revoke(page, t), "small danger-quiet"),
                              ),
                          ),
                      ),
                  ),
              )
            : empty(
                  "There are no tokens, so the server serves only this machine.",
                  "The first token must be an admin of all tenants. From then on every request needs one, this page too.",
              ),
    );
}

function push({ queues }, page) {
    const list = queues.filter((q) => q.push_url);
    return section(
        "Push endpoints",
        { note: "Queues whose jobs the server POSTs" },
        list.length
            ? h(
                  "div",
                  scrolls("Push endpoints"),
                  grid(
                      [
                          h("th", null, "Queue"),
                          h("th", null, "URL"),
                          h("th", { class: "num" }, "Ready"),
                          h("th", { class: "num" }, "Under way"),
                          h("th", { class: "num" }, "Delivered"),
                          h("th", { class: "num" }, "Failed"),
                          h("th", { class: "num" }, "Took p99"),
                      ],
                      list.map((q) =>
                          h(
                              "tr",
                              { "data-key": `${q.tenant}@${q.queue}` },
                              h(
                                  "td",
                                  null,
                                  h("a", { class: "strong", href: href(["queues", q.tenant, q.queue]) }, q.queue),
                                  owner(page, q.tenant),
                                  q.held_by && h("div", { class: "held" }, q.held_by),
                              ),
                              h("td", null, h("code", { class: "break" }, q.push_url)),
                              h("td", { class: "num" }, number(q.ready)),
                              h("td", { class: "num" }, number(q.leased)),
                              h("td", { class: "num" }, number(q.total_succeeded)),
                              h("td", { class: "num" }, number(q.total_failed)),
                              h("td", { class: "num" }, span(q.runtime_p99_ms)),
                          ),
                      ),
                  ),
              )
            : empty("No queue pushes.", "A queue pushes once its setting URL is given."),
    );
}

function storage(stats) {
    return [
        section(
            "Memory",
            {},
            meter("Jobs and queues", stats.memory_bytes, stats.memory_limit_bytes),
            meter("Clients", stats.clients_bytes, stats.clients_limit_bytes),
            facts([
                ["Process", bytes(stats.rss_bytes)],
                ["Jobs in memory", number(stats.hot_jobs)],
                ["Jobs on disk", number(stats.cold_jobs)],
                ["Leased", bytes(stats.leased_bytes)],
            ]),
        ),
        section(
            "Disk",
            {},
            facts([
                ["Journal", `${bytes(stats.journal_bytes)} in ${count(stats.journal_segments, "segment")}`],
                ["Of it alive", percent(stats.live_bytes, stats.journal_bytes)],
                ["Runs", `${bytes(stats.run_bytes)} in ${count(stats.runs, "run")}`],
                ["Commits", number(stats.commits)],
                ["Copied forward", bytes(stats.journal_copied_bytes)],
                ["Segments reclaimed", number(stats.journal_reclaimed)],
                ["Fetches from disk", number(stats.fetches)],
                ["A fetch takes, p99", `${number(stats.fetch_p99_us)} µs`],
                ["Epoch", number(stats.epoch)],
            ]),
        ),
        section(
            "Serving",
            {},
            facts([
                ["Running for", span(stats.uptime_ms)],
                ["Connections", number(stats.connections)],
                ["Requests", number(stats.commands)],
                ["Slow requests", number(stats.slow)],
                ["Stalls of the loop", number(stats.stalls)],
                ["Workers that wait", number(stats.waiting_workers)],
                ["Pushes under way", number(stats.push_running)],
                ["Endpoints left alone", number(stats.push_circuits_open)],
            ]),
        ),
    ];
}

export const operations = {
    every: 3000,
    title: (page) => TABS[tabOf(page)].label,
    load: async (page) => ({ tab: tabOf(page), answer: await TABS[tabOf(page)].load(page) }),
    view: ({ tab, answer }, page) => [
        head("Operations"),
        h(
            "nav",
            { class: "tabs big-tabs", "aria-label": "Operations" },
            Object.entries(TABS)
                .filter(([, t]) => t.may(page))
                .map(([name, t]) =>
                    h(
                        "a",
                        {
                            href: page.href(["operations"], { tab: name === "audit" ? "" : name }),
                            "aria-current": name === tab ? "page" : null,
                        },
                        t.label,
                    ),
                ),
        ),
        h("div", { "data-key": tab }, TABS[tab].view(answer, page)),
    ],
};
