/* SPDX-License-Identifier: MIT */
/* The screen Recurrences: each rule in words, its next time, and how its last times went. */
import { get, pages } from "./api.js";
import { calendar, shownMonth } from "./calendar.js";
import { h } from "./dom.js";
import { count, number, soon, zone } from "./format.js";
import { empty, head, owner, section, when } from "./parts.js";
import { href } from "./route.js";
import { inWords } from "./rule.js";
import { grid, listKeys, sorted, sorter } from "./table.js";

const MOST = 500,
    OWNERS = 50;
const COLUMNS = { name: (r) => r.name, next: (r) => r.next_ms ?? Infinity, failed: (r) => r.failed };

/** RECURRENCES is of one tenant, so all tenants are asked one by one. */
async function load(page) {
    if (page.route.query.get("as") === "calendar") return { list: [], whole: await month(page) };
    let owners = [page.tenant],
        left = false;
    if (page.tenant === "*") {
        const { tenants } = page.may("TENANTS")
            ? await get(["tenants"], {}, page.signal)
            : { tenants: [{ tenant: "default", recurrences: 1 }] };
        owners = tenants.filter((t) => t.recurrences > 0).map((t) => t.tenant);
        left = owners.length > OWNERS;
    }
    const answers = await Promise.all(
        owners.slice(0, OWNERS).map((tenant) => pages(["recurrences"], { tenant }, "recurrences", MOST, page.signal)),
    );
    return { list: answers.flatMap((a) => a.things), left: left || answers.some((a) => a.more) };
}

const AT_MOST = 2000; // times of a month

/** The times of all recurrences in a month of the browser's zone, as the calendar takes them. */
async function month(page) {
    const tz = zone(),
        found = shownMonth(page, tz);
    const begin = new Date(found.year, found.month - 1, 1).getTime(),
        end = new Date(found.year, found.month, 1).getTime();
    const { things, more } = await pages(
        ["occurrences"],
        { tenant: page.tenant, from: begin, to: end },
        "occurrences",
        AT_MOST,
        page.signal,
    );
    const all = things.map((one) => ({ ...one, name: one.recurrence, nominal_ms: one.at_ms }));
    return {
        month: found,
        tz,
        more,
        coming: all.filter((one) => one.outcome === "planned"),
        past: all.filter((one) => one.outcome !== "planned"),
    };
}

const monthView = (page, { month: shown, tz, coming, past, more }) =>
    section(
        "Calendar",
        { note: more ? `The first ${number(AT_MOST)} times of the month` : "What ran, and what is to come" },
        calendar(page, shown, tz, coming, past),
    );

const VIEWS = [
    ["", "List"],
    ["calendar", "Calendar"],
];

const views = (page) =>
    h(
        "nav",
        { class: "tabs", "aria-label": "How" },
        VIEWS.map(([key, label]) =>
            h(
                "a",
                {
                    href: page.href(["recurrences"], { as: key }),
                    "aria-current": (page.route.query.get("as") ?? "") === key ? "page" : null,
                },
                label,
            ),
        ),
    );

export const stateOf = (r) => (r.finished ? "finished" : r.paused ? "paused" : "on");

function outcome(r) {
    const parts = [
        ["ran", r.ran],
        ["failed", r.failed],
        ["cancelled", r.cancelled],
        ["skipped", r.skipped],
        ["open", r.open],
    ].filter(([, n]) => n > 0);
    return h(
        "span",
        { class: "outcomes" },
        parts.length
            ? parts.map(([name, n]) =>
                  h("span", { class: `outcome ${name}` }, h("i", { class: "dot" }), `${number(n)} ${name}`),
              )
            : h("span", { class: "muted" }, "not yet"),
    );
}

const table = (page, list) =>
    list.length
        ? h(
              "div",
              { class: "scroll card" },
              grid(
                  [
                      sorter(page, "name", "Name", ""),
                      h("th", null, "Runs"),
                      sorter(page, "next", "Next", ""),
                      h("th", { class: "wide-only" }, "Queue"),
                      h("th", { class: "wide-only" }, "So far"),
                  ],
                  sorted(page, list, COLUMNS).map((r) =>
                      h(
                          "tr",
                          { "data-key": `${r.tenant} ${r.name}`, "data-row": r.name },
                          h(
                              "td",
                              null,
                              h("a", { class: "strong", href: href(["recurrences", r.tenant, r.name]) }, r.name),
                              owner(page, r.tenant),
                              stateOf(r) !== "on" && h("span", { class: "owner" }, stateOf(r)),
                          ),
                          h(
                              "td",
                              null,
                              inWords(r.kind, r.rule),
                              h("div", { class: "muted" }, r.kind === "every" ? "" : r.tz),
                          ),
                          h(
                              "td",
                              { class: "nowrap" },
                              r.next_ms
                                  ? [when(r.next_ms), h("div", { class: "muted" }, soon(r.next_ms, r.tz))]
                                  : h("span", { class: "muted" }, stateOf(r)),
                          ),
                          h(
                              "td",
                              { class: "wide-only" },
                              h("a", { href: href(["queues", r.tenant, r.queue]) }, r.queue),
                          ),
                          h("td", { class: "wide-only" }, outcome(r)),
                      ),
                  ),
              ),
          )
        : empty(
              "There is no recurrence yet.",
              "belfry recur nightly report --payload '{}' --cron '30 2 * * *' --tz Europe/Berlin",
          );

export const recurrences = {
    every: 5000,
    title: () => "Recurrences",
    enter: () => listKeys(),
    load,
    view: ({ list, left, whole }, page) => [
        head("Recurrences", {
            lead: whole ? null : `${count(list.length, "recurrence")}${left ? ", and more that are not shown" : ""}`,
            actions:
                page.may("RECUR") &&
                h(
                    "a",
                    {
                        class: "button",
                        href: page.href(["recurrences", page.tenant === "*" ? "default" : page.tenant, ""], {}),
                    },
                    "New recurrence",
                ),
        }),
        views(page),
        whole ? monthView(page, whole) : table(page, list),
    ],
};
