/* Products of float32 matrices for compiled programs, on all threads of XLA's own pool (runtime/products.py).

A product is cut into blocks of the result, which are shared out (sharing.c). */

#include <stdint.h>
#include <string.h>

#include "products.h"
#include "sharing.h"
#include "xla.h"

enum { MOST_TALL = 12, DEPTH = 256, STRIP = 16 };

/* -- a block by one thread ------------------------------------------------------------------------------------------- */

/* The sums of a tile take three quarters of the registers: 32 of 16 numbers, 16 of 8, 32 or 16 of 4. */
#if defined __x86_64__ && !defined NO_AVX512
#define WIDTH 16
#define TALL(WIDE) ((WIDE) == 3 ? 8 : 12)
#define FOR(NAME) avx512_##NAME
#define TARGET __attribute__((target("avx512f")))
#include "products_vectors.h"
#endif
#if defined __x86_64__ && !defined NO_AVX2
#define WIDTH 8
#define TALL(WIDE) ((WIDE) == 3 ? 4 : 6)
#define FOR(NAME) avx2_##NAME
#define TARGET __attribute__((target("avx2,fma")))
#include "products_vectors.h"
#endif
#define WIDTH 4
#ifdef __aarch64__
#define TALL(WIDE) ((WIDE) == 3 ? 8 : 12)
#else
#define TALL(WIDE) ((WIDE) == 3 ? 4 : 6)
#endif
#define FOR(NAME) any_##NAME
#define TARGET
#include "products_vectors.h"

const Kernel *kernel_of_processor(void)
{
#if defined __x86_64__ && !defined NO_AVX512
    if (__builtin_cpu_supports("avx512f"))
        return &avx512_kernel;
#endif
#if defined __x86_64__ && !defined NO_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2_kernel;
#endif
    return &any_kernel;
}

/* Copies y[from:from+depth, column:column+n] to `panel`, row by row, filled up with zeros to `width`. */
static void pack(const Matrices *m, int64_t from, int64_t depth, int64_t column, int n, int width, float *panel)
{
    if (n < width)
        memset(panel, 0, depth * width * sizeof(float));
    if (!m->y_transposed)
        for (int64_t k = 0; k < depth; k++)
            memcpy(panel + k * width, m->y + (from + k) * m->columns + column, n * sizeof(float));
    else
        for (int64_t k0 = 0; k0 < depth; k0 += STRIP)
            for (int c = 0; c < n; c++) {
                const float *y = m->y + (column + c) * m->inner + from + k0;
                float *to = panel + k0 * width + c;
                if (depth - k0 >= STRIP)
                    for (int k = 0; k < STRIP; k++)
                        to[k * width] = y[k];
                else
                    for (int k = 0; k < depth - k0; k++)
                        to[k * width] = y[k];
            }
}

/* Of y, what has whole vectors is read where it lies. */
void multiply(const Matrices *m, int64_t row, int64_t rows, int64_t column, int64_t columns, float *z, int64_t z_row)
{
    const Kernel *kernel = kernel_of_processor();
    int vectors = ceil_div(columns, kernel->width), width = vectors * kernel->width, whole = width == columns;
    float panel[DEPTH * MOST_WIDE] __attribute__((aligned(64))), rest[MOST_WIDE * MOST_HIGH], *to = whole ? z : rest;
    for (int64_t from = 0; from < m->inner; from += DEPTH) {
        int64_t depth = least(m->inner - from, DEPTH);
        const float *x = m->x + row * m->x_row + from * m->x_inner, *y = m->y + from * m->columns + column;
        int in_place = whole && !m->y_transposed;
        if (!in_place)
            pack(m, from, depth, column, columns, width, panel);
        kernel->product[vectors - 1](x, m->x_row, m->x_inner, rows, in_place ? y : panel, in_place ? m->columns : width, depth, to,
                                     whole ? z_row : width, from > 0);
    }
    for (int64_t i = 0; !whole && i < rows; i++)
        memcpy(z + i * z_row, rest + i * width, columns * sizeof(float));
}

/* -- sharing the blocks ---------------------------------------------------------------------------------------------- */

enum { LEAST = 500000 /* products of numbers that are worth a thread: some 10 us */, BLOCKS = 16, LEAST_HIGH = 24, TILE = 8 };

typedef struct {
    Matrices m;
    float *z;
    int64_t high, wide, panels; /* rows and columns of a block; how many blocks beside each other */
} Task;

static void compute_block(const void *task, int64_t block)
{
    const Task *t = task;
    int64_t row = block / t->panels * t->high, column = block % t->panels * t->wide;
    multiply(&t->m, row, least(t->m.rows - row, t->high), column, least(t->m.columns - column, t->wide),
             t->z + row * t->m.columns + column, t->m.columns);
}

static void run(const Frame *frame, Task *t)
{
    t->wide = WIDEST * kernel_of_processor()->width;
    t->panels = ceil_div(t->m.columns, t->wide);
    t->high = MOST_HIGH;
    while (t->high > LEAST_HIGH && ceil_div(t->m.rows, t->high) * t->panels < BLOCKS)
        t->high -= LEAST_HIGH;
    t->high = ceil_div(ceil_div(t->m.rows, ceil_div(t->m.rows, t->high)), TILE) * TILE; /* all alike */
    share(frame, ceil_div(t->m.rows, t->high) * t->panels, t->m.rows * t->m.columns * t->m.inner / LEAST, compute_block, t);
}

/* Returns the matrix that is an operand, or the one of a stack of matrices at the index that is the operand `at`. */
static const float *matrix(const Frame *frame, int operand, int at)
{
    const Buffer *x = frame->operands.items[operand];
    const float *first = x->data;
    if (at < frame->operands.count)
        first += *(int32_t *)frame->operands.items[at]->data * x->dims[x->rank - 2] * x->dims[x->rank - 1];
    return first;
}

/* z = x y, the operands transposed as the bits 1 and 2 of the one attribute say; x may be of a stack. */
void *regrad_product(Frame *frame)
{
    if (to_execute(frame)) {
        Buffer *x = frame->operands.items[0], *y = frame->operands.items[1], *z = frame->results.items[0];
        int transposed = *(int32_t *)((Scalar *)frame->attributes.items[0])->value, x_transposed = transposed & 1;
        const int64_t *dims = x->dims + x->rank - 2, rows = z->dims[0], inner = dims[!x_transposed];
        Task task = {{matrix(frame, 0, 2), y->data, rows, z->dims[1], inner, x_transposed ? 1 : inner, x_transposed ? rows : 1,
                      transposed & 2}, .z = z->data};
        run(frame, &task);
    }
    return NULL;
}

/* Adds up the rows of a matrix of a stack. */
void *regrad_sum_of_rows(Frame *frame)
{
    if (to_execute(frame)) {
        const int64_t *dims = frame->operands.items[0]->dims;
        const float *x = matrix(frame, 0, 1);
        float *z = frame->results.items[0]->data;
        memset(z, 0, dims[2] * sizeof(float));
        for (int64_t row = 0; row < dims[1]; row++)
            for (int64_t c = 0; c < dims[2]; c++)
                z[c] += x[row * dims[2] + c];
    }
    return NULL;
}

/* Leaves its result as it is: memory for what comes later to write. */
void *regrad_uninitialized(Frame *frame)
{
    to_execute(frame);
    return NULL;
}
