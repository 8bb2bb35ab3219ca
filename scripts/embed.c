/* SPDX-License-Identifier: MIT */
/*
 * Writes files as C, for files that are part of a program: embed OUT [NAME PLAIN PACKED]...
 *
 * For each file there are two arrays, with its bytes as they are and packed by gzip, and a row of
 * EMBED_ROW: its name, its tag, which depends on the bytes alone, and both arrays.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Writes a file as an array, and returns its FNV-1a hash. Ends the program after an error. */
static uint64_t put_array(FILE *out, const char *kind, int i, const char *path)
{
    FILE *in = fopen(path, "rb");
    uint64_t hash = FNV_BASIS;
    int n = 0, c;

    if (!in) {
        perror(path);
        exit(1);
    }
    fprintf(out, "static const unsigned char %s_%d[] = {", kind, i);
    while ((c = getc(in)) != EOF) {
        fprintf(out, "%s%d,", n++ % 32 ? "" : "\n", c);
        hash = (hash ^ (uint64_t)c) * FNV_PRIME;
    }
    fputs("\n};\n", out);
    if (ferror(in) | fclose(in) | !n) {
        fprintf(stderr, "%s: it is empty or cannot be read\n", path);
        exit(1);
    }
    return hash;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 && argc % 3 == 2 ? fopen(argv[1], "w") : NULL;
    int files = (argc - 2) / 3;
    uint64_t *tags = out ? calloc((size_t)files + 1, sizeof(*tags)) : NULL;

    if (!tags) {
        fprintf(stderr, "usage: embed OUT [NAME PLAIN PACKED]...\n");
        return 1;
    }
    for (int i = 0; i < files; i++) {
        tags[i] = put_array(out, "plain", i, argv[3 + 3 * i]);
        put_array(out, "packed", i, argv[4 + 3 * i]);
    }
    fprintf(out, "#define EMBED_ROWS");
    for (int i = 0; i < files; i++)
        fprintf(out, " \\\n    EMBED_ROW(\"%s\", \"%016" PRIx64 "\", plain_%d, packed_%d)",
                argv[2 + 3 * i], tags[i], i, i);
    fputs("\n", out);
    free(tags);
    if (ferror(out) | fclose(out)) {
        perror(argv[1]);
        return 1;
    }
    return 0;
}
