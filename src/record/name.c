/* SPDX-License-Identifier: MIT */
#include "record/name.h"

#include <string.h>

bool name_valid(struct str name)
{
    static const bool allowed[256] = {
        ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... ':'] = true, ['.'] = true,
        ['_'] = true,         ['-'] = true,         ['/'] = true,
    };
    bool valid = name.len > 0 && name.len <= NAME_MAX_BYTES;

    for (size_t i = 0; i < name.len && valid; i++)
        valid = allowed[(unsigned char)name.ptr[i]];
    return valid;
}

void scope_split(struct str full, struct str *ret_tenant, struct str *ret_queue)
{
    const char *at = memchr(full.ptr, SCOPE_SEP, full.len);

    *ret_tenant = STR(TENANT_DEFAULT);
    *ret_queue = full;
    if (at) {
        ret_tenant->ptr = full.ptr;
        ret_tenant->len = (size_t)(at - full.ptr);
        ret_queue->ptr = at + 1;
        ret_queue->len = full.len - ret_tenant->len - 1;
    }
}

bool queue_name_valid(struct str full)
{
    struct str tenant, queue;

    scope_split(full, &tenant, &queue);
    return name_valid(tenant) && name_valid(queue) &&
           (tenant.ptr != full.ptr || !str_eq(tenant, STR(TENANT_DEFAULT)));
}

bool stored_name_valid(struct str full)
{
    struct str tenant, queue;

    scope_split(full, &tenant, &queue);
    if (queue.len > 0 && queue.ptr[0] == HIDDEN_MARK) {
        queue.ptr++;
        queue.len--;
    }
    return name_valid(tenant) && name_valid(queue);
}

const struct hidden_row hidden_rows[HIDDEN_KINDS] = {
#define ROW(kind, name, lists_ended) [HIDDEN_##kind] = { { name, sizeof(name) - 1 }, lists_ended },
    HIDDEN_QUEUES(ROW)
#undef ROW
};

enum hidden hidden_kind(struct str queue)
{
    if (queue.len == 0 || queue.ptr[0] != HIDDEN_MARK)
        return HIDDEN_NONE;
    for (int i = 1; i < HIDDEN_KINDS; i++)
        if (str_eq(queue, hidden_rows[i].name))
            return (enum hidden)i;
    return HIDDEN_RECURRENCE; /* a newer version's: unreadable, like a damaged recurrence */
}

struct str hidden_queue_name(struct str tenant, enum hidden kind, char buf[QUEUE_MAX_BYTES])
{
    struct str queue = hidden_rows[kind].name;

    if (str_eq(tenant, STR(TENANT_DEFAULT)))
        return queue;
    memcpy(buf, tenant.ptr, tenant.len);
    buf[tenant.len] = SCOPE_SEP;
    memcpy(buf + tenant.len + 1, queue.ptr, queue.len);
    return (struct str){ buf, tenant.len + 1 + queue.len };
}
