/* SPDX-License-Identifier: MIT */
/* Names of queues and tenants, for lists and suggestions. There may be many, so the server is asked for those behind a text. */
import { get } from "./api.js";
import { h } from "./dom.js";

const MOST = 50;
const known = { queues: new Map(), tenants: new Map() };

/** The name under which QUEUES orders a queue among those of all tenants. */
const full = (tenant, q) => (tenant === "*" && q.tenant !== "default" ? `${q.tenant}@${q.queue}` : q.queue);

async function learn(kind, query, signal) {
    const answer = await get([kind], { ...query, limit: MOST }, signal).catch(() => ({ [kind]: [] }));
    for (const one of answer[kind]) known[kind].set(kind === "queues" ? full("*", one) : one.tenant, one);
}

/** Queues whose name begins with the text or, among those that were seen before, has it. Tenant `*` means all.
 * @returns {Promise<{tenant: string, queue: string}[]>} */
export async function queuesLike(tenant, text, signal) {
    // The server is strict about the form of a name, and no name has these characters.
    await learn("queues", { tenant, after: /^[\w.:@-]+$/.test(text) ? text : "" }, signal);
    return [...known.queues.values()].filter(
        (q) => (tenant === "*" || q.tenant === tenant) && full(tenant, q).toLowerCase().includes(text.toLowerCase()),
    );
}

export async function tenantsLike(text, signal) {
    await learn("tenants", { after: /^[\w.:-]+$/.test(text) ? text : "" }, signal);
    return [...known.tenants.keys()].filter((name) => name.toLowerCase().includes(text.toLowerCase()));
}

/** The names of queues without their tenants, each once. */
export const queueNames = async (tenant, text, signal) => [
    ...new Set((await queuesLike(tenant, text, signal)).map((q) => q.queue)),
];

/** An input for a name, with suggestions. `take` gets the name once it is chosen; the empty text stands for all.
 * @param {{id: string, label: string, every: string, value: string, list: string[], like: (text: string) => Promise<string[]>, take: (name: string) => void, redraw: (list: string[]) => void}} of */
export const nameInput = ({ id, label, every, value, list, like, take, redraw }) =>
    h(
        "span",
        { class: "name-input" },
        h("input", {
            type: "search",
            class: "scope",
            list: `${id}-names`,
            "aria-label": label,
            placeholder: every,
            value,
            autocomplete: "off",
            spellcheck: "false",
            oninput: (e) => {
                const text = e.target.value;
                if (text === "" || list.includes(text)) take(text);
                else like(text).then(redraw);
            },
            onchange: (e) => take(e.target.value.trim()),
        }),
        h(
            "datalist",
            { id: `${id}-names` },
            list.map((name) => h("option", { value: name })),
        ),
    );
