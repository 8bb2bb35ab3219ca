/* SPDX-License-Identifier: MIT */
/* The address of a page: #/screen/part/part?name=value. Everything that a page shows can be told from its address. */

export class Route {
    /** @param {string} hash */
    constructor(hash) {
        const [path, query] = (hash.replace(/^#\/?/, "") || "now").split("?", 2);
        this.parts = path.split("/").map(decodeURIComponent);
        this.screen = this.parts[0];
        this.query = new URLSearchParams(query ?? "");
    }
}

/** The hash of a page; names and values are escaped. Empty values are left out.
 * @param {string[]} parts
 * @param {Record<string, any>} [query] */
export function href(parts, query = {}) {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
        if (value !== null && value !== undefined && value !== "") words.set(name, value);
    const text = words.toString();
    return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Shows another page. With `replace`, the page before is not kept for the browser's Back. */
export function go(hash, replace = false) {
    if (hash === location.hash) return;
    if (!replace) {
        location.hash = hash;
        return;
    }
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
}
