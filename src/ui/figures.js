/* SPDX-License-Identifier: MIT */
/* Figures over time, as SERIES keeps them. A step in which nothing happened has no entry there. */
import { get, pages } from "./api.js";
import { heat, legend, lines } from "./chart.js";
import { h } from "./dom.js";
import { count, local, soon, span, time } from "./format.js";
import { empty } from "./parts.js";
import { href } from "./route.js";
import { series } from "./samples.js";

const MINUTE_MS = 60000,
    HOUR_MS = 60 * MINUTE_MS,
    MINUTES = 60,
    DAYS = 7;
const ended = (step) => step.succeeded + step.failed + step.stalled;

/** Answers of the last minute are kept, so that a page which is drawn each second asks once. */
const kept = new Map();
export async function once(key, ask, ms = MINUTE_MS / 2) {
    const now = Date.now(),
        had = kept.get(key);
    if (had && now - had.at < ms) return had.value;
    const value = await ask();
    kept.set(key, { at: now, value });
    if (kept.size > 50) kept.delete(kept.keys().next().value);
    return value;
}

/** The minutes of the last hour, the oldest first, each with its counts; minutes without an entry have zeros.
 * @param {{tenant: string, queue?: string}} of
 * @returns {Promise<{from: number, in: number, out: number, failed: number}[]>} counts per second */
export const lastHour = (of, signal) =>
    once(`hour ${of.tenant}@${of.queue ?? ""}`, async () => {
        const end = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS,
            begin = end - MINUTES * MINUTE_MS;
        const { steps } = await get(["series"], { ...of, from: begin, to: end, step: "1m", limit: 100 }, signal);
        const found = new Map(steps.map((step) => [step.from_ms, step]));
        return Array.from({ length: MINUTES }, (_, n) => {
            const from = begin + n * MINUTE_MS,
                step = found.get(from);
            const perSecond = (value) => (step ? value(step) / 60 : 0);
            return {
                from,
                in: perSecond((one) => one.scheduled),
                out: perSecond(ended),
                failed: perSecond((one) => one.failed + one.stalled),
            };
        });
    });

/** The hours of the last days, as the server has them. */
export const lastDays = (of, signal) =>
    once(`days ${of.tenant}@${of.queue ?? ""}`, async () => {
        const query = { ...of, from: Date.now() - DAYS * 24 * HOUR_MS, step: "1h" };
        return (await pages(["series"], query, "steps", 1000, signal)).things;
    });

/** Most attempts that ended in an hour, of those that SERIES has; 0 if it has none. */
export const bestHour = (steps) => Math.max(0, ...steps.map(ended));

/** Lines of the last hour. The figures beside the names are those of the last seconds.
 * @param {string} name of the samples that this page takes */
export function hourLines(minutes, name) {
    const samples = series(name);
    const line = (words, kind, key) => ({
        name: words,
        class: kind,
        values: [...minutes.map((one) => one[key]), samples.rates(key).at(-1) ?? 0],
    });
    return lines(
        [line("scheduled", "in", "in"), line("ended attempts", "out", "out"), line("failed", "bad", "failed")],
        MINUTES + 1,
        [time(minutes[0].from).slice(0, 5), time(minutes[MINUTES / 2].from).slice(0, 5), "now"],
        "Jobs scheduled, attempts ended and attempts failed per second in the last hour",
    );
}

/** Days and hours, coloured by how late jobs were given out. */
export function lateness(q, steps) {
    const given = steps.filter((step) => step.picked > 0);
    if (!given.length) return empty("No job was given out in these days.");
    const rows = new Map();
    for (const step of given) {
        const p = local(step.from_ms),
            key = `${p.year}-${p.month}-${p.day}`;
        if (!rows.has(key)) rows.set(key, { label: `${p.weekday} ${p.day}`, cells: Array(24).fill(null) });
        const [from, to] = [step.from_ms, step.from_ms + HOUR_MS].map((ms) => new Date(ms).toISOString());
        rows.get(key).cells[p.hour] = {
            value: step.lateness_p99_ms,
            text: span(step.lateness_p99_ms).replace(/ .*/, ""),
            label: `${soon(step.from_ms)}: 99 of 100 were at most ${span(step.lateness_p99_ms)} late, of ${count(step.picked, "job")}`,
            href: href(["jobs"], { q: `queue:${q.queue} from:${from} to:${to}`, tenant: q.tenant }),
        };
    }
    const most = Math.max(...given.map((step) => step.lateness_p99_ms));
    return h(
        "div",
        null,
        heat(
            [...rows.values()],
            Array.from({ length: 24 }, (_, n) => String(n).padStart(2, "0")),
            "Lateness of 99 of 100 jobs, by day and hour",
        ),
        legend(span(most)),
    );
}
