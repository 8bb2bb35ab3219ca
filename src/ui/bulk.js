/* SPDX-License-Identifier: MIT */
/* Actions on many jobs. All that match: a bulk of the server, after a dry run that counts. Some that were selected: one request
 * each. Both show the count first, then their progress, with a button that stops them. */
import { call, get, post } from "./api.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { count, number, percent } from "./format.js";

const AT_A_TIME = 6; // requests for selected jobs
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The actions: the verb of each for one job, and the states that it can change. */
export const ACTIONS = {
    redrive: {
        label: "Redrive",
        done: "put back",
        words: "Dead jobs are put back, with their attempts counted anew.",
        verb: "REDRIVE",
        states: ["dead"],
        one: (job) => post(["jobs", job.id, "redrive"], {}, { tenant: job.tenant }),
    },
    reschedule: {
        label: "Run now",
        done: "moved to now",
        words: "Jobs that wait for their time are due at once.",
        verb: "RESCHEDULE",
        states: ["scheduled", "waiting", "ready"],
        one: (job) => call("PATCH", ["jobs", job.id], { body: {}, query: { tenant: job.tenant } }),
    },
    cancel: {
        label: "Cancel",
        done: "cancelled",
        danger: true,
        words: "Jobs that have not ended are cancelled. Workers that have one are told to stop.",
        verb: "CANCEL",
        states: ["scheduled", "waiting", "ready", "leased"],
        one: (job) => call("DELETE", ["jobs", job.id], { query: { tenant: job.tenant } }),
    },
    delete: {
        label: "Delete",
        done: "deleted",
        danger: true,
        words: "The server forgets the jobs. Nothing brings them back.",
        verb: "DELETE",
        states: ["done", "dead", "cancelled", "expired"],
        one: (job) => post(["jobs", job.id, "delete"], {}, { tenant: job.tenant }),
    },
};

const progress = (done, of) =>
    h(
        "div",
        {
            class: "track",
            role: "progressbar",
            "aria-label": "Progress",
            "aria-valuemin": 0,
            "aria-valuemax": of,
            "aria-valuenow": done,
        },
        h("div", { class: "fill", style: { width: of ? `${(100 * done) / of}%` : "0" } }),
    );

/** Asks, then does the action for each of `jobs`. Answers whether anything was done. */
export function actOnSome(name, jobs) {
    const action = ACTIONS[name],
        state = { began: false, over: false, stopped: false, done: 0, failed: [] };
    const fitting = jobs.filter((job) => action.states.includes(job.state));
    return dialog(`${action.label} ${count(fitting.length, "job")}?`, (close, redraw) => {
        const run = async () => {
            state.began = true;
            const left = [...fitting];
            const lane = async () => {
                for (let job; !state.stopped && (job = left.shift());) {
                    await action.one(job).then(
                        () => state.done++,
                        (error) => state.failed.push(error.message),
                    );
                    redraw();
                }
            };
            redraw();
            await Promise.all(Array.from({ length: AT_A_TIME }, lane));
            state.over = true;
            redraw();
        };
        const other = jobs.length - fitting.length;
        return h(
            "div",
            null,
            !state.began &&
                h(
                    "div",
                    { class: "prose" },
                    h("p", null, action.words),
                    other > 0 &&
                        h(
                            "p",
                            { class: "muted" },
                            `${count(other, "selected job")} in another state ${other === 1 ? "is" : "are"} left alone.`,
                        ),
                ),
            state.began &&
                h(
                    "div",
                    { class: "prose" },
                    progress(state.done + state.failed.length, fitting.length),
                    h(
                        "p",
                        { role: "status" },
                        `${number(state.done)} of ${number(fitting.length)} ${action.done}${state.over ? "." : " …"}`,
                    ),
                    state.failed.length > 0 &&
                        h("p", { class: "problem" }, `${number(state.failed.length)} refused: ${state.failed[0]}`),
                ),
            h(
                "div",
                { class: "actions" },
                !state.began && h("button", { onclick: () => close(false) }, "Leave it"),
                !state.began &&
                    h(
                        "button",
                        {
                            class: action.danger ? "danger" : "primary",
                            autofocus: true,
                            disabled: !fitting.length,
                            onclick: run,
                        },
                        `${action.label} ${count(fitting.length, "job")}`,
                    ),
                state.began &&
                    !state.over &&
                    h(
                        "button",
                        {
                            onclick: () => {
                                state.stopped = true;
                            },
                        },
                        "Stop",
                    ),
                state.over && h("button", { class: "primary", onclick: () => close(true) }, "Close"),
            ),
        );
    });
}

/** Counts what matches with a dry run, asks, and follows the bulk.
 * @param {Record<string, any>} filter queue, state, tag, from and to; one tenant */
export function actOnAll(name, filter, words) {
    const action = ACTIONS[name],
        state = { dry: null, bulk: null, problem: "", closed: false };
    const tenant = filter.tenant;
    const body = ({ dryrun }) => ({
        action: name,
        ...Object.fromEntries(
            Object.entries(filter).filter(([key, value]) => key !== "tenant" && value !== undefined && value !== null),
        ),
        dryrun,
    });
    const follow = async (bulk, seen) => {
        while (bulk.state === "running" && !state.closed) {
            await pause(400);
            bulk = (await get(["bulks"], { id: bulk.id, tenant })).bulks[0] ?? bulk;
            seen(bulk);
        }
    };
    return dialog(`${action.label} all that match?`, (close, redraw) => {
        const start = async (dryrun, field) => {
            try {
                const see = (bulk) => {
                    state[field] = bulk;
                    redraw();
                };
                const bulk = await post(["bulks"], body({ dryrun }), { tenant });
                see(bulk);
                await follow(bulk, see);
            } catch (error) {
                state.problem = error.message;
                redraw();
            }
        };
        if (!state.asked) {
            state.asked = true;
            queueMicrotask(() => start(true, "dry"));
        }
        const counted = state.dry && state.dry.state !== "running",
            { bulk } = state;
        const leave = (value) => {
            state.closed = true;
            close(value);
        };
        return h(
            "div",
            null,
            h(
                "div",
                { class: "prose" },
                h("p", null, h("code", null, words), tenant && ` of tenant ${tenant}`),
                !bulk &&
                    h(
                        "p",
                        { class: "big", role: "status" },
                        state.dry
                            ? `${count(state.dry.matched, "job")} match${state.dry.matched === 1 ? "es" : ""}${counted ? "." : " so far …"}`
                            : "The server counts …",
                    ),
                !bulk && h("p", null, action.words, " Only jobs that exist now are touched."),
                bulk && progress(bulk.changed + bulk.skipped, Math.max(state.dry.matched, bulk.changed + bulk.skipped)),
                bulk &&
                    h(
                        "p",
                        { role: "status" },
                        `${number(bulk.changed)} ${action.done}, ${number(bulk.skipped)} left as they are; ${bulk.state === "running" ? percent(bulk.changed + bulk.skipped, state.dry.matched) : bulk.state}.`,
                    ),
            ),
            h("p", { class: "problem", role: "alert" }, state.problem),
            h(
                "div",
                { class: "actions" },
                !bulk && h("button", { onclick: () => leave(false) }, "Leave it"),
                !bulk &&
                    h(
                        "button",
                        {
                            class: action.danger ? "danger" : "primary",
                            disabled: !counted || !state.dry.matched,
                            onclick: () => start(false, "bulk"),
                        },
                        counted ? `${action.label} ${count(state.dry.matched, "job")}` : action.label,
                    ),
                bulk?.state === "running" &&
                    h("button", { onclick: () => call("DELETE", ["bulks", bulk.id], { query: { tenant } }) }, "Stop"),
                bulk &&
                    h(
                        "button",
                        { class: "primary", onclick: () => leave(true) },
                        bulk.state === "running" ? "Let it go on" : "Close",
                    ),
            ),
        );
    });
}
