/* SPDX-License-Identifier: MIT */
/* ⌘K: one line that goes anywhere. And the help about keys. */
import { get } from "./api.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { bindings } from "./keys.js";
import { queuesLike, tenantsLike } from "./names.js";
import { go, href } from "./route.js";
import { SCREENS } from "./screens.js";

const MOST = 9,
    OWNERS = 20; // tenants whose recurrences are looked up
const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

const row = (kind, from, name, to, more) => ({ kind, icon: from, name, more, to });
const screens = ({ session, page }) =>
    SCREENS.filter((one) => one.key && session.may(one.verb)).map((one) =>
        row("screen", one.path, one.name, page.href([one.path])),
    );

const actions = (shell) => [
    { kind: "action", icon: "sun", name: "Change colours", run: () => shell.dress() },
    {
        kind: "action",
        icon: "pause",
        name: shell.paused ? "Go on with updates" : "Stop updates",
        run: () => shell.pause(),
    },
    { kind: "action", icon: "help", name: "Keyboard help", run: () => help() },
];

/** Queues and tenants whose names are like the text. */
async function named({ session }, text) {
    const tenant = session.everywhere ? "*" : session.tenant;
    const [queues, tenants] = await Promise.all([
        session.may("QUEUES") ? queuesLike(tenant, text) : [],
        session.may("TENANTS") ? tenantsLike(text) : [],
    ]);
    return [
        ...queues.map((q) => row("queue", "queues", q.queue, href(["queues", q.tenant, q.queue]), q.tenant)),
        ...tenants.map((name) => row("tenant", "tenants", name, href(["tenants", name]))),
    ];
}

/** Recurrences of the tenants that have some, as far as they are known. */
async function rules({ session }) {
    if (!session.may("RECURRENCES")) return [];
    const answer = session.everywhere
        ? await get(["tenants"], { limit: 200 }).catch(() => ({ tenants: [] }))
        : { tenants: [{ tenant: session.tenant, recurrences: 1 }] };
    const owners = answer.tenants.filter((t) => t.recurrences > 0).slice(0, OWNERS);
    const lists = await Promise.all(
        owners.map((t) => get(["recurrences"], { tenant: t.tenant, limit: 200 }).catch(() => ({ recurrences: [] }))),
    );
    return lists
        .flatMap((list) => list.recurrences)
        .map((r) => row("recurrence", "recurrences", r.name, href(["recurrences", r.tenant, r.name]), r.tenant));
}

/** The places whose name has all words; a beginning counts more. */
function match(list, text) {
    if (ID.test(text.trim().toUpperCase()))
        return [
            {
                kind: "job",
                icon: "jobs",
                name: text.trim().toUpperCase(),
                to: href(["jobs", text.trim().toUpperCase()]),
            },
        ];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = list.filter((one) =>
        words.every((w) => `${one.name} ${one.kind} ${one.more ?? ""}`.toLowerCase().includes(w)),
    );
    const score = (one) => (words.length && one.name.toLowerCase().startsWith(words[0]) ? 0 : 1);
    const jobs = text.trim()
        ? [
              {
                  kind: "search",
                  icon: "search",
                  name: `Search jobs: ${text.trim()}`,
                  to: href(["jobs"], { q: text.trim() }),
              },
          ]
        : [];
    return [...found.sort((a, b) => score(a) - score(b)).slice(0, MOST), ...jobs];
}

export async function palette(shell) {
    if (document.querySelector("dialog[open]")) return;
    let found = { names: [], rules: [] },
        text = "",
        at = 0;
    let draw = () => {};
    const add = (more) => {
        found = { ...found, ...more };
        draw();
    };
    const look = () => named(shell, text.trim()).then((names) => add({ names }));
    look();
    rules(shell).then((list) => add({ rules: list }));
    const chosen = await dialog("Go to anything", (close, redraw) => {
        draw = redraw;
        const rows = match([...screens(shell), ...found.names, ...found.rules, ...actions(shell)], text);
        at = Math.max(0, Math.min(at, rows.length - 1));
        const point = (n) => {
            if (at === n) return;
            at = n;
            redraw();
        };
        const key = (event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (!step && event.key !== "Enter") return;
            event.preventDefault();
            if (step) {
                at += step;
                redraw();
            } else if (rows[at]) close(rows[at]);
        };
        return h(
            "div",
            { class: "palette" },
            h("input", {
                autofocus: true,
                type: "text",
                role: "combobox",
                "aria-expanded": "true",
                "aria-controls": "places",
                "aria-activedescendant": rows.length ? `place-${at}` : null,
                "aria-label": "Name of a screen, queue, recurrence or tenant, or the id of a job",
                placeholder: "Screen, queue, recurrence, tenant, id of a job …",
                spellcheck: "false",
                autocomplete: "off",
                value: text,
                onkeydown: key,
                oninput: (e) => {
                    text = e.target.value;
                    at = 0;
                    redraw();
                    look();
                },
            }),
            h(
                "ul",
                { id: "places", role: "listbox", "aria-label": "Places" },
                rows.map((one, n) =>
                    h(
                        "li",
                        {
                            id: `place-${n}`,
                            role: "option",
                            "aria-selected": String(n === at),
                            onclick: () => close(one),
                            onmousemove: () => point(n),
                        },
                        icon(one.icon),
                        h("span", { class: "name" }, one.name),
                        one.more && h("span", { class: "more" }, one.more),
                        h("span", { class: "kind" }, one.kind),
                    ),
                ),
            ),
        );
    });
    if (chosen?.to) go(chosen.to);
    chosen?.run?.();
}

export function help() {
    if (document.querySelector("dialog[open]")) return;
    dialog("Keys", () =>
        h(
            "dl",
            { class: "keys" },
            bindings().map(({ key, words }) =>
                h(
                    "div",
                    null,
                    h(
                        "dt",
                        null,
                        key.split(" ").map((k) => h("kbd", null, k)),
                    ),
                    h("dd", null, words),
                ),
            ),
        ),
    );
}
