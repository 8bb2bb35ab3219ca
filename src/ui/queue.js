/* SPDX-License-Identifier: MIT */
/* One queue: what it holds, what holds it, its settings, its next day, and the errors of its dead jobs. */
import { call, get, patch } from "./api.js";
import { bars, rate } from "./chart.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { groupsOf } from "./errors.js";
import { hourLines, lastDays, lastHour, lateness, once } from "./figures.js";
import { count, number, short, soon } from "./format.js";
import { icon } from "./icons.js";
import { act, empty, facts, head, quantiles, section, STATES, up } from "./parts.js";
import { pauseQueue } from "./queues.js";
import { go, href } from "./route.js";
import { note, series } from "./samples.js";
import { settings } from "./setting.js";
import { snippets } from "./snippet.js";

const DAY_MS = 86400000,
    SAMPLE = 5000;
const SETTINGS = [
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
        name: "lease",
        field: "lease_ms",
        label: "Lease",
        kind: "duration",
        words: "How long a worker has a job before it must extend",
    },
    { name: "attempts", field: "attempts", label: "Attempts", kind: "limit", words: "Deliveries before a job is dead" },
    {
        name: "backoff",
        field: "backoff",
        label: "Back-off",
        kind: "text",
        words: "Pause before each retry: 1m,5m,15m or exp:2s:1h or fixed:20s",
    },
    {
        name: "retain",
        field: "retain_ms",
        label: "Keep ended jobs",
        kind: "duration",
        words: "How long done, cancelled and expired jobs are kept",
    },
    {
        name: "retain_dead",
        field: "retain_dead_ms",
        label: "Keep dead jobs",
        kind: "duration",
        words: "How long dead jobs are kept",
    },
    {
        name: "key_hold",
        field: "key_hold_ms",
        label: "Hold keys",
        kind: "duration",
        words: "How long a key stays taken after its job is done",
    },
    {
        name: "past_grace",
        field: "past_grace_ms",
        label: "Accept the past",
        kind: "duration",
        words: "A job that was due longer ago is refused",
    },
];
const PUSH = [
    {
        name: "push_url",
        field: "push_url",
        label: "URL",
        kind: "text",
        words: "The server POSTs each job there; empty for no push, job for one URL per job",
    },
    {
        name: "push_timeout",
        field: "push_timeout_ms",
        label: "Time for an answer",
        kind: "duration",
        words: "Later answers count as failures",
    },
    {
        name: "push_concurrency",
        field: "push_concurrency",
        label: "Pushes at a time",
        kind: "number",
        words: "1 to 1000",
    },
    {
        name: "push_headers",
        field: "push_headers",
        label: "Headers",
        kind: "text",
        words: "Lines of Name: value; only names are shown",
    },
    {
        name: "push_secret",
        field: "push_secrets",
        label: "Secrets",
        kind: "secret",
        words: "whsec_… signs each push; two while one replaces the other",
    },
];

/** Tenant and name from the address: queues/TENANT/NAME, or queues/NAME. */
export function named(page) {
    const [, first, second] = page.route.parts;
    return second === undefined ? [page.tenant === "*" ? "default" : page.tenant, first] : [first, second];
}

/** Asks for the next day twice a minute. A count of many jobs takes long, so the page does not wait for it. */
function foresee(page, tenant, name) {
    if (!page.may("FORECAST") || Date.now() - (page.own.foreseen ?? 0) < 30000) return;
    page.own.foreseen = Date.now();
    get(["forecast"], { tenant, queue: name, step: "30m" }, page.signal).then(
        (answer) => {
            page.own.forecast = answer;
            if (page.data) page.data.forecast = answer.steps;
            page.redraw();
        },
        () => (page.own.foreseen = 0),
    );
}

async function load(page) {
    const [tenant, name] = named(page);
    const of = { tenant, queue: name },
        figures = page.may("SERIES");
    foresee(page, tenant, name);
    const [queue, minutes, days, dead] = await Promise.all([
        get(["queues", name], { tenant }, page.signal),
        figures ? lastHour(of, page.signal) : null,
        figures ? lastDays(of, page.signal) : null,
        once(`errors ${tenant}@${name}`, () => groupsOf(of, page.signal, SAMPLE), 5000),
    ]);
    note(`queue ${tenant}@${name}`, queue);
    return { queue, minutes, days, forecast: page.own.forecast?.steps, dead };
}

async function drop(page, q) {
    if (
        !(await ask(
            `Forget ${q.queue}?`,
            "The server forgets the queue and its settings. It refuses if the queue still has jobs, ended ones included.",
            "Forget the queue",
            { danger: true },
        ))
    )
        return;
    if (
        await attempt(
            () => call("DELETE", ["queues", q.queue], { query: { tenant: q.tenant } }),
            `${q.queue} is forgotten.`,
        )
    )
        go(page.href(["queues"]));
}

function coming(q, steps) {
    const total = steps.reduce((sum, one) => sum + one.jobs, 0);
    const label = (one) =>
        `${soon(one.from_ms)}: ${count(one.jobs, "job")}${one.recurring ? `, ${number(one.recurring)} of them from recurrences` : ""}`;
    return section(
        "The next day",
        {
            note: `${count(total, "job")} become due, in steps of half an hour`,
            actions: h("a", { href: href(["future"], { queue: q.queue, tenant: q.tenant }) }, "Further"),
        },
        bars(
            steps.map((one) => ({
                value: one.jobs,
                extra: one.recurring,
                label: label(one),
                href: one.jobs
                    ? href(["jobs"], {
                          q: `queue:${q.queue} from:${new Date(one.from_ms).toISOString()} to:${new Date(one.to_ms).toISOString()}`,
                          tenant: q.tenant,
                      })
                    : null,
            })),
            "Jobs due in each half hour of the next day",
        ),
        h("div", { class: "ends" }, h("span", null, "now"), h("span", null, "in 12 h"), h("span", null, "in 24 h")),
    );
}

function failures(q, dead) {
    return section(
        "Errors of its dead jobs",
        {
            note: dead.more ? `Of the first ${number(dead.seen)} of ${number(q.dead)}` : count(q.dead, "dead job"),
            actions: h("a", { href: href(["dead"], { queue: q.queue, tenant: q.tenant }) }, "All and actions"),
        },
        dead.groups.length
            ? h(
                  "ol",
                  { class: "ranks" },
                  dead.groups
                      .slice(0, 6)
                      .map((g) =>
                          h("li", null, h("b", { class: "num" }, number(g.count)), h("code", null, g.error_group)),
                      ),
              )
            : empty("No job of this queue is dead."),
    );
}

export const queue = {
    every: 2000,
    title: (page) => named(page)[1],
    load,
    view: ({ queue: q, minutes, days, forecast, dead }, page) => {
        const rates = series(`queue ${q.tenant}@${q.queue}`).rates("out");
        const save = (change) => patch(["queues", q.queue], change, { tenant: q.tenant });
        return [
            head(q.queue, {
                up: up(page.href(["queues"]), "Queues"),
                lead: `Tenant ${q.tenant}${q.push_url ? ", pushes" : ""}. ${count(q.waiting_workers, "worker")} wait for jobs. ${rates.length ? `${rate(rates.at(-1))} out.` : ""}`,
                actions: [
                    act(
                        page,
                        "PAUSE",
                        q.paused ? "Resume" : "Pause",
                        () => pauseQueue(page, q),
                        q.paused ? "primary" : "",
                    ),
                    act(page, "QUEUEDELETE", "Forget", () => drop(page, q), "danger-quiet"),
                ],
            }),
            q.held_by && h("p", { class: "banner inline" }, icon("warn"), `Gives out nothing: ${q.held_by}.`),
            h(
                "section",
                { class: "tiles", "aria-label": "Jobs by state" },
                STATES.map(({ name, word, hint }) =>
                    h(
                        "a",
                        {
                            class: `tile ${name}`,
                            href: href(["jobs"], { q: `queue:${q.queue} state:${name}`, tenant: q.tenant }),
                        },
                        h("span", { class: "tile-name" }, h("i", { class: "dot" }), word),
                        h("b", { class: "num", title: number(q[name]) }, short(q[name])),
                        h(
                            "small",
                            null,
                            name === "leased" && q.max_running ? `of at most ${number(q.max_running)}` : hint,
                        ),
                    ),
                ),
            ),
            page.route.query.get("worker") &&
                section(
                    "A worker for this queue",
                    { note: "In a terminal, or in your program" },
                    snippets(page, "worker", { queue: q.queue, tenant: q.tenant }),
                ),
            minutes &&
                section(
                    "In and out",
                    { note: "Per second, over the last hour" },
                    hourLines(minutes, `queue ${q.tenant}@${q.queue}`),
                ),
            h(
                "div",
                { class: "columns" },
                h(
                    "div",
                    null,
                    section(
                        "Settings",
                        { note: page.may("QUEUE!") ? "Choose a value to change it" : null },
                        settings(page, SETTINGS, q, save, page.may("QUEUE!")),
                    ),
                    section(
                        "Push",
                        { note: q.push_url ? null : "Workers lease the jobs of this queue" },
                        settings(page, q.push_url ? PUSH : PUSH.slice(0, 1), q, save, page.may("QUEUE!")),
                    ),
                ),
                h(
                    "div",
                    null,
                    forecast && coming(q, forecast),
                    failures(q, dead),
                    section("How late, how long", {}, quantiles(q)),
                    section(
                        "Totals",
                        { note: "Since the queue was made" },
                        facts([
                            ["Scheduled", number(q.total_scheduled)],
                            ["Given out", number(q.total_picked)],
                            ["Succeeded", number(q.total_succeeded)],
                            ["Failed", number(q.total_failed)],
                            ["Stalled", number(q.total_stalled)],
                            ["Tried again", number(q.total_retried)],
                            ["Put off", number(q.total_deferred)],
                            ["By recurrences", number(q.total_recurred)],
                        ]),
                    ),
                ),
            ),
            days &&
                section(
                    "How late, by hour",
                    { note: "The last seven days; 99 of 100 jobs were at most so late" },
                    lateness(q, days),
                ),
        ];
    },
};
