/* SPDX-License-Identifier: MIT */
/* The screen Now: what is wrong, how many jobs are in which state, and how fast they come and go. */
import { get } from "./api.js";
import { lines, rate, spark } from "./chart.js";
import { attempt } from "./dialog.js";
import { h } from "./dom.js";
import { bytes, count, micros, number, short, span, time } from "./format.js";
import { icon } from "./icons.js";
import { facts, head, meter, nothing, owner, quantiles, section, share, STATES } from "./parts.js";
import { href } from "./route.js";
import { note, ROOM, series } from "./samples.js";
import { troubles } from "./trouble.js";

const SHOWN = 6; // sentences before "show all"
const OVERVIEW_MS = 1900; // the counters come each second, and the rest each second time

async function load(page) {
    const scope = page.tenant;
    const own = page.own;
    const [stats, overview] = await Promise.all([
        get(scope === "*" ? ["stats"] : ["tenants", scope, "stats"], {}, page.signal),
        own.overview && Date.now() - own.asked < OVERVIEW_MS
            ? own.overview
            : get(["overview"], { tenant: scope }, page.signal),
    ]);
    if (overview !== own.overview) {
        Object.assign(own, { overview, asked: Date.now() });
        for (const q of overview.busy) note(`queue ${q.tenant}@${q.queue}`, q);
    }
    note(`now ${scope}`, stats);
    return { stats, overview, troubles: troubles(page, stats, overview) };
}

function sentence(page, one) {
    const fix = async () => (await attempt(one.run, `${one.label}: done.`)) && page.refresh();
    return h(
        "li",
        { class: `trouble rank-${one.rank}`, "data-key": `${one.about} ${one.label}` },
        h("i", { class: "mark" }),
        h("p", null, h("b", null, one.about), one.about.startsWith("The ") ? " " : ": ", one.words),
        one.run && page.may(one.verb)
            ? h("button", { onclick: fix }, one.label)
            : h("a", { class: "button", href: one.to }, one.run ? "See" : one.label),
    );
}

function wrong(page, list) {
    if (!list.length)
        return h(
            "section",
            { class: "part well" },
            h("h2", null, icon("check"), "Nothing is wrong"),
            h("p", { class: "note" }, "No queue is held, every queue with ready jobs has workers, and no job is dead."),
        );
    const shown = page.own.all ? list : list.slice(0, SHOWN);
    const bad = list.filter((one) => one.rank === 0).length;
    return section(
        bad ? `${count(bad, "thing")} wrong now` : "Worth a look",
        {},
        h(
            "ul",
            { class: "troubles" },
            shown.map((one) => sentence(page, one)),
        ),
        list.length > SHOWN &&
            h(
                "button",
                {
                    class: "quiet",
                    onclick: () => {
                        page.own.all = !page.own.all;
                        page.redraw();
                    },
                },
                page.own.all ? "Show fewer" : `Show all ${list.length}`,
            ),
    );
}

const tile = (page, stats, { name, word, hint }) =>
    h(
        "a",
        { class: `tile ${name}`, href: page.href(["jobs"], { q: `state:${name}` }) },
        h("span", { class: "tile-name" }, h("i", { class: "dot" }), word),
        h("b", { class: "num", title: number(stats[name]) }, short(stats[name])),
        h("small", null, hint),
    );

function flow(scope) {
    const one = series(`now ${scope}`);
    return lines(
        [
            { name: "scheduled", class: "in", values: one.rates("in") },
            { name: "ended attempts", class: "out", values: one.rates("out") },
            { name: "failed", class: "bad", values: one.rates("failed") },
        ],
        Math.max(60, Math.min(ROOM - 1, one.samples.length)),
        [`since ${time(one.since)}`, "now"],
        "Jobs scheduled and attempts ended per second since this page was opened",
    );
}

function busiest(page, queues) {
    const rows = queues.slice(0, 8);
    return section(
        "Busiest queues",
        { actions: h("a", { href: page.href(["queues"]) }, "All queues") },
        h(
            "div",
            { class: "scroll" },
            h(
                "table",
                { class: "grid" },
                h(
                    "thead",
                    null,
                    h(
                        "tr",
                        null,
                        h("th", null, "Queue"),
                        h("th", { class: "num" }, "Ready"),
                        h("th", { class: "num" }, "Running"),
                        h("th", { class: "num" }, "Out"),
                        h("th", { class: "wide-only" }, "Pending"),
                        h("th", { class: "wide-only" }, "Last minutes"),
                    ),
                ),
                h(
                    "tbody",
                    null,
                    rows.map((q) => {
                        const rates = series(`queue ${q.tenant}@${q.queue}`).rates("out");
                        return h(
                            "tr",
                            { "data-key": `${q.tenant}@${q.queue}` },
                            h(
                                "td",
                                null,
                                h("a", { class: "strong", href: href(["queues", q.tenant, q.queue]) }, q.queue),
                                owner(page, q.tenant),
                            ),
                            h("td", { class: "num" }, number(q.ready)),
                            h("td", { class: "num" }, number(q.leased)),
                            h("td", { class: "num" }, rates.length ? rate(rates.at(-1)) : nothing()),
                            h("td", { class: "wide-only" }, share(q)),
                            h(
                                "td",
                                { class: "wide-only" },
                                spark(rates.slice(-60), `Ended attempts per second in ${q.queue}`),
                            ),
                        );
                    }),
                ),
            ),
        ),
    );
}

function health(stats) {
    return section(
        "The server",
        {},
        stats.memory_limit_bytes ? meter("Memory", stats.memory_bytes, stats.memory_limit_bytes) : null,
        stats.clients_limit_bytes ? meter("Clients", stats.clients_bytes, stats.clients_limit_bytes) : null,
        stats.disk_bytes ? meter("Disk", stats.disk_bytes - stats.disk_free_bytes, stats.disk_bytes) : null,
        facts([
            stats.commit_p99_us !== undefined && [
                "A commit takes",
                `${micros(stats.commit_p50_us)}, p99 ${micros(stats.commit_p99_us)}`,
            ],
            stats.journal_bytes !== undefined && ["Journal", bytes(stats.journal_bytes)],
            stats.run_bytes !== undefined && [
                "On disk",
                `${bytes(stats.run_bytes)}, ${count(stats.cold_jobs ?? 0, "job")}`,
            ],
            stats.connections !== undefined && ["Connections", number(stats.connections)],
            stats.waiting_workers !== undefined && ["Workers that wait", number(stats.waiting_workers)],
            stats.uptime_ms !== undefined && ["Running for", span(stats.uptime_ms)],
            stats.rss_bytes !== undefined && ["Process", bytes(stats.rss_bytes)],
        ]),
    );
}

export const now = {
    every: 1000,
    title: () => "Now",
    load,
    view: ({ stats, overview, troubles: list }, page) => [
        head("Now"),
        wrong(page, list),
        h(
            "section",
            { class: "tiles", "aria-label": "Jobs by state" },
            STATES.map((state) => tile(page, stats, state)),
        ),
        h(
            "div",
            { class: "columns" },
            section("In and out", { note: "Since you opened this page, a sample each second" }, flow(page.tenant)),
            h(
                "div",
                null,
                section(
                    "How late, how long",
                    { note: "Of all jobs since the server's figures began" },
                    quantiles(stats),
                ),
                health(stats),
            ),
        ),
        busiest(page, overview.busy),
    ],
};
