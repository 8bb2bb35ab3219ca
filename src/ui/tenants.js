/* SPDX-License-Identifier: MIT */
/* The screens Tenants and one tenant: what each uses, what it may, and when it is left in peace. */
import { call, find, get, patch, Problem } from "./api.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { bytes, count, number, soon } from "./format.js";
import { icon } from "./icons.js";
import { act, empty, facts, head, meter, quantiles, section, STATES, up } from "./parts.js";
import { go, href } from "./route.js";
import { settings } from "./setting.js";
import { grid, listKeys, pager, sorted, sorter } from "./table.js";

const PAGE = 200;

const SETTINGS = [
    {
        name: "weight",
        field: "weight",
        label: "Weight",
        kind: "number",
        words: "Jobs that it gives in its turn, where a worker serves all tenants",
    },
    {
        name: "max_running",
        field: "max_running",
        label: "Running at a time",
        kind: "limit",
        words: "Jobs that workers may have together",
    },
    { name: "rate", field: "rate", label: "Rate", kind: "rate", words: "Jobs that are given out in any period" },
    { name: "burst", field: "burst", label: "Burst", kind: "limit", words: "Jobs of the rate that may go at once" },
    {
        name: "max_pending",
        field: "max_pending",
        label: "Pending",
        kind: "limit",
        words: "Jobs that have not ended; beyond it new ones are refused",
    },
    { name: "max_bytes", field: "max_bytes", label: "Bytes", kind: "limit", words: "What the server keeps of it" },
    { name: "max_queues", field: "max_queues", label: "Queues", kind: "limit", words: "Queues with jobs or settings" },
    { name: "max_recurrences", field: "max_recurrences", label: "Recurrences", kind: "limit", words: "" },
    {
        name: "max_connections",
        field: "max_connections",
        label: "Connections",
        kind: "limit",
        words: "Of clients with its tokens",
    },
    {
        name: "requests",
        field: "requests",
        label: "Requests a second",
        kind: "limit",
        words: "Of clients with its tokens",
    },
    { name: "max_streams", field: "max_streams", label: "Streams", kind: "limit", words: "Readers of events" },
];
const QUIET = [
    {
        name: "quiet",
        field: "quiet",
        label: "Quiet hours",
        kind: "text",
        words: "Windows of local time, such as 22:00-07:00;sat,sun 00:00-24:00",
    },
    { name: "tz", field: "tz", label: "Time zone", kind: "text", words: "Of the quiet hours" },
    {
        name: "spread",
        field: "spread_ms",
        label: "Spread",
        kind: "duration",
        words: "Jobs that were put off are due at random within this time",
    },
];
const COLUMNS = {
    tenant: (t) => t.tenant,
    pending: (t) => t.pending,
    running: (t) => t.running,
    bytes: (t) => t.kept_bytes,
    weight: (t) => t.weight,
};

/** What keeps a tenant's jobs back now, in words. */
const gate = (t) =>
    t.maintenance
        ? `maintenance${t.maintenance_until_ms ? ` until ${soon(t.maintenance_until_ms)}` : ""}`
        : t.quiet_until_ms
          ? `quiet until ${soon(t.quiet_until_ms)}`
          : "";

export const tenants = {
    every: 3000,
    title: () => "Tenants",
    enter: () => listKeys(),
    load: async (page) => {
        const after = page.route.query.get("after") ?? "";
        if (page.tenant !== "*")
            return { list: [await find(["tenants", page.tenant], {}, page.signal)].filter(Boolean) };
        const [overview, answer] = await Promise.all([
            get(["overview"], { tenant: "*", limit: 1 }, page.signal),
            get(["tenants"], { limit: PAGE, after }, page.signal),
        ]);
        return { list: answer.tenants, total: overview.tenants, more: answer.tenants.length === PAGE };
    },
    view: ({ list, total, more }, page) => {
        const most = Math.max(...list.map((t) => t.kept_bytes), 1);
        return [
            head("Tenants", { lead: count(Math.max(total ?? 0, list.length), "tenant") }),
            list.length
                ? h(
                      "div",
                      { class: "scroll card" },
                      grid(
                          [
                              sorter(page, "tenant", "Tenant", ""),
                              sorter(page, "pending", "Pending"),
                              sorter(page, "running", "Running"),
                              sorter(page, "weight", "Weight", "num wide-only"),
                              h("th", { class: "num wide-only" }, "Queues"),
                              h("th", { class: "num wide-only" }, "Rate"),
                              sorter(page, "bytes", "Kept", "num"),
                              h("th", { class: "wide-only" }, "Share of bytes"),
                          ],
                          sorted(page, list, COLUMNS).map((t) =>
                              h(
                                  "tr",
                                  { "data-key": t.tenant, "data-row": t.tenant },
                                  h(
                                      "td",
                                      null,
                                      h("a", { class: "strong", href: href(["tenants", t.tenant]) }, t.tenant),
                                      gate(t) && h("div", { class: "held" }, gate(t)),
                                  ),
                                  h(
                                      "td",
                                      { class: "num" },
                                      number(t.pending),
                                      h("span", { class: "muted" }, t.max_pending ? ` / ${number(t.max_pending)}` : ""),
                                  ),
                                  h(
                                      "td",
                                      { class: "num" },
                                      number(t.running),
                                      h("span", { class: "muted" }, t.max_running ? ` / ${number(t.max_running)}` : ""),
                                  ),
                                  h("td", { class: "num wide-only" }, t.weight),
                                  h("td", { class: "num wide-only" }, number(t.queues)),
                                  h("td", { class: "num wide-only" }, t.rate ?? "–"),
                                  h("td", { class: "num nowrap" }, bytes(t.kept_bytes)),
                                  h(
                                      "td",
                                      { class: "wide-only" },
                                      h(
                                          "div",
                                          {
                                              class: "share",
                                              role: "img",
                                              "aria-label": `${bytes(t.kept_bytes)} kept`,
                                          },
                                          h("i", {
                                              class: "bg-leased",
                                              style: { "flex-grow": t.kept_bytes / most },
                                          }),
                                          h("i", { style: { "flex-grow": 1 - t.kept_bytes / most } }),
                                      ),
                                  ),
                              ),
                          ),
                      ),
                  )
                : empty("There is no tenant yet.", "A tenant comes to be with its first job or setting."),
            pager(page, more ? list.at(-1).tenant : null),
        ];
    },
};

async function load(page) {
    const name = page.route.parts[1];
    const [t, stats] = await Promise.all([
        find(["tenants", name], {}, page.signal),
        find(["tenants", name, "stats"], {}, page.signal),
    ]);
    if (!t) throw new Problem(404, { detail: `There is no tenant ${name}.` });
    return { t, stats };
}

async function maintain(page, t) {
    if (
        !t.maintenance &&
        !(await ask(
            `Maintenance for ${t.tenant}?`,
            "Its jobs wait until maintenance ends, except those that pass all gates. Running jobs go on.",
            "Begin maintenance",
        ))
    )
        return;
    if (
        await attempt(
            () => patch(["tenants", t.tenant], { maintenance: !t.maintenance }),
            t.maintenance ? "Maintenance has ended." : "Maintenance has begun.",
        )
    )
        page.refresh();
}

async function drop(page, t) {
    if (
        !(await ask(
            `Forget ${t.tenant}?`,
            "The server forgets the tenant and its settings. It refuses if the tenant has jobs, recurrences, bulks or tokens.",
            "Forget the tenant",
            { danger: true },
        ))
    )
        return;
    if (await attempt(() => call("DELETE", ["tenants", t.tenant]), `${t.tenant} is forgotten.`))
        go(page.href(["tenants"]));
}

export const tenant = {
    every: 3000,
    title: (page) => page.route.parts[1],
    load,
    view: ({ t, stats }, page) => {
        const save = (change) => patch(["tenants", t.tenant], change);
        return [
            head(t.tenant, {
                up: up(page.href(["tenants"]), "Tenants"),
                lead: `${count(t.pending, "pending job")} in ${count(t.queues, "queue")}, ${count(t.recurrences, "recurrence")}.`,
                actions: [
                    h("a", { class: "button", href: href(["queues"], { tenant: t.tenant }) }, "Its queues"),
                    act(
                        page,
                        "TENANT!",
                        t.maintenance ? "End maintenance" : "Maintenance …",
                        () => maintain(page, t),
                        t.maintenance ? "primary" : "",
                    ),
                    page.session.root && act(page, "TENANTDELETE", "Forget", () => drop(page, t), "danger-quiet"),
                ],
            }),
            gate(t) &&
                h(
                    "p",
                    { class: "banner inline" },
                    icon("warn"),
                    `${gate(t)}.`.replace(/^./, (c) => c.toUpperCase()),
                ),
            stats &&
                h(
                    "section",
                    { class: "tiles", "aria-label": "Jobs by state" },
                    STATES.map(({ name, word, hint }) =>
                        h(
                            "a",
                            { class: `tile ${name}`, href: href(["jobs"], { q: `state:${name}`, tenant: t.tenant }) },
                            h("span", { class: "tile-name" }, h("i", { class: "dot" }), word),
                            h("b", { class: "num" }, number(stats[name])),
                            h("small", null, hint),
                        ),
                    ),
                ),
            h(
                "div",
                { class: "columns" },
                h("div", null, section("Limits", {}, settings(page, SETTINGS, t, save, page.may("TENANT!")))),
                h(
                    "div",
                    null,
                    section(
                        "Quiet hours",
                        { note: "They put off jobs that notify people" },
                        settings(page, QUIET, t, save, page.may("TENANT!")),
                    ),
                    section(
                        "In use",
                        {},
                        meter("Pending", t.pending, t.max_pending, number),
                        meter("Running", t.running, t.max_running, number),
                        meter("Kept", t.kept_bytes, t.max_bytes),
                        facts([
                            ["Leased bytes", bytes(t.leased_bytes)],
                            ["Queues", `${number(t.used_queues)} in use`],
                            ["Recurrences", number(t.recurrences)],
                        ]),
                    ),
                    stats && section("How late, how long", {}, quantiles(stats)),
                ),
            ),
        ];
    },
};
