/* SPDX-License-Identifier: MIT */
#include "cli/synonym.h"

/* A word for a command that changes something runs nothing. In the tool that it comes from, the
 * word may mean something else. */
static const struct synonym synonyms[] = {
    { "add", "schedule", false },
    { "cron", "recur", false },
    { "crontab", "recurrences", false },
    { "delay", "schedule", false },
    { "describe", "get", true },
    { "dlq", "list --state dead", false },
    { "enqueue", "schedule", false },
    { "every", "recur", false },
    { "failed", "list --state dead", false },
    { "info", "stats", true },
    { "jobs", "list", true },
    { "kill", "cancel", false },
    { "log", "events", false },
    { "logs", "events", false },
    { "ls", "list", true },
    { "monitor", "top", false },
    { "perform", "work", false },
    { "ps", "list", true },
    { "purge", "bulk delete", false },
    { "push", "schedule", false },
    { "remove", "delete", false },
    { "repeat", "recur", false },
    { "requeue", "redrive", false },
    { "retry", "redrive", false },
    { "rm", "delete", false },
    { "run", "work", false },
    { "send", "schedule", false },
    { "show", "get", true },
    { "start", "work", false },
    { "status", "stats", true },
    { "stop", "pause", false },
    { "submit", "schedule", false },
    { "tail", "events", true },
    { "unpause", "resume", false },
    { "watch", "top", false },
    { "why", "explain", true },
    { "worker", "work", false },
};

const struct synonym *synonym_find(struct str word)
{
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++)
        if (str_ieq(word, synonyms[i].word))
            return &synonyms[i];
    return NULL;
}
