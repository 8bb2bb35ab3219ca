/* SPDX-License-Identifier: MIT */
/* Elements, and the change of a page in place.
 *
 * A screen builds its whole page anew whenever its data changes, and morph() turns the page that is shown into that one.
 * Elements that stay are never replaced. So focus, selected text, scroll positions and half-typed input survive an update. */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "indeterminate"]);

/** Makes an element. `on…` properties are handlers; `style` is an object, because the content policy forbids the attribute.
 * @param {string} tag
 * @param {Record<string, any>|null} [props]
 * @param {...any} children nodes, texts, arrays of them; null, undefined and false are left out */
export function h(tag, props, ...children) {
    return build(document.createElement(tag), props, children);
}

/** Makes an element of SVG. */
export function s(tag, props, ...children) {
    return build(document.createElementNS(SVG, tag), props, children);
}

function build(element, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) {
            element[name] = (event) => void value(event); // an answer of false would cancel the event
            (element.$on ??= new Set()).add(name);
        } else if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
        else if (PROPERTIES.has(name)) element[name] = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    append(element, children);
    return element;
}

function append(parent, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child)) append(parent, child);
        else parent.append(child instanceof Node ? child : String(child));
    }
}

/** A fragment of several nodes. */
export function all(...children) {
    const fragment = document.createDocumentFragment();
    append(fragment, children);
    return fragment;
}

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** Turns `old` into `next`, and answers the node that is in the page then. An element with data-keep is left alone. */
export function morph(old, next) {
    if (!alike(old, next)) {
        old.replaceWith(next);
        return next;
    }
    if (old.nodeType !== 1) {
        if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
        return old;
    }
    if (old.hasAttribute("data-keep")) return old;
    morphAttributes(old, next);
    morphChildren(old, [...next.childNodes]);
    return old;
}

function morphAttributes(old, next) {
    for (const { name, value } of next.attributes)
        if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes])
        // The reader opens and closes details, so their state is the page's own.
        if (name !== "style" && name !== "open" && !next.hasAttribute(name)) old.removeAttribute(name);
    if (old.style && old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
    for (const name of new Set([...(old.$on ?? []), ...(next.$on ?? [])])) old[name] = next[name];
    old.$on = next.$on;
    // A form has its inputs as properties, so an input called "value" must not be taken for the form's own value.
    if (!old.matches("input, textarea, select, option, button")) return;
    const typing = old === document.activeElement;
    for (const name of PROPERTIES)
        if (name in next && old[name] !== next[name] && !(typing && name === "value")) old[name] = next[name];
}

/** Makes `children` the children of `parent`. Children with a data-key are matched by it wherever they are. */
export function morphChildren(parent, children) {
    const keyed = new Map();
    for (const child of parent.childNodes) if (keyOf(child) !== null) keyed.set(keyOf(child), child);
    let place = parent.firstChild;
    for (const next of children) {
        const key = keyOf(next);
        const match = key === null ? place : keyed.get(key);
        if (match && alike(match, next) && (key !== null || !keyed.has(keyOf(match)))) {
            if (match !== place) parent.insertBefore(match, place);
            else place = place.nextSibling;
            morph(match, next);
        } else {
            parent.insertBefore(next, place);
        }
    }
    while (place) {
        const behind = place.nextSibling;
        place.remove();
        place = behind;
    }
}
