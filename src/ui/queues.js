/* SPDX-License-Identifier: MIT */
/* The screen Queues: a row for each queue, with what holds it. Names come page by page; what is worth a look comes first. */
import { get, post } from "./api.js";
import { rate, spark } from "./chart.js";
import { attempt } from "./dialog.js";
import { h } from "./dom.js";
import { ago, count, number, span } from "./format.js";
import { empty, head, owner, share } from "./parts.js";
import { href } from "./route.js";
import { note, series } from "./samples.js";
import { grid, listKeys, pager, sorted, sorter } from "./table.js";

const PAGE = 200;
const name = (q) => `${q.tenant}@${q.queue}`;

/** Lists of queues: all of them by name, and those that OVERVIEW has of a kind. */
const KINDS = {
    "": { label: () => "By name" },
    busy: { label: () => "Busiest", none: "No queue has jobs that are ready or running." },
    held: { label: (o) => `Held ${number(o.held_queues)}`, none: "No queue is held." },
    unserved: {
        label: (o) => `No worker waits ${number(o.unserved_queues)}`,
        none: "For each queue with ready jobs a worker waits.",
    },
    dead: { label: (o) => `Dead jobs ${number(o.dead_queues)}`, none: "No queue has dead jobs." },
};
const kindOf = (page) => (KINDS[page.route.query.get("kind")] ? page.route.query.get("kind") : "");

const COLUMNS = {
    queue: (q) => q.queue,
    ready: (q) => q.ready,
    running: (q) => q.leased,
    scheduled: (q) => q.scheduled + q.waiting,
    dead: (q) => q.dead,
    late: (q) => q.lateness_p99_ms,
    oldest: (q) => q.oldest_ms ?? Infinity,
    workers: (q) => q.waiting_workers,
    out: (q) =>
        series(`queue ${name(q)}`)
            .rates("out")
            .at(-1) ?? 0,
};

/** Rows of OVERVIEW have few figures, so each queue is asked for. One that is gone meanwhile is left out. */
const whole = (rows, signal) =>
    Promise.all(rows.map((q) => get(["queues", q.queue], { tenant: q.tenant }, signal).catch(() => null))).then(
        (list) => list.filter(Boolean),
    );

async function load(page) {
    const kind = kindOf(page),
        begins = page.route.query.get("name") ?? "";
    const after = page.route.query.get("after") ?? begins;
    const [overview, answer] = await Promise.all([
        get(["overview"], { tenant: page.tenant }, page.signal),
        kind ? null : get(["queues"], { tenant: page.tenant, limit: PAGE, after }, page.signal),
    ]);
    const list = kind ? await whole(overview[kind], page.signal) : answer.queues;
    for (const q of list) note(`queue ${name(q)}`, q);
    return { overview, list, kind, begins, more: !kind && list.length === PAGE };
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
        h("td", { class: "num wide-only" }, q.oldest_ms === null ? "–" : ago(q.oldest_ms).replace(/ ago$/, "")),
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

const table = (page, list) =>
    h(
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
                sorter(page, "oldest", "Oldest", "num wide-only"),
                sorter(page, "late", "Late p99", "num wide-only"),
                sorter(page, "workers", "Waiting workers", "num wide-only"),
                sorter(page, "out", "Out", "num wide-only"),
                h("th", { class: "wide-only" }, "Since opened"),
                h("th", null, h("span", { class: "hidden" }, "Actions")),
            ],
            sorted(page, list, COLUMNS).map((q) => row(page, q)),
        ),
    );

const kinds = (page, overview, kind) =>
    h(
        "nav",
        { class: "tabs", "aria-label": "Which queues" },
        Object.entries(KINDS).map(([key, one]) =>
            h(
                "a",
                { href: page.href(["queues"], { kind: key }), "aria-current": key === kind ? "page" : null },
                one.label(overview),
            ),
        ),
    );

export const queues = {
    every: 2000,
    title: () => "Queues",
    enter: () => listKeys(),
    load,
    view: ({ overview, list, kind, begins, more }, page) => {
        // The server answers names behind the text, so those that begin with it come first.
        const shown = kind ? list : list.filter((q) => `${q.queue} ${q.tenant}@${q.queue}`.includes(begins));
        const none = kind
            ? [KINDS[kind].none]
            : begins
              ? ["No queue has such a name."]
              : [
                    "There is no queue yet.",
                    "A queue comes to be with its first job: belfry schedule hello --payload hi",
                ];
        return [
            head("Queues", {
                lead: count(overview.queues, "queue"),
                actions: h("input", {
                    type: "search",
                    class: "filter",
                    placeholder: "Name begins with …",
                    "aria-label": "Name begins with",
                    value: begins,
                    oninput: (e) => page.ask({ name: e.target.value, kind: "", after: "" }, true),
                }),
            }),
            kinds(page, overview, kind),
            shown.length ? table(page, shown) : empty(...none),
            pager(page, more ? (page.tenant === "*" ? full(list.at(-1)) : list.at(-1).queue) : null),
        ];
    },
};

const full = (q) => (q.tenant === "default" ? q.queue : name(q));
