/* SPDX-License-Identifier: MIT */
/* What a tenant sees of another: nothing. */
#include "support/tenants.h"

struct answer {
    int err;
    char detail[200];
};

static struct answer answer_of(int err)
{
    struct answer a = { .err = err };

    snprintf(a.detail, sizeof(a.detail), "%s", engine_detail(e));
    return a;
}

enum { VERBS = 8 };

/* Each verb that names a job by its id. */
static void ask_all(struct job_id id, uint64_t token, struct answer ret[VERBS])
{
    struct fail_result f;
    struct extend_result x;
    struct job_view v;

    ret[0] = answer_of(engine_get(e, id, &v));
    ret[1] = answer_of(engine_cancel(e, id));
    ret[2] = answer_of(engine_reschedule(e, id, wall + 1));
    ret[3] = answer_of(engine_redrive(e, id));
    ret[4] = answer_of(engine_complete(e, id, token, (struct str){ 0 }, -1));
    ret[5] = answer_of(engine_fail(e, id, token, STR("no"), -1, true, &f));
    ret[6] = answer_of(
        engine_extend(e, id, token, &(struct extend_spec){ .for_ms = -1, .progress = 7 }, &x));
    ret[7] = answer_of(engine_release(e, id, token, 0));
}

static void another_tenants_job_is_as_if_it_were_not_there(void **state)
{
    struct job_id leased, dead, later;
    struct job_view v;
    struct fail_result f;
    struct answer missing[VERBS];
    uint64_t hash;
    size_t written;

    (void)state;
    leased = schedule("a@q");
    assert_true(lease("a@q", &v));
    uint64_t token = v.token;
    dead = schedule("a@q");
    assert_true(lease("a@q", &v));
    assert_int_equal(engine_fail(e, dead, v.token, STR("no"), -1, true, &f), 0);
    struct job_spec spec = spec_of("a@q");
    struct schedule_result r;
    spec.due_ms = wall + DAY;
    spec.key = STR("k");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    later = r.id;
    hash = engine_hash(e);
    written = journal.len;

    engine_scope(e, STR("b"));
    ask_all((struct job_id){ .due_ms = later.due_ms, .partition = later.partition, .seq = 999 },
            token, missing);
    assert_int_equal(missing[0].err, BELFRY_NOTFOUND);
    const struct job_id ids[] = { leased, dead, later };
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        struct answer foreign[VERBS];

        ask_all(ids[i], token, foreign);
        for (int k = 0; k < VERBS; k++) {
            assert_int_equal(foreign[k].err, missing[k].err);
            assert_string_equal(foreign[k].detail, missing[k].detail);
        }
    }
    assert_int_equal(engine_find_key(e, STR("b@q"), STR(""), STR("k"), &r.id), BELFRY_NOTFOUND);
    assert_int_equal(engine_find_key(e, STR("q"), STR(""), STR("k"), &r.id), BELFRY_NOTFOUND);
    assert_int_equal(journal.len, written); /* and nothing was changed */
    assert_int_equal(engine_hash(e), hash);

    engine_scope(e, STR("a"));
    assert_int_equal(engine_complete(e, leased, token, (struct str){ 0 }, -1), 0);
    engine_scope(e, STR("*"));
    assert_int_equal(engine_redrive(e, dead), 0);
    assert_int_equal(engine_cancel(e, later), CANCEL_CANCELLED);
}

static void each_tenant_has_its_own_keys(void **state)
{
    static const char *const queues[] = { "q", "a@q", "b@q", "a@other" };
    struct job_id ids[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct job_spec spec = spec_of(queues[i]);
        struct schedule_result r;

        spec.key = STR("k");
        spec.if_exists = IFEXISTS_REJECT;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        ids[i] = r.id;
    }
    for (int i = 0; i < 4; i++) {
        struct job_id id;

        assert_int_equal(engine_find_key(e, str_of(queues[i]), STR(""), STR("k"), &id), 0);
        assert_int_equal(id.seq, ids[i].seq);
    }
}

static int note(void *arg, struct str name)
{
    struct buf *out = arg;

    buf_str(out, name);
    buf_text(out, " ");
    return 0;
}

static int note_job(void *arg, const struct job_view *v)
{
    return note(arg, v->tenant);
}

static int note_queue(void *arg, const struct queue_view *v)
{
    return note(arg, v->name);
}

static int note_tenant(void *arg, const struct tenant_view *v)
{
    return note(arg, v->name);
}

static void assert_noted(struct buf *out, const char *expected)
{
    assert_true(str_eq(buf_view(out), str_of(expected)));
    out->len = 0;
}

static void lists_show_one_tenants_things(void **state)
{
    struct list_filter f = { .state = -1, .to_ms = INT64_MAX, .limit = 10 };
    struct list_cursor c = { 0 };
    struct buf out = { 0 };

    (void)state;
    schedule("a@q");
    schedule("b@q");
    schedule("q");
    schedule("a@p");
    f.tenant = STR("a");
    assert_int_equal(engine_list(e, &f, note_job, &out, &c), 0);
    assert_noted(&out, "a a ");
    f.tenant = STR("default");
    c = (struct list_cursor){ 0 };
    assert_int_equal(engine_list(e, &f, note_job, &out, &c), 0);
    assert_noted(&out, "default ");
    f.tenant = STR("nobody");
    c = (struct list_cursor){ 0 };
    assert_int_equal(engine_list(e, &f, note_job, &out, &c), 0);
    assert_noted(&out, "");
    f.tenant = STR("*");
    c = (struct list_cursor){ 0 };
    assert_int_equal(engine_list(e, &f, note_job, &out, &c), 0);
    assert_noted(&out, "a b default a ");

    assert_int_equal(engine_queues(e, STR("a"), STR(""), 10, note_queue, &out), 0);
    assert_noted(&out, "a@p a@q ");
    assert_int_equal(engine_queues(e, STR("default"), STR(""), 10, note_queue, &out), 0);
    assert_noted(&out, "q ");
    assert_int_equal(engine_queues(e, STR("a"), STR("a@p"), 10, note_queue, &out), 0);
    assert_noted(&out, "a@q ");
    assert_int_equal(engine_tenants(e, STR(""), 10, note_tenant, &out), 0);
    assert_noted(&out, "a b default ");
    assert_int_equal(engine_tenants(e, STR("a"), 1, note_tenant, &out), 0);
    assert_noted(&out, "b ");
    buf_fini(&out);
}

static void a_name_is_a_tenants_and_a_queues(void **state)
{
    static const char *const good[] = { "q", "a@q", "a.b_c-d:e/f@A.0", "defaults@q" };
    static const char *const bad[] = { "", "@", "@q", "a@", "a@b@c", "*@q", "default@q", "a b@q" };
    char longest[2 * NAME_MAX_BYTES + 2];
    struct str tenant, queue;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(queue_name_valid(str_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (queue_name_valid(str_of(bad[i])))
            fail_msg("accepted: '%s'", bad[i]);
    memset(longest, 'x', sizeof(longest));
    longest[NAME_MAX_BYTES] = SCOPE_SEP;
    assert_true(queue_name_valid((struct str){ longest, QUEUE_MAX_BYTES }));
    assert_false(queue_name_valid((struct str){ longest, QUEUE_MAX_BYTES + 1 }));
    scope_split(STR("acme@mail"), &tenant, &queue);
    assert_true(str_eq(tenant, STR("acme")) && str_eq(queue, STR("mail")));
    scope_split(STR("mail"), &tenant, &queue);
    assert_true(str_eq(tenant, STR("default")) && str_eq(queue, STR("mail")));
}

static void a_tenant_without_use_is_forgotten(void **state)
{
    struct tenant_view v;
    struct engine_stats s;

    (void)state;
    set_tenant("kept", TENANT_WEIGHT, (struct tenant_settings){ .weight = 2 });
    for (int i = 0; i < 5000; i++) {
        struct job_view job;
        char name[32];

        tenant_queue(i, name);
        struct job_spec spec = spec_of(name);
        struct schedule_result r;
        spec.retain_ms = 0;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        assert_true(lease(name, &job));
        complete(job.id, job.token);
    }
    engine_stats(e, &s);
    assert_in_range(s.tenants, 1, 1100);
    assert_int_equal(engine_tenant_get(e, STR("t0"), &v), BELFRY_NOTFOUND);
    assert_int_equal(engine_tenant_get(e, STR("kept"), &v), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_tenants_job_is_as_if_it_were_not_there),
        TEST(each_tenant_has_its_own_keys),
        TEST(lists_show_one_tenants_things),
        TEST(a_name_is_a_tenants_and_a_queues),
        TEST(a_tenant_without_use_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
