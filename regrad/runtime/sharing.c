/* Sharing blocks of work out to the threads of XLA's own pool.

The calling thread asks the pool for help and starts; whoever comes takes the next block. So it never waits for a thread to wake
up, only for those that are at work, and nothing can wait in a circle. */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "sharing.h"

typedef struct {
    void (*work)(const void *what, int64_t block);
    const void *what; /* the caller's, who stays until all blocks are finished */
    int64_t blocks;
    atomic_llong next, finished;
    atomic_int users; /* threads that may still look at it; the last frees it */
} Job;

static void work(Job *job)
{
    int64_t block, mine = 0;
    while ((block = atomic_fetch_add(&job->next, 1)) < job->blocks) {
        job->work(job->what, block);
        mine++;
    }
    if (mine)
        atomic_fetch_add(&job->finished, mine);
}

static void leave(Job *job)
{
    if (atomic_fetch_sub(&job->users, 1) == 1)
        free(job);
}

/* Waking a thread takes as long as half a product of a loop's turn. So a helper that is done lingers for a while if the last
   jobs followed each other closely, and is handed the next one in its seat. */

enum { SEATS = 64, LINGER = 150000 /* ns */ };

static Job waiting;                 /* stands for "nothing yet" in the seat of one that lingers */
static _Atomic(Job *) seats[SEATS]; /* NULL: free */
static atomic_llong ended;          /* when the last shared job was done, in ns */
static atomic_int close_by;         /* whether the last but one was done less than LINGER before the last began */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns the next job to help with, or NULL if none comes for LINGER ns. */
static Job *linger(void)
{
    int i = 0;
    for (Job *free = NULL; !atomic_compare_exchange_strong(&seats[i], &free, &waiting); free = NULL)
        if (++i == SEATS)
            return NULL;
    Job *job;
    for (int64_t end = now() + LINGER; (job = atomic_load(&seats[i])) == &waiting; sched_yield()) /* to XLA's other threads */
        if (now() > end && atomic_compare_exchange_strong(&seats[i], &job, NULL))
            return NULL;
    atomic_store(&seats[i], NULL);
    return job;
}

static void help(void *job)
{
    for (Job *next = job; next; next = atomic_load(&close_by) ? linger() : NULL) {
        work(next);
        leave(next);
    }
}

/* Hands the job to those that linger; returns to how many, `most` at most. */
static int64_t hand_over(Job *job, int64_t most)
{
    int64_t n = 0;
    for (int i = 0; i < SEATS && n < most; i++) {
        Job *nothing = &waiting;
        n += atomic_load(&seats[i]) == nothing && atomic_compare_exchange_strong(&seats[i], &nothing, job);
    }
    return n;
}

/* True if XLA did what it was asked. */
static int done(const Interface *xla, void *error)
{
    if (error)
        xla->destroy_error(&(Destroy){sizeof(Destroy), NULL, error});
    return !error;
}

/* Returns how many threads of XLA's pool may work, `most` at most. */
static int64_t threads_of(const Frame *frame, int64_t most)
{
    const Interface *xla = frame->xla;
    int64_t threads;
    if (most < 2 || xla->size < sizeof *xla || !done(xla, xla->threads(&(Threads){sizeof(Threads), NULL, frame->context, &threads})))
        return 1;
    return threads < most ? threads : most;
}

static void *work_of_thread(void *job)
{
    work(job);
    return NULL;
}

/* Does the job with threads made for it: where there is no XLA. */
static void work_with_threads(Job *job, int64_t threads)
{
    pthread_t made[SEATS];
    int n = 0;
    while (n < SEATS && n < threads - 1 && !pthread_create(&made[n], NULL, work_of_thread, job))
        n++;
    work(job);
    while (n)
        pthread_join(made[--n], NULL);
}

void share(const Frame *frame, int64_t blocks, int64_t threads, void (*call)(const void *, int64_t), const void *what)
{
    Job own = {.work = call, .what = what, .blocks = blocks};
    threads = threads < blocks ? threads : blocks;
    if (!frame) {
        work_with_threads(&own, threads);
        return;
    }
    const Interface *xla = frame->xla;
    threads = threads_of(frame, threads);
    Job *job = threads > 1 ? malloc(sizeof *job) : NULL; /* a helper may look at it when this call is over */
    if (!job) {
        work(&own);
        return;
    }
    *job = own;
    atomic_store(&job->users, threads);
    atomic_store(&close_by, now() - atomic_load(&ended) < LINGER);
    for (int64_t i = 1 + hand_over(job, threads - 1); i < threads; i++)
        if (!done(xla, xla->schedule(&(Schedule){sizeof(Schedule), NULL, frame->context, help, job})))
            leave(job);
    work(job);
    while (atomic_load(&job->finished) < blocks)
        sched_yield();
    atomic_store(&ended, now());
    leave(job);
}
