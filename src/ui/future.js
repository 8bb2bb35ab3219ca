/* SPDX-License-Identifier: MIT */
/* The screen Future: how many jobs become due in each hour of the coming days, and in each minute of one hour. */
import { get } from "./api.js";
import { bars, heat, legend } from "./chart.js";
import { h } from "./dom.js";
import { count, local, number, soon, time, zone } from "./format.js";
import { icon } from "./icons.js";
import { nameInput, queueNames } from "./names.js";
import { empty, head, section } from "./parts.js";

const HOUR_MS = 3600000,
    DAYS = [7, 14, 28];
const hourOf = (ms) => Math.floor(ms / HOUR_MS) * HOUR_MS;
const daysOf = (page) => DAYS.find((n) => String(n) === page.route.query.get("days")) ?? 7;

/** The beginning of the local day, so that a row of the map is a day of the reader. */
const dayOf = (ms) => new Date(ms).setHours(0, 0, 0, 0);

const namesOf = async (page, text) => (page.may("QUEUES") ? queueNames(page.tenant, text) : []);

async function load(page) {
    const now = Date.now(),
        days = daysOf(page),
        queue = page.route.query.get("queue") ?? "";
    const from = hourOf(now),
        end = dayOf(from + days * 24 * HOUR_MS + HOUR_MS);
    const hour = Number(page.route.query.get("hour")) || null;
    const ask = (query) => get(["forecast"], { ...query, queue, tenant: page.tenant }, page.signal);
    const [map, minutes, queues] = await Promise.all([
        ask({ from, to: end, step: "1h" }),
        hour && hour + HOUR_MS > now ? ask({ from: hour, to: hour + HOUR_MS, step: "1m" }) : null,
        (page.own.queues ??= await namesOf(page, "")),
    ]);
    return { steps: map.steps, minutes: minutes?.steps, hour, queues, queue };
}

/** Rows of days with a cell for each hour; hours that passed, or that a change of the clock leaves out, are null. */
function rowsOf(steps, page, hour) {
    const rows = new Map();
    for (const step of steps) {
        const p = local(step.from_ms),
            key = `${p.year}-${p.month}-${p.day}`;
        if (!rows.has(key)) rows.set(key, { label: `${p.weekday} ${p.day}`, cells: Array(24).fill(null) });
        const cell = rows.get(key).cells[p.hour];
        const value = step.jobs + (cell?.value ?? 0); // a repeated hour has one cell
        rows.get(key).cells[p.hour] = {
            value,
            on: step.from_ms === hour,
            label: `${soon(step.from_ms)}: ${count(value, "job")}${step.recurring ? `, ${number(step.recurring)} from recurrences` : ""}`,
            href: page.href(["future"], { ...Object.fromEntries(page.route.query), hour: step.from_ms }),
        };
    }
    return [...rows.values()];
}

/** Hours that stand out: many times the middle one, and not few. */
function spikes(steps) {
    const sizes = steps
        .map((one) => one.jobs)
        .filter((n) => n > 0)
        .sort((a, b) => a - b);
    const middle = sizes[Math.floor(sizes.length / 2)] ?? 0;
    return steps
        .filter((one) => one.jobs >= 20 && one.jobs > 4 * middle)
        .sort((a, b) => b.jobs - a.jobs)
        .slice(0, 3)
        .map((one) => ({ ...one, times: Math.round(one.jobs / Math.max(middle, 1)) }));
}

const spike = (page, one) =>
    h(
        "li",
        { class: "trouble rank-1" },
        h("i", { class: "mark" }),
        h(
            "p",
            null,
            h("b", null, soon(one.from_ms)),
            `: ${count(one.jobs, "job")} in this hour, ${number(one.times)} times the usual.`,
        ),
        h(
            "a",
            {
                class: "button",
                href: page.href(["future"], { ...Object.fromEntries(page.route.query), hour: one.from_ms }),
            },
            "See its minutes",
        ),
    );

function zoom(page, hour, minutes, queue) {
    const total = minutes.reduce((sum, one) => sum + one.jobs, 0);
    const most = minutes.reduce((a, b) => (b.jobs > a.jobs ? b : a), minutes[0]);
    const jobsOf = (from, to) =>
        page.href(["jobs"], {
            q: `${queue ? `queue:${queue} ` : ""}state:scheduled from:${new Date(from).toISOString()} to:${new Date(to).toISOString()}`,
        });
    return section(
        `${soon(hour)} to ${soon(hour + HOUR_MS).replace(/^.*, /, "")}`,
        {
            note: total
                ? `${count(total, "job")}; the fullest minute is ${time(most.from_ms).slice(0, 5)} with ${number(most.jobs)}`
                : "No jobs",
            actions: [
                h("a", { class: "button", href: jobsOf(hour, hour + HOUR_MS) }, "List them"),
                h(
                    "button",
                    { class: "quiet square", "aria-label": "Close the hour", onclick: () => page.ask({ hour: "" }) },
                    icon("close"),
                ),
            ],
        },
        bars(
            minutes.map((one) => ({
                value: one.jobs,
                extra: one.recurring,
                label: `${time(one.from_ms).slice(0, 5)}: ${count(one.jobs, "job")}`,
                href: one.jobs ? jobsOf(one.from_ms, one.to_ms) : null,
            })),
            "Jobs due in each minute",
            { height: 110 },
        ),
        h(
            "div",
            { class: "ends" },
            [0, 15, 30, 45].map((m) => h("span", null, time(hour + m * 60000).slice(0, 5))),
            h("span", null, time(hour + HOUR_MS).slice(0, 5)),
        ),
    );
}

export const future = {
    every: 30000,
    title: () => "Future",
    load,
    view: ({ steps, minutes, hour, queues, queue }, page) => {
        const top = Math.max(...steps.map((one) => one.jobs), 1),
            total = steps.reduce((sum, one) => sum + one.jobs, 0);
        const recurring = steps.reduce((sum, one) => sum + one.recurring, 0),
            list = spikes(steps);
        return [
            head("Future", {
                lead: `${count(total, "job")} become due, ${number(recurring)} of them from recurrences. Hours of ${zone()}.`,
                actions: [
                    nameInput({
                        id: "queue",
                        label: "Queue",
                        every: "All queues",
                        value: queue,
                        list: queues,
                        like: (text) => namesOf(page, text),
                        take: (name) => page.ask({ queue: name }),
                        redraw: (list) => {
                            page.own.queues = page.data.queues = list;
                            page.redraw();
                        },
                    }),
                    h(
                        "div",
                        { class: "tabs", role: "group", "aria-label": "Days" },
                        DAYS.map((n) =>
                            h(
                                "button",
                                { "aria-pressed": String(n === daysOf(page)), onclick: () => page.ask({ days: n }) },
                                `${n} days`,
                            ),
                        ),
                    ),
                ],
            }),
            list.length > 0 &&
                h(
                    "ul",
                    { class: "troubles card" },
                    list.map((one) => spike(page, one)),
                ),
            total
                ? h(
                      "section",
                      { class: "part" },
                      heat(
                          rowsOf(steps, page, hour),
                          Array.from({ length: 24 }, (_, n) => String(n).padStart(2, "0")),
                          "Jobs that become due, by day and hour",
                      ),
                      legend(top),
                      steps.some((one) => one.partial) &&
                          h(
                              "p",
                              { class: "note" },
                              "Some hours have more than is shown: a rule has more times than the server counts.",
                          ),
                  )
                : empty("Nothing becomes due in these days.", "Jobs that are ready already are on the screen Now."),
            minutes && zoom(page, hour, minutes, queue),
        ];
    },
};
