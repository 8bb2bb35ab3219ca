/* SPDX-License-Identifier: MIT */
/* Icons of 16 by 16, drawn with lines. */
import { s } from "./dom.js";

const PATHS = {
    bell: "M8 2c-2.4 0-3.6 1.8-3.6 4v2.4L3 10.8c-.2.4 0 .7.4.7h9.2c.4 0 .6-.3.4-.7l-1.4-2.4V6c0-2.2-1.2-4-3.6-4zM6.8 13.5a1.3 1.3 0 0 0 2.4 0",
    now: "M2 9h2.5l2-5.5 3 9L11.5 9H14",
    queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
    jobs: "M3 2.5h10v11H3zM5.5 6h5M5.5 8.5h5M5.5 11h3",
    future: "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5V4M10.5 2.5V4M8 9v2.2l1.6.8",
    recurrences: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6",
    workers: "M8 2.8a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8zM3 13.2c.3-2.6 2.2-4 5-4s4.7 1.4 5 4",
    dead: "M8 2.2a5 5 0 0 0-3 9v2.3h6v-2.3a5 5 0 0 0-3-9zM6.2 7.6v.1M9.8 7.6v.1M7.2 13.4v-1.6M8.8 13.4v-1.6",
    tenants: "M2.5 13.5v-8L8 2.5l5.5 3v8zM6.3 13.5V10h3.4v3.5M5.5 7.2v.1M8 7.2v.1M10.5 7.2v.1",
    operations: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
    search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3",
    menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
    close: "M4 4l8 8M12 4l-8 8",
    pause: "M5.5 3.5v9M10.5 3.5v9",
    play: "M5 3.2l7.5 4.8L5 12.8z",
    sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
    moon: "M12.8 9.6A5.4 5.4 0 0 1 6.4 3.2a5.4 5.4 0 1 0 6.4 6.4z",
    system: "M2.5 3h11v7.5h-11zM6 13.5h4M8 10.5v3",
    help: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM6.4 6.4a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.8.6-.8 1.2M8 11.2v.1",
    warn: "M8 2.4l6 10.8H2zM8 6.6v3M8 11.3v.1",
    check: "M3 8.4l3.3 3.3L13 4.8",
    out: "M6 2.8H3v10.4h3M7 8h6.5M10.8 5.2L13.5 8l-2.7 2.8",
    copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
    right: "M6 3.5L10.5 8 6 12.5",
};

/** @param {keyof PATHS} name */
export function icon(name) {
    return s(
        "svg",
        { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
        s("path", { d: PATHS[name] }),
    );
}
