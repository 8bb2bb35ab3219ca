/* SPDX-License-Identifier: MIT */
/* Light, dark, or as the system has it. The browser remembers the choice. */

export const THEMES = ["system", "light", "dark"];
const NAME = "belfry-theme";

export function theme() {
    const kept = localStorage.getItem(NAME);
    return THEMES.includes(kept) ? kept : "system";
}

export function setTheme(name) {
    localStorage.setItem(NAME, name);
    document.documentElement.dataset.theme = name;
}

/** Changes to the next of the three. */
export const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
