/* SPDX-License-Identifier: MIT */
/* The screen Queues: a row for each queue, with what holds it. */
import { get, post } from "./api.js";
import { rate, spark } from "./chart.js";
import { attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, number, span } from "./format.js";
import { empty, head, owner, share } from "./parts.js";
import { href } from "./route.js";
import { note, series } from "./samples.js";
import { grid, listKeys, sorted, sorter } from "./table.js";

const PAGE = 1000;
const name = (q) => `${q.tenant}@${q.queue}`;
const COLUMNS = {
    queue: (q) => q.queue,
    ready: (q) => q.ready,
    running: (q) => q.leased,
    scheduled: (q) => q.scheduled + q.waiting,
    dead: (q) => q.dead,
    late: (q) => q.lateness_p99_ms,
    workers: (q) => q.waiting_workers,
    out: (q) =>
        series(`queue ${name(q)}`)
            .rates("out")
            .at(-1) ?? 0,
};

async function load(page) {
    const answer = await get(["queues"], { tenant: page.tenant, limit: PAGE }, page.signal);
    for (const q of answer.queues) note(`queue ${name(q)}`, q);
    return answer.queues;
}

/** Pauses or resumes. */
export async function pauseQueue(page, q) {
    const verb = q.paused ? "resume" : "pause";
    const done = `${q.queue} is ${q.paused ? "resumed" : "paused"}.`;
    if (await attempt(() => post(["queues", q.queue, verb], {}, { tenant: q.tenant }), done)) page.refresh();
}

function row(page, q) {
    const rates = series(`queue ${name(q)}`).rates("out");
    const limit = q.max_running ? ` / ${number(q.max_running)}` : "";
    return h(
        "tr",
        { "data-key": name(q), "data-row": name(q) },
        h(
            "td",
            null,
            h("a", { class: "strong", href: href(["queues", q.tenant, q.queue]) }, q.queue),
            owner(page, q.tenant),
            q.push_url && h("span", { class: "owner" }, "push"),
            q.held_by && h("div", { class: "held" }, q.held_by),
        ),
        h("td", { class: "num" }, number(q.ready)),
        h("td", { class: "num" }, number(q.leased), h("span", { class: "muted" }, limit)),
        h("td", { class: "num" }, number(q.scheduled + q.waiting)),
        h(
            "td",
            { class: "num" },
            q.dead
                ? h("a", { class: "bad", href: href(["dead"], { queue: q.queue, tenant: q.tenant }) }, number(q.dead))
                : h("span", { class: "muted" }, "0"),
        ),
        h("td", { class: "wide-only" }, share(q)),
        h("td", { class: "num wide-only" }, span(q.lateness_p99_ms)),
        h("td", { class: "num wide-only" }, number(q.waiting_workers)),
        h("td", { class: "num wide-only" }, rates.length ? rate(rates.at(-1)) : "–"),
        h("td", { class: "wide-only" }, spark(rates.slice(-60), `Ended attempts per second in ${q.queue}`)),
        h(
            "td",
            { class: "end" },
            page.may("PAUSE") &&
                h("button", { class: "small", onclick: () => pauseQueue(page, q) }, q.paused ? "Resume" : "Pause"),
        ),
    );
}

export const queues = {
    every: 2000,
    title: () => "Queues",
    enter: () => listKeys(),
    load,
    view: (list, page) => {
        const text = page.route.query.get("name") ?? "";
        const shown = sorted(
            page,
            list.filter((q) => name(q).includes(text)),
            COLUMNS,
        );
        return [
            head("Queues", {
                lead: list.length === PAGE ? `The first ${number(PAGE)} by name` : count(list.length, "queue"),
                actions: h("input", {
                    type: "search",
                    class: "filter",
                    placeholder: "Name has …",
                    "aria-label": "Name has",
                    value: text,
                    oninput: (e) => page.ask({ name: e.target.value }, true),
                }),
            }),
            shown.length
                ? h(
                      "div",
                      { class: "scroll card" },
                      grid(
                          [
                              sorter(page, "queue", "Queue", ""),
                              sorter(page, "ready", "Ready"),
                              sorter(page, "running", "Running"),
                              sorter(page, "scheduled", "Later"),
                              sorter(page, "dead", "Dead"),
                              h("th", { class: "wide-only" }, "Pending"),
                              sorter(page, "late", "Late p99", "num wide-only"),
                              sorter(page, "workers", "Waiting workers", "num wide-only"),
                              sorter(page, "out", "Out", "num wide-only"),
                              h("th", { class: "wide-only" }, "Since opened"),
                              h("th", null, h("span", { class: "hidden" }, "Actions")),
                          ],
                          shown.map((q) => row(page, q)),
                      ),
                  )
                : empty(
                      list.length ? "No queue has such a name." : "There is no queue yet.",
                      list.length ? null : "A queue comes to be with its first job: belfry schedule hello --payload hi",
                  ),
        ];
    },
};
