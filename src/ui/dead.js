/* SPDX-License-Identifier: MIT */
/* The screen Dead letters: dead jobs in groups by queue and error, with an action for a whole group. */
import { find, get, pages } from "./api.js";
import { actOnSome } from "./bulk.js";
import { h } from "./dom.js";
import { groups } from "./errors.js";
import { count, number } from "./format.js";
import { icon } from "./icons.js";
import { act, head, owner, ownersOf, when } from "./parts.js";
import { href } from "./route.js";
import { edit } from "./schedule.js";

const MOST = 2000; // jobs that are looked at

async function load(page) {
    const queue = page.route.query.get("queue") ?? "";
    const owners = queue ? await ownersOf(page, queue) : [page.tenant];
    const [answers, queues] = await Promise.all([
        Promise.all(
            owners.map((tenant) => pages(["jobs"], { tenant, state: "dead", queue }, "jobs", MOST, page.signal)),
        ),
        page.may("QUEUES") ? get(["queues"], { tenant: page.tenant }, page.signal) : { queues: [] },
    ]);
    const found = { things: answers.flatMap((a) => a.things), more: answers.some((a) => a.more) };
    const dead = queues.queues.filter((q) => q.dead > 0);
    return {
        list: groups(found.things),
        seen: found.things.length,
        more: found.more,
        queue,
        queues: [...new Set(dead.map((q) => q.queue))],
        total: dead.filter((q) => !queue || q.queue === queue).reduce((sum, q) => sum + q.dead, 0),
    };
}

/** LIST shows no payload, so the job is asked for. */
async function editOne(page, job) {
    const whole = await find(["jobs", job.id], { tenant: job.tenant });
    if (whole) await edit(page, whole);
    else page.refresh();
}

function group(page, g) {
    const all = async (name) => (await actOnSome(name, g.jobs)) && page.refresh();
    const open = page.own.open === g.key;
    return h(
        "li",
        { class: "group", "data-key": g.key },
        h(
            "div",
            { class: "group-head" },
            h("b", { class: "num" }, number(g.jobs.length)),
            h(
                "div",
                { class: "group-words" },
                h("code", { class: "break" }, g.pattern),
                h(
                    "p",
                    { class: "muted" },
                    h("a", { href: href(["queues", g.tenant, g.queue]) }, g.queue),
                    owner(page, g.tenant),
                    " · first ",
                    when(g.first),
                    " · last ",
                    when(g.last),
                ),
            ),
            h(
                "div",
                { class: "actions" },
                h(
                    "button",
                    {
                        class: "quiet",
                        "aria-expanded": String(open),
                        onclick: () => {
                            page.own.open = open ? null : g.key;
                            page.redraw();
                        },
                    },
                    open ? "Hide" : "Show jobs",
                ),
                page.may("REDRIVE") && h("button", { onclick: () => all("redrive") }, "Redrive …"),
                page.may("DELETE") && h("button", { class: "danger-quiet", onclick: () => all("delete") }, "Delete …"),
            ),
        ),
        open &&
            h(
                "ul",
                { class: "plain group-jobs" },
                g.jobs.slice(0, 20).map((job) =>
                    h(
                        "li",
                        null,
                        h("a", { class: "id", href: href(["jobs", job.tenant, job.id]) }, job.id),
                        h("span", { class: "error" }, job.error ?? ""),
                        act(page, "REDRIVE", "Edit and redrive …", () => editOne(page, job), "small"),
                    ),
                ),
                g.jobs.length > 20 &&
                    h(
                        "li",
                        null,
                        h(
                            "a",
                            { href: href(["jobs"], { q: `queue:${g.queue} state:dead`, tenant: g.tenant }) },
                            `All dead jobs of ${g.queue}`,
                        ),
                    ),
            ),
    );
}

export const dead = {
    every: 10000,
    title: () => "Dead letters",
    load,
    view: ({ list, seen, more, queue, queues, total }, page) => [
        head("Dead letters", {
            lead: more
                ? `Groups of the first ${number(seen)} of ${number(total)} dead jobs`
                : `${count(seen, "dead job")} in ${count(list.length, "group")}. Numbers and ids in errors are set aside.`,
            actions: h(
                "select",
                { "aria-label": "Queue", value: queue, onchange: (e) => page.ask({ queue: e.target.value }) },
                h("option", { value: "", selected: !queue }, "All queues"),
                [...new Set([...queues, ...(queue ? [queue] : [])])].map((name) =>
                    h("option", { value: name, selected: name === queue }, name),
                ),
            ),
        }),
        list.length
            ? h(
                  "ol",
                  { class: "groups card" },
                  list.map((g) => group(page, g)),
              )
            : h(
                  "div",
                  { class: "nothing well" },
                  icon("check"),
                  h("p", null, "No job is dead."),
                  h(
                      "p",
                      { class: "muted" },
                      "A job is dead when its attempts are used up, or when its worker said that it is final.",
                  ),
              ),
    ],
};
