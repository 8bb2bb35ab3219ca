/* SPDX-License-Identifier: MIT */
/* The disk that is found when the power comes back: the last part of platter.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "power/platter.h"

/* How much of what is not safe is there nevertheless. */
struct luck {
    enum fate { FATE_LOST, FATE_THERE, FATE_UNTIL, FATE_PIECES } data, names;
    uint64_t until; /* FATE_UNTIL: what came before this tick */
    uint64_t odd;   /* the one change of a name that fares otherwise; 0: none */
    bool by_dir;    /* FATE_PIECES: a directory's names fare alike */
    size_t grain;   /* FATE_PIECES: bytes of data that fare alike */
    struct rng *rng;
};

const char *loss_text(enum loss loss)
{
    static const char *const texts[] = {
#define LOSS_TEXT(name, text) text,
        LOSSES(LOSS_TEXT)
#undef LOSS_TEXT
    };
    return texts[loss];
}

static uint64_t first_tick(const struct platter *p)
{
    uint64_t first = p->tick;
    for (const struct node *n = p->nodes; n; n = n->next) {
        if (n->patch_count > 0 && n->patches[0].tick < first)
            first = n->patches[0].tick;
        if (n->change_count > 0 && n->changes[0].tick < first)
            first = n->changes[0].tick;
    }
    return first;
}

/* One change of a name that is not safe, mostly a late one. 0: there is none. */
static uint64_t pick_change(const struct platter *p, struct rng *r)
{
    uint64_t picked = 0;
    uint64_t seen = 0;
    for (const struct node *n = p->nodes; n; n = n->next) {
        for (size_t i = 0; i < n->change_count; i++) {
            if (rng_below(r, ++seen) == 0)
                picked = n->changes[i].tick;
        }
    }
    return picked;
}

static struct luck luck_of(const struct platter *p, enum loss loss, struct rng *r)
{
    struct luck l = { .rng = r, .grain = rng_chance(r, 50) ? 512 : 4096 };
    uint64_t first = first_tick(p);
    switch (loss) {
    case LOSS_NONE: l.data = l.names = FATE_THERE; break;
    case LOSS_LATEST:
        l.data = l.names = FATE_UNTIL;
        l.until = first + rng_below(r, p->tick - first + 2);
        break;
    case LOSS_NAMES: l.data = FATE_THERE; break;
    case LOSS_DATA: l.names = FATE_THERE; break;
    case LOSS_ONE_NAME:
        l.data = l.names = FATE_THERE;
        l.odd = pick_change(p, r);
        break;
    case LOSS_BUT_ONE_NAME:
        l.data = FATE_THERE;
        l.odd = pick_change(p, r);
        break;
    case LOSS_DIRS:
        l.data = l.names = FATE_PIECES;
        l.by_dir = true;
        break;
    case LOSS_PIECES: l.data = l.names = FATE_PIECES; break;
    default: break; /* ALL */
    }
    return l;
}

/* ---- Data ---- */

/* How many of the patches have an effect here. */
static size_t reach_of(const struct node *n, const struct luck *l)
{
    size_t count = 0;
    switch (l->data) {
    case FATE_LOST: return 0;
    case FATE_THERE: return n->patch_count;
    case FATE_PIECES: return (size_t)rng_below(l->rng, n->patch_count + 1);
    default: break;
    }
    while (count < n->patch_count && n->patches[count].tick < l->until)
        count++;
    return count;
}

/* Fills [from, to) of the copy with what the first `count` patches make of it. */
static void lay_piece(struct node *copy, const struct node *n, size_t count, uint64_t from,
                      uint64_t to)
{
    uint64_t kept = n->kept_size < to ? n->kept_size : to;
    memset(copy->now + from, 0, to - from);
    if (kept > from)
        memcpy(copy->now + from, n->kept + from, kept - from);
    for (size_t i = 0; i < count; i++) {
        const struct patch *w = &n->patches[i];
        uint64_t lo = w->offset > from ? w->offset : from;
        uint64_t hi = w->offset + w->len < to ? w->offset + w->len : to;
        if (!w->bytes && w->offset < to) /* cut off, or made longer with zeros */
            memset(copy->now + lo, 0, to - lo);
        else if (lo < hi)
            memcpy(copy->now + lo, w->bytes + (lo - w->offset), hi - lo);
    }
}

static void lay_bytes(struct node *copy, const struct node *n, const struct luck *l)
{
    size_t count = reach_of(n, l);
    copy->size = count > 0 ? n->patches[count - 1].size : n->kept_size;
    copy->room = copy->size;
    copy->now = malloc(copy->size + 1);
    assert(copy->now);
    size_t grain = l->data == FATE_PIECES && n->patch_count > 0 ? l->grain : (size_t)copy->size;
    for (uint64_t at = 0; at < copy->size; at += grain) {
        uint64_t to = at + grain < copy->size ? at + grain : copy->size;
        lay_piece(copy, n, l->data == FATE_PIECES ? reach_of(n, l) : count, at, to);
    }
    copy->kept = malloc(copy->size + 1);
    assert(copy->kept);
    memcpy(copy->kept, copy->now, copy->size);
    copy->kept_size = copy->size;
}

/* ---- Names ---- */

static bool is_there(const struct change *c, const struct luck *l, bool dir_there)
{
    bool there = l->names == FATE_THERE;
    if (l->names == FATE_UNTIL)
        there = c->tick < l->until;
    else if (l->names == FATE_PIECES)
        there = l->by_dir ? dir_there : rng_chance(l->rng, 50);
    return c->tick == l->odd ? !there : there;
}

/* Of one name a change is there only if those before it are. */
static struct node *value_of(const struct node *dir, const char *name, const struct luck *l,
                             bool dir_there)
{
    struct node *value = entries_find(&dir->kept_names, name);
    for (size_t i = 0; i < dir->change_count; i++) {
        const struct change *c = &dir->changes[i];
        if (strcmp(c->name, name) != 0)
            continue;
        if (!is_there(c, l, dir_there))
            break;
        value = c->node;
    }
    return value;
}

static struct node *copy_node(struct platter *to, struct node *n, const struct luck *l);

static void put_name(struct platter *to, struct node *copy, const char *name, struct node *value,
                     const struct luck *l)
{
    if (!value || entries_find(&copy->names, name))
        return;
    struct entries *e = &copy->names;
    struct node *there = copy_node(to, value, l);
    there->links++;
    e->items = realloc(e->items, (e->count + 1) * sizeof(*e->items));
    assert(e->items);
    e->items[e->count++] = (struct entry){ strdup(name), there };
    e->cap = e->count;
}

static void lay_names(struct platter *to, struct node *copy, const struct node *n,
                      const struct luck *l)
{
    bool dir_there = rng_chance(l->rng, 50);
    for (size_t i = 0; i < n->kept_names.count; i++) {
        const char *name = n->kept_names.items[i].name;
        put_name(to, copy, name, value_of(n, name, l, dir_there), l);
    }
    for (size_t i = 0; i < n->change_count; i++) {
        const char *name = n->changes[i].name;
        if (!entries_find(&n->kept_names, name))
            put_name(to, copy, name, value_of(n, name, l, dir_there), l);
    }
    copy->kept_names.items = calloc(copy->names.count + 1, sizeof(*copy->names.items));
    assert(copy->kept_names.items);
    copy->kept_names.cap = copy->names.count + 1;
    for (size_t i = 0; i < copy->names.count; i++) {
        const struct entry *e = &copy->names.items[i];
        copy->kept_names.items[copy->kept_names.count++] =
            (struct entry){ strdup(e->name), e->node };
    }
}

/* A file that two names lead to stays one. */
static struct node *copy_node(struct platter *to, struct node *n, const struct luck *l)
{
    if (n->copy)
        return n->copy;
    struct node *copy = calloc(1, sizeof(*copy));
    assert(copy);
    copy->ino = to->next_ino++;
    copy->dir = n->dir;
    copy->next = to->nodes;
    to->nodes = copy;
    n->copy = copy;
    if (n->dir)
        lay_names(to, copy, n, l);
    else
        lay_bytes(copy, n, l);
    return copy;
}

struct platter *platter_lose(const struct platter *p, enum loss loss, struct rng *r)
{
    struct luck l = luck_of(p, loss, r);
    struct platter *to = calloc(1, sizeof(*to));
    assert(to);
    to->next_ino = 2;
    to->salt.state = rng_next(r);
    to->root = copy_node(to, p->root, &l);
    to->root->links = 1;
    for (struct node *n = p->nodes; n; n = n->next)
        n->copy = NULL;
    return to;
}
