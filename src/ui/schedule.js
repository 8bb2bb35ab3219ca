/* SPDX-License-Identifier: MIT */
/* A new job, from nothing or from another job. */
import { post } from "./api.js";
import { form, toast } from "./dialog.js";
import { pretty } from "./json_text.js";
import { go, href } from "./route.js";

/** @param {any} [from] a job to begin with, as GET shows it */
export async function schedule(page, from) {
    const fields = [
        !from && page.tenant === "*" && { name: "tenant", label: "Tenant", value: "default", required: true },
        { name: "queue", label: "Queue", value: from?.queue ?? page.data?.query?.queue ?? "", required: true },
        {
            name: "payload",
            label: "Payload",
            kind: "area",
            value: from ? pretty(from.payload ?? "") : "{}",
            hint: "Any text. The server keeps it byte for byte.",
        },
        { name: "in", label: "In", hint: "such as 10m; empty for at once" },
        { name: "key", label: "Key", hint: "unique among the jobs of the queue that have not ended; empty for none" },
        { name: "tag", label: "Tags", value: (from?.tags ?? []).join(" "), hint: "words with blanks between" },
        {
            name: "attempts",
            label: "Attempts",
            kind: "number",
            value: from ? String(from.attempts) : "",
            hint: "empty for as many as the queue says",
        },
        {
            name: "priority",
            label: "Priority",
            options: ["1", "2", "3", "4", "5"],
            value: String(from?.priority ?? 3),
            hint: "1 goes first",
        },
    ].filter(Boolean);
    const tenantOf = (values) => from?.tenant ?? values.tenant ?? page.tenant;
    const made = await form(from ? "Clone the job" : "New job", fields, "Schedule", async (values) => {
        const body = { queue: values.queue, payload: values.payload, priority: Number(values.priority) };
        if (values.in) body.in = values.in;
        if (values.key) body.key = values.key;
        if (values.attempts) body.attempts = Number(values.attempts);
        if (values.tag.trim()) body.tag = values.tag.trim().split(/\s+/);
        if (from && Object.keys(from.meta ?? {}).length) body.meta = from.meta;
        if (from?.order) body.order = from.order;
        return { ...(await post(["jobs"], body, { tenant: tenantOf(values) })), tenant: tenantOf(values) };
    });
    if (!made?.id) return;
    toast(made.created ? "The job is scheduled." : "The key is taken: this is the job that has it.");
    go(href(["jobs", made.tenant, made.id]));
}
