/* Products of float32 matrices for compiled programs, on all threads of XLA's own pool (runtime/products.py).

A product is cut into blocks of the result, which are shared out (sharing.c). */

#include <stdint.h>
#include <string.h>

#include "sharing.h"
#include "xla.h"

/* -- a block of a product -------------------------------------------------------------------------------------------- */

typedef struct {
    const float *x, *y; /* [rows, inner] by strides; [inner, columns], or [columns, inner] if y is transposed */
    float *z;
    int64_t rows, columns, inner, x_row, x_inner, y_transposed;
} Product;

enum { DEPTH = 256, MOST_TALL = 8, MOST_WIDE = 32, HIGH = 24, STRIP = 16 }; /* a block is HIGH tiles high, one wide */
#define INLINE static inline __attribute__((always_inline))

/* sums = x y for as many rows of x as a tile is tall, as many columns of y as it is wide, and `depth` terms. */
typedef void Tile(const float *const *x, int64_t x_inner, const float *y, int64_t depth, float sums[][MOST_WIDE]);

/* Copies y[from:from+depth, column:column+n] to `panel`, row by row, filled up with zeros to `width`. */
INLINE void pack(const Product *p, int64_t from, int64_t depth, int64_t column, int n, const int width, float *panel)
{
    if (n < width)
        memset(panel, 0, depth * width * sizeof(float));
    if (p->y_transposed)
        for (int64_t k0 = 0; k0 < depth; k0 += STRIP)
            for (int c = 0; c < n; c++) {
                const float *y = p->y + (column + c) * p->inner + from + k0;
                float *to = panel + k0 * width + c;
                if (depth - k0 >= STRIP)
                    for (int k = 0; k < STRIP; k++)
                        to[k * width] = y[k];
                else
                    for (int k = 0; k < depth - k0; k++)
                        to[k * width] = y[k];
            }
    else
        for (int64_t k = 0; k < depth; k++) {
            const float *y = p->y + (from + k) * p->columns + column;
            if (n == width) /* known to the compiler: a few moves instead of a call */
                memcpy(panel + k * width, y, width * sizeof(float));
            else
                memcpy(panel + k * width, y, n * sizeof(float));
        }
}

/* Computes the block of the result that begins at a row and a column. */
INLINE void compute(const Product *p, int64_t row, int64_t column, Tile *tile, const int tall, const int width)
{
    float panel[DEPTH * MOST_WIDE] __attribute__((aligned(64)));
    int64_t last = p->rows - row < HIGH * tall ? p->rows : row + HIGH * tall;
    int n = p->columns - column < width ? p->columns - column : width;
    for (int64_t from = 0; from < p->inner; from += DEPTH) {
        int64_t depth = p->inner - from < DEPTH ? p->inner - from : DEPTH;
        pack(p, from, depth, column, n, width, panel);
        for (int64_t r = row; r < last; r += tall) {
            const float *x[MOST_TALL];
            float sums[MOST_TALL][MOST_WIDE];
            for (int i = 0; i < tall; i++) /* beyond the end the last row is computed again */
                x[i] = p->x + (r + i < last ? r + i : last - 1) * p->x_row + from * p->x_inner;
            if (p->x_inner == 1) /* known as well */
                tile(x, 1, panel, depth, sums);
            else
                tile(x, p->x_inner, panel, depth, sums);
            for (int i = 0; i < tall && r + i < last; i++) {
                float *z = p->z + (r + i) * p->columns + column;
                if (from == 0 && n == width)
                    memcpy(z, sums[i], width * sizeof(float));
                else
                    for (int c = 0; c < n; c++)
                        z[c] = from ? z[c] + sums[i][c] : sums[i][c];
            }
        }
    }
}

typedef struct {
    int tall, width;
    void (*compute)(const Product *, int64_t row, int64_t column);
} Kernel;

/* A tile of TALL rows and two vectors of WIDTH numbers, whose sums stay in registers, and what computes blocks by it. */
#define KERNEL(NAME, TARGET, WIDTH, TALL)                                                                                   \
    typedef float NAME##_vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));                             \
    INLINE void NAME##_tile(const float *const *x, int64_t x_inner, const float *y, int64_t depth, float sums[][MOST_WIDE]) \
    {                                                                                                                       \
        NAME##_vector s[TALL][2] = {{{0}}};                                                                                 \
        for (int64_t k = 0; k < depth; k++, y += 2 * WIDTH) {                                                               \
            const NAME##_vector *row = (const NAME##_vector *)y;                                                            \
            for (int i = 0; i < TALL; i++) {                                                                                \
                s[i][0] += x[i][k * x_inner] * row[0];                                                                      \
                s[i][1] += x[i][k * x_inner] * row[1];                                                                      \
            }                                                                                                               \
        }                                                                                                                   \
        for (int i = 0; i < TALL; i++)                                                                                      \
            memcpy(sums[i], s[i], sizeof s[i]);                                                                             \
    }                                                                                                                       \
    TARGET static void NAME##_compute(const Product *p, int64_t row, int64_t column)                                        \
    {                                                                                                                       \
        compute(p, row, column, NAME##_tile, TALL, 2 * WIDTH);                                                              \
    }                                                                                                                       \
    static const Kernel NAME##_kernel = {TALL, 2 * WIDTH, NAME##_compute};

/* The sums take half to three quarters of the registers: 32 of 16 numbers, 16 of 8, 32 or 16 of 4. */
#if defined __x86_64__ && !defined NO_AVX512
KERNEL(avx512, __attribute__((target("avx512f"))), 16, 8)
#endif
#if defined __x86_64__ && !defined NO_AVX2
KERNEL(avx2, __attribute__((target("avx2,fma"))), 8, 6)
#endif
#ifdef __aarch64__
KERNEL(any, , 4, 8)
#else
KERNEL(any, , 4, 4)
#endif

/* Returns the one for this processor. */
static Kernel kernel(void)
{
#if defined __x86_64__ && !defined NO_AVX512
    if (__builtin_cpu_supports("avx512f"))
        return avx512_kernel;
#endif
#if defined __x86_64__ && !defined NO_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2_kernel;
#endif
    return any_kernel;
}

/* -- sharing the blocks ---------------------------------------------------------------------------------------------- */

enum { LEAST = 500000 }; /* products of numbers that are worth a thread: some 10 us */

typedef struct {
    const Product *product;
    Kernel kernel;
    int64_t across; /* how many blocks beside each other */
} Blocks;

static void compute_block(const void *blocks, int64_t block)
{
    const Blocks *b = blocks;
    b->kernel.compute(b->product, block / b->across * HIGH * b->kernel.tall, block % b->across * b->kernel.width);
}

static void run(const Frame *frame, const Product *p)
{
    Kernel k = kernel();
    int64_t across = (p->columns + k.width - 1) / k.width, down = (p->rows + HIGH * k.tall - 1) / (HIGH * k.tall);
    share(frame, across * down, p->rows * p->columns * p->inner / LEAST, compute_block, &(Blocks){p, k, across});
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
        Product product = {matrix(frame, 0, 2), y->data, z->data, rows, z->dims[1], inner,
                           x_transposed ? 1 : inner, x_transposed ? rows : 1, transposed & 2};
        run(frame, &product);
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
