/* Steps of optimizers for compiled programs (ops/train.py): a variable and its slots in one pass over memory.

XLA makes a function of its own for each result of each size of variables: compiling those takes most of a training step's
compilation, and running them reads the gradient and the slots again for each. The formulas are those of ops/train.py. */

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "products.h"
#include "sharing.h"
#include "xla.h"

enum { GRADIENT_DESCENT, MOMENTUM, NESTEROV_MOMENTUM, ADAM, ADAGRAD, RMSPROP }; /* the attribute: which rule */
enum { REFS = 3, NUMBERS = 6, BLOCK = 16384, COSTLY = 65536 /* elements that are worth a thread */ };
enum { ROOM = 49152, TILE = 8 /* elements of a gradient, and rows, that are computed at a time */ };

typedef struct {
    int rule;
    int64_t size;
    const float *old[REFS], *grad;
    float *new[REFS], number[NUMBERS]; /* the operands that are numbers, in their order */
} Update;

#define EACH(...) for (int64_t i = from; i < to; i++) { float g = grad[i]; __VA_ARGS__; }

INLINE void compute(const Update *u, int64_t from, int64_t to)
{
    const float *grad = u->grad, *var = u->old[0], *a = u->old[1], *b = u->old[2], *n = u->number;
    float *new_var = u->new[0], *new_a = u->new[1], *new_b = u->new[2];
    switch (u->rule) {
    case GRADIENT_DESCENT: {
        float rate = n[0];
#pragma GCC ivdep
        EACH(new_var[i] = var[i] - rate * g)
        break;
    }
    case MOMENTUM: {
        float rate = n[0], momentum = n[1];
#pragma GCC ivdep
        EACH(float sum = a[i] * momentum + g; new_a[i] = sum; new_var[i] = var[i] - sum * rate)
        break;
    }
    case NESTEROV_MOMENTUM: {
        float rate = n[0], momentum = n[1];
#pragma GCC ivdep
        EACH(float sum = a[i] * momentum + g; new_a[i] = sum; new_var[i] = var[i] - (g * rate + sum * momentum * rate))
        break;
    }
    case ADAM: {
        float rate = n[2] * sqrtf(1 - n[1]) / (1 - n[0]), rest1 = 1 - n[3], rest2 = 1 - n[4], epsilon = n[5];
#pragma GCC ivdep
        EACH(float m = a[i] + (g - a[i]) * rest1; float v = b[i] + (g * g - b[i]) * rest2; new_a[i] = m; new_b[i] = v;
             new_var[i] = var[i] - m * rate / (sqrtf(v) + epsilon))
        break;
    }
    case ADAGRAD: {
        float rate = n[0];
#pragma GCC ivdep
        EACH(float sum = a[i] + g * g; new_a[i] = sum; new_var[i] = var[i] - g * rate / sqrtf(sum))
        break;
    }
    case RMSPROP: {
        float rate = n[0], rest = 1 - n[1], momentum = n[2], epsilon = n[3];
#pragma GCC ivdep
        EACH(float ms = a[i] + (g * g - a[i]) * rest; float step = b[i] * momentum + g * rate / sqrtf(ms + epsilon);
             new_a[i] = ms; new_b[i] = step; new_var[i] = var[i] - step)
        break;
    }
    }
}

typedef void Compute(const Update *, int64_t from, int64_t to);

#if defined __x86_64__ && !defined NO_AVX512
__attribute__((target("avx512f"))) static void compute_avx512(const Update *u, int64_t from, int64_t to) { compute(u, from, to); }
#endif
#if defined __x86_64__ && !defined NO_AVX2
__attribute__((target("avx2,fma"))) static void compute_avx2(const Update *u, int64_t from, int64_t to) { compute(u, from, to); }
#endif
static void compute_any(const Update *u, int64_t from, int64_t to) { compute(u, from, to); }

/* Returns the one for this processor. */
static Compute *kernel(void)
{
    int width = kernel_of_processor()->width;
#if defined __x86_64__ && !defined NO_AVX512
    if (width == 16)
        return compute_avx512;
#endif
#if defined __x86_64__ && !defined NO_AVX2
    if (width == 8)
        return compute_avx2;
#endif
    (void)width;
    return compute_any;
}

typedef struct { const Update *update; Compute *compute; } Task;

static void compute_block(const void *task, int64_t block)
{
    const Task *t = task;
    int64_t from = block * BLOCK;
    t->compute(t->update, from, least(t->update->size, from + BLOCK));
}

/* Reads the operands: a variable and its slots, for each of which there is a result; then numbers, and the gradient, or two arrays
   of which it is made, from the place on that one attribute says; the other says which rule. Behind them are arrays that have to be
   there before anything is overwritten. */
static int64_t read_update(const Frame *frame, int arrays, Update *u)
{
    Buffer **operands = frame->operands.items, **results = frame->results.items;
    int64_t refs = frame->results.count, numbers = 0, grad = *(int32_t *)((Scalar *)frame->attributes.items[0])->value;
    *u = (Update){.rule = *(int32_t *)((Scalar *)frame->attributes.items[1])->value, .size = 1};
    for (int64_t i = 0; i < refs; i++)
        u->old[i] = operands[i]->data, u->new[i] = results[i]->data;
    for (int64_t i = refs; i < frame->operands.count && numbers < NUMBERS; i++)
        if ((i < grad || i >= grad + arrays) && operands[i]->rank == 0)
            u->number[numbers++] = *(float *)operands[i]->data;
    for (int64_t i = 0; i < results[0]->rank; i++)
        u->size *= results[0]->dims[i];
    return grad;
}

/* One step by a gradient. */
void *regrad_update(Frame *frame)
{
    if (to_execute(frame)) {
        Update u;
        u.grad = frame->operands.items[read_update(frame, 1, &u)]->data;
        share(frame, ceil_div(u.size, BLOCK), u.size / COSTLY, compute_block, &(Task){&u, kernel()});
    }
    return NULL;
}

/* True where values have been refused: the last operand is not 0. Results are operands then as they are, in the same memory. */
static int refused(const Frame *frame)
{
    return to_execute(frame) && *(int32_t *)frame->operands.items[frame->operands.count - 1]->data != 0;
}

/* The same in a program that values may refuse. */
void *regrad_update_unless(Frame *frame)
{
    return refused(frame) ? NULL : regrad_update(frame);
}

/* -- by a product -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const Update *update;
    Compute *compute;
    Matrices m;
    int64_t high, wide; /* rows that are taken at a time, columns of a product */
    atomic_int failed;
} ProductTask;

static void compute_rows(const void *task, int64_t block)
{
    ProductTask *t = (ProductTask *)task;
    int64_t row = block * t->high, rows = least(t->m.rows - row, t->high), columns = t->m.columns;
    float *grad = malloc(rows * columns * sizeof(float));
    if (!grad) {
        atomic_store(&t->failed, 1);
        return;
    }
    for (int64_t c = 0; c < columns; c += t->wide)
        multiply(&t->m, row, rows, c, least(columns - c, t->wide), grad + c, columns);
    Update u = *t->update;
    u.grad = grad - row * columns;
    t->compute(&u, row * columns, (row + rows) * columns);
    free(grad);
}

/* One step of a matrix by the gradient x' y: some rows of it are computed, and used up before they have left the caches. */
void *regrad_update_by_product(Frame *frame)
{
    if (!to_execute(frame))
        return NULL;
    Update u;
    int64_t grad = read_update(frame, 2, &u);
    Buffer *x = frame->operands.items[grad], *y = frame->operands.items[grad + 1];
    int64_t inner = x->dims[0], rows = x->dims[1], columns = y->dims[1], high = ROOM / columns / TILE * TILE;
    ProductTask t = {&u, kernel(), {x->data, y->data, rows, columns, inner, 1, rows, 0}, .wide = WIDEST * kernel_of_processor()->width};
    t.high = high < TILE ? TILE : least(high, MOST_HIGH);
    share(frame, ceil_div(rows, t.high), rows * columns / COSTLY, compute_rows, &t);
    return atomic_load(&t.failed) ? failure(frame->xla, "there is not enough memory for a gradient") : NULL;
}

void *regrad_update_by_product_unless(Frame *frame)
{
    return refused(frame) ? NULL : regrad_update_by_product(frame);
}
