/* SPDX-License-Identifier: MIT */
#include "cli/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

#define TOKEN_MAX 512

/* The text without the blanks and line breaks at its end. */
static struct str trimmed(const char *text, size_t len)
{
    while (len > 0 && strchr("\r\n \t", text[len - 1]))
        len--;
    return (struct str){ text, len };
}

static int read_file(const char *path, struct buf *out, char *why, size_t why_size)
{
    char text[TOKEN_MAX + 1];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    bool bad = !f || ferror(f);

    if (bad)
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    if (bad)
        return BELFRY_IO;
    if (n > TOKEN_MAX || trimmed(text, n).len == 0) {
        snprintf(why, why_size, "%s: expected a token, name.secret, and nothing else", path);
        return BELFRY_IO;
    }
    buf_str(out, trimmed(text, n));
    return 0;
}

int auth_token(struct buf *out, char *why, size_t why_size)
{
    const char *token = getenv("BELFRY_AUTH"), *path = getenv("BELFRY_AUTH_FILE");

    if (token && *token)
        buf_str(out, trimmed(token, strlen(token)));
    else if (path && *path)
        return read_file(path, out, why, why_size);
    return 0;
}
