/* SPDX-License-Identifier: MIT */
#include "front/http_shape.h"

#include "front/event_stream.h"

static const struct shape_field health_fields[] = {
    SHOW_OWN("status", SHAPE_TEXT, NULL),
    { 0 },
};

/* As http_problem writes it. */
static const struct shape_field problem_fields[] = {
    SHOW_OWN("type", SHAPE_TEXT, NULL),   SHOW_OWN("title", SHAPE_TEXT, NULL),
    SHOW_OWN("status", SHAPE_INT, NULL),  SHOW_OWN("code", SHAPE_TEXT, NULL),
    SHOW_OWN("detail", SHAPE_TEXT, NULL), { 0 },
};

static const struct shape more[] = {
    { "Event", event_fields },
    { "Health", health_fields },
    { "Problem", problem_fields },
};

const struct shape *http_shape(size_t i)
{
    for (const struct shape *s = shapes; s->name; s++)
        if (i-- == 0)
            return s;
    return i < sizeof(more) / sizeof(more[0]) ? &more[i] : NULL;
}
