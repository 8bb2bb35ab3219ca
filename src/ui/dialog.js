/* SPDX-License-Identifier: MIT */
/* Questions before something is changed, forms, and short messages about what happened. */
import { h, morphChildren } from "./dom.js";
import { icon } from "./icons.js";

let serial = 0;

/** Shows a dialog and answers when it is closed.
 * @param {string} title
 * @param {(close: (value?: any) => void, redraw: () => void) => any} view builds the body; redraw() builds it again */
export function dialog(title, view, { wide = false } = {}) {
    return new Promise((resolve) => {
        const id = `dialog-${++serial}`;
        const back = document.activeElement;
        const close = (value) => {
            box.close();
            box.remove();
            back?.focus?.();
            resolve(value);
        };
        const body = h("div", { class: "dialog-body" });
        const redraw = () => {
            const inside = box.contains(document.activeElement);
            morphChildren(body, [].concat(view(close, redraw)));
            // A button that had the focus may be gone now: the one that goes on has it then.
            if (inside && !box.contains(document.activeElement))
                (body.querySelector(".actions .primary:enabled") ?? body.querySelector(".actions button"))?.focus();
        };
        const box = h(
            "dialog",
            {
                "aria-labelledby": id,
                class: wide ? "wide" : null,
                oncancel: (e) => {
                    e.preventDefault();
                    close();
                },
                onclick: (e) => e.target === box && close(),
            },
            h(
                "header",
                { class: "dialog-head" },
                h("h2", { id }, title),
                h("button", { class: "quiet square", "aria-label": "Close", onclick: () => close() }, icon("close")),
            ),
            body,
        );
        document.body.append(box);
        redraw();
        box.showModal();
        (box.querySelector("[autofocus]") ?? body.querySelector("input, select, textarea, button"))?.focus();
    });
}

/** Asks before an action. Answers whether it is to be done.
 * @param {string} title a question
 * @param {any} words what will happen
 * @param {string} verb the label of the button */
export async function ask(title, words, verb, { danger = false } = {}) {
    return (
        (await dialog(title, (close) => [
            h("div", { class: "prose" }, words),
            h(
                "div",
                { class: "actions" },
                h("button", { onclick: () => close(false) }, "Leave it"),
                h(
                    "button",
                    { class: danger ? "danger" : "primary", autofocus: true, onclick: () => close(true) },
                    verb,
                ),
            ),
        ])) === true
    );
}

/** A form in a dialog. `send` gets the values; what it throws is shown in the dialog, which stays open then.
 * @param {{name: string, label: string, value?: string, hint?: string, kind?: string, options?: string[], required?: boolean}[]} fields */
export function form(title, fields, verb, send) {
    let problem = null,
        busy = false;
    return dialog(title, (close, redraw) =>
        h(
            "form",
            {
                class: "form",
                onsubmit: async (event) => {
                    event.preventDefault();
                    const values = Object.fromEntries(new FormData(event.target));
                    busy = true;
                    redraw();
                    try {
                        close((await send(values)) ?? true);
                    } catch (error) {
                        problem = error.message;
                        busy = false;
                        redraw();
                    }
                },
            },
            fields.map((f) => field(f)),
            h("p", { class: "problem", role: "alert" }, problem ?? ""),
            h(
                "div",
                { class: "actions" },
                h("button", { type: "button", onclick: () => close() }, "Leave it"),
                h("button", { class: "primary", disabled: busy }, verb),
            ),
        ),
    );
}

/** A labelled input. */
export function field({ name, label, value = "", hint, kind = "text", options, required, oninput }) {
    const id = `field-${name}`;
    const props = {
        id,
        name,
        required,
        oninput,
        "aria-describedby": hint ? `${id}-hint` : null,
        spellcheck: "false",
        autocomplete: "off",
    };
    const input = options
        ? h(
              "select",
              { ...props, onchange: oninput },
              options.map((o) => h("option", { value: o, selected: o === value }, o || "–")),
          )
        : kind === "area"
          ? h("textarea", { ...props, rows: 6, value })
          : h("input", { ...props, type: kind, value });
    return h(
        "div",
        { class: "field" },
        h("label", { for: id }, label),
        input,
        hint && h("small", { id: `${id}-hint` }, hint),
    );
}

/** A message at the edge of the window for a few seconds. */
export function toast(words, { bad = false } = {}) {
    let shelf = document.querySelector(".toasts");
    if (!shelf) document.body.append((shelf = h("div", { class: "toasts", role: "status", "aria-live": "polite" })));
    const note = h("div", { class: bad ? "toast bad" : "toast" }, icon(bad ? "warn" : "check"), h("span", null, words));
    shelf.append(note);
    setTimeout(() => note.remove(), bad ? 8000 : 4000);
}

/** Does something that may fail, and says how it went. Answers whether it went well. */
export async function attempt(action, done) {
    try {
        const answer = await action();
        toast(typeof done === "function" ? done(answer) : done);
        return true;
    } catch (error) {
        toast(error.message, { bad: true });
        return false;
    }
}

export async function copy(text) {
    await navigator.clipboard?.writeText(text);
    toast("Copied.");
}
