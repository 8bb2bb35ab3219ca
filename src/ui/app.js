/* SPDX-License-Identifier: MIT */
/* The beginning: asks who the reader is, and shows the pages or the login. */
import { bus, Problem } from "./api.js";
import { h, morphChildren } from "./dom.js";
import { icon } from "./icons.js";
import { login, present } from "./session.js";
import { Shell } from "./shell.js";
import { setTheme, theme } from "./theme.js";

setTheme(theme());

async function start() {
    try {
        new Shell(await present()).start();
    } catch (error) {
        if (error instanceof Problem && error.status === 401) return welcome();
        stranded(error);
    }
}

/** Takes a token for a session. The token itself is not kept. */
function welcome(problem = "", busy = false) {
    const send = async (event) => {
        event.preventDefault();
        const token = new FormData(event.target).get("token").trim();
        welcome("", true);
        try {
            await login(token);
            location.reload();
        } catch (error) {
            welcome(error.message);
            document.querySelector("#token").select();
        }
    };
    document.title = "Log in · Belfry";
    morphChildren(document.body, [
        h(
            "main",
            { class: "login" },
            h("h1", null, icon("bell"), "Belfry"),
            h(
                "form",
                { onsubmit: send },
                h("label", { for: "token" }, "Token"),
                h("input", {
                    id: "token",
                    name: "token",
                    type: "password",
                    required: true,
                    autocomplete: "current-password",
                    "aria-describedby": "token-hint",
                    autofocus: true,
                }),
                h(
                    "small",
                    { id: "token-hint" },
                    "An access token, such as ops.kB3v…. A read-only one is enough to look.",
                ),
                h("p", { class: "problem", role: "alert" }, problem),
                h("button", { class: "primary", disabled: busy }, "Log in"),
            ),
            h("p", { class: "muted" }, "An admin makes tokens: ", h("code", null, "belfry token create NAME ROLE")),
        ),
    ]);
    if (!problem && !busy) document.querySelector("#token").focus();
}

function stranded(error) {
    document.body.replaceChildren(
        h(
            "main",
            { class: "login" },
            h("h1", null, icon("bell"), "Belfry"),
            h("p", { role: "alert" }, error.message),
            h("p", { class: "muted" }, "This page asks again by itself."),
        ),
    );
    setTimeout(start, 1500);
}

// The session ended, or its token was revoked: every screen needs the login now.
bus.addEventListener("login", () => location.reload());

start();
