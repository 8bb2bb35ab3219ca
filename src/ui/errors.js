/* SPDX-License-Identifier: MIT */
/* Errors in groups, as the server makes them: errors are alike if they differ only in numbers, ids and quoted texts. */
import { pages } from "./api.js";

const SEEN = 20000, // jobs that are looked at for groups
    ACTED = 10000; // jobs of a group that are acted on at once
const keyOf = (g) => `${g.tenant}@${g.queue} ${g.error_group}`;

/** Groups of dead jobs, the largest first. A group may stand on several pages, whose counts are added.
 * @param {{tenant: string, queue?: string}} of
 * @returns {Promise<{groups: any[], seen: number, more: boolean}>} */
export async function groupsOf(of, signal, most = SEEN) {
    const { things, more } = await pages(["errors"], of, "groups", most / 10, signal);
    const found = new Map();
    for (const one of things) {
        const had = found.get(keyOf(one));
        if (!had) found.set(keyOf(one), { ...one, key: keyOf(one) });
        else {
            had.count += one.count;
            had.first_ms = Math.min(had.first_ms, one.first_ms);
            if (one.last_ms > had.last_ms) Object.assign(had, { last_ms: one.last_ms, id: one.id, error: one.error });
        }
    }
    const groups = [...found.values()].sort((a, b) => b.count - a.count);
    return { groups, seen: groups.reduce((sum, g) => sum + g.count, 0), more };
}

/** Dead jobs of a group. */
export const jobsOf = async (g, signal, most = ACTED) => {
    const query = { tenant: g.tenant, queue: g.queue, state: "dead", error_group: g.error_group };
    return (await pages(["jobs"], query, "jobs", most, signal)).things;
};
