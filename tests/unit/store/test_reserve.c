/* SPDX-License-Identifier: MIT */
/* The reserve of a file store on a disk that is full: what its spares give up is all there is. */
#include "support/filestore.h"

#include <errno.h>

#define SPARES 8

/* A disk whose files grow only by as much as was given up of spares. Hooks have no argument. */
static struct {
    struct store *s;
    off_t spare_bytes;
    unsigned least; /* spares that were left at any write */
} disk;

static ssize_t full_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    struct stat st;
    off_t end = offset;
    unsigned left = store_spares(disk.s);
    off_t freed = (off_t)(SPARES - left) * disk.spare_bytes;
    disk.least = left < disk.least ? left : disk.least;
    for (int i = 0; i < count; i++)
        end += (off_t)iov[i].iov_len;
    if (fstat(fd, &st) == 0 && end - st.st_size <= freed)
        return pwritev(fd, iov, count, offset);
    errno = ENOSPC;
    return -1;
}

static const struct disk_hooks full_disk = { full_pwritev, fdatasync, fsync };

static void wait_for_spares(struct fixture *x)
{
    for (int i = 0; i < 3000 && store_spares(x->s) < SPARES; i++)
        usleep(10000);
    assert_int_equal(store_spares(x->s), SPARES);
}

static void make_spares(struct fixture *x)
{
    x->options = (struct store_options){ .log_bytes = 65536, .reserve = SPARES };
    reopen_store(x);
    wait_for_spares(x);
    disk.s = x->s;
    disk.spare_bytes = 65536 + 8192;
    disk.least = SPARES;
}

static void fill_disk(struct fixture *x)
{
    wait_for_spares(x);
    file_set_hooks(x->s, &full_disk);
}

static int put(struct fixture *x, uint64_t seq, size_t len, bool reserved)
{
    char *body = calloc(1, len);
    struct store_append a = { .log = STR("log"),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = { body, len },
                              .durable = true,
                              .reserved = reserved };
    int r = x->s->ops->append(x->s, &a);
    free(body);
    return r;
}

static void element_without_room_gets_that_of_spares(void **state)
{
    struct fixture *x = *state;
    make_spares(x);
    assert_int_equal(put(x, 0, 100, true), 0); /* in one of them */
    fill_disk(x);
    assert_int_equal(put(x, 1, 200000, false), BELFRY_FULL);
    assert_int_equal(disk.least, SPARES); /* the reserve is not for everybody */
    assert_int_equal(put(x, 1, 200000, true), 0);
    assert_int_equal(disk.least, SPARES - 2); /* no more than were needed */
    assert_int_equal(put(x, 2, 100, true), 0);
}

static void first_element_that_is_larger_than_a_spare_gets_that_of_others(void **state)
{
    struct fixture *x = *state;
    make_spares(x);
    fill_disk(x);
    assert_int_equal(put(x, 0, 200000, true), 0);
    assert_in_range(disk.least, SPARES / 2, SPARES - 2);
}

static void element_that_is_larger_than_the_reserve_is_full(void **state)
{
    struct fixture *x = *state;
    make_spares(x);
    assert_int_equal(put(x, 0, 100, true), 0);
    fill_disk(x);
    assert_int_equal(put(x, 1, 2000000, true), BELFRY_FULL);
    assert_int_equal(put(x, 1, 100, true), 0); /* as if nothing had been written */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(element_without_room_gets_that_of_spares),
        TEST(first_element_that_is_larger_than_a_spare_gets_that_of_others),
        TEST(element_that_is_larger_than_the_reserve_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
