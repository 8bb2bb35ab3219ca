/* SPDX-License-Identifier: MIT */
/* Preloaded into the server: while the file $FAILSYNC exists, fdatasync fails as a dying disk does.
 */
#include <errno.h>
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
    return (int)syscall(SYS_fdatasync, fd);
}
