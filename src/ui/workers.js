/* SPDX-License-Identifier: MIT */
/* The screen Workers: who asks for jobs, from where, what they have now, and how they fared in the last hour. */
import { get } from "./api.js";
import { h } from "./dom.js";
import { count, number, percent } from "./format.js";
import { empty, head, nothing, owner, when } from "./parts.js";
import { href } from "./route.js";
import { grid, listKeys, sorted, sorter } from "./table.js";

const SHOWN = 6; // queues of a worker
const COLUMNS = {
    worker: (w) => w.worker ?? "",
    running: (w) => w.running ?? -1,
    done: (w) => w.done,
    failed: (w) => w.failed,
    seen: (w) => w.seen_ms,
    since: (w) => w.first_ms,
};

/** A worker that serves all tenants has a queue of each, so only one with a tenant of its own has links. */
const queuesOf = (w) =>
    (w.queues ?? [])
        .slice(0, SHOWN)
        .map((name) =>
            w.tenant === "*"
                ? h("span", { class: "tag" }, name)
                : h("a", { class: "tag", href: href(["queues", w.tenant, name]) }, name),
        );

function row(page, w) {
    const name = w.worker ?? "without a name";
    const more = (w.queues?.length ?? 0) - SHOWN;
    const jobs = href(["jobs"], { q: `worker:"${w.worker}" state:leased`, tenant: w.tenant === "*" ? "" : w.tenant });
    return h(
        "tr",
        { "data-key": `${w.tenant} ${name} ${w.address}`, "data-row": name },
        h(
            "td",
            null,
            w.worker === null
                ? h("span", { class: "muted" }, name)
                : h(
                      "a",
                      {
                          class: "strong",
                          href: href(["jobs"], { q: `worker:"${w.worker}"`, tenant: w.tenant === "*" ? "" : w.tenant }),
                      },
                      name,
                  ),
            w.tenant === "*" ? h("span", { class: "owner" }, "all tenants") : owner(page, w.tenant),
            h("div", { class: "muted" }, w.address),
        ),
        h("td", null, queuesOf(w), more > 0 && h("span", { class: "muted" }, `and ${number(more)} more`)),
        h(
            "td",
            { class: "num" },
            w.running === null ? nothing() : w.running > 0 ? h("a", { href: jobs }, number(w.running)) : "0",
            w.partial &&
                h("span", { class: "muted", title: "So many jobs are leased that not all were counted" }, " +"),
        ),
        h("td", { class: "num" }, number(w.done)),
        h("td", { class: w.failed ? "num bad" : "num" }, number(w.failed)),
        h("td", { class: "num wide-only" }, percent(w.failed, w.done + w.failed)),
        h("td", { class: "nowrap" }, when(w.seen_ms)),
        h("td", { class: "nowrap wide-only" }, when(w.asked_ms)),
        h("td", { class: "nowrap wide-only" }, when(w.first_ms)),
    );
}

export const workers = {
    every: 2000,
    title: () => "Workers",
    enter: () => listKeys(),
    load: async (page) => (await get(["workers"], { tenant: page.tenant }, page.signal)).workers,
    view: (list, page) => [
        head("Workers", {
            lead: `${count(list.length, "worker")} asked for jobs, or reported about one, in the last hour`,
        }),
        list.length
            ? h(
                  "div",
                  { class: "scroll card" },
                  grid(
                      [
                          sorter(page, "worker", "Worker", ""),
                          h("th", null, "Asks for"),
                          sorter(page, "running", "Running"),
                          sorter(page, "done", "Done"),
                          sorter(page, "failed", "Failed"),
                          h("th", { class: "num wide-only" }, "Failed of all"),
                          sorter(page, "seen", "Seen", ""),
                          h("th", { class: "wide-only" }, "Asked"),
                          sorter(page, "since", "Known", "wide-only"),
                      ],
                      sorted(page, list, COLUMNS).map((w) => row(page, w)),
                  ),
              )
            : empty("No worker asked for jobs in the last hour.", "belfry work QUEUE -- COMMAND starts one."),
    ],
};
