/* SPDX-License-Identifier: MIT */
#include "power/turns.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "power/calls.h"
#include "sim/rng.h"

#define THREADS_MAX  8
#define OFFER_CHANCE 25 /* of a hundred */

struct turns_thread {
    struct party *party;
    pthread_t id;
    pthread_cond_t turn;
    void *(*fn)(void *);
    void *arg;
    bool finished;
    bool used;
};

struct party {
    struct party *outer;
    struct rng rng;
    struct turns_thread threads[THREADS_MAX]; /* the first is the one that entered */
    struct turns_thread *running;
};

static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static struct party *current;
static _Thread_local struct turns_thread *self;

struct party *turns_enter(uint64_t seed)
{
    struct party *p = calloc(1, sizeof(*p));
    assert(p);
    p->outer = current;
    p->rng.state = seed;
    p->threads[0] = (struct turns_thread){ .party = p, .used = true };
    pthread_cond_init(&p->threads[0].turn, NULL);
    p->running = self = &p->threads[0];
    current = p;
    return p;
}

void turns_leave(struct party *p)
{
    assert(p == current && self == &p->threads[0]);
    for (unsigned i = 1; i < THREADS_MAX; i++)
        assert(!p->threads[i].used);
    current = p->outer;
    self = current ? &current->threads[0] : NULL;
    pthread_cond_destroy(&p->threads[0].turn);
    free(p);
}

/* With the baton held. */
static void pass_to(struct turns_thread *next)
{
    struct turns_thread *me = self;
    struct party *p = me->party;
    p->running = next;
    if (next == me)
        return;
    __real_pthread_cond_signal(&next->turn);
    while (!me->finished && p->running != me)
        __real_pthread_cond_wait(&me->turn, &baton);
}

static struct turns_thread *draw(struct party *p, bool other)
{
    struct turns_thread *able[THREADS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        struct turns_thread *t = &p->threads[i];
        if (t->used && !t->finished && !(other && t == self))
            able[count++] = t;
    }
    return count > 0 ? able[rng_below(&p->rng, count)] : self;
}

static void change_over(bool other)
{
    __real_pthread_mutex_lock(&baton);
    pass_to(draw(self->party, other));
    pthread_mutex_unlock(&baton);
}

void turns_offer(void)
{
    if (self && rng_chance(&self->party->rng, OFFER_CHANCE))
        change_over(false);
}

static void *run(void *arg)
{
    struct turns_thread *t = arg;
    self = t;
    __real_pthread_mutex_lock(&baton);
    while (t->party->running != t)
        __real_pthread_cond_wait(&t->turn, &baton);
    pthread_mutex_unlock(&baton);
    void *result = t->fn(t->arg);
    __real_pthread_mutex_lock(&baton);
    t->finished = true;
    pass_to(draw(t->party, true));
    pthread_mutex_unlock(&baton);
    return result;
}

struct turns_thread *turns_start(void *(*fn)(void *), void *arg)
{
    for (unsigned i = 1; i < THREADS_MAX; i++) {
        struct turns_thread *t = &current->threads[i];
        if (t->used)
            continue;
        *t = (struct turns_thread){ .party = current, .fn = fn, .arg = arg, .used = true };
        pthread_cond_init(&t->turn, NULL);
        int r = __real_pthread_create(&t->id, NULL, run, t);
        assert(r == 0);
        (void)r;
        return t;
    }
    abort();
}

bool turns_finished(const struct turns_thread *t)
{
    return t->finished;
}

void turns_join(struct turns_thread *t)
{
    while (!t->finished)
        change_over(true);
    __real_pthread_join(t->id, NULL);
    pthread_cond_destroy(&t->turn);
    t->used = false;
}

/* ---- What the store calls ---- */

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    if (!self)
        return __real_pthread_create(ret, attr, fn, arg);
    *ret = turns_start(fn, arg)->id;
    return 0;
}

int __wrap_pthread_join(pthread_t id, void **ret)
{
    for (unsigned i = 1; self && i < THREADS_MAX; i++) {
        struct turns_thread *t = &self->party->threads[i];
        if (t->used && pthread_equal(t->id, id)) {
            turns_join(t);
            return 0;
        }
    }
    return __real_pthread_join(id, ret);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    if (!self)
        return __real_pthread_mutex_lock(m);
    while (pthread_mutex_trylock(m) == EBUSY)
        change_over(true);
    return 0;
}

int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    if (!self)
        return __real_pthread_rwlock_rdlock(l);
    while (pthread_rwlock_tryrdlock(l) == EBUSY)
        change_over(true);
    return 0;
}

int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    if (!self)
        return __real_pthread_rwlock_wrlock(l);
    while (pthread_rwlock_trywrlock(l) == EBUSY)
        change_over(true);
    return 0;
}

/* Wakes for nothing whenever it is the thread's turn, which the standard allows. */
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    if (!self)
        return __real_pthread_cond_wait(c, m);
    pthread_mutex_unlock(m);
    change_over(true);
    return __wrap_pthread_mutex_lock(m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until)
{
    if (!self)
        return __real_pthread_cond_timedwait(c, m, until);
    __wrap_pthread_cond_wait(c, m);
    return ETIMEDOUT;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    return self ? 0 : __real_pthread_cond_signal(c);
}
