/* SPDX-License-Identifier: MIT */
#include "cli/grid.h"

#include <stdio.h>

#include "base/array.h"
#include "cli/term.h"
#include "cli/text.h"

#define GAP       2
#define NARROWEST 8

void grid_fini(struct grid *g)
{
    free(g->cells);
    buf_fini(&g->text);
    *g = (struct grid){ 0 };
}

size_t grid_column(struct grid *g, struct str title, bool right, bool fixed)
{
    struct grid_column *c = &g->columns[g->n];

    if (g->n == GRID_COLUMNS_MAX)
        return GRID_COLUMNS_MAX;
    snprintf(c->title, sizeof(c->title), "%.*s", STR_ARG(title));
    c->right = right;
    c->fixed = fixed;
    return g->n++;
}

void grid_cell(struct grid *g, struct str text, const char *tone)
{
    struct grid_cell *cells = array_room(g->cells, g->cells_n, &g->cells_cap, sizeof(*g->cells));

    if (!cells)
        return;
    g->cells = cells;
    g->cells[g->cells_n++] = (struct grid_cell){ g->text.len, text.len, tone };
    buf_str(&g->text, text);
}

static struct str cell_text(const struct grid *g, size_t i)
{
    return (struct str){ g->text.ptr + g->cells[i].at, g->cells[i].len };
}

static bool says_nothing(struct str text)
{
    static const char *const idle[] = { "", "-", "0", "no", "0ms", "0 B" };

    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
        if (str_eq(text, str_of(idle[i])))
            return true;
    return false;
}

static size_t total_width(const struct grid *g, size_t cut_to)
{
    size_t total = 0;

    for (size_t c = 0; c < g->n; c++) {
        const struct grid_column *column = &g->columns[c];
        bool cut = !column->fixed && column->width > cut_to;
        if (!column->hidden)
            total += (cut ? cut_to : column->width) + (total ? GAP : 0);
    }
    return total;
}

/* How much a column tells: see grid.h. */
static int worth_of(const struct grid *g, size_t column)
{
    bool idle = true, same = g->columns[column].right && g->cells_n > g->n;

    for (size_t i = column; i < g->cells_n; i += g->n) {
        idle = idle && says_nothing(cell_text(g, i));
        same = same && str_eq(cell_text(g, i), cell_text(g, column));
    }
    return idle ? 0 : same ? 1 : 2;
}

size_t grid_natural(struct grid *g)
{
    for (size_t c = 0; c < g->n; c++) {
        g->columns[c].width = strlen(g->columns[c].title);
        g->columns[c].worth = worth_of(g, c);
    }
    for (size_t i = 0; g->n && i < g->cells_n; i++) {
        struct grid_column *c = &g->columns[i % g->n];
        size_t wide = text_columns(cell_text(g, i));
        c->width = wide > c->width ? wide : c->width;
    }
    return total_width(g, SIZE_MAX);
}

static struct grid_column *widest(struct grid *g)
{
    struct grid_column *found = NULL;

    for (size_t c = 0; c < g->n; c++) {
        struct grid_column *column = &g->columns[c];
        if (!column->hidden && !column->fixed && column->width > NARROWEST &&
            (!found || column->width > found->width))
            found = column;
    }
    return found;
}

/* Hides columns of at most this worth, the last first, until the rest fits if cut to cut_to. */
static size_t hide(struct grid *g, size_t width, int worth, size_t cut_to)
{
    size_t n = 0;

    for (size_t c = g->n; c-- > 1 && total_width(g, cut_to) > width;) {
        if (g->columns[c].hidden || g->columns[c].worth > worth)
            continue;
        g->columns[c].hidden = true;
        n++;
    }
    return n;
}

size_t grid_fit(struct grid *g, size_t width)
{
    size_t total, hidden = 0;

    g->limited = width > 0;
    grid_natural(g);
    if (width == 0)
        return 0;
    hidden += hide(g, width, 0, SIZE_MAX);
    hidden += hide(g, width, 1, SIZE_MAX);
    hidden += hide(g, width, 2, NARROWEST);
    for (total = total_width(g, SIZE_MAX); total > width; total--) {
        struct grid_column *c = widest(g);
        if (!c)
            break;
        c->width--;
    }
    return hidden;
}

static bool is_last(const struct grid *g, size_t column)
{
    while (++column < g->n)
        if (!g->columns[column].hidden)
            return false;
    return true;
}

static void put_cell(const struct grid *g, struct buf *out, size_t column, struct str text,
                     const char *tone)
{
    const struct grid_column *c = &g->columns[column];
    size_t wide = text_columns(text);
    bool last = is_last(g, column);

    if (c->hidden)
        return;
    if (c->right && wide < c->width)
        text_spaces(out, c->width - wide);
    if (tone)
        buf_text(out, tone);
    /* Ids that are longer than those of the first page stay whole. */
    wide = text_put(out, text, g->limited && !c->fixed ? c->width : 0);
    if (tone)
        buf_text(out, TERM_PLAIN);
    if (!c->right && !last && wide < c->width)
        text_spaces(out, c->width - wide);
    if (!last)
        text_spaces(out, GAP);
}

void grid_put_head(const struct grid *g, struct buf *out, size_t indent, bool colour)
{
    text_spaces(out, indent);
    for (size_t c = 0; c < g->n; c++)
        put_cell(g, out, c, str_of(g->columns[c].title), colour ? TERM_BOLD : NULL);
    buf_text(out, "\n");
}

void grid_put_rows(struct grid *g, struct buf *out, size_t indent, bool colour)
{
    for (size_t i = 0; i < g->cells_n; i++) {
        if (i % g->n == 0)
            text_spaces(out, indent);
        put_cell(g, out, i % g->n, cell_text(g, i), colour ? g->cells[i].tone : NULL);
        if (i % g->n == g->n - 1)
            buf_text(out, "\n");
    }
    grid_clear(g);
}

void grid_clear(struct grid *g)
{
    g->cells_n = 0;
    g->text.len = 0;
}
