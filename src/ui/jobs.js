/* SPDX-License-Identifier: MIT */
/* The screen Jobs: a search bar, pages that hold still, and actions on some or all that match. */
import { find, get } from "./api.js";
import { ACTIONS, actOnAll, actOnSome } from "./bulk.js";
import { toast } from "./dialog.js";
import { h } from "./dom.js";
import { listen } from "./events.js";
import { bytes, count, number } from "./format.js";
import { icon } from "./icons.js";
import { queueNames } from "./names.js";
import { chip, empty, head, owner, ownersOf, STATES, when } from "./parts.js";
import { href } from "./route.js";
import { parse, suggest, withWord } from "./search.js";
import { listKeys } from "./table.js";

const PAGE = 100,
    HOPS = 5,
    PREVIEW = 80;
const BULK = ["queue", "state", "tag", "from", "to"]; // what a bulk can be asked for
const textOf = (page) => page.route.query.get("q") ?? "";

async function load(page) {
    const { query, problem } = parse(textOf(page));
    const known = { queues: (page.own.queues ??= page.may("QUEUES") ? await queueNames(page.tenant, "") : []) };
    const base = { known, query, problem, jobs: [], cursor: null, tenant: page.tenant, owners: [] };
    if (problem) return base;
    if (query.id) {
        const job = await find(["jobs", query.id], { tenant: page.tenant }, page.signal);
        return { ...base, jobs: job ? [job] : [] };
    }
    page.own.fresh = 0;
    const owners = query.queue ? await ownersOf(page, query.queue) : [page.tenant];
    const tenant = owners[0];
    // A page may be empty although there are more: the server does a bounded amount of work for each.
    let answer = { jobs: [], cursor: page.route.query.get("cursor") };
    for (let hop = 0; hop < HOPS && (hop === 0 || (answer.cursor && !answer.jobs.length)); hop++)
        answer = await get(
            ["jobs"],
            { ...query, tenant, limit: PAGE, preview: PREVIEW, cursor: answer.cursor },
            page.signal,
        );
    return { ...base, ...answer, tenant, owners };
}

/** Counts changes that would show in the list; the list itself holds still until the reader asks. */
function enter(page) {
    const keys = listKeys((id) => toggle(page, id));
    let timer = 0;
    const stop = listen((event) => {
        const { query, problem } = page.data ?? {};
        if (!query || problem || page.route.query.get("cursor")) return;
        if (
            (query.queue && event.queue !== query.queue) ||
            (query.state && !query.state.includes(event.state)) ||
            (page.tenant !== "*" && event.tenant !== page.tenant)
        )
            return;
        if (Object.keys(query).some((name) => name !== "queue" && name !== "state")) return;
        page.own.fresh = (page.own.fresh ?? 0) + 1;
        timer ||= setTimeout(() => {
            timer = 0;
            page.redraw();
        }, 500);
    });
    return () => {
        keys();
        stop();
        clearTimeout(timer);
    };
}

const chosen = (page) => (page.own.chosen ??= new Map());

function toggle(page, id) {
    const job = page.data.jobs.find((one) => one.id === id);
    if (!job) return;
    if (!chosen(page).delete(id)) chosen(page).set(id, job);
    page.redraw();
}

function bar(page, { known, problem }) {
    const text = page.own.typed ?? textOf(page);
    const list = page.own.open ? suggest(text, known) : [];
    const at = Math.min(page.own.at ?? -1, list.length - 1);
    const take = (one) => {
        Object.assign(page.own, { typed: one.text, at: -1 });
        const input = document.querySelector("#search");
        input.value = one.text;
        input.focus();
        if (one.text.endsWith(" ")) submit();
        else page.redraw();
    };
    const submit = () => {
        const value = document.querySelector("#search").value.trim();
        Object.assign(page.own, { typed: undefined, open: false, at: -1 });
        chosen(page).clear();
        if (value === textOf(page)) page.refresh();
        else page.ask({ q: value, cursor: "", focus: "" });
    };
    const key = (event) => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step && list.length) {
            event.preventDefault();
            page.own.at = Math.max(-1, Math.min(list.length - 1, at + step));
            page.redraw();
        } else if ((event.key === "Tab" || event.key === "Enter") && at >= 0) {
            event.preventDefault();
            take(list[at]);
        } else if (event.key === "Escape") {
            page.own.open = false;
            page.redraw();
        }
    };
    return h(
        "form",
        {
            class: "search",
            role: "search",
            onsubmit: (e) => {
                e.preventDefault();
                submit();
            },
        },
        icon("search"),
        h("input", {
            id: "search",
            type: "text",
            role: "combobox",
            "aria-label": "Search jobs",
            "aria-expanded": String(list.length > 0),
            "aria-controls": "suggestions",
            "aria-autocomplete": "list",
            "aria-activedescendant": at >= 0 ? `suggestion-${at}` : null,
            placeholder: "queue:mail state:dead error:timeout due:<2h, or an id",
            spellcheck: "false",
            autocomplete: "off",
            autocapitalize: "off",
            "data-first": page.route.query.get("focus"),
            value: text,
            onkeydown: key,
            onfocus: () => {
                page.own.open = true;
                page.redraw();
            },
            onblur: () =>
                setTimeout(() => {
                    page.own.open = false;
                    page.redraw();
                }, 150),
            oninput: (e) => {
                Object.assign(page.own, { typed: e.target.value, open: true, at: -1 });
                page.redraw();
                lookFor(page, e.target.value);
            },
        }),
        h("button", { class: "primary" }, "Search"),
        h(
            "ul",
            { id: "suggestions", role: "listbox", "aria-label": "Suggestions", class: list.length ? null : "hidden" },
            list.map((one, n) =>
                h(
                    "li",
                    {
                        id: `suggestion-${n}`,
                        role: "option",
                        "aria-selected": String(n === at),
                        onmousedown: (e) => {
                            e.preventDefault();
                            take(one);
                        },
                    },
                    h("code", null, one.show),
                    one.words && h("span", null, one.words),
                ),
            ),
        ),
        problem && h("p", { class: "problem", role: "alert" }, problem),
    );
}

/** Looks for names of queues like the one that is being typed. */
async function lookFor(page, text) {
    const found = /(?:^|\s)queue:(\S*)$/.exec(text);
    if (!found || !page.may("QUEUES")) return;
    page.own.queues = page.data.known.queues = await queueNames(page.tenant, found[1]);
    page.redraw();
}

const states = (page, query) =>
    h(
        "div",
        { class: "tabs", role: "group", "aria-label": "State" },
        [{ name: "", word: "every state" }, ...STATES].map(({ name, word }) =>
            h(
                "button",
                {
                    "aria-pressed": String(name ? Boolean(query.state?.includes(name)) : !query.state),
                    onclick: () => {
                        chosen(page).clear();
                        page.own.typed = undefined;
                        page.ask({ q: withWord(textOf(page), "state", name), cursor: "" });
                    },
                },
                name && h("i", { class: `dot bg-${name}` }),
                word,
            ),
        ),
    );

/** The filter of a bulk, which is of one tenant and of one state or all; null if the query has more than that. */
function bulkOf(tenant, query) {
    const names = Object.keys(query);
    if (!names.length || names.some((name) => !BULK.includes(name)) || query.state?.length > 1) return null;
    return { ...query, state: query.state?.[0], tenant };
}

function actions(page, { query, jobs, tenant }) {
    const some = [...chosen(page).values()];
    const filter = bulkOf(tenant, query);
    const many = async (name) => {
        if (tenant === "*") {
            const owners = [...new Set(jobs.map((job) => job.tenant))];
            if (owners.length !== 1)
                return toast("A bulk is of one tenant: choose it above, beside “Live”.", { bad: true });
            filter.tenant = owners[0];
        }
        if (await actOnAll(name, filter, textOf(page))) page.refresh();
    };
    const few = async (name) => {
        if (!(await actOnSome(name, some))) return;
        chosen(page).clear();
        page.refresh();
    };
    const fits = (name) => !query.state || ACTIONS[name].states.includes(query.state[0]);
    if (some.length)
        return h(
            "div",
            { class: "doing", role: "region", "aria-label": "Actions" },
            h("b", null, `${number(some.length)} selected`),
            Object.keys(ACTIONS)
                .filter(
                    (name) =>
                        page.may(ACTIONS[name].verb) && some.some((job) => ACTIONS[name].states.includes(job.state)),
                )
                .map((name) =>
                    h(
                        "button",
                        { class: ACTIONS[name].danger ? "danger-quiet" : "", onclick: () => few(name) },
                        ACTIONS[name].label,
                    ),
                ),
            h(
                "button",
                {
                    class: "quiet",
                    onclick: () => {
                        chosen(page).clear();
                        page.redraw();
                    },
                },
                "Select none",
            ),
        );
    if (!filter || !page.may("BULK") || !jobs.length) return null;
    return h(
        "div",
        { class: "doing", role: "region", "aria-label": "Actions" },
        h("span", { class: "muted" }, "All that match:"),
        Object.keys(ACTIONS)
            .filter(fits)
            .map((name) =>
                h(
                    "button",
                    { class: ACTIONS[name].danger ? "danger-quiet" : "", onclick: () => many(name) },
                    `${ACTIONS[name].label} …`,
                ),
            ),
    );
}

function row(page, job, now) {
    const on = chosen(page).has(job.id);
    return h(
        "tr",
        { "data-key": job.id, "data-row": job.id, class: on ? "on" : null },
        h(
            "td",
            { class: "pick" },
            h("input", {
                type: "checkbox",
                checked: on,
                "aria-label": `Select ${job.id}`,
                onchange: () => toggle(page, job.id),
            }),
        ),
        h(
            "td",
            null,
            h("a", { class: "id", href: href(["jobs", job.tenant, job.id]) }, job.id),
            job.key && h("span", { class: "owner" }, job.key),
            job.order && h("span", { class: "owner" }, `order ${job.order}`),
        ),
        h("td", null, chip(job.state)),
        h("td", null, h("a", { href: href(["queues", job.tenant, job.queue]) }, job.queue), owner(page, job.tenant)),
        h("td", { class: "nowrap" }, when(job.at_ms, now)),
        h("td", { class: "num wide-only" }, `${job.attempt}${job.attempts ? ` / ${job.attempts}` : ""}`),
        h("td", { class: "num wide-only" }, bytes(job.payload_bytes)),
        h("td", { class: "wide-only clip narrow" }, h("code", { class: "muted" }, job.preview ?? "")),
        h(
            "td",
            { class: "wide-only clip" },
            job.error
                ? h("span", { title: job.error, class: "error" }, job.error)
                : job.deferrals
                  ? `put off ${count(job.deferrals, "time")}`
                  : "",
        ),
    );
}

function table(page, { jobs, cursor, query }) {
    const now = Date.now(),
        every = jobs.length > 0 && jobs.every((job) => chosen(page).has(job.id));
    const all = () => {
        jobs.forEach((job) => (every ? chosen(page).delete(job.id) : chosen(page).set(job.id, job)));
        page.redraw();
    };
    if (!jobs.length)
        return empty(
            query.id ? "There is no such job." : cursor ? "Nothing matched so far." : "No job matches.",
            cursor
                ? h("a", { href: page.href(["jobs"], { q: textOf(page), cursor }) }, "Look further")
                : "Ended jobs are kept as long as their queue says.",
        );
    return [
        h(
            "div",
            { class: "scroll card" },
            h(
                "table",
                { class: "grid rows jobs" },
                h(
                    "thead",
                    null,
                    h(
                        "tr",
                        null,
                        h(
                            "th",
                            { class: "pick" },
                            h("input", {
                                type: "checkbox",
                                checked: every,
                                "aria-label": "Select all of this page",
                                onchange: all,
                            }),
                        ),
                        h("th", null, "Job"),
                        h("th", null, "State"),
                        h("th", null, "Queue"),
                        h("th", null, "At"),
                        h("th", { class: "num wide-only" }, "Attempt"),
                        h("th", { class: "num wide-only" }, "Size"),
                        h("th", { class: "wide-only" }, "Payload"),
                        h("th", { class: "wide-only" }, "Last error"),
                    ),
                ),
                h(
                    "tbody",
                    null,
                    jobs.map((job) => row(page, job, now)),
                ),
            ),
        ),
        h(
            "div",
            { class: "pager" },
            page.route.query.get("cursor") && h("button", { onclick: () => history.back() }, "‹ Back"),
            h("span", { class: "muted" }, count(jobs.length, "job")),
            cursor &&
                h("a", { class: "button", href: page.href(["jobs"], { q: textOf(page), cursor }) }, "Next page ›"),
        ),
    ];
}

export const jobs = {
    every: 0,
    title: (page) => textOf(page) || "Jobs",
    enter,
    load,
    view: (data, page) => [
        head("Jobs", {
            actions:
                page.may("SCHEDULE") &&
                h(
                    "button",
                    { onclick: () => import("./schedule.js").then(({ schedule }) => schedule(page)) },
                    "New job",
                ),
        }),
        bar(page, data),
        states(page, data.query),
        h(
            "div",
            { class: "doing-row" },
            actions(page, data) ??
                h(
                    "span",
                    { class: "muted" },
                    Object.keys(data.query).length
                        ? "A bulk knows queue, one state, tag and times: to act on others, select them."
                        : "Write a qualifier to act on all that match, or select some with x.",
                ),
            h(
                "button",
                { class: page.own.fresh ? "fresh" : "fresh hidden", onclick: () => page.refresh() },
                `${number(page.own.fresh ?? 0)} new: show`,
            ),
        ),
        data.owners.length > 1 &&
            h(
                "p",
                { class: "note" },
                `Several tenants have a queue of this name. This is that of ${data.tenant}; others: `,
                data.owners
                    .slice(1, 9)
                    .map((name) => [
                        h("a", { href: page.href(["jobs"], { q: textOf(page), tenant: name }) }, name),
                        " ",
                    ]),
            ),
        table(page, data),
    ],
};
