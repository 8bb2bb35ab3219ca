/* SPDX-License-Identifier: MIT */
#include "cli/result.h"

#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/time.h"
#include "cli/call.h"

static const struct {
    const char *name;
    double share;
} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p999", 0.999 } };

#define QUANTILES (sizeof(quantiles) / sizeof(*quantiles))

static struct quantity us_text(uint64_t us)
{
    struct quantity q;
    double ms = (double)us / 1e3;

    if (us < 1000)
        snprintf(q.text, sizeof(q.text), "%uµs", (unsigned)us);
    else if (us < 1000000)
        snprintf(q.text, sizeof(q.text), "%.*fms", us < 10000 ? 2 : us < 100000 ? 1 : 0, ms);
    else
        snprintf(q.text, sizeof(q.text), "%.2fs", ms / 1e3);
    return q;
}

static void put_hist(struct buf *out, const struct hist *h)
{
    for (size_t i = 0; i < QUANTILES; i++)
        buf_printf(out, "%s %s  ", quantiles[i].name,
                   us_text(hist_quantile(h, quantiles[i].share)).text);
    buf_printf(out, "max %s\n", us_text(h->max).text);
}

static void put_line(struct buf *out, const char *op, const char *what, const struct hist *h)
{
    buf_printf(out, "%-9s %-5s  ", op, what);
    put_hist(out, h);
}

/* ---- JSON ---- */

static void number(struct buf *out, const char *name, int64_t v)
{
    buf_printf(out, ",\"%s\":%lld", name, (long long)v);
}

static void histogram(struct buf *out, const char *name, const struct hist *h)
{
    buf_printf(out, ",\"%s\":{\"count\":%llu", name, (unsigned long long)h->count);
    for (size_t i = 0; i < QUANTILES; i++)
        number(out, quantiles[i].name, (int64_t)hist_quantile(h, quantiles[i].share));
    number(out, "max", (int64_t)h->max);
    buf_text(out, "}");
}

static double rate_of(const struct load_result *l)
{
    return (double)l->jobs / (l->seconds > 0 ? l->seconds : 1e-6);
}

static void rate(struct buf *out, const struct load_result *l)
{
    buf_printf(out, ",\"seconds\":%.6f,\"rate\":%.1f", l->seconds, rate_of(l));
}

static void begin(struct result *r, struct buf *out, const char *op, uint64_t jobs)
{
    buf_printf(out, "%c{\"op\":\"%s\",\"driver\":\"%s\"", r->begun ? ',' : '[', op,
               r->target->driver->name);
    number(out, "jobs", (int64_t)jobs);
    r->begun = true;
}

static void finish(struct result *r, struct buf *out)
{
    buf_text(out, r->json ? "}\n" : "");
    call_print(out);
    buf_fini(out);
}

void result_end(struct result *r)
{
    if (r->begun)
        puts("]");
}

/* ---- Loads ---- */

static void load_json(struct result *r, struct buf *out, const char *op,
                      const struct load_options *o, const struct load_result *l, struct str more)
{
    begin(r, out, op, l->jobs);
    number(out, "payload_bytes", (int64_t)r->target->payload_bytes);
    number(out, "connections", o->connections);
    number(out, "in_flight", o->in_flight);
    number(out, "batch", o->batch);
    rate(out, l);
    buf_printf(out, ",\"generator_cpu_seconds\":%.3f", l->cpu_seconds);
    histogram(out, "latency_us", &l->latency);
    buf_str(out, more);
}

static void load_text(struct result *r, struct buf *out, const char *op,
                      const struct load_options *o, const struct load_result *l, bool rounds)
{
    double share = 100 * l->cpu_seconds / (l->seconds > 0 ? l->seconds : 1e-6);

    buf_printf(out,
               "%-9s %s jobs/s  (%s jobs of %zu bytes in %.2fs, %u connections, %u %s; this "
               "generator took %.0f%% of a core)\n",
               op, quantity_count((int64_t)rate_of(l)).text, quantity_count((int64_t)l->jobs).text,
               r->target->payload_bytes, l->seconds, o->connections,
               rounds ? o->batch : o->in_flight, rounds ? "at a time" : "in flight each", share);
    put_line(out, "", rounds ? "round" : "reply", &l->latency);
}

void result_load(struct result *r, const char *op, const struct load_options *o,
                 const struct load_result *l, struct str more)
{
    struct buf out = { 0 };

    if (r->json)
        load_json(r, &out, op, o, l, more);
    else
        load_text(r, &out, op, o, l, strcmp(op, "lease") == 0);
    finish(r, &out);
}

void result_part(struct result *r, const char *op, uint64_t so_far, const struct load_result *part)
{
    struct buf out = { 0 };

    if (r->json) {
        begin(r, &out, op, part->jobs);
        number(&out, "so_far", (int64_t)so_far);
        number(&out, "at_ms", time_wall_ms());
        rate(&out, part);
        histogram(&out, "latency_us", &part->latency);
    } else {
        buf_printf(&out, "%-9s %s: %s/s  ", op, quantity_count((int64_t)so_far).text,
                   quantity_count((int64_t)rate_of(part)).text);
        put_hist(&out, &part->latency);
    }
    finish(r, &out);
}

/* ---- Others ---- */

void result_late(struct result *r, const struct late_result *l, int64_t span_ms)
{
    struct buf out = { 0 };

    if (r->json) {
        begin(r, &out, "late", l->jobs);
        number(&out, "early", (int64_t)l->early);
        number(&out, "earliest_us", l->earliest_us);
        histogram(&out, "late_us", &l->late);
        histogram(&out, "timer_us", &l->timer);
    } else {
        put_line(&out, "late", "job", &l->late);
        put_line(&out, "", "timer", &l->timer);
        buf_printf(&out, "%-9s %llu jobs over %g s; ", "", (unsigned long long)l->jobs,
                   (double)span_ms / 1000);
        if (l->early > 0)
            buf_printf(&out, "%llu EARLY, by up to %lldµs\n", (unsigned long long)l->early,
                       (long long)-l->earliest_us);
        else
            buf_text(&out, "none was early\n");
    }
    finish(r, &out);
}

void result_ping(struct result *r, const struct ping_result *p)
{
    struct buf out = { 0 };

    if (r->json) {
        begin(r, &out, "ping", p->load.jobs);
        rate(&out, &p->load);
        histogram(&out, "latency_us", &p->load.latency);
        histogram(&out, "timer_us", &p->timer);
    } else {
        put_line(&out, "ping", "reply", &p->load.latency);
        put_line(&out, "", "timer", &p->timer);
    }
    finish(r, &out);
}

void result_drain(struct result *r, const struct load_options *o, const struct drain_result *d)
{
    struct buf out = { 0 };

    if (r->json) {
        struct buf more = { 0 };
        number(&more, "delivered", (int64_t)d->delivered);
#define DRAIN_MEMBER(name, text) number(&more, #name, (int64_t)d->name);
        DRAIN_FAULTS(DRAIN_MEMBER)
#undef DRAIN_MEMBER
        number(&more, "earliest_us", d->earliest_us);
        number(&more, "behind", (int64_t)d->behind);
        number(&more, "behind_max_ms", d->behind_max_ms);
        histogram(&more, "late_us", &d->late);
        load_json(r, &out, "drain", o, &d->load, buf_view(&more));
        buf_fini(&more);
    } else {
        load_text(r, &out, "drain", o, &d->load, true);
        put_line(&out, "", "late", &d->late);
        buf_printf(&out, "%-9s %llu came, %llu behind a later one, by up to %lldms", "",
                   (unsigned long long)d->delivered, (unsigned long long)d->behind,
                   (long long)d->behind_max_ms);
#define DRAIN_TEXT(name, text) buf_printf(&out, "; %llu %s", (unsigned long long)d->name, text);
        DRAIN_FAULTS(DRAIN_TEXT)
#undef DRAIN_TEXT
        buf_text(&out, "\n");
    }
    finish(r, &out);
}
