/* SPDX-License-Identifier: MIT */
/* ⌘K: one line that goes anywhere. And the help about keys. */
import { get } from "./api.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { bindings } from "./keys.js";
import { go, href } from "./route.js";
import { SCREENS } from "./screens.js";

const MOST = 9;
const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

async function places(shell) {
    const { session, page } = shell;
    const ask = (verb, parts, query) => (session.may(verb) ? get(parts, query).catch(() => null) : null);
    const tenant = session.everywhere ? "*" : session.tenant;
    const [queues, tenants] = await Promise.all([ask("QUEUES", ["queues"], { tenant }), ask("TENANTS", ["tenants"])]);
    const owners = session.everywhere
        ? (tenants?.tenants ?? []).filter((t) => t.recurrences > 0).map((t) => t.tenant)
        : [session.tenant];
    const rules = await Promise.all(
        owners.slice(0, 20).map((one) => ask("RECURRENCES", ["recurrences"], { tenant: one, limit: 200 })),
    );
    return [
        ...SCREENS.filter((one) => one.key && session.may(one.verb)).map((one) => ({
            kind: "screen",
            icon: one.path,
            name: one.name,
            to: page.href([one.path]),
        })),
        ...(queues?.queues ?? []).map((q) => ({
            kind: "queue",
            icon: "queues",
            name: q.queue,
            more: q.tenant,
            to: href(["queues", q.tenant, q.queue]),
        })),
        ...rules
            .flatMap((answer) => answer?.recurrences ?? [])
            .map((r) => ({
                kind: "recurrence",
                icon: "recurrences",
                name: r.name,
                more: r.tenant,
                to: href(["recurrences", r.tenant, r.name]),
            })),
        ...(tenants?.tenants ?? []).map((t) => ({
            kind: "tenant",
            icon: "tenants",
            name: t.tenant,
            to: href(["tenants", t.tenant]),
        })),
        { kind: "action", icon: "sun", name: "Change colours", run: () => shell.dress() },
        {
            kind: "action",
            icon: "pause",
            name: shell.paused ? "Go on with updates" : "Stop updates",
            run: () => shell.pause(),
        },
        { kind: "action", icon: "help", name: "Keyboard help", run: () => help() },
    ];
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
    let list = [],
        text = "",
        at = 0;
    let draw = () => {};
    places(shell).then((answer) => {
        list = answer;
        draw();
    });
    const chosen = await dialog("Go to anything", (close, redraw) => {
        draw = redraw;
        const found = match(list, text);
        at = Math.max(0, Math.min(at, found.length - 1));
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
            } else if (found[at]) close(found[at]);
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
                "aria-activedescendant": found.length ? `place-${at}` : null,
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
                },
            }),
            h(
                "ul",
                { id: "places", role: "listbox", "aria-label": "Places" },
                found.map((one, n) =>
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
