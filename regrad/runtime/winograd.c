/* Convolutions by Winograd's method, F(m x m, r x r) with m + r = 7: fewer multiplications than the definition has.

An image is cut into overlapping tiles of 6 x 6. Tiles and filter are transformed, multiplied - one product of matrices for each
of the 36 places of a tile, over all tiles - and transformed back to m x m results each: for 3 x 3 filters that takes a quarter of
the multiplications, for 5 x 5 0.36 of them. In the words of Lavin and Gray (2015), y = A' [(G g G') * (B' d B)] A. The points are
0, infinity, +-sqrt(1/2) and +-sqrt(2), which keep rounding errors near those of the definition. G and A' have the values of
polynomials there, so the filter's gradient, G' [(B' d B) * (A dy A')] G, is made of the same transforms.

A convolution that moves by more than one place is one that moves by one, of an image whose channels are those of all places that it
passes by at once - the phases - and of a filter cut up likewise: 4 x 4 by two places is 2 x 2 of four times the channels.

Everything is float32; the dilation is 1. What is between the transforms lies in the processor's caches: tiles are taken
some at a time, or, where there are fewer of them than the filter has columns, the filter's columns. */

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "products.h"
#include "sharing.h"
#include "xla.h"

#define P 0.70710678f /* the points */
#define Q 1.41421356f
enum {
    SIDE = 6, PLACES = SIDE * SIDE, MOST_TAPS = 25,
    LINE = 16,               /* numbers of a cache line, and of the longest vectors */
    TALL = 12,               /* rows that a product takes at once */
    CACHE = 150000,          /* numbers of the tiles that are taken at a time: half of a cache of the second level */
    FEW = 24, MOST = 48,     /* of them, where that says otherwise */
    DEPTH = 128,             /* rows of a filter's panel at a time, where it is transformed when it is needed */
    LONG = 128, PART = 64,   /* tiles, and channels, of which the filter's gradient is summed up at a time */
    SPLITS = 8, LEAST = 96,  /* sums for as many threads, of so many tiles at least */
    THREAD = 300000,         /* products that are worth a thread */
};

/* What is transformed to six by six: tiles, the filter, tiles of the result's gradient; and from there: the result, the filter's
   gradient. */
typedef enum { IMAGE, FILTER, GRADIENT, RESULT, FILTER_GRADIENT, FORMS } Form;

INLINE int expands(Form form)
{
    return form <= GRADIENT;
}

INLINE int of_filter(Form form)
{
    return form == FILTER || form == FILTER_GRADIENT;
}

/* Transforms the square of which row i, column j lies at from[i * side + j]; the result, at to[i * size + j]. */
typedef void Transform(const float *const *from, float *const *to, int channels);

typedef struct {
    Transform *transform[FORMS][4]; /* for 2 to 5 numbers of what is not six by six */
} Kind;

#if defined __x86_64__ && !defined NO_AVX512
#define WIDTH 16
#define FOR(NAME) avx512_##NAME
#define TARGET __attribute__((target("avx512f")))
#include "winograd_vectors.h"
#endif
#if defined __x86_64__ && !defined NO_AVX2
#define WIDTH 8
#define FOR(NAME) avx2_##NAME
#define TARGET __attribute__((target("avx2,fma")))
#include "winograd_vectors.h"
#endif
#define WIDTH 4
#define FOR(NAME) any_##NAME
#define TARGET
#include "winograd_vectors.h"

static const Kind *kind_of(const Kernel *kernel)
{
#if defined __x86_64__ && !defined NO_AVX512
    if (kernel->width == 16)
        return &avx512_kind;
#endif
#if defined __x86_64__ && !defined NO_AVX2
    if (kernel->width == 8)
        return &avx2_kind;
#endif
    (void)kernel;
    return &any_kind;
}

/* -- a convolution and its pieces ------------------------------------------------------------------------------------ */

enum { FORWARD, BY_INPUT, BY_FILTER }; /* as in winograd.py */
typedef struct {
    float *data;
    int64_t n, height, width, channels;
    int64_t stride, top, left; /* phase (a, b) has at i, j what the images have at stride i + a - top, stride j + b - left */
} Images;

typedef struct {
    Images x, y;                        /* what is convolved; the result, or its gradient */
    float *filter;                      /* [side, side, x's channels, y's], or turned by 180 degrees and [side, side, y's, x's] */
    int side, stride, turned, r, m;     /* r: the side of its phases */
    int64_t depth, columns;             /* channels of x and y in all phases */
    const Kernel *kernel;
    const Kind *kind;
    int64_t down, across, tiles;        /* of an image; of all */
    int64_t wide, panels;               /* columns of a panel of the filter, and how many there are */
    int64_t block;                      /* how many tiles are taken at a time */
    int64_t padded;                     /* the depth, with room for whole vectors */
    float *nothing;                     /* zeros for what lies outside of an image */
    float *shared;                      /* by all threads: the transforms of all tiles, of the whole filter; or sums of them */
    int64_t splits, part, kept;         /* of the filter's gradient: how many sums; x's channels, and panels of sums, at a time */
    atomic_int failed;                  /* no memory */
} Task;

INLINE Transform *transform(const Task *t, Form form)
{
    return t->kind->transform[form][(of_filter(form) ? t->r : t->m) - 2];
}

INLINE void product(const Task *t, const float *x, int64_t row, int64_t inner, int64_t rows, const float *y, int64_t depth,
                    float *z, int add)
{
    t->kernel->product[t->wide / t->kernel->width - 1](x, row, inner, rows, y, t->wide, depth, z, t->wide, add);
}

/* Returns memory for numbers, or NULL, and then the task has failed. */
static float *room(Task *t, int64_t numbers)
{
    float *memory = aligned_alloc(64, ceil_div(numbers, LINE) * 64);
    if (!memory)
        atomic_store(&t->failed, 1);
    return memory;
}

/* How far the transforms of `tiles` tiles at two places of them lie apart; not by a power of two, which caches do not like. */
INLINE int64_t apart(int64_t tiles, int64_t channels)
{
    return tiles * channels + LINE;
}

/* Returns how far apart the transforms of tiles lie, of so many channels: whole vectors are written, from any channel on. */
INLINE int64_t with_room(const Task *t, int64_t channels)
{
    int64_t width = t->kernel->width;
    return (ceil_div(channels, width) + (t->x.stride > 1 && t->x.channels % width)) * width;
}

/* Points to the numbers of a square, `side` wide, of a tile of a phase's channel, and where they lie outside to `outside`. */
static void locate(const Task *t, const Images *images, int64_t tile, int side, int64_t channel, float *outside, float **to)
{
    int64_t stride = images->stride, phase = channel / images->channels, n = tile / (t->down * t->across);
    int64_t row = tile / t->across % t->down * t->m * stride + phase / stride - images->top;
    int64_t column = tile % t->across * t->m * stride + phase % stride - images->left;
    float *first = images->data + ((n * images->height + row) * images->width + column) * images->channels;
    first += channel % images->channels;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            int64_t y = row + i * stride, x = column + j * stride;
            int inside = 0 <= y && y < images->height && 0 <= x && x < images->width;
            to[i * side + j] = inside ? first + (i * images->width + j) * stride * images->channels : outside;
        }
}

/* Returns how many channels from one on, and before another, are of the same phase. */
INLINE int64_t alike(const Images *images, int64_t channel, int64_t end)
{
    return least(images->channels - channel % images->channels, end - channel);
}

/* Returns where the filter has place i, j of the phase that a channel is of, NULL if nowhere; it is [side, side, channels, others]. */
static float *filter_at(const Task *t, int i, int j, int64_t channel, int64_t channels, int64_t others)
{
    int64_t phase = channel / channels, row = i * t->stride + phase / t->stride, column = j * t->stride + phase % t->stride;
    if (row >= t->side || column >= t->side)
        return NULL;
    return t->filter + ((row * t->side + column) * channels + channel % channels) * others;
}

/* Transforms `count` tiles of `channels` channels of x, from the `first` ones on, to v [place, tile, channel]. */
static void transform_tiles(const Task *t, int64_t first, int64_t count, int64_t channel, int64_t channels, float *v,
                            int64_t row, int64_t place)
{
    float *from[PLACES], *to[PLACES];
    for (int64_t i = 0; i < count; i++, v += row)
        for (int64_t c = 0, n; c < channels; c += n) {
            n = alike(&t->x, channel + c, channel + channels);
            locate(t, &t->x, first + i, SIDE, channel + c, t->nothing, from);
            for (int p = 0; p < PLACES; p++)
                to[p] = v + p * place + c; /* whole vectors: the next phase overwrites what is too much */
            transform(t, IMAGE)((const float *const *)from, to, n);
        }
}

/* Transforms a panel of the filter, of `depth` of x's channels from `first` on, to u [place, channel, column].

`turned` is room for as much of a turned filter. */
static void transform_panel(const Task *t, int64_t panel, int64_t first, int64_t depth, float *u, float *turned)
{
    int64_t wide = t->wide, column = panel * wide, n = least(t->columns - column, wide), r = t->r;
    const float *from[MOST_TAPS];
    float *to[PLACES];
    for (int64_t tap = 0; t->turned && tap < r * r; tap++)
        for (int64_t c = 0; c < n; c++) {
            const float *w = filter_at(t, r - 1 - tap / r, r - 1 - tap % r, column + c, t->y.channels, t->depth);
            for (int64_t d = 0; d < depth; d++)
                turned[(tap * depth + d) * wide + c] = w ? w[first + d] : 0;
        }
    for (int64_t d = 0; d < depth; d++) {
        for (int64_t tap = 0; tap < r * r; tap++) {
            const float *w = t->turned ? NULL : filter_at(t, tap / r, tap % r, first + d, t->x.channels, t->columns);
            from[tap] = t->turned ? turned + (tap * depth + d) * wide : w ? w + column : t->nothing;
        }
        for (int p = 0; p < PLACES; p++)
            to[p] = u + (p * depth + d) * wide;
        transform(t, FILTER)(from, to, n);
    }
}

/* Adds to z, or writes there, the products of `count` tiles and `depth` rows of a panel at all places. */
static void multiply_tiles(const Task *t, int64_t count, const float *v, int64_t place, const float *u, int64_t depth, float *z,
                     int64_t z_place, int add)
{
    for (int p = 0; p < PLACES; p++)
        product(t, v + p * place, t->padded, 1, count, u + p * depth * t->wide, depth, z + p * z_place, add);
}

/* Writes the results of `count` tiles, from the `first` ones on, in the channels of a panel. */
static void write_results(const Task *t, int64_t first, int64_t count, int64_t panel, const float *z, int64_t place)
{
    int64_t column = panel * t->wide, end = least(t->columns, column + t->wide);
    float outside[MOST_WIDE], *to[PLACES];
    const float *from[PLACES];
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = column, n; c < end; c += n) {
            n = alike(&t->y, c, end);
            for (int p = 0; p < PLACES; p++)
                from[p] = z + p * place + i * t->wide + c - column;
            locate(t, &t->y, first + i, t->m, c, outside, to);
            transform(t, RESULT)(from, to, n);
        }
}

/* -- y from x and the filter: jobs of some tiles each ------------------------------------------------------------------- */

static void job_of_panel(const void *task, int64_t panel)
{
    Task *t = (Task *)task;
    int64_t depth = t->depth;
    float *turned = room(t, t->turned ? t->r * t->r * depth * t->wide : 1);
    if (turned)
        transform_panel(t, panel, 0, depth, t->shared + panel * PLACES * depth * t->wide, turned);
    free(turned);
}

static void job_of_tiles(const void *task, int64_t block)
{
    Task *t = (Task *)task;
    int64_t first = block * t->block, count = least(t->tiles - first, t->block), depth = t->depth;
    int64_t place = apart(count, t->padded), z_place = apart(count, t->wide);
    float *v = room(t, PLACES * (place + z_place)), *z = v + PLACES * place;
    if (!v)
        return;
    transform_tiles(t, first, count, 0, depth, v, t->padded, place);
    for (int64_t panel = 0; panel < t->panels; panel++) {
        multiply_tiles(t, count, v, place, t->shared + panel * PLACES * depth * t->wide, depth, z, z_place, 0);
        write_results(t, first, count, panel, z, z_place);
    }
    free(v);
}

/* -- or of some columns each ------------------------------------------------------------------------------------------- */

static void job_of_shared_tiles(const void *task, int64_t block)
{
    const Task *t = task;
    int64_t first = block * t->block, count = least(t->tiles - first, t->block);
    transform_tiles(t, first, count, 0, t->depth, t->shared + first * t->padded, t->padded, apart(t->tiles, t->padded));
}

static void job_of_columns(const void *task, int64_t panel)
{
    Task *t = (Task *)task;
    int64_t place = apart(t->tiles, t->padded), z_place = apart(t->tiles, t->wide), most = least(t->depth, DEPTH);
    float *z = room(t, PLACES * z_place + (PLACES + t->r * t->r) * most * t->wide), *u = z + PLACES * z_place;
    if (!z)
        return;
    for (int64_t d = 0; d < t->depth; d += most) {
        int64_t depth = least(t->depth - d, most);
        transform_panel(t, panel, d, depth, u, u + PLACES * most * t->wide);
        multiply_tiles(t, t->tiles, t->shared + d, place, u, depth, z, z_place, d > 0);
    }
    write_results(t, 0, t->tiles, panel, z, z_place);
    free(z);
}

/* -- the filter's gradient: sums over tiles ---------------------------------------------------------------------------- */

/* Writes the gradient of a panel for some of x's channels, from the sums of all splits, which lie `size` apart. */
static void write_gradient(const Task *t, int64_t first, int64_t channels, int64_t panel, float *sums, int64_t padded, int64_t size)
{
    float *from[PLACES], *to[MOST_TAPS], outside[MOST_WIDE];
    for (int64_t i = 0; i < channels; i++) {
        for (int p = 0; p < PLACES; p++) {
            from[p] = sums + (p * padded + i) * t->wide;
            for (int64_t split = 1; split < t->splits; split++)
                for (int64_t c = 0; c < t->wide; c++)
                    from[p][c] += from[p][split * size + c];
        }
        for (int tap = 0; tap < t->r * t->r; tap++) {
            float *w = filter_at(t, tap / t->r, tap % t->r, first + i, t->x.channels, t->columns);
            to[tap] = w ? w + panel * t->wide : outside;
        }
        transform(t, FILTER_GRADIENT)((const float *const *)from, to, least(t->columns - panel * t->wide, t->wide));
    }
}

/* What some of x's channels have to do with all of y's, over one of the splits of the tiles. */
static void job_of_gradient(const void *task, int64_t job)
{
    Task *t = (Task *)task;
    int64_t part = job / t->splits, split = job % t->splits, channel = part * t->part, wide = t->wide;
    int64_t channels = least(t->depth - channel, t->part), padded = with_room(t, t->part);
    int64_t begin = t->tiles * split / t->splits, end = t->tiles * (split + 1) / t->splits;
    int64_t place = apart(t->block, padded), dy_place = apart(t->block, wide), panel_size = PLACES * padded * wide;
    float *v = room(t, PLACES * (place + dy_place)), *dy = v + PLACES * place, *to[PLACES], *from[PLACES];
    if (!v)
        return;
    for (int64_t first = begin; first < end; first += t->block) {
        int64_t count = least(end - first, t->block);
        transform_tiles(t, first, count, channel, channels, v, padded, place);
        for (int64_t panel = 0; panel < t->panels; panel++) {
            float *sums = t->shared + (job * t->kept + panel % t->kept) * panel_size;
            for (int64_t i = 0; i < count; i++) {
                locate(t, &t->y, first + i, t->m, panel * wide, t->nothing, from);
                for (int p = 0; p < PLACES; p++)
                    to[p] = dy + p * dy_place + i * wide;
                transform(t, GRADIENT)((const float *const *)from, to, least(t->columns - panel * wide, wide));
            }
            for (int p = 0; p < PLACES; p++)
                product(t, v + p * place, 1, padded, channels, dy + p * dy_place, count, sums + p * padded * wide, first > begin);
            if (t->splits == 1 && first + count == end)
                write_gradient(t, channel, channels, panel, sums, padded, 0);
        }
    }
    free(v);
}

static void job_of_sums(const void *task, int64_t job)
{
    const Task *t = task;
    int64_t part = job / t->panels, panel = job % t->panels, channel = part * t->part;
    int64_t padded = with_room(t, t->part), panel_size = PLACES * padded * t->wide;
    write_gradient(t, channel, least(t->depth - channel, t->part), panel,
                   t->shared + (part * t->splits * t->kept + panel) * panel_size, padded, t->kept * panel_size);
}

/* -- the three products of a convolution ------------------------------------------------------------------------------- */

/* Makes the panels as wide as leaves the fewest columns over. */
static void choose_panels(Task *t)
{
    int64_t best = 0;
    for (int vectors = WIDEST; vectors; vectors--) {
        int64_t wide = vectors * t->kernel->width, columns = ceil_div(t->columns, wide) * wide;
        if (!best || columns < best) {
            best = columns;
            t->wide = wide;
            t->panels = columns / wide;
        }
    }
}

static void convolve(Task *t, int kind, int few, const Frame *frame, int64_t threads)
{
    int64_t blocks = ceil_div(t->tiles, t->block), parts = ceil_div(t->depth, t->part);
    if (kind == BY_FILTER) {
        share(frame, parts * t->splits, threads, job_of_gradient, t);
        if (t->splits > 1 && !atomic_load(&t->failed))
            share(frame, parts * t->panels, threads, job_of_sums, t);
    } else if (few) {
        share(frame, blocks, threads, job_of_shared_tiles, t);
        share(frame, t->panels, threads, job_of_columns, t);
    } else {
        share(frame, t->panels, threads, job_of_panel, t);
        share(frame, blocks, threads, job_of_tiles, t);
    }
}

/* Computes one of the three, of two operands; the filter is `side` x `side`, and has its first place at -top and -left. */
static int run(int kind, Images x, Images y, float *filter, int side, int stride, int top, int left, const Frame *frame,
               int64_t threads)
{
    int r = ceil_div(side, stride);
    Task t = {.x = x, .y = y, .filter = filter, .side = side, .stride = stride, .r = r, .m = SIDE + 1 - r};
    t.turned = kind == BY_INPUT;
    if (kind == BY_INPUT) { /* the convolution of y's gradient with the turned filter */
        t.x = y, t.y = x;
        t.x.top = r - 1 - top / stride, t.x.left = r - 1 - left / stride;
        t.y.top = top % stride, t.y.left = left % stride;
    } else
        t.x.top = top, t.x.left = left;
    t.x.stride = kind == BY_INPUT ? 1 : stride;
    t.y.stride = kind == BY_INPUT ? stride : 1;
    t.depth = t.x.stride * t.x.stride * t.x.channels;
    t.columns = t.y.stride * t.y.stride * t.y.channels;
    t.kernel = kernel_of_processor();
    t.kind = kind_of(t.kernel);
    t.down = ceil_div(ceil_div(t.y.height + t.y.top, t.y.stride), t.m);
    t.across = ceil_div(ceil_div(t.y.width + t.y.left, t.y.stride), t.m);
    t.tiles = t.x.n * t.down * t.across;
    t.padded = with_room(&t, t.depth);
    choose_panels(&t);
    t.part = least(t.depth, PART);
    int64_t parts = ceil_div(t.depth, t.part), few = kind != BY_FILTER && t.tiles <= t.columns;
    t.block = kind == BY_FILTER ? LONG : least(CACHE / (PLACES * t.padded) / TALL * TALL, MOST);
    t.block = t.block < FEW ? FEW : t.block;
    t.splits = least(SPLITS / parts, ceil_div(t.tiles, LEAST));
    t.splits = t.splits < 1 ? 1 : t.splits;
    t.kept = t.splits == 1 && t.tiles <= t.block ? 1 : t.panels; /* one is finished before the next begins, or all in the end */
    int64_t numbers = PLACES * (kind == BY_FILTER ? parts * t.splits * t.kept * with_room(&t, t.part) * t.wide :
                                few ? apart(t.tiles, t.padded) : t.panels * t.depth * t.wide);
    t.shared = room(&t, numbers);
    t.nothing = calloc(t.padded + t.panels * t.wide, sizeof(float));
    if (t.shared && t.nothing)
        convolve(&t, kind, few, frame, least(threads, t.tiles * PLACES * t.depth * t.columns / THREAD));
    int failed = !t.nothing || atomic_load(&t.failed);
    free(t.shared);
    free(t.nothing);
    return failed;
}

static Images images(void *data, const int64_t *dims)
{
    return (Images){.data = data, .n = dims[0], .height = dims[1], .width = dims[2], .channels = dims[3]};
}

/* For NumPy: returns 0, or 1 if there is not enough memory. */
int regrad_winograd_on_host(int kind, void *x, const int64_t *x_dims, void *y, const int64_t *y_dims, void *filter, int side,
                            int stride, int top, int left, int threads)
{
    return run(kind, images(x, x_dims), images(y, y_dims), filter, side, stride, top, left, NULL, threads);
}

/* For compiled programs; the attributes are kind, left, stride and top. */
void *regrad_winograd(Frame *frame)
{
    if (!to_execute(frame))
        return NULL;
    int number[4];
    for (int i = 0; i < 4; i++)
        number[i] = *(int32_t *)((Scalar *)frame->attributes.items[i])->value;
    Buffer **operands = frame->operands.items, *result = frame->results.items[0], *x, *y, *filter;
    x = number[0] == BY_INPUT ? result : operands[0];
    filter = number[0] == FORWARD ? operands[1] : number[0] == BY_INPUT ? operands[0] : result;
    y = number[0] == FORWARD ? result : operands[1];
    int failed = run(number[0], images(x->data, x->dims), images(y->data, y->dims), filter->data, filter->dims[0], number[2],
                     number[3], number[1], frame, INT64_MAX);
    return failed ? failure(frame->xla, "there is not enough memory for a convolution") : NULL;
}
