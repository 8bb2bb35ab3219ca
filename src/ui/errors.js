/* SPDX-License-Identifier: MIT */
/* Errors in groups: two errors are alike if they differ only in numbers, ids and quoted names. */

const RULES = [
    [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "‹id›"],
    [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "‹id›"],
    [/\b0x[0-9a-f]+\b/gi, "‹n›"],
    [/\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b/gi, "‹id›"],
    [/\d+([.,:]\d+)*/g, "‹n›"],
];

/** The error without what differs from job to job. */
export const pattern = (error) =>
    RULES.reduce((text, [from, to]) => text.replace(from, to), error ?? "").trim() || "no error was given";

/** Groups of jobs by tenant, queue and error, the largest first.
 * @returns {{key: string, tenant: string, queue: string, pattern: string, jobs: any[], first: number, last: number}[]} */
export function groups(jobs) {
    const found = new Map();
    for (const job of jobs) {
        const text = pattern(job.error),
            key = `${job.tenant}@${job.queue} ${text}`;
        if (!found.has(key))
            found.set(key, {
                key,
                tenant: job.tenant,
                queue: job.queue,
                pattern: text,
                jobs: [],
                first: Infinity,
                last: -Infinity,
            });
        const group = found.get(key);
        group.jobs.push(job);
        group.first = Math.min(group.first, job.at_ms);
        group.last = Math.max(group.last, job.at_ms);
    }
    return [...found.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}
