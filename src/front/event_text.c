/* SPDX-License-Identifier: MIT */
#include "front/event_text.h"

#include "front/event_stream.h"

#define KEEP_BYTES ((size_t)2048) /* of the memory of a text that is replaced */

void event_texts_fini(struct event_texts *t)
{
    for (size_t i = 0; i < EVENT_TEXTS; i++)
        buf_fini(&t->at[i].text);
    *t = (struct event_texts){ .made = t->made };
}

static void make_text(struct event_texts *t, const struct job_event *ev, struct buf *out)
{
    buf_text(out, "event: ");
    buf_text(out, job_state_name(ev->state));
    buf_text(out, "\ndata: ");
    event_json(ev, out);
    buf_text(out, "\n\n");
    t->made++;
}

void event_texts_put(struct event_texts *t, uint64_t number, const struct job_event *ev,
                     struct buf *out)
{
    size_t i = number % EVENT_TEXTS;
    struct buf *text = &t->at[i].text;

    if (t->at[i].number > number) {
        make_text(t, ev, out);
        return;
    }
    if (t->at[i].number < number) {
        buf_reset(text, KEEP_BYTES);
        make_text(t, ev, text);
        t->at[i].number = text->failed ? 0 : number;
    }
    buf_str(out, buf_view(text));
    out->failed = out->failed || text->failed;
}
