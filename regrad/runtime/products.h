/* Products of matrices that lie in the caches, for one thread. */

#ifndef REGRAD_PRODUCTS_H
#define REGRAD_PRODUCTS_H

#include <stdint.h>

enum { WIDEST = 3 };

/* z = x y, or z + x y if `add`. Element i, k of x lies at x[i * row + k * inner], of which steps one is 1; the rows of y and z, whole
   vectors of numbers, lie `y_row` and `z_row` numbers apart. */
typedef void Product(const float *x, int64_t row, int64_t inner, int64_t rows, const float *y, int64_t y_row, int64_t depth,
                     float *z, int64_t z_row, int add);

typedef struct {
    int width;                /* numbers of a vector: 16, 8 or 4 */
    Product *product[WIDEST]; /* for rows of one, two and three vectors */
} Kernel;

/* Returns the one for this processor. */
const Kernel *kernel_of_processor(void);

#endif
