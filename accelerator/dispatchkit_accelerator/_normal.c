/* The normal distribution function: GELU and its derivative, and the error function.

   SciPy's functions choose a polynomial for each element, and take several times as long. Here all elements take the same
   way, with relative errors of few times the last digit for all of them, also where results are next to 0. In single precision
   the polynomials are those of Python's passes. */

#include "_loops.h"

#include <math.h>

/* The normal distribution function at -a, times exp(a**2 / 2) * (1 + a), in powers of (a - 6) / (a + 6): interpolated at
   the points of Chebyshev's for a up to 40, with errors below 2e-16. */
static const double beyond[] = {
    0.45345520027112790922,     -0.085025362305772504096,  0.03981142456244130773,     -0.0043733867794158889461,
    -0.016141517332778273031,   0.022592467057499056349,   -0.019766479209057126924,   0.013246864227412384095,
    -0.0070598195202063440325,  0.0029356549489418646662,  -0.00086899418398616689934, 0.00011949233904044324382,
    0.000037793661794553132805, -0.00002636138714821756134, 4.4136804313506214888e-6,  1.7988839369167877563e-6,
    -9.9837613075972411001e-7,  -1.7782345947709651544e-8, 1.2766960410911820078e-7,   -8.9826486593474302677e-9,
    -1.1003741222393972747e-8,
};
#define POWERS ((int)(sizeof(beyond) / sizeof(*beyond)))
/* The error function divided by x, in powers of x**2 up to 9 / 16. */
static const double near_zero[] = {
    1.1283791670955125731,     -0.37612638903183717234,  0.11283791670952614327,    -0.026866170644432635362,
    0.0052239776154684562422,  -0.0008548326191937064021, 0.00012055289695813212068, -0.000014924199510852599903,
    1.6430732584664375903e-6,  -1.5940471584583340119e-7, 1.1473938021612258515e-8,
};
#define EVEN_POWERS ((int)(sizeof(near_zero) / sizeof(*near_zero)))
/* From where on the normal density is 0, and the error function 1. */
#define FAR 40.0
#define FAR_OF_ERF 6.5


/* Bodies are compiled for several processors, and for those that add a product in one step use that. */
#if defined(__GNUC__)
#define BODY static inline __attribute__((always_inline))
#else
#define BODY static inline
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define CHOOSES 1
#define FUSING __attribute__((target("avx2,fma")))
#if defined(__clang__)
#define WIDEST __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#else
#define WIDEST __attribute__((target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#endif
#else
#define CHOOSES 0
#endif
#if defined(__FP_FAST_FMA)
#define FUSED 1
#else
#define FUSED 0
#endif

BODY double
with_product(double a, double b, double c, int fused)
{
    return fused ? fma(a, b, c) : a * b + c;
}

/* Return the normal distribution function at -a, divided by exp(-a**2 / 2). */
BODY double
ratio_beyond(double a, int fused)
{
    double d = 1 / ((a + 6) * (a + 1)), t = (a - 6) * (a + 1) * d, p = beyond[POWERS - 1];
#pragma GCC unroll 32
    for (int i = POWERS - 2; i >= 0; i--) {
        p = with_product(p, t, beyond[i], fused);
    }
    return p * (a + 6) * d;
}

/* Return the upper half of a number's digits, whose square is exact. */
BODY double
upper_half(double a)
{
    npy_uint64 bits;
    memcpy(&bits, &a, sizeof(bits));
    bits &= ~(npy_uint64)0x7ffffff;
    memcpy(&a, &bits, sizeof(bits));
    return a;
}

BODY double
distance_of(double x, double most)
{
    double a = fabs(x);
    return a > most ? most : a;
}

/* Write the normal distribution function, and exp(-x**2 / 2), of which `e` leaves out what the upper half of x does. */
BODY void
look_up(double x, double e, double *normal, double *density, int fused)
{
    double a = distance_of(x, FAR), half = upper_half(a), rest = (a - half) * (a + half) * 0.5;
    *density = e * (1 - rest * (1 - rest * (0.5 - rest * (1 / 6.0))));
    double tail = ratio_beyond(a, fused) * *density;
    *normal = x > 0 ? 1 - tail : tail;
}

/* Write GELU of a block, or with cotangents these times its derivative. */
BODY void
gelu_body(const double *g, const double *x, double *y, npy_intp n, int fused)
{
    double e[BLOCK];
    for (npy_intp i = 0; i < n; i++) {
        double half = upper_half(distance_of(x[i], FAR));
        e[i] = half * half * -0.5;
    }
    apply(&exp_of_double, e, n, sizeof(double));
    for (npy_intp i = 0; g == NULL && i < n; i++) {
        double normal, density;
        look_up(x[i], e[i], &normal, &density, fused);
        y[i] = x[i] * normal;
    }
    for (npy_intp i = 0; g != NULL && i < n; i++) {
        double normal, density, a = distance_of(x[i], FAR);
        look_up(x[i], e[i], &normal, &density, fused);
        y[i] = (normal + (x[i] < 0 ? -a : a) * (density * 0.39894228040143267794)) * g[i];
    }
}

/* Write the error function of a block: by a polynomial next to 0, and else by what lies beyond. */
BODY void
error_body(const double *g, const double *x, double *y, npy_intp n, int fused)
{
    double e[BLOCK];
    (void)g;
    for (npy_intp i = 0; i < n; i++) {
        double a = distance_of(x[i], FAR_OF_ERF);
        e[i] = -(a * a);
    }
    apply(&exp_of_double, e, n, sizeof(double));
    for (npy_intp i = 0; i < n; i++) {
        double a = distance_of(x[i], FAR_OF_ERF), u = a * a, p = near_zero[EVEN_POWERS - 1];
        double far = 1 - 2 * ratio_beyond(a * 1.4142135623730950488, fused) * e[i];
#pragma GCC unroll 32
        for (int k = EVEN_POWERS - 2; k >= 0; k--) {
            p = with_product(p, u, near_zero[k], fused);
        }
        y[i] = a < 0.75 ? x[i] * p : copysign(far, x[i]);
    }
}

/* Of `nn/functional/smooth_numpy.py`: what is added to distances, and factors of powers, for GELU and its derivative. */
static const float of_value[]
    = {490.05835f, -623.0888f, 230.69574f, -14.386761f, 13.98474f, 3.6451223f, 1.3164921f, 0.39881882f};
static const float of_derivative[] = {-28.279741f, 31.982416f, -2.678107f, 1.893781f, 0.36787307f};
#define OFFSET 3.2786884f
#define OFFSET_OF_DERIVATIVE 3.030303f

BODY float
power_series(float t, const float *factors, int count, int fused)
{
    float p = factors[0] * t;
#pragma GCC unroll 16
    for (int k = 1; k < count; k++) {
        p = fused ? fmaf(p, t, factors[k] * t) : (p + factors[k]) * t;
    }
    return p;
}

BODY float
distance_of_float(float x)
{
    float a = fabsf(x);
    return a > (float)FAR ? (float)FAR : a;
}

/* Write GELU in single precision, or with cotangents these times its derivative, whose distance from a half is odd. */
BODY void
gelu_of_floats(const float *g, const float *x, float *y, npy_intp n, int fused)
{
    float e[BLOCK];
    for (npy_intp i = 0; i < n; i++) {
        float a = distance_of_float(x[i]);
        e[i] = a * a * -0.5f;
    }
    apply(&exp_of_float, e, n, sizeof(float));
    for (npy_intp i = 0; g == NULL && i < n; i++) {
        float a = distance_of_float(x[i]), above = x[i] < 0 ? 0 : x[i];
        float beyond = power_series(1 / (a + OFFSET), of_value, 8, fused) * e[i] * a;
        y[i] = x[i] < -3.4028235e38f ? NAN : above - beyond;
    }
    for (npy_intp i = 0; g != NULL && i < n; i++) {
        float a = distance_of_float(x[i]);
        float beyond = power_series(1 / (a + OFFSET_OF_DERIVATIVE), of_derivative, 5, fused);
        float half = 0.5f - (beyond - a * 0.3989423f) * e[i];
        y[i] = (half * copysignf(1, x[i]) + 0.5f) * g[i];
    }
}

/* Define a body for each kind of processor, and the one that is in use. */
#if CHOOSES
#define BODIES(body, NUMBER)                                                                                           \
    static WIDE void body##_plain(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) { body(g, x, y, n, FUSED); } \
    static FUSING void body##_fusing(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) { body(g, x, y, n, 1); }  \
    static WIDEST void body##_widest(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) { body(g, x, y, n, 1); }  \
    static void (*body##_in_use)(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) = body##_plain;
#else
#define BODIES(body, NUMBER)                                                                                      \
    static void body##_plain(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) { body(g, x, y, n, FUSED); } \
    static void (*body##_in_use)(const NUMBER *g, const NUMBER *x, NUMBER *y, npy_intp n) = body##_plain;
#endif
BODIES(gelu_body, double)
BODIES(error_body, double)
BODIES(gelu_of_floats, float)

void
start_normal(void)
{
#if CHOOSES
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        gelu_body_in_use = gelu_body_widest;
        error_body_in_use = error_body_widest;
        gelu_of_floats_in_use = gelu_of_floats_widest;
    }
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        gelu_body_in_use = gelu_body_fusing;
        error_body_in_use = error_body_fusing;
        gelu_of_floats_in_use = gelu_of_floats_fusing;
    }
#endif
}

void
gelu_by_of_double(void *const *data, npy_intp n)
{
    gelu_body_in_use(NULL, data[0], data[1], n);
}

void
gelu_slope_by_of_double(void *const *data, npy_intp n)
{
    gelu_body_in_use(data[0], data[1], data[2], n);
}

void
gelu_of_float(void *const *data, npy_intp n)
{
    gelu_of_floats_in_use(NULL, data[0], data[1], n);
}

void
gelu_slope_of_float(void *const *data, npy_intp n)
{
    gelu_of_floats_in_use(data[0], data[1], data[2], n);
}

void
error_function_of_double(void *const *data, npy_intp n)
{
    error_body_in_use(NULL, data[0], data[1], n);
}
