/* The transforms of winograd.c by vectors of WIDTH numbers, included once for each kind of processor.

An inclusion defines: WIDTH; FOR(name), the name for this kind; TARGET, the attribute that lets the compiler use its instructions. */

#define Vector FOR(Vector)
typedef float Vector __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

/* -- along one axis -------------------------------------------------------------------------------------------------- */

/* Six numbers of an image: t = B' d. */
TARGET INLINE void FOR(image)(const Vector *d, Vector *t)
{
    Vector even_p = d[4] - 2 * d[2], odd_p = P * (d[3] - 2 * d[1]);
    Vector even_q = d[4] - 0.5f * d[2], odd_q = Q * (d[3] - 0.5f * d[1]);
    t[0] = d[0] + d[4] - 2.5f * d[2];
    t[1] = even_p + odd_p;
    t[2] = even_p - odd_p;
    t[3] = even_q + odd_q;
    t[4] = even_q - odd_q;
    t[5] = d[1] + d[5] - 2.5f * d[3];
}

/* n coefficients of a polynomial: its values at the points, those at P and -P times p, those at Q and -Q times q. */
TARGET INLINE void FOR(values)(const Vector *d, Vector *t, const int n, float p, float q)
{
    Vector even_p = p * d[0], even_q = q * d[0], odd_p = {0}, odd_q = {0};
    for (int i = 1; i < n; i++) {
        Vector at_p = (p *= P) * d[i], at_q = (q *= Q) * d[i];
        if (i % 2) {
            odd_p += at_p;
            odd_q += at_q;
        } else {
            even_p += at_p;
            even_q += at_q;
        }
    }
    t[0] = d[0];
    t[1] = even_p + odd_p;
    t[2] = even_p - odd_p;
    t[3] = even_q + odd_q;
    t[4] = even_q - odd_q;
    t[5] = d[n - 1];
}

/* The transpose of that: n numbers from six. */
TARGET INLINE void FOR(coefficients)(const Vector *d, Vector *t, const int n, float p, float q)
{
    Vector even_p = d[1] + d[2], odd_p = d[1] - d[2], even_q = d[3] + d[4], odd_q = d[3] - d[4];
    for (int i = 0; i < n; i++) {
        t[i] = i % 2 ? p * odd_p + q * odd_q : p * even_p + q * even_q;
        p *= P;
        q *= Q;
    }
    t[0] += d[0];
    t[n - 1] += d[5];
}

/* -- along both axes, for all channels ------------------------------------------------------------------------------- */

TARGET INLINE void FOR(along)(const Vector *d, Vector *t, const Form form, const int n)
{
    const float p = of_filter(form) ? -2 / 3.f : 1, q = of_filter(form) ? 1 / 6.f : 1;
    if (form == IMAGE)
        FOR(image)(d, t);
    else if (expands(form))
        FOR(values)(d, t, n, p, q);
    else
        FOR(coefficients)(d, t, n, p, q);
}

/* Transforms `lanes` channels; what is not in memory of our own may end there. */
TARGET INLINE void FOR(channels)(const float *const *from, float *const *to, int c, int lanes, const Form form, const int n)
{
    const int side = form == FILTER || form == GRADIENT ? n : SIDE, size = expands(form) ? SIDE : n;
    Vector d[SIDE], t[SIDE], half[SIDE][SIDE];
    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++)
            if (!expands(form) || lanes == WIDTH)
                d[i] = *(const Vector *)(from[i * side + j] + c);
            else {
                d[i] = (Vector){0};
                memcpy(&d[i], from[i * side + j] + c, lanes * sizeof(float));
            }
        FOR(along)(d, t, form, n);
        for (int i = 0; i < size; i++)
            half[i][j] = t[i];
    }
    for (int i = 0; i < size; i++) {
        FOR(along)(half[i], t, form, n);
        for (int j = 0; j < size; j++)
            if (expands(form) || lanes == WIDTH)
                *(Vector *)(to[i * size + j] + c) = t[j];
            else
                memcpy(to[i * size + j] + c, &t[j], lanes * sizeof(float));
    }
}

TARGET INLINE void FOR(square)(const float *const *from, float *const *to, int channels, const Form form, const int n)
{
    int c = 0;
    for (; c + WIDTH <= channels; c += WIDTH)
        FOR(channels)(from, to, c, WIDTH, form, n); /* a constant, known to the compiler */
    if (c < channels)
        FOR(channels)(from, to, c, channels - c, form, n);
}

#define SQUARE(FORM, N) \
    TARGET static void FOR(FORM##_##N)(const float *const *from, float *const *to, int channels) \
    { \
        FOR(square)(from, to, channels, FORM, N); \
    }
#define SQUARES(FORM) SQUARE(FORM, 2) SQUARE(FORM, 3) SQUARE(FORM, 4) SQUARE(FORM, 5)
SQUARE(IMAGE, 0)
SQUARES(FILTER)
SQUARES(GRADIENT)
SQUARES(RESULT)
SQUARES(FILTER_GRADIENT)

static const Kind FOR(kind) = {
    {[IMAGE] = {FOR(IMAGE_0), FOR(IMAGE_0), FOR(IMAGE_0), FOR(IMAGE_0)},
#define ALL(FORM) [FORM] = {FOR(FORM##_2), FOR(FORM##_3), FOR(FORM##_4), FOR(FORM##_5)}
     ALL(FILTER), ALL(GRADIENT), ALL(RESULT), ALL(FILTER_GRADIENT)},
};

#undef Vector
#undef SQUARE
#undef SQUARES
#undef ALL
#undef WIDTH
#undef FOR
#undef TARGET
