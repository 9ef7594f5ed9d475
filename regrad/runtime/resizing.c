/* Sums of a few rows each, for compiled programs: an axis times a matrix of which most elements are 0 (ops/image.py).

XLA would fuse such sums into whatever reads them, and compute them again for each reader. */

#include <stdint.h>

#include "sharing.h"
#include "xla.h"

enum { BLOCK = 4096, COSTLY = 16384 }; /* numbers of a block; numbers, each a sum, that are worth a thread */

typedef struct {
    const float *x, *weights; /* [outer, rows, width]; [sums, terms] */
    const int32_t *places;    /* of the rows: [sums, terms] */
    float *y;                 /* [outer, sums, width] */
    int64_t outer, rows, width, sums, terms, block;
} Task;

static void compute_block(const void *task, int64_t block)
{
    const Task *t = task;
    int64_t last = (block + 1) * t->block < t->outer * t->sums ? (block + 1) * t->block : t->outer * t->sums;
    for (int64_t i = block * t->block; i < last; i++) {
        const float *x = t->x + i / t->sums * t->rows * t->width, *weights = t->weights + i % t->sums * t->terms;
        const int32_t *places = t->places + i % t->sums * t->terms;
        float *restrict y = t->y + i * t->width;
        int64_t k = 0, terms = t->terms;
        while (terms > 1 && weights[terms - 1] == 0) /* 0 times an infinite number is none */
            terms--;
        for (; k + 1 < terms; k += 2) { /* two at a time */
            const float *a = x + places[k] * t->width, *b = x + places[k + 1] * t->width, of_a = weights[k], of_b = weights[k + 1];
            for (int64_t c = 0; c < t->width; c++)
                y[c] = (k ? y[c] : 0) + of_a * a[c] + of_b * b[c];
        }
        if (k < terms) {
            const float *a = x + places[k] * t->width, of_a = weights[k];
            for (int64_t c = 0; c < t->width; c++)
                y[c] = (k ? y[c] : 0) + of_a * a[c];
        }
    }
}

/* y[o, i] = the sum over k of weights[i, k] x[o, places[i, k]]. */
void *regrad_sums_of_rows(Frame *frame)
{
    if (to_execute(frame)) {
        Buffer **operands = frame->operands.items, *x = operands[0], *y = frame->results.items[0];
        Task t = {x->data, operands[2]->data, operands[1]->data, y->data,
                  x->dims[0], x->dims[1], x->dims[2], y->dims[1], operands[1]->dims[1], 1};
        t.block = t.width < BLOCK ? BLOCK / t.width : 1;
        share(frame, ceil_div(t.outer * t.sums, t.block), t.outer * t.sums * t.width / COSTLY, compute_block, &t);
    }
    return NULL;
}
