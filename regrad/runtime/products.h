/* Products of matrices that lie in the caches, for one thread. */

#ifndef REGRAD_PRODUCTS_H
#define REGRAD_PRODUCTS_H

#include <stdint.h>

enum { WIDEST = 3, MOST_WIDE = WIDEST * 16, MOST_HIGH = 192 };

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

typedef struct {
    const float *x, *y; /* [rows, inner] by steps as above; [inner, columns], or [columns, inner] if y is transposed */
    int64_t rows, columns, inner, x_row, x_inner, y_transposed;
} Matrices;

/* Writes some rows and columns of their product, at most MOST_WIDE columns and MOST_HIGH rows, to z, whose rows lie `z_row` apart. */
void multiply(const Matrices *m, int64_t row, int64_t rows, int64_t column, int64_t columns, float *z, int64_t z_row);

#endif
