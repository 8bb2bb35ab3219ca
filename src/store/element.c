/* SPDX-License-Identifier: MIT */
#include "store/element.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "store/disk.h"
#include "store/store.h"

static const char magic[8] = { 'B', 'E', 'L', 'F', 'R', 'Y', 'L', 'G' };
static const char zeros[ELEMENT_HEADER];

struct log_header {
    char magic[8];
    uint32_t version;
    uint32_t start;
    uint64_t name_hash;
    uint64_t salt;
    char reserved[24];
    uint64_t checksum; /* of all before it */
};
_Static_assert(sizeof(struct log_header) == LOG_HEADER, "header has no holes");

void log_key_set(struct log_key *key, uint64_t name_hash, uint64_t salt)
{
    key->name_hash = name_hash;
    key->salt = salt;
    key->mask = XXH64(&salt, sizeof salt, name_hash);
}

void log_key_new(struct str name, struct log_key *ret)
{
    uint64_t salt;
    if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) != (ssize_t)sizeof salt) {
        /* The kernel's pool is not ready yet. The salt must be unique above all. */
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        salt = XXH64(&now, sizeof now, (uint64_t)(uintptr_t)&now);
    }
    log_key_set(ret, XXH64(name.ptr, name.len, 0), salt);
}

void log_header_encode(const struct log_key *key, char ret[LOG_START])
{
    struct log_header h = {
        .version = LOG_VERSION,
        .start = LOG_START,
        .name_hash = key->name_hash,
        .salt = key->salt,
    };
    memcpy(h.magic, magic, sizeof magic);
    h.checksum = XXH64(&h, offsetof(struct log_header, checksum), 0);
    memset(ret, 0, LOG_START);
    memcpy(ret, &h, sizeof h);
    memcpy(ret + LOG_COPY, &h, sizeof h);
}

const char *log_header_decode(const char header[LOG_HEADER], struct str name, struct log_key *ret)
{
    struct log_header h;
    memcpy(&h, header, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return "not a log: its header has no magic number";
    if (h.checksum != XXH64(&h, offsetof(struct log_header, checksum), 0))
        return "header damaged: checksum does not match";
    if (h.version != LOG_VERSION || h.start != LOG_START)
        return "written by a newer version of Belfry";
    if (h.name_hash != XXH64(name.ptr, name.len, 0))
        return "the log of another name";
    log_key_set(ret, h.name_hash, h.salt);
    return NULL;
}

static uint64_t checksum(const struct log_key *key, uint64_t seq, uint64_t offset, uint32_t length,
                         struct str body)
{
    uint64_t bind[5] = { key->name_hash, key->salt, seq, offset, length };
    return XXH3_64bits_withSeed(body.ptr, body.len, XXH3_64bits(bind, sizeof bind));
}

void element_seal(const struct log_key *key, uint64_t seq, uint64_t offset, bool firm,
                  struct str body, char ret[ELEMENT_HEADER])
{
    assert(body.len > 0 && body.len <= STORE_ELEMENT_MAX && offset % 8 == 0);
    uint32_t length = (uint32_t)body.len | (firm ? ELEMENT_FIRM : 0);
    uint64_t head = (length | (seq << 32)) ^ key->mask;
    uint64_t sum = checksum(key, seq, offset, length, body);
    memcpy(ret, &head, 8);
    memcpy(ret + 8, &sum, 8);
}

int window_init(struct window *w, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    *w = (struct window){ .fd = fd, .size = (uint64_t)st.st_size, .step = WINDOW_BYTES };
    return 0;
}

void window_fini(struct window *w)
{
    buf_fini(&w->buf);
}

/* Begins the window at `offset`, and keeps the bytes that it has from there on: the head of a large
 * element is not read twice. */
static void keep_from(struct window *w, uint64_t offset)
{
    uint64_t end = w->offset + w->buf.len;
    if (offset >= w->offset && offset < end)
        buf_consume(&w->buf, (size_t)(offset - w->offset));
    else
        w->buf.len = 0;
    w->offset = offset;
}

/* Bytes [offset, offset + need) of the file, which has them. */
static int window_at(struct window *w, uint64_t offset, size_t need, const char **ret)
{
    if (offset < w->offset || offset + need > w->offset + w->buf.len) {
        size_t want = need > w->step ? need : w->step;
        keep_from(w, offset);
        size_t kept = w->buf.len;
        if (!buf_reserve(&w->buf, want - kept))
            return -ENOMEM;
        ssize_t n = disk_read(w->fd, w->buf.ptr + kept, want - kept, offset + kept);
        if (n < 0)
            return (int)n;
        w->buf.len += (size_t)n;
        if (w->buf.len < need)
            return -EIO; /* The file shrank meanwhile. */
    }
    *ret = w->buf.ptr + (offset - w->offset);
    return 0;
}

/* Reads and checks the element whose header (masked) begins with `head`: 1, 0, negative errno. */
static int verify(struct window *w, const struct log_key *key, uint64_t head, struct element *e)
{
    uint32_t length = (uint32_t)(head ^ key->mask);
    uint64_t len = length & ~ELEMENT_FIRM;
    const char *p = NULL;
    uint64_t sum;
    if (len == 0 || len > STORE_ELEMENT_MAX || element_span(len) > w->size - e->offset)
        return 0;
    int r = window_at(w, e->offset, (size_t)element_span(len), &p);
    if (r < 0)
        return r;
    memcpy(&sum, p + 8, 8);
    e->body = (struct str){ p + ELEMENT_HEADER, (size_t)len };
    e->span = element_span(len);
    e->firm = (length & ELEMENT_FIRM) != 0;
    if (memcmp(e->body.ptr + len, zeros, (size_t)(e->span - ELEMENT_HEADER - len)) != 0)
        return 0;
    return sum == checksum(key, e->seq, e->offset, length, e->body);
}

/* How many bytes a bad element seems to cover. */
static uint64_t guess_span(const struct window *w, const struct log_key *key, uint64_t head,
                           const struct element *e)
{
    uint64_t rest = w->size - e->offset;
    uint64_t v = head ^ key->mask;
    uint64_t len = (uint32_t)v & ~ELEMENT_FIRM;
    uint64_t span = ELEMENT_HEADER;
    if ((uint32_t)(v >> 32) == (uint32_t)e->seq && len <= STORE_ELEMENT_MAX)
        span = element_span(len);
    return span < rest ? span : rest;
}

int element_at(struct window *w, const struct log_key *key, uint64_t offset, uint64_t seq,
               struct element *ret)
{
    struct element e = { .seq = seq, .offset = offset };
    const char *p = NULL;
    uint64_t head = 0;
    uint64_t rest = w->size > offset ? w->size - offset : 0;
    size_t have = rest < ELEMENT_HEADER ? (size_t)rest : ELEMENT_HEADER;
    int r = 0;
    if (have > 0) {
        r = window_at(w, offset, have, &p);
        if (r < 0)
            return r;
        if (memcmp(p, zeros, have) != 0)
            r = ELEMENT_BAD;
        memcpy(&head, p, have < 8 ? have : 8);
    }
    if (r == ELEMENT_BAD && have == ELEMENT_HEADER &&
        (uint32_t)((head ^ key->mask) >> 32) == (uint32_t)seq) {
        int whole = verify(w, key, head, &e);
        if (whole < 0)
            return whole;
        r = whole ? ELEMENT_WHOLE : ELEMENT_BAD;
    }
    if (r == ELEMENT_BAD)
        e.span = guess_span(w, key, head, &e);
    *ret = e;
    return r;
}

/* Looks at every 8th byte of one piece of the file: 1 and e, 0, or a negative errno. */
static int search_piece(struct window *w, const struct log_key *key, const char *piece, size_t len,
                        uint64_t seq, struct element *e)
{
    uint64_t start = e->offset;
    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint64_t head;
        memcpy(&head, piece + i, 8);
        if (head == 0) /* most of a prepared file */
            continue;
        uint32_t ahead = (uint32_t)((head ^ key->mask) >> 32) - (uint32_t)seq;
        if (ahead > ELEMENT_SEARCH)
            continue;
        e->offset = start + i;
        e->seq = seq + ahead;
        if (e->offset + ELEMENT_HEADER > w->size)
            break;
        int r = verify(w, key, head, e);
        if (r != 0)
            return r;
    }
    return 0;
}

int element_search(struct window *w, const struct log_key *key, uint64_t offset, uint64_t seq,
                   struct element *ret)
{
    char *piece = malloc(WINDOW_BYTES); /* its own: verifying moves the window */
    int r = piece ? 0 : -ENOMEM;
    offset = (offset + 7) & ~UINT64_C(7);
    while (r == 0 && offset < w->size) {
        /* Skips space that was allocated and never written, if the system can tell. */
        off_t data = lseek(w->fd, (off_t)offset, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        if (data > (off_t)offset)
            offset = (uint64_t)data & ~UINT64_C(7);
        struct element e = { .offset = offset };
        ssize_t n = disk_read(w->fd, piece, WINDOW_BYTES, offset);
        if (n <= 0) {
            r = (int)n;
            break;
        }
        r = search_piece(w, key, piece, (size_t)n, seq, &e);
        if (r > 0)
            *ret = e;
        offset += WINDOW_BYTES;
    }
    free(piece);
    return r;
}
