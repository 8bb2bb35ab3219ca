/* SPDX-License-Identifier: MIT */
/* The screen Dead letters: dead jobs in groups by queue and error, with an action for a whole group. */
import { find } from "./api.js";
import { actOnSome } from "./bulk.js";
import { h } from "./dom.js";
import { groupsOf, jobsOf } from "./errors.js";
import { count, number } from "./format.js";
import { icon } from "./icons.js";
import { nameInput, queueNames } from "./names.js";
import { act, head, owner, ownersOf, when } from "./parts.js";
import { href } from "./route.js";
import { edit } from "./schedule.js";

const SHOWN = 20; // jobs of an open group

async function load(page) {
    const queue = page.route.query.get("queue") ?? "";
    const owners = queue ? await ownersOf(page, queue) : [page.tenant];
    const [answers, names] = await Promise.all([
        Promise.all(owners.map((tenant) => groupsOf({ tenant, queue }, page.signal))),
        page.may("QUEUES") ? (page.own.names ??= await queueNames(page.tenant, "")) : [],
    ]);
    const list = answers.flatMap((a) => a.groups).sort((a, b) => b.count - a.count);
    const open = list.find((g) => g.key === page.own.open);
    return {
        list,
        jobs: open ? await jobsOf(open, page.signal, SHOWN) : [],
        seen: answers.reduce((sum, a) => sum + a.seen, 0),
        more: answers.some((a) => a.more),
        queue,
        names,
    };
}

/** LIST shows no payload, so the job is asked for. */
async function editOne(page, job) {
    const whole = await find(["jobs", job.id], { tenant: job.tenant });
    if (whole) await edit(page, whole);
    else page.refresh();
}

function group(page, g, jobs) {
    const all = async (name) => (await actOnSome(name, await jobsOf(g))) && page.refresh();
    const open = page.own.open === g.key;
    return h(
        "li",
        { class: "group", "data-key": g.key },
        h(
            "div",
            { class: "group-head" },
            h("b", { class: "num" }, number(g.count)),
            h(
                "div",
                { class: "group-words" },
                h("code", { class: "break" }, g.error_group),
                h(
                    "p",
                    { class: "muted" },
                    h("a", { href: href(["queues", g.tenant, g.queue]) }, g.queue),
                    owner(page, g.tenant),
                    " · first ",
                    when(g.first_ms),
                    " · last ",
                    when(g.last_ms),
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
                            page.refresh();
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
                jobs.map((job) =>
                    h(
                        "li",
                        null,
                        h("a", { class: "id", href: href(["jobs", job.tenant, job.id]) }, job.id),
                        h("span", { class: "error" }, job.error ?? ""),
                        act(page, "REDRIVE", "Edit and redrive …", () => editOne(page, job), "small"),
                    ),
                ),
                g.count > jobs.length &&
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
    view: ({ list, jobs, seen, more, queue, names }, page) => [
        head("Dead letters", {
            lead: `${more ? "The first " : ""}${count(seen, "dead job")} in ${count(list.length, "group")}. Numbers, ids and quoted texts in errors are set aside.`,
            actions: nameInput({
                id: "queue",
                label: "Queue",
                every: "All queues",
                value: queue,
                list: names,
                like: (text) => queueNames(page.tenant, text),
                take: (name) => page.ask({ queue: name }),
                redraw: (found) => {
                    page.own.names = page.data.names = found;
                    page.redraw();
                },
            }),
        }),
        list.length
            ? h(
                  "ol",
                  { class: "groups card" },
                  list.map((g) => group(page, g, page.own.open === g.key ? jobs : [])),
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
