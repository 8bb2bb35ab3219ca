/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/program.h"

/* Everything that a shell needs to know of one command. */
struct subject {
    struct flag_name name;
    const char *summary;
    const char *words;            /* of its first argument; NULL: any */
    bool queue;                   /* its first argument is a queue */
    const struct flag_row *flags; /* its own */
};

typedef void subject_fn(const struct subject *s);

/* Lists the names of queues, for a shell. */
#define QUEUES "queues --fields queue --no-header 2>/dev/null"

static bool is_queue(const char *name)
{
    return strcmp(name, "queue") == 0 || strcmp(name, "queues") == 0;
}

static void each_subject(subject_fn *fn)
{
    static const struct flag_row none[1];

    for (const struct verb *v = verb_table; v->name; v++) {
        struct flag_row rows[COMMAND_FLAGS_MAX];

        command_flags(v, rows);
        fn(&(struct subject){ flag_name(str_of(v->name)), v->summary, NULL,
                              v->args[0].name && v->args[0].positional && is_queue(v->args[0].name),
                              rows });
    }
    for (const struct program *p = program_table; p->name; p++)
        fn(&(struct subject){ flag_name(str_of(p->name)), p->summary, p->words, p->run == work_run,
                              p->rows ? p->rows : none });
}

static struct flag_name name_of(const struct flag_row *row)
{
    return flag_name(str_of(row->name));
}

static void print_flags(const struct flag_row *rows)
{
    for (; rows->name; rows++)
        printf(" --%s", name_of(rows).text);
}

/* "a|b|c" with blanks between, and text around it; nothing if there are no words. */
static void print_words(const char *before, const char *words, const char *after)
{
    if (!words)
        return;
    fputs(before, stdout);
    for (; *words; words++)
        putchar(*words == '|' ? ' ' : *words);
    fputs(after, stdout);
}

/* Text inside single quotes; `also` is escaped with a backslash. */
static void print_quoted(const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(also, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

/* ---- bash ---- */

static void bash_queue(const struct subject *s)
{
    if (s->queue)
        printf("%s:%s|", s->name.text, s->name.text);
}

static void bash_name(const struct subject *s)
{
    printf(" %s", s->name.text);
}

static void bash_case(const struct subject *s)
{
    printf("    %s) words='", s->name.text);
    print_words("", s->words, "");
    print_flags(s->flags);
    printf("' ;;\n");
}

static void bash_values(const struct subject *s)
{
    for (const struct flag_row *row = s->flags; row->name; row++) {
        if (!row->words)
            continue;
        printf("    %s:--%s) COMPREPLY=($(compgen -W '", s->name.text, name_of(row).text);
        print_words("", row->words, "' -- \"$cur\")); return ;;\n");
    }
}

static void bash(void)
{
    printf("# bash completion for belfry; made by: belfry completion bash\n"
           "_belfry() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command='' words='' i\n"
           "    local -a server=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n"
           "        --host|--port|--url|--auth-file|--ca|--cert|--cert-key)\n"
           "            server+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\"); ((i++)) ;;\n"
           "        --tls) server+=(--tls) ;;\n"
           "        -*) ;;\n"
           "        *) command=${COMP_WORDS[i]}; break ;;\n"
           "        esac\n"
           "    done\n"
           "    case $command:$prev in\n");
    each_subject(bash_values);
    printf("    ");
    each_subject(bash_queue);
    printf("*:--queue)\n"
           "        [[ $cur == -* ]] || COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" "
           "\"${server[@]}\" " QUEUES ")\" -- \"$cur\"))\n"
           "        [[ $cur == -* ]] || return ;;\n"
           "    esac\n"
           "    case $command in\n"
           "    '') words='--version");
    each_subject(bash_name);
    printf("' ;;\n");
    each_subject(bash_case);
    printf("    esac\n"
           "    [[ $command == help ]] && words='all options exit-codes");
    each_subject(bash_name);
    printf("'\n    COMPREPLY=($(compgen -W \"$words");
    print_flags(flag_globals);
    printf("\" -- \"$cur\"))\n"
           "}\n"
           "complete -o default -F _belfry belfry\n");
}

/* ---- zsh ---- */

static void zsh_name(const struct subject *s)
{
    printf("        '%s:", s->name.text);
    print_quoted(s->summary, ":");
    printf("'\n");
}

static void zsh_rows(const struct flag_row *rows)
{
    for (; rows->name; rows++) {
        printf(" \\\n            '--%s%s[", name_of(rows).text, rows->value ? "=" : "");
        print_quoted(rows->help, "[]:");
        putchar(']');
        if (rows->value)
            printf(":%s:%s", rows->name, is_queue(rows->name) ? "_belfry_queues" : "");
        print_words("(", rows->words, ")");
        putchar('\'');
    }
}

static void zsh_case(const struct subject *s)
{
    printf("    %s)\n        _arguments", s->name.text);
    zsh_rows(s->flags);
    zsh_rows(flag_globals);
    if (s->words) {
        print_words(" \\\n            '1:value:(", s->words, ")'");
    } else if (strcmp(s->name.text, "help") == 0) {
        printf(" \\\n            '1:command:(all options exit-codes");
        each_subject(bash_name);
        printf(")'");
    } else if (s->queue) {
        printf(" \\\n            '1:queue:_belfry_queues' '*:argument:_files'");
    } else {
        printf(" \\\n            '*:argument:_files'");
    }
    printf(" ;;\n");
}

static void zsh(void)
{
    printf("#compdef belfry\n"
           "# made by: belfry completion zsh\n"
           "_belfry_queues() {\n"
           "    local -a queues\n"
           "    queues=(${(f)\"$(belfry " QUEUES ")\"})\n"
           "    compadd -a queues\n"
           "}\n"
           "_belfry() {\n"
           "    local -a commands\n"
           "    local state line\n"
           "    commands=(\n");
    each_subject(zsh_name);
    printf("    )\n"
           "    _arguments -C");
    zsh_rows(flag_globals);
    printf(" \\\n            '1:command:->command' '*::argument:->argument'\n"
           "    case $state in\n"
           "    command) _describe command commands; return ;;\n"
           "    esac\n"
           "    case $line[1] in\n");
    each_subject(zsh_case);
    printf("    esac\n"
           "}\n"
           "_belfry \"$@\"\n");
}

/* ---- fish ---- */

static void fish_rows(const char *condition, const struct flag_row *rows)
{
    for (; rows->name; rows++) {
        printf("complete -c belfry%s -l '%s'%s", condition, name_of(rows).text,
               rows->value ? " -x" : "");
        print_words(" -a '", rows->words, "'");
        if (rows->value && is_queue(rows->name))
            printf(" -a '(belfry " QUEUES ")'");
        printf(" -d '");
        print_quoted(rows->help, "");
        printf("'\n");
    }
}

static void fish_case(const struct subject *s)
{
    char condition[128];

    printf("complete -c belfry -n __fish_use_subcommand -f -a '%s' -d '", s->name.text);
    print_quoted(s->summary, "");
    printf("'\n");
    snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'", s->name.text);
    fish_rows(condition, s->flags);
    if (s->queue)
        printf("complete -c belfry%s -f -a '(belfry " QUEUES ")'\n", condition);
    if (s->words)
        printf("complete -c belfry%s -f -a '", condition);
    print_words("", s->words, "'\n");
}

static void fish(void)
{
    printf("# fish completion for belfry; made by: belfry completion fish\n");
    fish_rows("", flag_globals);
    each_subject(fish_case);
}

int completion_run(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    (void)cli;
    for (size_t i = 0; argc == 1 && i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(argv[0], shells[i].name) == 0) {
            shells[i].print();
            return CLI_OK;
        }
    }
    return cli_usage("completion: say which shell: bash, zsh or fish");
}
