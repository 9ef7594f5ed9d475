/* Incomplete gamma and beta functions of arrays for compiled programs (ops/special.py), number by number.

XLA iterates over whole arrays until the slowest number has converged. Formulas: NIST Digital Library of Mathematical Functions,
5.5, 5.11 (gamma and digamma), 8.7, 8.9 (incomplete gamma), 8.17 (incomplete beta). All is computed in double precision; numbers
of single precision need fewer terms. */

#include <math.h>
#include <stdint.h>

#include "sharing.h"
#include "xla.h"

enum { P, Q, P_BY_A, BETA }; /* the attribute: which function */
enum { DOUBLE = 12 };        /* XLA's number of the type; else float */
enum { SMALL = 16 };         /* from here on gamma functions are Stirling's */
enum { OPERANDS = 3, BLOCK = 64, COSTLY = 128 /* numbers that are worth a thread */, MOST = 1000000 /* terms */ };

static double log_gamma(double a)
{
    int sign;
    return lgamma_r(a, &sign);
}

static double digamma(double a)
{
    double sum = 0;
    for (; a < 10; a++)
        sum -= 1 / a;
    double z = 1 / (a * a);
    return sum + log(a) - 0.5 / a
           - z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
}

/* log(gamma(a)) - ((a - 1/2) log(a) - a + log(2 pi) / 2). */
static double stirling(double a)
{
    if (a < SMALL)
        return log_gamma(a) - (a - 0.5) * log(a) + a - 0.5 * log(2 * M_PI);
    double z = 1 / (a * a);
    return (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z / 1188)))) / a;
}

/* log(ratio), given ratio - 1 exactly. */
static double log_of(double ratio, double excess)
{
    return fabs(excess) < 0.5 ? log1p(excess) : log(ratio);
}

/* x^a e^-x / gamma(a); of large numbers, as a deviation from where it is largest. */
static double density(double a, double x)
{
    if (a < SMALL)
        return exp(a * log(x) - x - log_gamma(a));
    double d = (x - a) / a;
    return sqrt(a / (2 * M_PI)) * exp(a * (log_of(x / a, d) - d) - stirling(a));
}

/* x^a (1 - x)^b / beta(a, b), likewise. */
static double beta_density(double a, double b, double x)
{
    double y = 1 - x, n = a + b, off = x * b - y * a, u = off / a, v = -off / b; /* a u + b v = 0 */
    if (n < SMALL)
        return exp(a * log(x) + b * log1p(-x) + log_gamma(n) - log_gamma(a) - log_gamma(b));
    double of_x = log_of(x * n / a, u), of_y = log_of(y * n / b, v), near = fabs(u) < 0.5 && fabs(v) < 0.5;
    return sqrt(a / (2 * M_PI) * b / n) * exp(a * (of_x - near * u) + b * (of_y - near * v)
                                              + stirling(n) - stirling(a) - stirling(b));
}

/* Numerators and denominators of a continued fraction, the last two, and their derivatives. */
typedef struct { double p, q, last_p, last_q, dp, dq, last_dp, last_dq; } Fraction;

/* Keeps them within the range of numbers. */
static void rescale(Fraction *f)
{
    double size = fabs(f->q);
    if (size > 1e100 || (size < 1e-100 && size > 0)) {
        double *numbers = &f->p;
        for (int i = 0; i < 8; i++)
            numbers[i] /= size;
    }
}

/* The fraction F of Q(a, x) = density F for x > a; *slope: its derivative by a, if asked for. */
static double upper_fraction(double a, double x, double tolerance, double *slope)
{
    Fraction f = {.p = 1, .q = x + 1 - a, .last_q = 1, .dq = -1};
    double value = f.p / f.q, before, by_a = 1 / (f.q * f.q), by_a_before;
    for (double n = 1; n < MOST; n++) {
        double c = n * (a - n), b = x + 1 - a + 2 * n;
        Fraction g = {b * f.p + c * f.last_p, b * f.q + c * f.last_q, f.p, f.q, 0, 0, f.dp, f.dq};
        if (slope) {
            g.dp = b * f.dp - f.p + c * f.last_dp + n * f.last_p;
            g.dq = b * f.dq - f.q + c * f.last_dq + n * f.last_q;
        }
        f = g;
        before = value, value = f.p / f.q;
        by_a_before = by_a, by_a = (f.dp - value * f.dq) / f.q;
        if (fabs(value - before) <= tolerance * fabs(value)
            && (!slope || fabs(by_a - by_a_before) <= 32 * tolerance * (fabs(by_a) + fabs(value))))
            break;
        rescale(&f);
    }
    if (slope)
        *slope = by_a;
    return value;
}

/* The series S of P(a, x) = density S / a; *slope: its derivative by a, if asked for. */
static double lower_series(double a, double x, double tolerance, double *slope)
{
    double term = 1, sum = 1, by_a = 0, slopes = 0;
    for (double n = 1; n < MOST && (term > tolerance * sum || (slope && by_a < tolerance * slopes)); n++) {
        double r = 1 / (a + n);
        term *= x * r;
        by_a = by_a * x * r - term * r;
        sum += term;
        slopes += by_a;
    }
    if (slope)
        *slope = slopes;
    return sum;
}

/* P, Q or the derivative of P by a. */
static double incomplete_gamma(int which, double a, double x, double tolerance)
{
    if (isnan(a) || isnan(x) || a <= 0 || x < 0 || (isinf(a) && isinf(x)))
        return NAN;
    if (x == 0 || isinf(a) || isinf(x))
        return which == P_BY_A ? 0 : (which == P) == (x != 0 && !isinf(a));
    double slope, *wanted = which == P_BY_A ? &slope : NULL, d = density(a, x);
    if (x <= a || x <= 1) {
        double s = lower_series(a, x, tolerance, wanted);
        if (which == P_BY_A)
            return d / a * (s * (log(x) - digamma(a) - 1 / a) + slope);
        return which == P ? d * s / a : 1 - d * s / a;
    }
    double f = upper_fraction(a, x, tolerance, wanted);
    if (which == P_BY_A)
        return -d * (f * (log(x) - digamma(a)) + slope);
    return which == Q ? d * f : 1 - d * f;
}

static double incomplete_beta(double a, double b, double x, double tolerance)
{
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b))
        return NAN;
    if (x == 0 || x == 1)
        return x;
    double front = beta_density(a, b, x), y = 1 - x;
    int mirrored = x * (a + b + 2) >= a + 1; /* there the fraction of the rest converges */
    if (mirrored) {
        double t = a;
        a = b, b = t;
        t = x, x = y, y = t;
    }
    Fraction f = {.p = 1, .q = 1 - (a + b) / (a + 1) * x, .last_p = 1, .last_q = 1};
    double value = f.p / f.q, before;
    for (double m = 1; m < MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        f.last_p = f.p + even * f.last_p, f.last_q = f.q + even * f.last_q;
        f.p = f.last_p + odd * f.p, f.q = f.last_q + odd * f.q;
        before = value, value = f.p / f.q;
        if (fabs(value - before) <= tolerance * fabs(value))
            break;
        rescale(&f);
    }
    return mirrored ? 1 - front * value / a : front * value / a;
}

typedef struct {
    const Frame *frame;
    int which;
    int64_t size;
} Task;

static double number(const Buffer *x, int64_t at)
{
    return x->type == DOUBLE ? ((const double *)x->data)[at] : ((const float *)x->data)[at];
}

static void compute_block(const void *task, int64_t block)
{
    const Task *t = task;
    const Buffers *operands = &t->frame->operands;
    const Buffer *result = t->frame->results.items[0];
    double tolerance = result->type == DOUBLE ? 4e-16 : 1e-9; /* below, rounding would never end a fraction */
    for (int64_t i = block * BLOCK; i < t->size && i < (block + 1) * BLOCK; i++) {
        double x[OPERANDS];
        for (int k = 0; k < operands->count; k++)
            x[k] = number(operands->items[k], i);
        double y = t->which == BETA ? incomplete_beta(x[0], x[1], x[2], tolerance)
                                    : incomplete_gamma(t->which, x[0], x[1], tolerance);
        if (result->type == DOUBLE)
            ((double *)result->data)[i] = y;
        else
            ((float *)result->data)[i] = y;
    }
}

/* One of the functions above, which the one attribute says, of operands of one shape. */
void *regrad_special(Frame *frame)
{
    if (to_execute(frame)) {
        const Buffer *result = frame->results.items[0];
        Task task = {frame, *(int32_t *)((Scalar *)frame->attributes.items[0])->value, 1};
        for (int64_t i = 0; i < result->rank; i++)
            task.size *= result->dims[i];
        share(frame, ceil_div(task.size, BLOCK), task.size / COSTLY, compute_block, &task);
    }
    return NULL;
}
