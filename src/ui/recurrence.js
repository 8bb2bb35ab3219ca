/* SPDX-License-Identifier: MIT */
/* One recurrence: its rule, its next times, its ledger, its calendar, and an editor that compares old with new. */
import { call, find, post, Problem, put } from "./api.js";
import { calendar, shownMonth } from "./calendar.js";
import { ask, attempt, field } from "./dialog.js";
import { h } from "./dom.js";
import { capital, duration, localWords, moment, soon, span } from "./format.js";
import { show } from "./json_text.js";
import { act, empty, facts, head, section, up, when } from "./parts.js";
import { stateOf } from "./recurrences.js";
import { go, href } from "./route.js";
import { inWords } from "./rule.js";

const KINDS = ["cron", "rrule", "every"],
    SHOWN = 5;

/** Times of a rule: the answer, or the sentence about a mistake in it. */
async function preview(r, more, signal) {
    const body = {
        [r.kind]: r.rule,
        ...(r.tz && { tz: r.tz }),
        ...(r.name && r.queue && { name: r.name, queue: r.queue }),
        ...(r.start_ms && { start: r.start_ms }),
        ...more,
    };
    try {
        return { times: (await call("POST", ["preview"], { body, query: { tenant: r.tenant }, signal })).times };
    } catch (error) {
        if (!(error instanceof Problem)) throw error;
        return { times: [], problem: error.message };
    }
}

async function load(page) {
    const [, tenant, name] = page.route.parts;
    if (name === "") return { r: null, tenant };
    const r = await find(["recurrences", name], { tenant }, page.signal);
    if (!r) throw new Problem(404, { detail: `There is no recurrence ${name}.` });
    const month = shownMonth(page, r.tz);
    const begin = Date.UTC(month.year, month.month - 1, 1) - 86400000,
        end = Date.UTC(month.year, month.month, 2);
    const idle = r.paused || r.finished;
    const [next, shown] = await Promise.all([
        idle ? { times: [] } : preview(r, { count: SHOWN }, page.signal),
        idle || end < Date.now()
            ? { times: [] }
            : preview(r, { from: Math.max(begin, Date.now()), count: 200 }, page.signal),
    ]);
    return { r, tenant, month, next, shown: shown.times.filter((one) => one.at_ms < end) };
}

/** The ledger as a strip of squares, the newest at the right. */
function strip(r) {
    if (!r.ledger.length) return empty("No time has come yet.");
    return [
        h(
            "ol",
            { class: "strip", "aria-label": "Outcomes, oldest first" },
            r.ledger.map((one) => {
                const words = `${moment(one.nominal_ms, r.tz)}: ${one.outcome}${one.by_hand ? ", by hand" : ""}${one.count > 1 ? `, ${one.count} times` : ""}${one.why ? `, ${one.why}` : ""}`;
                return h(
                    "li",
                    null,
                    one.id
                        ? h("a", {
                              class: `pip ${one.outcome}`,
                              href: href(["jobs", r.tenant, one.id]),
                              title: words,
                              "aria-label": words,
                          })
                        : h("span", { class: `pip ${one.outcome}`, role: "img", title: words, "aria-label": words }),
                );
            }),
        ),
        h(
            "p",
            { class: "outcomes" },
            [
                ["ran", r.ran],
                ["failed", r.failed],
                ["cancelled", r.cancelled],
                ["skipped", r.skipped],
                ["open", r.open],
            ].map(([name, n]) => h("span", { class: `outcome ${name}` }, h("i", { class: "dot" }), `${n} ${name}`)),
        ),
    ];
}

const times = (list, now = Date.now()) =>
    h(
        "ol",
        { class: "times" },
        list.map((one) =>
            h(
                "li",
                { class: one.note ? "noted" : null },
                h("span", { title: one.local }, localWords(one.local)),
                h("span", { class: "muted" }, ` in ${span(one.at_ms - now)}`),
                one.note && h("small", null, one.note),
            ),
        ),
    );

function blank(tenant) {
    return {
        name: "",
        tenant,
        queue: "",
        kind: "cron",
        rule: "30 2 * * *",
        tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
        catchup: "last",
        overlap: "skip",
        priority: 3,
        payload: "{}",
        start_ms: null,
    };
}

/** What the recurrence sets for its jobs, as RECUR takes it. PUT replaces the whole, so all of it is sent again. */
function optionsOf(r) {
    const given = (name, value, of = (v) => v) => (value === null || value === undefined ? {} : { [name]: of(value) });
    return {
        ...given("attempts", r.attempts),
        ...given("backoff", r.backoff),
        ...given("lease", r.lease_ms, duration),
        ...given("retain", r.retain_ms, duration),
        ...given("expire", r.expire_ms, duration),
        ...(r.tags.length && { tag: r.tags }),
        ...(Object.keys(r.meta).length && { meta: r.meta }),
        ...(r.notify && { notify: "yes" }),
        ...(r.gates === "pass" && { gates: "pass" }),
        ...given("order", r.order),
        ...given("push", r.push),
    };
}

const optionsText = (r) => (Object.keys(optionsOf(r)).length ? JSON.stringify(optionsOf(r), null, 2) : "");

/** The editor: each change of the rule is previewed beside the rule as it is. */
function editor(page, r, before) {
    const own = (page.own.edit ??= {
        values: { ...(r ?? before), options: r ? optionsText(r) : "" },
        fresh: null,
        problem: "",
        busy: false,
    });
    const v = own.values;
    const look = async () => {
        clearTimeout(own.timer);
        own.timer = setTimeout(async () => {
            own.fresh = await preview({ ...v, start_ms: r?.start_ms }, { count: SHOWN }, page.signal).catch(() => null);
            page.redraw();
        }, 250);
    };
    if (!own.fresh && !own.timer) look();
    const set = (name) => (event) => {
        v[name] = event.target.value;
        look();
        page.redraw();
    };
    const save = async (event) => {
        event.preventDefault();
        own.problem = "";
        try {
            const more = v.options.trim() ? JSON.parse(v.options) : {};
            await put(
                ["recurrences", v.name],
                {
                    queue: v.queue,
                    payload: v.payload,
                    [v.kind]: v.rule,
                    tz: v.tz,
                    catchup: v.catchup,
                    overlap: v.overlap,
                    priority: Number(v.priority),
                    ...(v.exdate && { exdate: v.exdate }),
                    ...(v.rdate && { rdate: v.rdate }),
                    ...more,
                },
                { tenant: v.tenant },
            );
            page.own.edit = null;
            await attempt(async () => {}, `${v.name} is saved.`);
            if (r) page.refresh();
            else go(href(["recurrences", v.tenant, v.name]));
        } catch (error) {
            own.problem = error instanceof SyntaxError ? "Further options are no JSON object." : error.message;
            page.redraw();
        }
    };
    const f = (name, label, more = {}) =>
        field({ name, label, value: String(v[name] ?? ""), oninput: set(name), ...more });
    return section(
        r ? "Edit" : "New recurrence",
        {},
        h(
            "form",
            { class: "form columns", onsubmit: save },
            h(
                "div",
                null,
                !r && f("tenant", "Tenant", { required: true }),
                !r && f("name", "Name", { required: true }),
                f("queue", "Queue", { required: true }),
                h(
                    "div",
                    { class: "pair" },
                    f("kind", "Kind", { options: KINDS }),
                    f("rule", "Rule", {
                        required: true,
                        hint: {
                            cron: "minute hour day month weekday, or @daily",
                            rrule: "RFC 5545, such as FREQ=DAILY;BYHOUR=9",
                            every: "a duration, such as 15m",
                        }[v.kind],
                    }),
                ),
                f("tz", "Time zone", { hint: "such as Europe/Berlin" }),
                f("payload", "Payload", { kind: "area" }),
                h(
                    "div",
                    { class: "pair" },
                    f("overlap", "If the one before runs", { options: ["skip", "allow", "queue"] }),
                    f("catchup", "After a downtime", { options: ["last", "skip", "all"] }),
                ),
                f("priority", "Priority", { options: ["1", "2", "3", "4", "5"] }),
                f("options", "Further options", {
                    kind: "area",
                    hint: 'JSON, such as {"attempts": 3, "backoff": "1m,5m", "tag": ["night"]}. What is taken out is set back.',
                }),
            ),
            h(
                "div",
                { class: "compare" },
                h("p", { class: "big" }, capital(inWords(v.kind, v.rule))),
                r && h("div", null, h("h3", null, "As it is"), times(page.data.next.times)),
                h(
                    "div",
                    null,
                    h("h3", null, r ? "As it will be" : "Next times"),
                    own.fresh?.problem
                        ? h("p", { class: "problem", role: "alert" }, own.fresh.problem)
                        : times(own.fresh?.times ?? []),
                ),
                h("p", { class: "problem", role: "alert" }, own.problem),
                h(
                    "div",
                    { class: "actions" },
                    h(
                        "button",
                        {
                            type: "button",
                            onclick: () => {
                                page.own.edit = null;
                                if (r) page.redraw();
                                else go(page.href(["recurrences"]));
                            },
                        },
                        "Leave it",
                    ),
                    h("button", { class: "primary" }, "Save"),
                ),
            ),
        ),
    );
}

const verb = (page, r, name, done) => async () =>
    (await attempt(() => post(["recurrences", r.name, name], {}, { tenant: r.tenant }), done)) && page.refresh();

async function drop(page, r) {
    if (
        !(await ask(
            `Delete ${r.name}?`,
            "The recurrence ends and is forgotten, with its ledger. Jobs that it made go on.",
            "Delete the recurrence",
            { danger: true },
        ))
    )
        return;
    if (
        await attempt(
            () => call("DELETE", ["recurrences", r.name], { query: { tenant: r.tenant } }),
            `${r.name} is deleted.`,
        )
    )
        go(page.href(["recurrences"]));
}

export const recurrence = {
    every: 5000,
    title: (page) => page.route.parts[2] || "New recurrence",
    load,
    view: ({ r, tenant, month, next, shown }, page) => {
        if (!r)
            return [
                head("New recurrence", { up: up(page.href(["recurrences"]), "Recurrences") }),
                editor(page, null, blank(tenant)),
            ];
        const editing = Boolean(page.own.edit);
        return [
            head(r.name, {
                up: up(page.href(["recurrences"]), "Recurrences"),
                lead: `${capital(inWords(r.kind, r.rule))}${r.kind === "every" ? "" : `, ${r.tz}`}.`,
                actions: [
                    h(
                        "a",
                        { class: "button", href: href(["jobs"], { q: `recurrence:${r.name}`, tenant: r.tenant }) },
                        "Its jobs",
                    ),
                    act(page, "RECUR", "Run now", verb(page, r, "run", "A job is made.")),
                    act(
                        page,
                        "RECUR",
                        r.paused ? "Resume" : "Pause",
                        verb(page, r, r.paused ? "resume" : "pause", r.paused ? "It goes on." : "It is paused."),
                        r.paused ? "primary" : "",
                    ),
                    !editing &&
                        act(page, "RECUR", "Edit", () => {
                            editor(page, r);
                            page.redraw();
                        }),
                    act(page, "RECUR", "Delete …", () => drop(page, r), "danger-quiet"),
                ],
            }),
            editing && editor(page, r),
            h(
                "div",
                { class: "columns wide-left" },
                h(
                    "div",
                    null,
                    section(
                        "Calendar",
                        { note: "Past times from the ledger, coming ones from the rule" },
                        calendar(page, month, r.tz, shown, r.ledger),
                    ),
                ),
                h(
                    "div",
                    null,
                    section(
                        "Next times",
                        {},
                        r.paused || r.finished
                            ? empty(r.paused ? "It is paused: times that pass are skipped." : "The rule has ended.")
                            : next.problem
                              ? h("p", { class: "problem" }, next.problem)
                              : times(next.times),
                    ),
                    section("Ledger", { note: "The last hundred" }, strip(r)),
                    section(
                        "Details",
                        {},
                        facts([
                            ["State", stateOf(r)],
                            ["Rule", h("code", { class: "break" }, `${r.kind} ${r.rule}`)],
                            ["Time zone", r.tz],
                            ["Queue", h("a", { href: href(["queues", r.tenant, r.queue]) }, r.queue)],
                            ["Tenant", r.tenant],
                            ["If the one before runs", r.overlap],
                            ["After a downtime", r.catchup],
                            ["Priority", r.priority],
                            ["Last time", r.last_ms ? soon(r.last_ms, r.tz) : "–"],
                            ["Made", when(r.created_ms)],
                            ["Changed", when(r.edited_ms)],
                            r.exdate && ["Leaves out", r.exdate],
                            r.rdate && ["In addition", r.rdate],
                        ]),
                    ),
                    section("Payload", {}, r.payload ? show(r.payload) : empty("Empty.")),
                ),
            ),
        ];
    },
};
