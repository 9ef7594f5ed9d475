/* Convolutions by oneDNN for compiled programs, called without Python (runtime/onednn.py, which makes them ready).

A program names a convolution by a key. The first time, Python is asked for what oneDNN needs for it; from then on a call looks
that up and executes it. One convolution is computed at a time: it has its threads, and they share room for what they need. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla.h"

typedef struct { int role; void *memory; } Argument;                               /* of oneDNN */
typedef struct { void *primitive; int count; const Argument *arguments; } Step;
typedef struct { void *memory; size_t size; } Room;                                /* what one of its memories has to hold */

enum { OPERANDS = 3, STEPS = 3, ROOMS = 4, BUCKETS = 1024 };

typedef struct {
    int threads, steps, rooms;
    void *memories[OPERANDS]; /* of the two operands and the result */
    Step step[STEPS];
    Room room[ROOMS];
} Convolution;

typedef struct {
    int (*place)(void *memory, void *address);
    int (*execute)(void *primitive, void *stream, int count, const Argument *arguments);
    void (*limit)(int threads);
    void *stream;
    const Convolution *(*prepare)(const char *key, size_t length); /* NULL: it failed, and has noted why */
} OneDnn;

typedef struct Entry {
    struct Entry *next;
    const Convolution *convolution;
    size_t length;
    char key[];
} Entry;

static OneDnn onednn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Entry *buckets[BUCKETS];
static Room kept[ROOMS]; /* memory for the rooms of all, as large as was ever wanted */

void regrad_convolution_by(const OneDnn *library)
{
    onednn = *library;
}

/* Returns the convolution of a key, or NULL. */
static const Convolution *find(const char *key, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619u;
    Entry **bucket = &buckets[hash % BUCKETS];
    for (Entry *e = *bucket; e; e = e->next)
        if (e->length == length && !memcmp(e->key, key, length))
            return e->convolution;
    const Convolution *made = onednn.prepare(key, length);
    Entry *e = made ? malloc(sizeof *e + length) : NULL;
    if (e) {
        *e = (Entry){*bucket, made, length};
        memcpy(e->key, key, length);
        *bucket = e;
    }
    return made;
}

/* Executes it; returns 0 if all went well. */
static int convolve(const Convolution *c, const Frame *frame)
{
    int failed = 0;
    for (int i = 0; i < OPERANDS; i++) {
        const Buffer *b = i < OPERANDS - 1 ? frame->operands.items[i] : frame->results.items[0];
        failed |= onednn.place(c->memories[i], b->data);
    }
    for (int i = 0; i < c->rooms; i++) {
        if (kept[i].size < c->room[i].size) {
            free(kept[i].memory);
            kept[i] = (Room){aligned_alloc(64, (c->room[i].size + 63) / 64 * 64), c->room[i].size};
            if (!kept[i].memory) {
                kept[i].size = 0;
                return 1;
            }
        }
        failed |= onednn.place(c->room[i].memory, kept[i].memory);
    }
    onednn.limit(c->threads);
    for (int i = 0; i < c->steps && !failed; i++)
        failed = onednn.execute(c->step[i].primitive, onednn.stream, c->step[i].count, c->step[i].arguments);
    return failed;
}

/* The convolution that the one attribute names. */
void *regrad_convolution(Frame *frame)
{
    if (!to_execute(frame))
        return NULL;
    const Span *key = frame->attributes.items[0];
    pthread_mutex_lock(&lock);
    const Convolution *c = find(key->data, key->length);
    const char *message = !c ? "a convolution could not be prepared" : convolve(c, frame) ? "oneDNN failed" : NULL;
    pthread_mutex_unlock(&lock);
    return message ? failure(frame->xla, message) : NULL;
}
