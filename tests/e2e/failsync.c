/* SPDX-License-Identifier: MIT */
/* Preloaded into the server: while the file $FAILSYNC exists, fdatasync fails as a dying disk does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int fdatasync(int fd)
{
    const char *flag = getenv("FAILSYNC");

    if (flag && access(flag, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    if (getenv("COUNTSYNC")) {
        int count = open(getenv("COUNTSYNC"), O_WRONLY | O_CREAT | O_APPEND, 0600);

        if (write(count, ".", 1) < 0)
            abort();
        close(count);
    }
    return (int)syscall(SYS_fdatasync, fd);
}
