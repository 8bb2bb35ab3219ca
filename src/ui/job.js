/* SPDX-License-Identifier: MIT */
/* One job: why it has not run, its life, what it carries, and what can be done with it. */
import { call, find, get, Problem } from "./api.js";
import { ACTIONS } from "./bulk.js";
import { ask, attempt, copy, form } from "./dialog.js";
import { h } from "./dom.js";
import { listen } from "./events.js";
import { bytes, capital, count, moment, number, span } from "./format.js";
import { icon } from "./icons.js";
import { show } from "./json_text.js";
import { act, chip, empty, ENDED, facts, head, scrolls, section, up, when } from "./parts.js";
import { go, href } from "./route.js";
import { clone, edit } from "./schedule.js";
import { snippets } from "./snippet.js";
import { timeline } from "./timeline.js";

/** What releases a job, by the reason that EXPLAIN gives. */
const REMEDIES = {
    scheduled: { label: "Run now", action: "reschedule" },
    backoff: { label: "Try again now", action: "reschedule" },
    paused: {
        label: "Resume the queue",
        verb: "RESUME",
        run: (job) => call("POST", ["queues", job.queue, "resume"], { body: {}, query: { tenant: job.tenant } }),
    },
    maintenance: {
        label: "End maintenance",
        verb: "TENANT!",
        run: (job) => call("PATCH", ["tenants", job.tenant], { body: { maintenance: false } }),
    },
    running_limit: { label: "Change the limit", to: (job) => href(["queues", job.tenant, job.queue]) },
    rate_limit: { label: "Change the rate", to: (job) => href(["queues", job.tenant, job.queue]) },
    quiet_hours: { label: "See the quiet hours", to: (job) => href(["tenants", job.tenant]) },
    no_worker: { label: "How to start a worker", to: (job) => href(["queues", job.tenant, job.queue], { worker: 1 }) },
    endpoint: { label: "See the endpoint", to: (job) => href(["queues", job.tenant, job.queue]) },
    parent: {
        label: "See the job it waits for",
        to: (job, why) => why.parent && href(["jobs", job.tenant, why.parent]),
    },
    ordering_key: { label: "See the job ahead", to: (job, why) => why.first && href(["jobs", job.tenant, why.first]) },
    behind: { label: "See the job ahead", to: (job, why) => why.first && href(["jobs", job.tenant, why.first]) },
};

function named(page) {
    const [, first, second] = page.route.parts;
    return second === undefined ? [page.tenant, first] : [first, second];
}

async function load(page) {
    const [tenant, id] = named(page);
    const job = await find(["jobs", id], { tenant }, page.signal);
    if (!job)
        throw new Problem(404, {
            detail: `There is no job ${id}. Ended jobs are forgotten after the time that their queue keeps them.`,
        });
    const why = page.may("EXPLAIN") ? await find(["jobs", id, "explain"], { tenant: job.tenant }, page.signal) : null;
    const parents = await Promise.all(
        job.after.slice(0, 20).map((one) => find(["jobs", one], { tenant: job.tenant }, page.signal)),
    );
    return { job, why, parents };
}

function enter(page) {
    const id = named(page)[1];
    return listen((event) => event.id === id && page.refresh());
}

function remedy(page, job, why) {
    const row = REMEDIES[why.state === "dead" ? "dead" : why.reason] ?? null;
    if (why.state === "dead") return act(page, "REDRIVE", "Redrive", () => perform(page, "redrive", job), "primary");
    if (!row) return null;
    if (row.action) return act(page, "RESCHEDULE", row.label, () => perform(page, row.action, job), "primary");
    if (row.run)
        return act(
            page,
            row.verb,
            row.label,
            async () => (await attempt(() => row.run(job), "Done.")) && page.refresh(),
            "primary",
        );
    const to = row.to(job, why);
    return to && h("a", { class: "button primary", href: to }, row.label);
}

/** EXPLAIN as a headline with a countdown. */
function headline(page, job, why, now) {
    const left = why.until_ms ? why.until_ms - now : null;
    const readable = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (iso) => moment(Date.parse(iso)));
    const link = (text) =>
        readable(text)
            .split(/(\b[0-9A-HJKMNP-TV-Z]{26}\b)/)
            .map((piece, n) =>
                n % 2 ? h("a", { class: "id", href: href(["jobs", job.tenant, piece]) }, piece) : piece,
            );
    return h(
        "section",
        { class: `why ${job.state}`, "aria-label": "Why has it not run?" },
        h(
            "div",
            null,
            h(
                "p",
                { class: "why-state" },
                chip(job.state),
                ENDED.has(job.state)
                    ? null
                    : h("span", { class: "muted" }, job.state === "leased" ? "now" : "Why has it not run?"),
            ),
            h("p", { class: "why-words" }, link(capital(why.why)), "."),
            left > 0 &&
                h(
                    "p",
                    { class: "why-count", role: "timer" },
                    h("b", { class: "num" }, span(left)),
                    h("span", { class: "muted" }, `until ${moment(why.until_ms)}`),
                ),
            why.then.length > 0 &&
                h(
                    "ul",
                    { class: "why-then" },
                    why.then.map((one) =>
                        h("li", null, "then: ", link(one.why), one.until_ms ? `, until ${moment(one.until_ms)}` : ""),
                    ),
                ),
            job.error && !["done"].includes(job.state) && h("p", { class: "error" }, `Last error: ${job.error}`),
            job.progress !== null &&
                job.state === "leased" &&
                h(
                    "div",
                    {
                        class: "track",
                        role: "progressbar",
                        "aria-label": "Progress",
                        "aria-valuenow": job.progress,
                        "aria-valuemin": 0,
                        "aria-valuemax": 100,
                    },
                    h("div", { class: "fill", style: { width: `${job.progress}%` } }),
                ),
            job.note && job.state === "leased" && h("p", { class: "note" }, `${job.progress ?? 0} %: ${job.note}`),
        ),
        remedy(page, job, why),
    );
}

async function perform(page, name, job) {
    const action = ACTIONS[name];
    if (action.danger && !(await ask(`${action.label} this job?`, action.words, action.label, { danger: true })))
        return;
    if (!(await attempt(() => action.one(job), `The job is ${action.done}.`))) return;
    if (name === "delete") go(page.href(["jobs"], { q: `queue:${job.queue}` }));
    else page.refresh();
}

const move = (page, job) =>
    form(
        "Move the job",
        [
            { name: "in", label: "In", hint: "such as 10m" },
            { name: "at", label: "Or at", kind: "datetime-local", hint: "in your time zone" },
        ],
        "Move",
        async (values) => {
            const body = values.at ? { at: new Date(values.at).toISOString() } : values.in ? { in: values.in } : {};
            await call("PATCH", ["jobs", job.id], { body, query: { tenant: job.tenant } });
        },
    ).then((done) => done && page.refresh());

function buttons(page, job) {
    const fits = (name) =>
        ACTIONS[name].states.includes(job.state) && !(name === "reschedule" && job.state === "ready");
    return [
        fits("reschedule") && act(page, "RESCHEDULE", "Run now", () => perform(page, "reschedule", job)),
        ["scheduled", "ready", "waiting"].includes(job.state) &&
            act(page, "RESCHEDULE", "Move …", () => move(page, job)),
        fits("redrive") && act(page, "REDRIVE", "Redrive", () => perform(page, "redrive", job)),
        ["scheduled", "ready", "waiting"].includes(job.state) && act(page, "EDIT", "Edit …", () => edit(page, job)),
        job.state === "dead" && act(page, "REDRIVE", "Edit and redrive …", () => edit(page, job)),
        act(page, "CLONE", "Clone …", () => clone(job)),
        fits("cancel") && act(page, "CANCEL", "Cancel …", () => perform(page, "cancel", job), "danger-quiet"),
        fits("delete") && act(page, "DELETE", "Delete …", () => perform(page, "delete", job), "danger-quiet"),
    ];
}

const bytesOf = (job, name) =>
    job[name] ?? (job[`${name}_base64`] !== undefined ? `base64: ${job[`${name}_base64`]}` : null);

const value = (title, text, size) =>
    section(
        title,
        {
            note: size,
            actions:
                text &&
                h(
                    "button",
                    {
                        class: "quiet square",
                        "aria-label": `Copy ${title.toLowerCase()}`,
                        title: "Copy",
                        onclick: () => copy(text),
                    },
                    icon("copy"),
                ),
        },
        text === null || text === "" ? empty("Empty.") : show(text),
    );

const attempts = (job) =>
    section(
        "Attempts",
        { note: job.history.length ? `The last ${number(job.history.length)} of ${number(job.attempt)}` : null },
        job.history.length
            ? h(
                  "div",
                  scrolls("Attempts"),
                  h(
                      "table",
                      { class: "grid" },
                      h(
                          "thead",
                          null,
                          h(
                              "tr",
                              null,
                              h("th", { class: "num" }, "No."),
                              h("th", null, "Outcome"),
                              h("th", null, "Began"),
                              h("th", { class: "num" }, "Late"),
                              h("th", { class: "num" }, "Took"),
                              h("th", null, "Worker"),
                              h("th", null, "Error"),
                          ),
                      ),
                      h(
                          "tbody",
                          null,
                          [...job.history]
                              .reverse()
                              .map((one) =>
                                  h(
                                      "tr",
                                      null,
                                      h("td", { class: "num" }, one.attempt),
                                      h(
                                          "td",
                                          null,
                                          h(
                                              "span",
                                              { class: `chip ${one.outcome === "done" ? "done" : "dead"}` },
                                              h("i", { class: "dot" }),
                                              one.outcome,
                                          ),
                                      ),
                                      h("td", { class: "nowrap" }, moment(one.start_ms)),
                                      h("td", { class: "num" }, span(one.late_ms)),
                                      h("td", { class: "num" }, span(one.end_ms - one.start_ms)),
                                      h("td", null, one.worker ?? "–"),
                                      h("td", { class: "error" }, one.error ?? ""),
                                  ),
                              ),
                      ),
                  ),
              )
            : empty("No attempt has ended yet."),
    );

function family(job, parents) {
    if (!job.after.length && !job.recurrence) return null;
    return section(
        "Where it comes from",
        {},
        h(
            "ul",
            { class: "plain" },
            job.recurrence &&
                h(
                    "li",
                    null,
                    "An occurrence of ",
                    h("a", { href: href(["recurrences", job.tenant, job.recurrence]) }, job.recurrence),
                    ` for ${moment(job.nominal_ms)}.`,
                ),
            job.after.map((id, n) =>
                h(
                    "li",
                    null,
                    "After ",
                    h("a", { class: "id", href: href(["jobs", job.tenant, id]) }, id),
                    " ",
                    parents[n] ? chip(parents[n].state) : h("span", { class: "muted" }, "no longer kept"),
                ),
            ),
        ),
    );
}

const detail = (job, now) =>
    facts([
        ["Queue", h("a", { href: href(["queues", job.tenant, job.queue]) }, job.queue)],
        ["Tenant", job.tenant],
        job.key && ["Key", h("code", null, job.key)],
        job.order && ["Ordering key", h("code", null, job.order)],
        ["Due", when(job.due_ms, now)],
        job.at_ms !== job.due_ms && ["Runs at", when(job.at_ms, now)],
        ["Made", when(job.created_ms, now)],
        ["Attempts", `${job.attempt} of ${job.attempts || "any number"}`],
        ["Priority", job.priority],
        job.worker && ["Worker", job.worker],
        job.until_ms && ["Lease ends", when(job.until_ms, now)],
        job.stalls > 0 && ["Stalls", number(job.stalls)],
        job.deferrals > 0 && ["Put off", count(job.deferrals, "time")],
        job.expires_ms && ["Expires", when(job.expires_ms, now)],
        job.ended_ms && ["Ended", when(job.ended_ms, now)],
        job.keep_ms && ["Kept until", when(job.keep_ms, now)],
        job.tags.length > 0 && [
            "Tags",
            job.tags.map((tag) => h("a", { class: "tag", href: href(["jobs"], { q: `tag:${tag}` }) }, tag)),
        ],
        job.notify && ["Notifies", "quiet hours put it off"],
        job.gates === "pass" && ["Gates", "pass"],
        job.push && ["Push to", job.push],
        ...Object.entries(job.meta).map(([name, text]) => [name, h("code", { class: "break" }, text)]),
    ]);

export const job = {
    every: 1000,
    title: (page) => named(page)[1],
    enter,
    load,
    view: ({ job: one, why, parents }, page) => {
        const now = Date.now(),
            payload = bytesOf(one, "payload"),
            result = bytesOf(one, "result");
        return [
            head(h("span", { class: "id" }, one.id), {
                up: up(page.href(["jobs"], { q: `queue:${one.queue}` }), `Jobs of ${one.queue}`),
                actions: buttons(page, one),
            }),
            why && headline(page, one, why, now),
            section("Life", {}, timeline(one, now)),
            h(
                "div",
                { class: "columns wide-left" },
                h(
                    "div",
                    null,
                    value("Payload", payload, bytes(one.payload_bytes)),
                    result !== null && value("Result", result),
                    attempts(one),
                ),
                h(
                    "div",
                    null,
                    section("Details", {}, detail(one, now)),
                    family(one, parents),
                    section("Elsewhere", { note: "The same job for a program" }, snippets(page, "job", one)),
                ),
            ),
        ];
    },
};
