/* SPDX-License-Identifier: MIT */
/* Figures since the page was opened. The server keeps totals; two totals and the time between them make a rate. */

const ROOM = 300;

class Series {
    constructor() {
        this.samples = [];
    }

    /** Notes the totals of a moment. Totals that went back mean another server, so the series begins anew. */
    add(at, totals) {
        const last = this.samples.at(-1);
        if (last && at - last.at < 400) return;
        if (last && Object.keys(totals).some((name) => totals[name] < last.totals[name])) this.samples = [];
        this.samples.push({ at, totals });
        if (this.samples.length > ROOM) this.samples.shift();
    }

    /** The rate of one total between each two samples, per second. */
    rates(name) {
        return this.samples.slice(1).map((sample, n) => {
            const before = this.samples[n];
            return ((sample.totals[name] - before.totals[name]) * 1000) / (sample.at - before.at);
        });
    }

    get since() {
        return this.samples[0]?.at ?? Date.now();
    }
}

const all = new Map();

/** The series of that name, which lives as long as the tab. */
export function series(name) {
    if (!all.has(name)) all.set(name, new Series());
    return all.get(name);
}

/** Notes what a row of STATS or QUEUES has. */
export function note(name, row, at = Date.now()) {
    const one = series(name);
    one.add(at, {
        in: row.total_scheduled,
        out: row.total_succeeded + row.total_failed + row.total_stalled,
        failed: row.total_failed + row.total_stalled,
    });
    return one;
}
