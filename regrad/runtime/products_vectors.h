/* The inner loops of products.c by vectors of WIDTH numbers, included once for each kind of processor.

An inclusion defines: WIDTH; TALL(wide), the rows of a tile of the result that is so many vectors wide and whose sums stay in
registers; FOR(name), the name for this kind; TARGET, the attribute that lets the compiler use its instructions. */

#define Vector FOR(Vector)
typedef float Vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

/* Some rows of a Product, at most `tall` of them, that is `wide` vectors wide. */
TARGET INLINE void FOR(tile)(const float *x, int64_t row, int64_t inner, int64_t rows, const float *y, int64_t y_row, int64_t depth,
                             float *z, int64_t z_row, int add, const int tall, const int wide)
{
    const float *from[MOST_TALL];
    Vector s[MOST_TALL][3];
    for (int i = 0; i < tall; i++) { /* beyond the end the last row is computed again */
        from[i] = x + (i < rows ? i : rows - 1) * row;
        for (int j = 0; j < wide; j++)
            s[i][j] = (Vector){0};
    }
    for (int64_t k = 0; k < depth; k++, y += y_row)
#pragma GCC unroll 16
        for (int i = 0; i < tall; i++)
#pragma GCC unroll 4
            for (int j = 0; j < wide; j++)
                s[i][j] += from[i][k * inner] * ((const Vector *)y)[j];
    for (int i = 0; i < tall && i < rows; i++, z += z_row)
        for (int j = 0; j < wide; j++)
            if (add)
                ((Vector *)z)[j] += s[i][j];
            else
                ((Vector *)z)[j] = s[i][j];
}

TARGET INLINE void FOR(tiles)(const float *x, int64_t row, int64_t inner, int64_t rows, const float *y, int64_t y_row, int64_t depth,
                              float *z, int64_t z_row, int add, const int wide)
{
    const int tall = TALL(wide), half = (tall + 1) / 2;
    for (; rows > half; rows -= tall, x += tall * row, z += tall * z_row)
        FOR(tile)(x, row, inner, rows, y, y_row, depth, z, z_row, add, tall, wide);
    if (rows > 0)
        FOR(tile)(x, row, inner, rows, y, y_row, depth, z, z_row, add, half, wide);
}

#define PRODUCT(WIDE) \
    TARGET static void FOR(product_##WIDE)(const float *x, int64_t row, int64_t inner, int64_t rows, const float *y, int64_t y_row, \
                                           int64_t depth, float *z, int64_t z_row, int add) \
    { \
        if (inner == 1) /* known to the compiler */ \
            FOR(tiles)(x, row, 1, rows, y, y_row, depth, z, z_row, add, WIDE); \
        else \
            FOR(tiles)(x, 1, inner, rows, y, y_row, depth, z, z_row, add, WIDE); \
    }
PRODUCT(1)
PRODUCT(2)
PRODUCT(3)

static const Kernel FOR(kernel) = {WIDTH, {FOR(product_1), FOR(product_2), FOR(product_3)}};

#undef Vector
#undef PRODUCT
#undef WIDTH
#undef TALL
#undef FOR
#undef TARGET
