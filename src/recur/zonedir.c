/* SPDX-License-Identifier: MIT */
#include "recur/zonedir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "recur/tzfile.h"

#define PATH_BYTES 4096

static const char no_such[] =
    "no such time zone: expected a name of the IANA database, such as Europe/London or UTC";

static int refuse(const char **why, int err, const char *reason)
{
    if (why)
        *why = reason;
    return err;
}

static bool is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-+./", c));
}

bool zonedir_name_ok(struct str name)
{
    char before = '/';
    if (name.len < 1 || name.len > ZONEDIR_NAME_MAX || name.ptr[name.len - 1] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!is_name_char(c) || (before == '/' && (c == '/' || c == '.')))
            return false;
        before = c;
    }
    return true;
}

/* The whole file, in memory that the caller frees. A directory, a pipe or a device is no zone. */
static int read_file(const char *path, struct str *ret, const char **why)
{
    struct stat st;
    char *bytes = NULL;
    size_t len = 0;
    ssize_t n;
    int err = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? refuse(why, BELFRY_NOTFOUND, no_such)
                   : refuse(why, BELFRY_IO, "the zone's file cannot be opened");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        err = refuse(why, BELFRY_NOTFOUND, no_such);
    else if (st.st_size > (off_t)TZFILE_BYTES_MAX)
        err = refuse(why, BELFRY_CORRUPT, "the zone file is too large");
    else if (!(bytes = malloc((size_t)st.st_size + 1)))
        err = refuse(why, BELFRY_NOMEM, "out of memory");
    while (!err && len < (size_t)st.st_size) {
        n = read(fd, bytes + len, (size_t)st.st_size - len);
        if (n < 0 && errno != EINTR)
            err = refuse(why, BELFRY_IO, "the zone's file cannot be read");
        if (n == 0)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (err) {
        free(bytes);
        return err;
    }
    *ret = (struct str){ bytes, len };
    return 0;
}

int zonedir_load(const char *dir, struct str name, struct zone **ret, const char **ret_why)
{
    char path[PATH_BYTES];
    struct str bytes;
    int err, n;
    if (!zonedir_name_ok(name))
        return refuse(ret_why, BELFRY_INVALID,
                      "not the name of a time zone: expected one such as Europe/London, of at most "
                      "128 of A-Z a-z 0-9 _ - + . /");
    if (str_eq(name, STR("UTC")))
        return zone_new_utc(ret);
    n = snprintf(path, sizeof path, "%s/%.*s", dir, STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof path)
        return refuse(ret_why, BELFRY_INVALID, "the path of the zone files is too long");
    err = read_file(path, &bytes, ret_why);
    if (err)
        return err;
    if (!str_starts(bytes, STR(TZFILE_MAGIC))) /* the directory holds tables and lists as well */
        err = refuse(ret_why, BELFRY_NOTFOUND, no_such);
    else
        err = tzfile_parse(bytes, ret, ret_why);
    free((void *)(uintptr_t)bytes.ptr);
    return err;
}
