/* SPDX-License-Identifier: MIT */
/* A job's life as bars over time: it waited for its moment, was ready, ran at a worker, backed off, and ended. */
import { h } from "./dom.js";
import { capital, moment, span } from "./format.js";

/** The stretches of a job's life, in order: {kind, from, to, words}. */
export function stretches(job, now) {
    const list = [];
    const add = (kind, from, to, words) => to > from && list.push({ kind, from, to, words });
    const history = [...job.history];
    const running = job.state === "leased";
    const end = job.ended_ms ?? now;
    let at = job.created_ms;
    // Only the last ten attempts are kept, so the life before them is one stretch.
    if (history.length && history[0].attempt > 1) {
        add(
            "past",
            at,
            history[0].start_ms - (history[0].late_ms ?? 0),
            `${history[0].attempt - 1} earlier attempts, which are no longer kept one by one`,
        );
        at = history[0].start_ms - (history[0].late_ms ?? 0);
    }
    for (const one of history) {
        const due = one.start_ms - (one.late_ms ?? 0);
        add(
            one.attempt > 1 ? "backoff" : "scheduled",
            at,
            due,
            one.attempt > 1 ? "back-off before the next attempt" : "waited for its time",
        );
        add("ready", Math.max(at, due), one.start_ms, "ready, no worker had it yet");
        add(
            one.outcome,
            one.start_ms,
            Math.max(one.end_ms, one.start_ms + 1),
            `attempt ${one.attempt}, ${one.outcome}${one.worker ? `, by ${one.worker}` : ""}${one.error ? `: ${one.error}` : ""}`,
        );
        at = one.end_ms;
    }
    if (job.ended_ms && history.length) return list;
    const due = Math.max(at, job.state === "scheduled" || job.state === "ready" || running ? job.at_ms : at);
    if (job.state === "waiting") add("waiting", at, end, "waits for other jobs");
    else if (job.ended_ms) add("scheduled", at, end, `${job.state} without an attempt`);
    else {
        if (history.length) add("backoff", at, due, "back-off before the next attempt");
        else add("scheduled", at, due, "waits for its time");
        if (running) add("leased", due, now, `attempt ${job.attempt} runs${job.worker ? ` at ${job.worker}` : ""}`);
        else if (job.state === "ready") add("ready", due, now, "ready, no worker has it yet");
    }
    return list;
}

/** Wide enough to be seen, in proportion otherwise: a wait of days must not hide an attempt of a second. */
function widths(list) {
    const sizes = list.map(({ from, to }) => Math.log10(10 + to - from));
    const total = sizes.reduce((a, b) => a + b, 0);
    return sizes.map((n) => (100 * n) / total);
}

export function timeline(job, now) {
    const list = stretches(job, now);
    if (!list.length) return null;
    const wide = widths(list);
    return h(
        "div",
        { class: "life" },
        h(
            "ol",
            { class: "life-bars", "aria-label": "The job's life" },
            list.map((one, n) =>
                h(
                    "li",
                    {
                        class: `life-${one.kind}`,
                        style: { width: `${wide[n]}%` },
                        title: `${one.words}\n${moment(one.from)} to ${moment(one.to)}`,
                    },
                    h("span", { class: "life-span" }, span(one.to - one.from)),
                    h("span", { class: "life-name" }, capital(one.kind)),
                ),
            ),
        ),
        h(
            "div",
            { class: "ends" },
            h("span", null, `made ${moment(job.created_ms)}`),
            h(
                "span",
                null,
                job.ended_ms
                    ? `ended ${moment(job.ended_ms)}`
                    : job.state === "scheduled"
                      ? `due ${moment(job.at_ms)}`
                      : "now",
            ),
        ),
        h("p", { class: "note" }, "Widths follow the logarithm of each span, so that short ones can be seen."),
    );
}
