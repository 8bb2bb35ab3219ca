/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/file.h"
#include "store/memory.h"

/* The only place that names the concrete stores. */
static const struct {
    const char *name;
    int (*open)(const char *path, const struct store_options *o, struct store **ret);
} kinds[] = {
    { "file", file_open }, /* first: it stands for a bare directory */
    { "memory", memory_open },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Each thread has its own, so that no failure changes the report of another thread. */
static _Thread_local char detail[512];

const char *store_detail(void)
{
    return detail;
}

int store_fail(int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    return err;
}

/* Length of "kind" in "kind:rest"; 0 for a bare path, which may have a colon after a slash. */
static size_t kind_len(const char *url)
{
    size_t n = strcspn(url, ":/.");
    return url[n] == ':' ? n : 0;
}

int store_open(const char *url, const struct store_options *o, struct store **ret)
{
    static const struct store_options defaults = { 0 };
    size_t len = kind_len(url);
    if (!o)
        o = &defaults;
    if (len == 0)
        return kinds[0].open(url, o, ret);
    for (size_t i = 0; i < KINDS; i++) {
        if (str_eq((struct str){ url, len }, str_of(kinds[i].name)))
            return kinds[i].open(url + len + 1, o, ret);
    }
    return store_fail(BELFRY_INVALID, "%s: unknown kind of store '%.*s'", url, (int)len, url);
}

void store_close(struct store *s)
{
    if (s)
        s->ops->close(s);
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

static bool component_valid(struct str c)
{
    return c.len > 0 && !str_eq(c, STR(".")) && !str_eq(c, STR(".."));
}

bool store_name_valid(struct str name)
{
    size_t start = 0;
    if (name.len == 0 || name.len > STORE_NAME_MAX)
        return false;
    for (size_t i = 0; i <= name.len; i++) {
        if (i == name.len || name.ptr[i] == '/') {
            if (!component_valid((struct str){ name.ptr + start, i - start }))
                return false;
            start = i + 1;
        } else if (!name_char(name.ptr[i])) {
            return false;
        }
    }
    return true;
}

static int check_name(struct str name, const char *what)
{
    if (store_name_valid(name))
        return 0;
    return store_fail(BELFRY_INVALID, "'%.*s' is no name for a %s", STR_ARG(name), what);
}

int store_check_log(struct str name)
{
    return check_name(name, "log");
}

int store_check_append(const struct store_append *a)
{
    int r = store_check_log(a->log);
    if (r == 0)
        r = check_name(a->fence, "record");
    if (r < 0)
        return r;
    if (a->element.len == 0 || a->element.len > STORE_ELEMENT_MAX)
        return store_fail(BELFRY_INVALID, "%.*s: an element of %zu bytes; 1 to %u are possible",
                          STR_ARG(a->log), a->element.len, STORE_ELEMENT_MAX);
    return 0;
}

int store_check_cas(const struct store_cas *c)
{
    int r = check_name(c->name, "record");
    if (r < 0)
        return r;
    if (c->next == 0 || c->next < c->expect)
        return store_fail(BELFRY_INVALID, "%.*s: a version must not fall", STR_ARG(c->name));
    if (c->value.len > STORE_VALUE_MAX || c->expires_ms < 0)
        return store_fail(BELFRY_INVALID, "%.*s: value too long or expiry negative",
                          STR_ARG(c->name));
    return 0;
}

struct get {
    struct str name;
    void *buf;
    size_t cap;
    struct store_cell *ret;
};

enum { GET_FOUND = 1 };

static int get_cell(void *arg, const struct store_cell *cell)
{
    struct get *g = arg;
    if (!str_eq(cell->name, g->name))
        return 0;
    if (cell->value.len > g->cap)
        return store_fail(BELFRY_TOOLARGE, "%.*s: its value has %zu bytes", STR_ARG(g->name),
                          cell->value.len);
    if (cell->value.len > 0)
        memcpy(g->buf, cell->value.ptr, cell->value.len);
    *g->ret = *cell;
    g->ret->name = g->name;
    g->ret->value.ptr = g->buf;
    return GET_FOUND;
}

int store_get(struct store *s, struct str name, void *buf, size_t cap, struct store_cell *ret)
{
    struct get g = { name, buf, cap, ret };
    int r = s->ops->scan(s, name, get_cell, &g);
    if (r == GET_FOUND)
        return 0;
    return r < 0 ? r : store_fail(BELFRY_NOTFOUND, "no record %.*s", STR_ARG(name));
}
