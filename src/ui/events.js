/* SPDX-License-Identifier: MIT */
/* Changes of jobs as they happen. All tabs share one stream: the tab that holds the lock reads it and tells the others.
 * A hidden tab reads nothing. Without locks (a page over plain HTTP from afar) each tab has a stream of its own. */

const channel = "BroadcastChannel" in self ? new BroadcastChannel("belfry-events") : null;
const readers = new Set();
let stop = null;

function tell(event) {
    for (const reader of readers) reader(event);
}

if (channel) channel.onmessage = ({ data }) => tell(data);

/** Calls `reader` with each event until the answered function is called. */
export function listen(reader) {
    readers.add(reader);
    wake();
    return () => {
        readers.delete(reader);
        wake();
    };
}

function wake() {
    const wanted = readers.size > 0 && !document.hidden;
    if (wanted && !stop) {
        stop = new AbortController();
        hold(stop.signal).catch(() => {});
    } else if (!wanted && stop) {
        stop.abort();
        stop = null;
    }
}

document.addEventListener("visibilitychange", wake);

async function hold(signal) {
    if (!navigator.locks) return follow(signal);
    return navigator.locks.request("belfry-events", { signal }, () => follow(signal));
}

const pause = (ms, signal) =>
    new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
        });
    });

/** Reads the stream, again and again, until the signal ends it. */
async function follow(signal) {
    // The stream of the tab before may still count for the server, so the first pause is short.
    for (let wait = 300; !signal.aborted; wait = Math.min(2 * wait, 5000)) {
        try {
            // Without a tenant the stream would be about `default`; a token of one tenant may name only that.
            let answer = await fetch("v1/events?tenant=*", { signal, headers: { Accept: "text/event-stream" } });
            if (answer.status === 403) answer = await fetch("v1/events", { signal });
            if (answer.ok) {
                wait = 300;
                await read(answer.body, signal);
            }
        } catch {
            // The server went away, or the tab was hidden: the loop decides.
        }
        if (!signal.aborted) await pause(wait, signal);
    }
}

async function read(body, signal) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!signal.aborted) {
        const { value, done } = await reader.read();
        if (done) return;
        const blocks = (text + value).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
            const data = /^data: ?(.*)$/m.exec(block);
            if (!data || /^event: ?gap$/m.test(block)) continue;
            const event = JSON.parse(data[1]);
            tell(event);
            channel?.postMessage(event);
        }
    }
}
