/* SPDX-License-Identifier: MIT */
/* The keyboard. Keys are words of KeyboardEvent.key, with a blank between two that follow each other: "g q". */

const PATIENCE_MS = 1200; // between the two keys of a pair

/** @type {Map<string, {words: string, run: (event: KeyboardEvent) => void}>} */
const table = new Map();
let before = null,
    timer = 0;

/** Gives a key a meaning; `words` are for the help. Answers the function that takes the meaning away. */
export function bind(key, words, run) {
    table.set(key, { words, run });
    return () => table.get(key)?.run === run && table.delete(key);
}

/** All keys with their words, in the order in which they were bound. */
export const bindings = () => [...table].filter(([, { words }]) => words).map(([key, { words }]) => ({ key, words }));

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

addEventListener("keydown", (event) => {
    const palette = (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k";
    if (
        !palette &&
        (event.metaKey ||
            event.ctrlKey ||
            event.altKey ||
            typing(event.target) ||
            document.querySelector("dialog[open]"))
    )
        return;
    const key = palette ? "⌘K" : event.key;
    const pair = before && table.get(`${before} ${key}`);
    const found = pair ?? table.get(key);
    clearTimeout(timer);
    before = pair ? null : key;
    timer = setTimeout(() => (before = null), PATIENCE_MS);
    if (!found) return;
    event.preventDefault();
    found.run(event);
});
