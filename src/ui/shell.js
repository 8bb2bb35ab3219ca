/* SPDX-License-Identifier: MIT */
/* The frame of every page: navigation, the choice of a tenant, banners, and the loop that keeps a screen up to date.
 *
 * A screen is an object:
 *   title(page)        the heading of the tab
 *   load(page)         asks the server, and answers the data of view()
 *   view(data, page)   builds the page
 *   every              milliseconds between two loads; 0 means once
 *   enter(page)        optional; answers a function that is called when the reader leaves
 * `page` has the route, the session, the chosen tenant, a place for the screen's own state, and refresh() and redraw(). */
import { bus, Gone, Problem } from "./api.js";
import { h, morph } from "./dom.js";
import { attempt } from "./dialog.js";
import { icon } from "./icons.js";
import { bind } from "./keys.js";
import { nameInput, tenantsLike } from "./names.js";
import { go, href, Route } from "./route.js";
import { SCREENS } from "./screens.js";
import { logout } from "./session.js";
import { nextTheme, theme } from "./theme.js";
import { help, palette } from "./palette.js";

const MANY = 50; // tenants from which on a name is typed and not chosen

class Page {
    constructor(shell, route, screen) {
        this.shell = shell;
        this.route = route;
        this.screen = screen;
        this.session = shell.session;
        this.own = {};
        this.data = null;
        this.stop = new AbortController();
    }

    get signal() {
        return this.stop.signal;
    }

    /** The tenant that the reader chose, or the one of the token; "*" for all of them. */
    get tenant() {
        return this.session.everywhere ? this.route.query.get("tenant") || "*" : this.session.tenant;
    }

    may(verb) {
        return this.session.may(verb);
    }

    /** The address of a page that keeps the chosen tenant. */
    href(parts, query = {}) {
        const chosen = this.session.everywhere ? this.route.query.get("tenant") : null;
        return href(parts, { ...query, tenant: query.tenant ?? chosen });
    }

    /** Changes parameters of this page's address. */
    ask(query, replace = false) {
        go(href(this.route.parts, { ...Object.fromEntries(this.route.query), ...query }), replace);
    }

    async refresh() {
        await this.shell.load(this);
    }

    redraw() {
        if (this.data !== null && this.shell.page === this) this.shell.draw(this);
    }
}

export class Shell {
    constructor(session) {
        this.session = session;
        this.paused = false;
        this.gone = false;
        this.tenants = [];
        this.timer = 0;
        this.page = null;
        this.leave = null;
        this.main = h("main", { id: "main", tabindex: "-1" });
        this.keys();
        addEventListener("hashchange", () => this.open());
        document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(this.timer) : this.tick()));
        bus.addEventListener("gone", () => this.lost(true));
        bus.addEventListener("back", () => this.lost(false));
    }

    start() {
        document.body.replaceChildren(
            h(
                "a",
                {
                    class: "skip",
                    href: "#main",
                    onclick: (e) => {
                        e.preventDefault();
                        this.main.focus();
                    },
                },
                "Skip to the content",
            ),
            h("div", { class: "frame" }, h("div", { id: "bar" }), h("div", { id: "side" }), this.main),
        );
        this.open();
        this.findTenants();
    }

    keys() {
        bind("/", "search jobs", () => this.search());
        bind("⌘K", "go to anything", () => palette(this));
        for (const screen of SCREENS.filter((one) => one.key && this.session.may(one.verb)))
            bind(`g ${screen.key}`, `go to ${screen.name}`, () => go(this.page.href([screen.path])));
        bind("r", "stop or go on with updates", () => this.pause());
        bind("t", "light, dark, system", () => this.dress());
        bind("?", "this help", () => help());
    }

    search() {
        const input = document.querySelector("#search");
        if (input) input.focus();
        else go(this.page.href(["jobs"], { focus: 1 }));
    }

    pause() {
        this.paused = !this.paused;
        this.frame();
        if (!this.paused) this.tick();
    }

    dress() {
        nextTheme();
        this.frame();
    }

    lost(yes) {
        this.gone = yes;
        this.frame();
    }

    async findTenants() {
        if (!this.session.everywhere || !this.session.may("TENANTS")) return;
        this.tenants = await tenantsLike("");
        this.frame();
    }

    open() {
        const route = new Route(location.hash);
        const allowed = SCREENS.filter((one) => this.session.may(one.verb));
        const row = SCREENS.find((one) => one.path === route.screen) ?? allowed[0] ?? SCREENS[0];
        const screen = route.parts.length > 1 && row.one ? row.one : row.all;
        const before = this.page;
        // A change of parameters alone keeps the screen's own state, such as a selection.
        const same = before && before.screen === screen && before.route.parts.join("/") === route.parts.join("/");
        before?.stop.abort();
        this.leave?.();
        this.page = new Page(this, route, screen);
        if (same) this.page.own = before.own;
        this.leave = screen.enter?.(this.page) ?? null;
        this.frame();
        this.load(this.page, true).then(() => {
            if (!before) performance.mark("first screen");
            if (same) return;
            scrollTo(0, 0);
            document.querySelector("[data-first]")?.focus();
        });
    }

    /** Loads the data of a page and draws it; then waits for the next time. */
    async load(page, first = false) {
        clearTimeout(this.timer);
        if (first) this.main.setAttribute("aria-busy", "true");
        try {
            const data = await page.screen.load(page);
            if (page !== this.page) return;
            page.data = data;
            this.draw(page);
        } catch (error) {
            if (page !== this.page || error.name === "AbortError") return;
            if (!(error instanceof Problem) && !(error instanceof Gone)) console.error(error);
            // A page that is there stays, unless its thing is no more.
            if (page.data === null || error.status === 404) this.fail(error);
        }
        this.main.removeAttribute("aria-busy");
        this.wait();
    }

    draw(page) {
        const next = page.screen.view(page.data, page);
        document.title = `${page.screen.title(page)} · Belfry`;
        const body = h("div", { class: "screen", "data-key": page.route.parts.join("/") }, next);
        if (this.main.firstChild) morph(this.main.firstChild, body);
        else this.main.append(body);
    }

    fail(error) {
        this.main.replaceChildren(
            h(
                "div",
                { class: "screen empty" },
                h("h1", null, error.status === 404 ? "Not there" : "That did not work"),
                h("p", null, error.message),
                h("p", null, h("button", { onclick: () => this.open() }, "Try again")),
            ),
        );
    }

    wait() {
        clearTimeout(this.timer);
        const every = this.gone ? 1500 : this.page.screen.every;
        if (every && !this.paused && !document.hidden) this.timer = setTimeout(() => this.tick(), every);
    }

    tick() {
        if (!this.paused && !document.hidden && (this.page.screen.every || this.gone)) this.load(this.page);
    }

    /** Draws everything around the screen. */
    frame() {
        const page = this.page;
        morph(document.querySelector("#bar"), h("div", { id: "bar" }, this.bar(page), this.banner()));
        morph(
            document.querySelector("#side"),
            h("div", { id: "side", class: document.querySelector("#side").className }, this.navigation(page)),
        );
    }

    bar(page) {
        const dark = theme();
        return h(
            "header",
            { class: "bar" },
            h(
                "button",
                {
                    class: "quiet square menu",
                    "aria-label": "Menu",
                    "aria-expanded": String(document.querySelector("#side").classList.contains("open")),
                    onclick: () => this.menu(),
                },
                icon("menu"),
            ),
            h("a", { class: "brand", href: page.href(["now"]) }, icon("bell"), h("span", null, "Belfry")),
            this.session.label && h("span", { class: "label" }, this.session.label),
            h(
                "button",
                { class: "find", onclick: () => palette(this) },
                icon("search"),
                h("span", null, "Go to anything"),
                h("kbd", { "aria-hidden": "true" }, "⌘K"),
            ),
            this.scope(page),
            h(
                "button",
                {
                    class: `quiet live${this.paused ? " paused" : ""}`,
                    "aria-pressed": String(this.paused),
                    title: "Stop or go on with updates (r)",
                    onclick: () => this.pause(),
                },
                h("i", { class: "pulse" }),
                h("span", null, this.paused ? "Paused" : "Live"),
            ),
            h(
                "button",
                {
                    class: "quiet square",
                    "aria-label": `Colours: ${dark}`,
                    title: `Colours: ${dark} (t)`,
                    onclick: () => this.dress(),
                },
                icon({ light: "sun", dark: "moon", system: "system" }[dark]),
            ),
            h(
                "button",
                {
                    class: "quiet square wide-only",
                    "aria-label": "Keyboard help",
                    title: "Keyboard help (?)",
                    onclick: () => help(),
                },
                icon("help"),
            ),
            !this.session.open &&
                h(
                    "button",
                    {
                        class: "quiet square",
                        "aria-label": "Log out",
                        title: `Log out ${this.session.token_name ?? ""}`,
                        onclick: () => this.quit(),
                    },
                    icon("out"),
                ),
        );
    }

    /** The choice of a tenant, for those who see all of them. */
    scope(page) {
        if (!this.session.everywhere) return h("span", { class: "label calm" }, this.session.tenant);
        const chosen = page.route.query.get("tenant") ?? "";
        const take = (name) => page.ask({ tenant: name, cursor: "", after: "" });
        const names = chosen && !this.tenants.includes(chosen) ? [chosen, ...this.tenants] : this.tenants;
        if (this.tenants.length >= MANY)
            return nameInput({
                id: "tenant",
                label: "Tenant",
                every: "All tenants",
                value: chosen,
                list: this.tenants,
                like: tenantsLike,
                take,
                redraw: (list) => {
                    this.tenants = list;
                    this.frame();
                },
            });
        return h(
            "select",
            { class: "scope", "aria-label": "Tenant", value: chosen, onchange: (e) => take(e.target.value) },
            h("option", { value: "", selected: !chosen }, "All tenants"),
            names.map((name) => h("option", { value: name, selected: name === chosen }, name)),
        );
    }

    banner() {
        return h(
            "div",
            { class: "banners", role: "status", "aria-live": "polite" },
            this.gone &&
                h(
                    "p",
                    { class: "banner" },
                    icon("warn"),
                    "The server does not answer. This page shows what it said last, and asks again by itself.",
                ),
        );
    }

    navigation(page) {
        const rows = SCREENS.filter((one) => one.key && this.session.may(one.verb));
        return h(
            "nav",
            { "aria-label": "Screens" },
            h(
                "ul",
                null,
                rows.map((one) =>
                    h(
                        "li",
                        null,
                        h(
                            "a",
                            {
                                href: page.href([one.path]),
                                "aria-current": one.path === page.route.screen ? "page" : null,
                                onclick: () => this.menu(false),
                            },
                            icon(one.path),
                            h("span", null, one.name),
                            h("kbd", { "aria-hidden": "true" }, `g ${one.key}`),
                        ),
                    ),
                ),
            ),
            h(
                "p",
                { class: "version" },
                this.session.version ? `belfryd ${this.session.version}` : "",
                h("a", { href: "docs" }, "HTTP reference"),
            ),
        );
    }

    menu(open = !document.querySelector("#side").classList.contains("open")) {
        document.querySelector("#side").classList.toggle("open", open);
        this.frame();
    }

    async quit() {
        await attempt(logout, "You are logged out.");
        location.reload();
    }
}
