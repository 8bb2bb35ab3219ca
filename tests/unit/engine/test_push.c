/* SPDX-License-Identifier: MIT */
/* Queues that push, as the engine sees them; and the forms of URLs, headers and secrets. */
#include "support/tenants.h"

#include "engine/push.h"
#include "record/record.h"

#define URL    "https://example.org/hook"
#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/* The endpoint of URL is left alone so long, as a tenant uses it; -1: it no longer is. */
static void be_ill(const char *tenant, int64_t for_ms)
{
    struct endpoint_key key;

    endpoint_key_make(&key, str_of(tenant), STR("https://example.org:443"));
    engine_endpoint_set(e, endpoint_key_of(&key), for_ms < 0 ? -1 : mono + for_ms);
}

static struct engine *make_pushing(uint64_t epoch)
{
    return engine_new(
        &(struct engine_options){ .epoch = epoch, .seed = 42, .memory_bytes = UINT64_C(4) << 30 });
}

static int begin(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    memset(&delivered, 0, sizeof(delivered));
    e = make_pushing(1);
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, 1, true, 0);
    engine_start(e, wall, mono, false);
    return 0;
}

static struct queue_settings url_is(const char *url)
{
    return (struct queue_settings){ .push.url = str_of(url) };
}

static bool pushed(struct job_view *ret)
{
    struct job *job;

    if (engine_push_lease(e, 1, &job) == 0)
        return false;
    engine_view(e, job, ret);
    return true;
}

static void jobs_of_a_queue_with_a_url_are_pushed_and_not_leased(void **state)
{
    struct job_view v;

    (void)state;
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    assert_true(engine_pushes(e, STR("q")));
    schedule("q");
    schedule("plain");
    assert_false(lease("q", &v));
    assert_false(lease("*@q", &v));
    assert_true(pushed(&v));
    assert_true(str_eq(v.queue, STR("q")) && str_eq(v.worker, STR("push")));
    assert_int_equal(v.lease_ms, 30000 + PUSH_MARGIN_MS);
    assert_false(pushed(&v));
    assert_true(lease("plain", &v));
}

static void a_queue_changes_between_pushing_and_not(void **state)
{
    struct job_view v;

    (void)state;
    schedule_many("q", 4);
    wait_at("q", 1);
    assert_int_equal(delivered.jobs, 1);
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    wait_at("q", 1);
    assert_int_equal(delivered.jobs, 1);
    assert_true(pushed(&v));
    set_queue("q", QUEUE_PUSH_URL, url_is(""));
    assert_int_equal(delivered.jobs, 2); /* who waited all the time is served */
    assert_false(pushed(&v));
    assert_true(lease("*@q", &v));
}

/* Under UBSan: nothing is added to a pointer that is NULL. */
static void settings_without_text_are_kept(void **state)
{
    struct queue_view v;

    (void)state;
    set_queue("q", QUEUE_PUSH_CONCURRENCY, (struct queue_settings){ .push.concurrency = 2 });
    set_queue("q", QUEUE_PUSH_CONCURRENCY, (struct queue_settings){ .push.concurrency = 3 });
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_int_equal(v.settings->push.concurrency, 3);
    assert_int_equal(v.settings->push.url.len + v.settings->push.headers.len, 0);
}

static void no_more_at_a_time_than_it_allows(void **state)
{
    struct job_view v[3], more;

    (void)state;
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    set_queue("q", QUEUE_PUSH_CONCURRENCY, (struct queue_settings){ .push.concurrency = 2 });
    schedule_many("q", 3);
    assert_true(pushed(&v[0]) && pushed(&v[1]));
    assert_false(pushed(&v[2]));
    assert_int_equal(hold_of("q"), HOLD_QUEUE_RUNNING);
    complete(v[0].id, v[0].token);
    assert_true(pushed(&v[2]));
    assert_false(pushed(&more));
}

static void tenants_take_turns(void **state)
{
    struct job_view v;
    char order[16] = "";

    (void)state;
    set_queue("a@one", QUEUE_PUSH_URL, url_is(URL));
    set_queue("b@two", QUEUE_PUSH_URL, url_is(URL));
    set_tenant("b", TENANT_WEIGHT, (struct tenant_settings){ .weight = 2 });
    schedule_many("a@one", 4);
    schedule_many("b@two", 4);
    while (strlen(order) < 6 && pushed(&v))
        strncat(order, v.tenant.ptr, 1);
    assert_true(strcmp(order, "abbabb") == 0 || strcmp(order, "babbab") == 0 ||
                strcmp(order, "bbabba") == 0);
}

static void an_endpoint_that_is_ill_keeps_its_jobs_waiting(void **state)
{
    struct explanation x;
    struct job_view v;
    struct job_id id;

    (void)state;
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    id = schedule("q");
    be_ill("default", 5000);
    assert_false(pushed(&v));
    assert_int_equal(hold_of("q"), HOLD_ENDPOINT);
    assert_int_equal(engine_explain(e, id, &x), 0);
    assert_int_equal(x.reason, REASON_ENDPOINT);
    assert_int_equal(x.until_ms, wall + 5000);
    schedule("q");
    assert_false(pushed(&v));
    pass(5000);
    assert_false(pushed(&v)); /* nobody said that it is well */
    assert_int_equal(engine_explain(e, id, &x), 0);
    assert_int_equal(x.until_ms, wall + ENDPOINT_LOOK_MS);
    be_ill("default", -1);
    assert_true(pushed(&v));
    assert_int_equal(v.attempt, 1);
    assert_int_equal(v.id.seq, id.seq);
}

static void what_is_ill_for_one_tenant_is_not_for_another(void **state)
{
    struct job_view v;

    (void)state;
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    set_queue("well@q", QUEUE_PUSH_URL, url_is(URL));
    schedule("q");
    schedule("well@q");
    be_ill("default", 5000);
    assert_true(pushed(&v));
    assert_true(str_eq(v.tenant, STR("well")));
    assert_false(pushed(&v));
}

static void a_tenant_with_its_share_of_pushes_waits_and_no_other_does(void **state)
{
    struct explanation x;
    struct job_view v;
    struct job_id id;

    (void)state;
    set_queue("a@q", QUEUE_PUSH_URL, url_is(URL));
    set_queue("a@each", QUEUE_PUSH_URL, url_is("job"));
    set_queue("b@q", QUEUE_PUSH_URL, url_is(URL));
    id = schedule("a@q");
    schedule("a@plain");
    schedule("b@q");
    engine_pushes_set(e, STR("a"), true);
    assert_true(pushed(&v));
    assert_true(str_eq(v.tenant, STR("b")));
    assert_false(pushed(&v));
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_PUSHES);
    assert_int_equal(engine_explain(e, id, &x), 0);
    assert_int_equal(x.reason, REASON_RUNNING_LIMIT);
    assert_true(lease("a@plain", &v)); /* what workers take is not pushed */
    engine_pushes_set(e, STR("nobody"), false);
    assert_false(pushed(&v));
    engine_pushes_set(e, STR("a"), false);
    assert_true(pushed(&v));
    assert_int_equal(v.id.seq, id.seq);
}

static void a_new_url_is_tried_at_once(void **state)
{
    struct job_view v;

    (void)state;
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    schedule("q");
    be_ill("default", 5000);
    assert_false(pushed(&v));
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    assert_false(pushed(&v));
    set_queue("q", QUEUE_PUSH_URL, url_is("https://other.example/hook"));
    assert_true(pushed(&v));
}

static void jobs_have_urls_where_the_queue_says_so(void **state)
{
    struct job_spec spec = spec_of("q");
    const struct push_settings *settings;
    struct schedule_result r;
    struct job *job;

    (void)state;
    spec.push = STR("http://other.example/");
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_INVALID);
    set_queue("q", QUEUE_PUSH_URL, url_is(URL));
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_INVALID);
    set_queue("q", QUEUE_PUSH_URL, url_is("job"));
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    spec.push = STR("");
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_INVALID);
    spec.push = STR("gopher://x/");
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_INVALID);
    assert_int_equal(engine_push_lease(e, 1, &job), 1);
    assert_true(str_eq(engine_push_url(e, job, &settings), STR("http://other.example/")));
}

static void headers_are_not_for_urls_of_jobs(void **state)
{
    struct queue_settings headers = { .push.headers = STR("Authorization: x") };
    struct queue_settings both = { .push = { .url = STR("job"), .headers = STR("A: b") } };
    unsigned header = 1u << QUEUE_PUSH_HEADERS, url = 1u << QUEUE_PUSH_URL;
    struct queue_settings job = url_is("job");
    struct queue_view v;

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("q"), &both, header | url), BELFRY_INVALID);
    assert_int_equal(engine_queue_set(e, STR("q"), &headers, header), 0);
    assert_int_equal(engine_queue_set(e, STR("q"), &job, url), BELFRY_INVALID);
    both.push.headers = STR("");
    assert_int_equal(engine_queue_set(e, STR("q"), &both, header | url), 0);
    assert_int_equal(engine_queue_set(e, STR("q"), &headers, header), BELFRY_INVALID);
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_int_equal(v.settings->push.headers.len, 0);
}

static void settings_are_read_back(void **state)
{
    struct queue_settings s = { .push = { .url = STR(URL),
                                          .headers = STR("A: b"),
                                          .secrets = STR(SECRET),
                                          .timeout_ms = 7000,
                                          .concurrency = 3 } };
    unsigned all = 1u << QUEUE_PUSH_URL | 1u << QUEUE_PUSH_HEADERS | 1u << QUEUE_PUSH_SECRET |
                   1u << QUEUE_PUSH_TIMEOUT | 1u << QUEUE_PUSH_CONCURRENCY;
    struct queue_view v;
    struct job_view job;

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("q"), &s, all), 0);
    schedule("q");
    set_queue("q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 9 });
    engine_free(e);
    e = make_pushing(2);
    assert_int_equal(engine_replay(e, buf_view(&journal), 1), 0);
    journal.len = 0;
    engine_direct(e, &journal, 2, true, 1);
    engine_start(e, wall, mono, false);
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_true(str_eq(v.settings->push.url, STR(URL)));
    assert_true(str_eq(v.settings->push.headers, STR("A: b")));
    assert_true(str_eq(v.settings->push.secrets, STR(SECRET)));
    assert_int_equal(v.settings->push.timeout_ms, 7000);
    assert_int_equal(v.settings->push.concurrency, 3);
    assert_int_equal(v.settings->max_running, 9);
    assert_true(pushed(&job));
}

/* As versions before wrote it, which knew no pushes; and with something that a later one added. */
static void records_of_other_versions_are_read(void **state)
{
    struct queue_record r = { .queue = STR("q"), .settings = queue_defaults }, got;
    struct buf out = { 0 };
    size_t head;

    (void)state;
    record_put_queue(&out, &r);
    head = 5; /* type and length */
    assert_true(record_get_queue((struct str){ out.ptr + head, out.len - head }, &got));
    assert_int_equal(got.settings.push.url.len, 0);
    assert_int_equal(got.settings.push.timeout_ms, 30000);
    buf_append(&out, "\xc8\x03xyz", 5);
    assert_true(record_get_queue((struct str){ out.ptr + head, out.len - head }, &got));
    assert_int_equal(got.settings.push.concurrency, 10);
    buf_append(&out, "\x01\x05xyz", 5);
    assert_false(record_get_queue((struct str){ out.ptr + head, out.len - head }, &got));
    buf_fini(&out);
}

static bool record_is_read(struct push_settings push)
{
    struct queue_record r = { .queue = STR("q"), .settings = queue_defaults }, got;
    struct buf out = { 0 };
    size_t head = 5;
    bool read;

    r.settings.push = push;
    record_put_queue(&out, &r);
    read = record_get_queue((struct str){ out.ptr + head, out.len - head }, &got);
    buf_fini(&out);
    return read;
}

/* No more than QUEUE itself would take: what is sent has room for just that. */
static void records_that_say_too_much_are_damaged(void **state)
{
    struct push_settings good = queue_defaults.push, s;
    char headers[HEADERS_MAX_BYTES + 1] = "";

    (void)state;
    good.url = STR(URL);
    for (int i = 0; i < HEADERS_MAX; i++)
        strcat(headers, "A: b\n");
    s = good;
    s.headers = str_of(headers);
    assert_true(record_is_read(s));
    strcat(headers, "A: b\n");
    s.headers = str_of(headers);
    assert_false(record_is_read(s));
    s.headers = STR("A: b\0c");
    assert_false(record_is_read(s));
    s.headers = STR("Host: elsewhere");
    assert_false(record_is_read(s));
    s = good;
    s.secrets = STR(SECRET " " SECRET);
    assert_true(record_is_read(s));
    s.secrets = STR(SECRET " " SECRET " " SECRET);
    assert_false(record_is_read(s));
    s = good;
    s.url = STR("ftp://example.org/");
    assert_false(record_is_read(s));
    s.url = STR("job");
    assert_true(record_is_read(s));
    s.concurrency = PUSH_RUNNING_MAX + 1;
    assert_false(record_is_read(s));
}

static void a_damaged_record_is_not_replayed(void **state)
{
    struct queue_record r = { .queue = STR("q"), .settings = queue_defaults };

    (void)state;
    r.settings.push.url = STR(URL);
    r.settings.push.headers = STR("no header");
    record_put_queue(&journal, &r);
    engine_free(e);
    e = make_pushing(2);
    assert_int_equal(engine_replay(e, buf_view(&journal), 1), BELFRY_CORRUPT);
}

static void urls_are_plain(void **state)
{
    static const struct {
        const char *url;
        const char *origin; /* NULL: refused */
    } rows[] = {
        { "http://example.org", "http://example.org:80" },
        { "HTTPS://Example.ORG:8443/a/b?c=d&e=%20", "https://example.org:8443" },
        { "https://example.org?x", "https://example.org:443" },
        { "http://127.0.0.1:8080/", "http://127.0.0.1:8080" },
        { "http://[2001:DB8::1]:81/", "http://[2001:db8::1]:81" },
        { "http://[::ffff:1.2.3.4]", "http://[::ffff:1.2.3.4]:80" },
        { "http://a_b.example/@x:y", "http://a_b.example:80" },
        { "", NULL },
        { "example.org", NULL },
        { "http:/example.org", NULL },
        { "http//example.org", NULL },
        { "ftp://example.org/", NULL },
        { "http://", NULL },
        { "http:///x", NULL },
        { "http://?x", NULL },
        { "http://:80/", NULL },
        { "http://user@example.org/", NULL },
        { "http://user:word@example.org/", NULL },
        { "http://example.org:/", NULL },
        { "http://example.org:0/", NULL },
        { "http://example.org:65536/", NULL },
        { "http://example.org:000080/", NULL },
        { "http://example.org:80x/", NULL },
        { "http://exam ple.org/", NULL },
        { "http://example.org/a b", NULL },
        { "http://example.org/\n", NULL },
        { "http://example.org/#f", NULL },
        { "http://example.org\\x/", NULL },
        { "http://ex%61mple.org/", NULL },
        { "http://\xc3\xa9.org/", NULL },
        { "http://[::1/", NULL },
        { "http://[::1]x/", NULL },
        { "http://[fe80::1%25eth0]/", NULL },
        { "http://.example.org/", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char origin[ORIGIN_MAX];
        struct push_url u;
        const char *why = NULL;
        bool good = push_url_parse(str_of(rows[i].url), &u, &why);

        if (good != (rows[i].origin != NULL))
            fail_msg("%s: %s", rows[i].url, good ? "accepted" : why);
        if (good) {
            push_origin(&u, origin);
            assert_string_equal(origin, rows[i].origin);
        } else {
            assert_non_null(strstr(why, "expected"));
        }
    }
}

static void headers_are_lines(void **state)
{
    struct str rest = STR("A: b\r\n\n X-y :\n Long:  a b\tc  "), name, value;
    const char *why;

    (void)state;
    assert_true(push_header_next(&rest, &name, &value));
    assert_true(str_eq(name, STR("A")) && str_eq(value, STR("b")));
    assert_true(push_header_next(&rest, &name, &value));
    assert_true(str_eq(name, STR("X-y ")) && value.len == 0);
    assert_true(push_header_next(&rest, &name, &value));
    assert_true(str_eq(name, STR("Long")) && str_eq(value, STR("a b\tc")));
    assert_false(push_header_next(&rest, &name, &value));
    assert_true(push_headers_check(STR("A: b\nC: d:e"), &why));
    assert_true(push_headers_check(STR(""), &why));
    assert_false(push_headers_check(STR("A"), &why));
    assert_false(push_headers_check(STR("A:"), &why));
    assert_false(push_headers_check(STR(": b"), &why));
    assert_false(push_headers_check(STR("A : b"), &why));
    assert_false(push_headers_check(STR("A: b\0"), &why));
    assert_false(push_headers_check(STR("A: b\rX: y"), &why));
    assert_false(push_headers_check(STR("A: \xff"), &why));
    assert_false(push_headers_check(STR("HOST: a"), &why));
    assert_false(push_headers_check(STR("Webhook-Signature: a"), &why));
    assert_false(push_headers_check(STR("belfry-token: 7"), &why));
    assert_false(push_headers_check(STR("Transfer-Encoding: chunked"), &why));
}

static void secrets_are_keys_in_base64(void **state)
{
    const char *why;

    (void)state;
    assert_true(push_secrets_check(STR(""), &why));
    assert_true(push_secrets_check(STR(SECRET), &why));
    assert_true(push_secrets_check(STR(SECRET "  " SECRET " "), &why));
    assert_false(push_secrets_check(STR(SECRET " " SECRET " " SECRET), &why));
    assert_false(push_secrets_check(STR("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &why));
    assert_false(push_secrets_check(STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"), &why));
    assert_false(push_secrets_check(STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La"), &why));
    assert_false(push_secrets_check(STR("whsec_"), &why));
    assert_false(push_secrets_check(STR(SECRET "\0x"), &why));
}

#define CROWD 2000

/* A job in each of many queues that push. */
static void push_crowd(const char *tenant)
{
    char name[32];

    for (int i = 0; i < CROWD; i++) {
        snprintf(name, sizeof(name), "%s@q%d", tenant, i);
        set_queue(name, QUEUE_PUSH_URL, url_is(URL));
        schedule(name);
    }
}

/* Each job that ends lets one queue go on, whichever it is, and does not look at all of them. */
static void a_limit_of_a_tenant_does_not_call_all_its_queues_each_time(void **state)
{
    struct job_view v, none;
    uint64_t before;

    (void)state;
    push_crowd("a");
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 1 });
    assert_true(pushed(&v));
    assert_false(pushed(&none)); /* all are held, and were looked at */
    before = engine_pick_steps(e);
    for (int i = 1; i < CROWD; i++) {
        complete(v.id, v.token);
        if (i == 5) /* The next one has nothing to give any more. */
            set_queue("a@q6", QUEUE_PUSH_URL, url_is(""));
        if (i == CROWD - 1)
            break;
        assert_true(pushed(&v));
        assert_false(pushed(&none));
    }
    assert_true(engine_pick_steps(e) - before < 10 * CROWD);
    assert_false(pushed(&v));
}

static void an_endpoint_that_is_well_again_calls_its_own_queues(void **state)
{
    struct job_view v;
    uint64_t before;

    (void)state;
    be_ill("a", 1000);
    be_ill("b", 1000);
    push_crowd("b");
    assert_false(pushed(&v)); /* They are parked. */
    set_queue("a@q", QUEUE_PUSH_URL, url_is(URL));
    schedule("a@q");
    assert_false(pushed(&v));
    before = engine_pick_steps(e);
    be_ill("a", -1);
    assert_true(pushed(&v));
    assert_true(engine_pick_steps(e) - before < 10);
    be_ill("b", -1);
    for (int i = 0; i < CROWD; i++)
        assert_true(pushed(&v));
    assert_false(pushed(&v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define PUSH(name) cmocka_unit_test_setup_teardown(name, begin, teardown)
        PUSH(jobs_of_a_queue_with_a_url_are_pushed_and_not_leased),
        PUSH(a_queue_changes_between_pushing_and_not),
        PUSH(settings_without_text_are_kept),
        PUSH(no_more_at_a_time_than_it_allows),
        PUSH(tenants_take_turns),
        PUSH(an_endpoint_that_is_ill_keeps_its_jobs_waiting),
        PUSH(what_is_ill_for_one_tenant_is_not_for_another),
        PUSH(a_tenant_with_its_share_of_pushes_waits_and_no_other_does),
        PUSH(a_new_url_is_tried_at_once),
        PUSH(jobs_have_urls_where_the_queue_says_so),
        PUSH(headers_are_not_for_urls_of_jobs),
        PUSH(settings_are_read_back),
        PUSH(records_of_other_versions_are_read),
        PUSH(records_that_say_too_much_are_damaged),
        PUSH(a_damaged_record_is_not_replayed),
        PUSH(urls_are_plain),
        PUSH(headers_are_lines),
        PUSH(secrets_are_keys_in_base64),
        PUSH(a_limit_of_a_tenant_does_not_call_all_its_queues_each_time),
        PUSH(an_endpoint_that_is_well_again_calls_its_own_queues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
