/* SPDX-License-Identifier: MIT */
/* Forms for jobs: a new one, a copy of one, and a change of one that waits or is dead. */
import { post } from "./api.js";
import { form, toast } from "./dialog.js";
import { pretty } from "./json_text.js";
import { go, href } from "./route.js";

const wordsOf = (text) => text.trim().split(/\s+/).filter(Boolean);

/** The payload as people read it; null if its bytes are no text, so that it cannot be edited here. */
const payloadOf = (job) => (job.payload === undefined ? null : pretty(job.payload ?? ""));

/** Inputs that all three forms have. @param {any} [job] the job whose values they begin with */
const common = (job) => [
    payloadOf(job ?? { payload: "{}" }) !== null && {
        name: "payload",
        label: "Payload",
        kind: "area",
        value: payloadOf(job ?? { payload: "{}" }),
        hint: "Any text. The server keeps it byte for byte.",
    },
    { name: "in", label: "In", hint: job ? "such as 10m" : "such as 10m; empty for at once" },
    { name: "tag", label: "Tags", value: (job?.tags ?? []).join(" "), hint: "words with blanks between" },
    {
        name: "attempts",
        label: "Attempts",
        kind: "number",
        value: job ? String(job.attempts) : "",
        hint: "empty for as many as the queue says",
    },
    {
        name: "priority",
        label: "Priority",
        options: ["1", "2", "3", "4", "5"],
        value: String(job?.priority ?? 3),
        hint: "1 goes first",
    },
];

/** What the form changes of the job. All else stays as it is, byte for byte. */
function changes(values, job) {
    const body = {},
        clear = [];
    if (values.payload !== undefined && (!job || values.payload !== payloadOf(job))) body.payload = values.payload;
    if (values.in) body.in = values.in;
    const tags = wordsOf(values.tag);
    if (tags.join(" ") !== (job?.tags ?? []).join(" ")) {
        if (tags.length) body.tag = tags;
        else clear.push("tag");
    }
    if (values.attempts !== (job ? String(job.attempts) : "")) {
        if (values.attempts) body.attempts = Number(values.attempts);
        else clear.push("attempts");
    }
    if (!job || Number(values.priority) !== job.priority) body.priority = Number(values.priority);
    return clear.length ? { ...body, clear } : body;
}

const QUEUE = (value) => ({ name: "queue", label: "Queue", value, required: true });
const KEY = {
    name: "key",
    label: "Key",
    hint: "unique among the jobs of the queue that have not ended; empty for none",
};

function arrive(made, tenant) {
    if (!made?.id) return;
    toast(made.created === false ? "The key is taken: this is the job that has it." : "The job is scheduled.");
    go(href(["jobs", tenant, made.id]));
}

export async function schedule(page) {
    const fields = [
        page.tenant === "*" && { name: "tenant", label: "Tenant", value: "default", required: true },
        QUEUE(page.data?.query?.queue ?? ""),
        ...common(),
        KEY,
    ].filter(Boolean);
    let tenant = page.tenant;
    const made = await form("New job", fields, "Schedule", (values) => {
        tenant = values.tenant ?? page.tenant;
        const body = { queue: values.queue, ...changes(values), ...(values.key && { key: values.key }) };
        return post(["jobs"], body, { tenant });
    });
    arrive(made, tenant);
}

/** @param {any} job as GET shows it */
export async function clone(job) {
    const fields = [QUEUE(job.queue), ...common(job), KEY].filter(Boolean);
    const made = await form("Clone the job", fields, "Schedule", (values) => {
        const body = { ...changes(values, job), ...(values.key && { key: values.key }) };
        if (values.queue !== job.queue) body.queue = values.queue;
        return post(["jobs", job.id, "clone"], body, { tenant: job.tenant });
    });
    arrive(made, job.tenant);
}

/** Changes a job. One that is dead is put back with the change. */
export async function edit(page, job) {
    const dead = job.state === "dead";
    const fields = common(job).filter(Boolean);
    const done = await form(
        dead ? "Edit and redrive" : "Edit the job",
        fields,
        dead ? "Redrive" : "Save",
        async (values) => {
            const body = { ...changes(values, job), ...(dead && { redrive: "yes" }) };
            if (Object.keys(body).length) await post(["jobs", job.id, "edit"], body, { tenant: job.tenant });
        },
    );
    if (!done) return;
    toast(dead ? "The job is put back." : "The job is changed.");
    page.refresh();
}
