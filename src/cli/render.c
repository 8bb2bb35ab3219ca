/* SPDX-License-Identifier: MIT */
#include "cli/render.h"

#include "base/time.h"
#include "cli/client.h"
#include "cli/term.h"
#include "cli/text.h"
#include "engine/types.h"

#define INDENT 2

/* The fields that a verb shows at first. They are the columns of its table, in their order, and the
 * lines of its map that are left out while they say nothing. --wide shows the others, too. */
static const struct {
    const char *verb, *columns, *idle;
} firsts[] = {
    { "LIST", "id,state,tenant,queue,at,attempt,priority,key,error", NULL },
    { "LEASE", "id,token,tenant,queue,payload,attempt,until,key", NULL },
    { "QUEUES", "tenant,queue,scheduled,ready,leased,waiting_workers,done,dead,held_by", NULL },
    { "WORKERS", "worker,tenant,address,queues,running,done,failed,asked,seen", NULL },
    { "TENANTS", "tenant,pending,running,queues,recurrences,weight,max_running,rate,maintenance",
      NULL },
    { "RECURRENCES", "name,tenant,queue,rule,tz,next,last,paused,open,ran,failed,skipped", NULL },
    { "BULKS", "id,action,state,tenant,queue,matched,changed,skipped,created,ended", NULL },
    { "ERRORS", "tenant,queue,count,dead,last,error_group,id", NULL },
    { "SERIES",
      "from,scheduled,picked,succeeded,failed,dead,ready,running,oldest_age,lateness_p50,lateness_"
      "p99",
      NULL },
    { "AUDIT", "at,tenant,user,verb,request,outcome", NULL },
    { "GET", NULL, "deferrals,stalls,notify,gates,cancelling,replacing" },
};

struct render render_for(const struct cli *cli, const struct verb *v, int fd)
{
    struct term t = term_look(fd);
    struct render r = { .width = cli->wide ? 0 : t.width,
                        .colour = t.colour,
                        .now_ms = time_wall_ms(),
                        .fields = cli->fields,
                        .no_header = cli->no_header };

    for (size_t i = 0; v && i < sizeof(firsts) / sizeof(*firsts); i++) {
        if (strcmp(firsts[i].verb, v->name) == 0 && !cli->wide && !cli->fields) {
            r.columns = firsts[i].columns;
            r.idle = firsts[i].idle;
        }
    }
    return r;
}

/* Whether the list "a,b" has this field. */
static bool is_listed(const char *list, struct str name)
{
    struct str word;

    while (render_next_name(&list, &word))
        if (field_is_named(name, word))
            return true;
    return false;
}

bool render_next_name(const char **list, struct str *ret)
{
    size_t len = *list ? strcspn(*list, ",") : 0;

    if (!*list || !**list)
        return false;
    *ret = (struct str){ *list, len };
    *list += len + ((*list)[len] == ',');
    return true;
}

bool render_shows(const struct render *r, struct str name)
{
    return !r->fields || is_listed(r->fields, name);
}

/* States and outcomes have colours, so that trouble stands out. */
static const char *tone_of(struct str name, const struct resp_value *v)
{
    static const struct {
        const char *word, *tone;
    } tones[] = { { "ready", TERM_CYAN },    { "leased", TERM_YELLOW }, { "done", TERM_GREEN },
                  { "dead", TERM_RED },      { "failed", TERM_RED },    { "stalled", TERM_RED },
                  { "cancelled", TERM_DIM }, { "released", TERM_DIM } };

    if (v->type == RESP_NULL)
        return TERM_DIM;
    if (!str_ieq(name, "state") && !str_ieq(name, "outcome"))
        return NULL;
    for (size_t i = 0; i < sizeof(tones) / sizeof(*tones); i++)
        if (str_ieq(v->text, tones[i].word))
            return tones[i].tone;
    return NULL;
}

static bool all_maps(const struct resp_values *v, size_t at)
{
    for (size_t child = at + 1; child < v->at[at].next; child = v->at[child].next)
        if (v->at[child].type != RESP_MAP)
            return false;
    return v->at[at].type == RESP_ARRAY && v->at[at].children > 0;
}

/* Whether the map is a job or queue of the default tenant. */
static bool is_default(const struct resp_values *v, size_t map)
{
    const struct resp_value *tenant = client_field(v, map, "tenant");

    return tenant && client_field(v, map, "queue") && str_eq(tenant->text, STR(TENANT_DEFAULT));
}

/* Whether the column of tenants is left out. */
static bool all_default(const struct resp_values *v, size_t at, const struct render *r)
{
    bool all = !r->tenants;

    for (size_t map = at + 1; all && map < v->at[at].next; map = v->at[map].next)
        all = is_default(v, map);
    return all;
}

/* The pair whose title is that of the column; NULL if the map has none. */
static const struct resp_value *find_pair(const struct resp_values *v, size_t map, struct str title,
                                          struct str *ret_name)
{
    for (size_t key = map + 1; key < v->at[map].next; key = client_next_key(v, key)) {
        *ret_name = v->at[key].text;
        if (field_is_named(*ret_name, title))
            return &v->at[v->at[key].next];
    }
    return NULL;
}

static void add_column(struct render_pages *p, struct str name, const struct resp_value *value)
{
    struct str title = field_title(name);
    enum shape_type type = shape_type_of(name);
    bool number = value->type == RESP_INT || shape_is_number(type);
    size_t c = 0;

    while (c < p->grid.n && !str_eq(title, str_of(p->grid.columns[c].title)))
        c++;
    if (c < p->grid.n)
        return;
    c = grid_column(&p->grid, title, number && type != SHAPE_MOMENT,
                    number || str_ieq(title, "id") || str_ieq(title, "token"));
    if (c < GRID_COLUMNS_MAX)
        p->types[c] = type;
}

/* Adds a column for each name in the map that has none yet. */
static void add_columns(struct render_pages *p, const struct resp_values *v, size_t map,
                        bool no_tenant)
{
    for (size_t i = map + 1; i < v->at[map].next; i = client_next_key(v, i)) {
        struct str name = v->at[i].text;
        if (!(no_tenant && str_eq(name, STR("tenant"))))
            add_column(p, name, &v->at[v->at[i].next]);
    }
}

/* Adds columns for the listed names that the first map has, in the order of the list. */
static void add_listed(struct render_pages *p, const char *list, const struct resp_values *v,
                       size_t map, bool no_tenant)
{
    struct str word;

    while (render_next_name(&list, &word)) {
        struct str name = { 0 };
        const struct resp_value *value = find_pair(v, map, word, &name);
        if (value && !(no_tenant && str_eq(name, STR("tenant"))))
            add_column(p, name, value);
    }
}

static void add_rows(struct render_pages *p, const struct resp_values *v, size_t at,
                     const struct render *r)
{
    struct buf cell = { 0 };

    grid_clear(&p->grid);
    for (size_t map = at + 1; map < v->at[at].next; map = v->at[map].next) {
        for (size_t c = 0; c < p->grid.n; c++) {
            struct str name = { 0 };
            const struct resp_value *value =
                find_pair(v, map, str_of(p->grid.columns[c].title), &name);
            cell.len = 0;
            if (value)
                field_put(&cell, p->types[c], value, r->now_ms, p->style, r->width);
            grid_cell(&p->grid, buf_view(&cell), value ? tone_of(name, value) : NULL);
        }
    }
    buf_fini(&cell);
}

/* A time is shown in full if there is room, and otherwise as its distance from now. After that,
 * text is cut. Where nothing limits the width, a time is one word, for programs. */
static void lay_out(struct render_pages *p, const struct resp_values *v, size_t at,
                    const struct render *r, size_t indent)
{
    size_t room = r->width > indent ? r->width - indent : r->width;
    const char *list = r->fields ? r->fields : r->columns;
    bool no_tenant = !r->fields && all_default(v, at, r);

    if (list)
        add_listed(p, list, v, at + 1, no_tenant);
    for (size_t map = at + 1; !list && map < v->at[at].next; map = v->at[map].next)
        add_columns(p, v, map, no_tenant);
    p->style = room > 0 ? FIELD_FULL : FIELD_DATE;
    add_rows(p, v, at, r);
    if (room > 0 && grid_natural(&p->grid) > room) {
        p->style = FIELD_BRIEF;
        add_rows(p, v, at, r);
    }
    p->hidden = grid_fit(&p->grid, room);
    if (!r->fields && v->at[at + 1].children / 2 > p->grid.n + no_tenant)
        p->hidden += v->at[at + 1].children / 2 - p->grid.n - no_tenant;
    p->begun = true;
}

static void put_map(struct buf *out, const struct resp_values *v, size_t at, const struct render *r,
                    size_t indent);

void render_page(struct render_pages *p, struct buf *out, const struct resp_values *v, size_t at,
                 const struct render *r, size_t indent)
{
    if (!all_maps(v, at))
        return;
    if (p->begun) {
        add_rows(p, v, at, r);
    } else {
        lay_out(p, v, at, r, indent);
        if (!r->no_header)
            grid_put_head(&p->grid, out, indent, r->colour);
    }
    grid_put_rows(&p->grid, out, indent, r->colour);
}

void render_pages_end(const struct render_pages *p, struct buf *out, const struct render *r)
{
    if (p->hidden > 0 && r->width > 0)
        buf_printf(out, "%s(%zu more fields: --wide shows all, --fields a,b some)%s\n",
                   r->colour ? TERM_DIM : "", p->hidden, r->colour ? TERM_PLAIN : "");
}

static void put_scalar(struct buf *out, struct str name, const struct resp_value *v,
                       const struct render *r, size_t used)
{
    const char *tone = r->colour ? tone_of(name, v) : NULL;
    size_t room = r->width > used + 10 ? r->width - used : r->width;

    buf_text(out, tone ? tone : "");
    field_put(out, shape_type_of(name), v, r->now_ms, FIELD_FULL, room);
    buf_text(out, tone ? TERM_PLAIN "\n" : "\n");
}

static void put_list(struct buf *out, const struct resp_values *v, size_t at,
                     const struct render *r)
{
    for (size_t child = at + 1; child < v->at[at].next; child = v->at[child].next) {
        buf_text(out, child > at + 1 ? ", " : "");
        field_put(out, SHAPE_END, &v->at[child], r->now_ms, FIELD_FULL, r->width);
    }
    buf_text(out, "\n");
}

/* Puts the value of a name: on the line of the name, or indented below it. */
static void put_member(struct buf *out, struct str name, const struct resp_values *v, size_t at,
                       const struct render *whole, size_t indent, size_t used)
{
    const struct resp_value *value = &v->at[at];
    struct render part = *whole;
    const struct render *r = &part;

    part.fields = part.columns = part.idle = NULL; /* these name fields of the outer map */
    part.no_header = false;
    if (value->type == RESP_MAP && value->children > 0) {
        buf_text(out, "\n");
        put_map(out, v, at, r, indent + INDENT);
    } else if (all_maps(v, at)) {
        struct render_pages pages = { 0 };
        buf_text(out, "\n");
        render_page(&pages, out, v, at, r, indent + INDENT);
        grid_fini(&pages.grid);
    } else if (value->type == RESP_ARRAY && value->children > 0) {
        put_list(out, v, at, r);
    } else {
        put_scalar(out, name, value, r, used);
    }
}

static bool is_idle(const struct resp_value *v)
{
    return v->type == RESP_INT || v->type == RESP_BOOL ? v->number == 0
                                                       : str_eq(v->text, STR("hold"));
}

/* Whether the pair whose name is at `key` says nothing, or is not wanted. */
static bool is_left_out(const struct resp_values *v, size_t map, size_t key, const struct render *r)
{
    const struct resp_value *value = &v->at[v->at[key].next];
    struct str name = v->at[key].text;

    if (r->fields)
        return !render_shows(r, name);
    return value->type == RESP_NULL || (value->type == RESP_ARRAY && value->children == 0) ||
           (value->type == RESP_MAP && value->children == 0) ||
           (str_eq(name, STR("tenant")) && !r->tenants && is_default(v, map)) ||
           (r->idle && is_listed(r->idle, name) && is_idle(value));
}

static size_t longest_title(const struct resp_values *v, size_t map, const struct render *r)
{
    size_t longest = 0;

    for (size_t key = map + 1; key < v->at[map].next; key = client_next_key(v, key)) {
        size_t wide = text_columns(field_title(v->at[key].text));
        if (!is_left_out(v, map, key, r) && wide > longest)
            longest = wide;
    }
    return longest;
}

static void put_map(struct buf *out, const struct resp_values *v, size_t at, const struct render *r,
                    size_t indent)
{
    size_t longest = longest_title(v, at, r);

    for (size_t key = at + 1; key < v->at[at].next; key = client_next_key(v, key)) {
        struct str name = v->at[key].text;
        size_t value = v->at[key].next;
        bool nested =
            all_maps(v, value) || (v->at[value].type == RESP_MAP && v->at[value].children > 0);
        if (is_left_out(v, at, key, r))
            continue;
        text_spaces(out, indent);
        buf_text(out, r->colour ? TERM_DIM : "");
        size_t wide = text_put(out, field_title(name), 0);
        buf_text(out, r->colour ? TERM_PLAIN : "");
        if (!nested)
            text_spaces(out, longest - wide + 2);
        put_member(out, name, v, value, r, indent, indent + longest + 2);
    }
}

void render_value(struct buf *out, const struct resp_values *v, size_t at, const struct render *r)
{
    if (v->at[at].type == RESP_MAP) {
        put_map(out, v, at, r, 0);
    } else if (all_maps(v, at)) {
        struct render_pages pages = { 0 };
        render_page(&pages, out, v, at, r, 0);
        render_pages_end(&pages, out, r);
        grid_fini(&pages.grid);
    } else if (v->at[at].type == RESP_ARRAY) {
        for (size_t child = at + 1; child < v->at[at].next; child = v->at[child].next)
            render_value(out, v, child, r);
    } else {
        put_scalar(out, STR(""), &v->at[at], r, 0);
    }
}
