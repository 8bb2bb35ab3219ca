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

static void put_us(struct buf *out, uint64_t us)
{
    if (us < 1000)
        buf_printf(out, "%lluµs", (unsigned long long)us);
    else if (us < 1000000)
        buf_printf(out,
                   us < 10000    ? "%.2fms"
                   : us < 100000 ? "%.1fms"
                                 : "%.0fms",
                   (double)us / 1e3);
    else
        buf_printf(out, "%.2fs", (double)us / 1e6);
}

static void put_hist(struct buf *out, const struct hist *h)
{
    for (size_t i = 0; i < QUANTILES; i++) {
        buf_printf(out, "%s ", quantiles[i].name);
        put_us(out, hist_quantile(h, quantiles[i].share));
        buf_text(out, "  ");
    }
    buf_text(out, "max ");
    put_us(out, h->max);
    buf_text(out, "\n");
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

static void print(struct buf *out)
{
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
    buf_text(out, "}\n");
}

static void load_text(struct result *r, struct buf *out, const char *op,
                      const struct load_options *o, const struct load_result *l, bool rounds)
{
    double share = 100 * l->cpu_seconds / (l->seconds > 0 ? l->seconds : 1e-6);

    buf_printf(out, "%-9s ", op);
    quantity_count(out, (int64_t)rate_of(l));
    buf_text(out, " jobs/s  (");
    quantity_count(out, (int64_t)l->jobs);
    buf_printf(out,
               " jobs of %zu bytes in %.2fs, %u connections, %u %s; this generator took %.0f%% "
               "of a core)\n%-9s %s  ",
               r->target->payload_bytes, l->seconds, o->connections,
               rounds ? o->batch : o->in_flight, rounds ? "at a time" : "in flight each", share, "",
               rounds ? "round" : "reply");
    put_hist(out, &l->latency);
}

void result_load(struct result *r, const char *op, const struct load_options *o,
                 const struct load_result *l, struct str more)
{
    struct buf out = { 0 };

    if (r->json)
        load_json(r, &out, op, o, l, more);
    else
        load_text(r, &out, op, o, l, strcmp(op, "lease") == 0);
    print(&out);
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
        buf_text(&out, "}\n");
    } else {
        buf_printf(&out, "%-9s ", op);
        quantity_count(&out, (int64_t)so_far);
        buf_text(&out, ": ");
        quantity_count(&out, (int64_t)rate_of(part));
        buf_text(&out, "/s  ");
        put_hist(&out, &part->latency);
    }
    print(&out);
}

/* ---- Others ---- */

static void put_early(struct buf *out, uint64_t early, int64_t earliest_us)
{
    if (early > 0)
        buf_printf(out, "%llu EARLY, by up to %lldµs\n", (unsigned long long)early,
                   (long long)-earliest_us);
    else
        buf_text(out, "none was early\n");
}

void result_late(struct result *r, const struct late_result *l, int64_t span_ms)
{
    struct buf out = { 0 };

    if (r->json) {
        begin(r, &out, "late", l->jobs);
        number(&out, "early", (int64_t)l->early);
        number(&out, "earliest_us", l->earliest_us);
        histogram(&out, "late_us", &l->late);
        histogram(&out, "timer_us", &l->timer);
        buf_text(&out, "}\n");
    } else {
        buf_text(&out, "late      job    ");
        put_hist(&out, &l->late);
        buf_text(&out, "          timer  ");
        put_hist(&out, &l->timer);
        buf_printf(&out, "          %llu jobs over %g s; ", (unsigned long long)l->jobs,
                   (double)span_ms / 1000);
        put_early(&out, l->early, l->earliest_us);
    }
    print(&out);
}

void result_ping(struct result *r, const struct ping_result *p)
{
    struct buf out = { 0 };

    if (r->json) {
        begin(r, &out, "ping", p->load.jobs);
        rate(&out, &p->load);
        histogram(&out, "latency_us", &p->load.latency);
        histogram(&out, "timer_us", &p->timer);
        buf_text(&out, "}\n");
    } else {
        buf_text(&out, "ping      reply  ");
        put_hist(&out, &p->load.latency);
        buf_text(&out, "          timer  ");
        put_hist(&out, &p->timer);
    }
    print(&out);
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
        buf_printf(&out, "%-9s late   ", "");
        put_hist(&out, &d->late);
        buf_printf(&out, "%-9s %llu came, %llu behind a later one, by up to %lldms", "",
                   (unsigned long long)d->delivered, (unsigned long long)d->behind,
                   (long long)d->behind_max_ms);
#define DRAIN_TEXT(name, text) buf_printf(&out, "; %llu %s", (unsigned long long)d->name, text);
        DRAIN_FAULTS(DRAIN_TEXT)
#undef DRAIN_TEXT
        buf_text(&out, "\n");
    }
    print(&out);
}
