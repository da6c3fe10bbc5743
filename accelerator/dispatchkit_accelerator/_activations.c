/* Activations and special functions in one pass over an array, a block at a time.

   The exponential function is NumPy's own loop, so that results are those of Python's passes to the last bit. */

#include "_loops.h"

Loop exp_of_double, exp_of_float;
static Loop tanh_of_float;

int
start_activations(PyObject *exp, PyObject *tanh)
{
    start_normal();
    exp_of_double = loop_over((PyUFuncObject *)exp, NPY_DOUBLE);
    exp_of_float = loop_over((PyUFuncObject *)exp, NPY_FLOAT);
    tanh_of_float = loop_over((PyUFuncObject *)tanh, NPY_FLOAT);
    return exp_of_double.loop != NULL && exp_of_float.loop != NULL && tanh_of_float.loop != NULL;
}

#define NUMBER double
#define NAME(name) name##_double
#define EXP(numbers, n) apply(&exp_of_double, numbers, n, sizeof(double))
#include "_activations.h"
#undef NUMBER
#undef NAME
#undef EXP
#define NUMBER float
#define NAME(name) name##_float
#define EXP(numbers, n) apply(&exp_of_float, numbers, n, sizeof(float))
#include "_activations.h"

/* Of the powers of x**2, from the highest one down, in `atanh(erf(x)) / x - 1`, as in `backends/numpy_special.py`. */
static const float of_erf[] = {
    1.7630395611525424e-10f, -8.382494956667896e-09f, 1.549478928495429e-07f,    -1.2803676430581686e-06f, 1.2929761170818226e-06f,
    6.939290418194373e-05f,  -0.0005953885643391831f, -0.00020661155422094896f, 0.10277215714031043f,    0.12837917865802928f,
};
#define POWERS_OF_ERF ((int)(sizeof(of_erf) / sizeof(*of_erf)))

WIDE static void
arguments_of_erf(const float *x, float *y, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        float u = x[i] * x[i], p = of_erf[0];
#pragma GCC unroll 16
        for (int k = 1; k < POWERS_OF_ERF; k++) {
            p = p * u + of_erf[k];
        }
        y[i] = p * x[i] + x[i];
    }
}

static void
error_function_of_float(void *const *data, npy_intp n)
{
    arguments_of_erf(data[0], data[1], n);
    apply(&tanh_of_float, data[1], n, sizeof(float));
}

/* One that writes an array of the shape of others. */
typedef struct {
    void (*of_double)(void *const *data, npy_intp n);
    void (*of_float)(void *const *data, npy_intp n);
    int takes, faults; /* how many arrays, and what NumPy would warn of */
} Activation;

#define ARRAYS 3

/* Whether an array is one number, stretched to a shape, as the cotangent of a sum is. */
static int
is_one_number(PyObject *object, PyArrayObject *x)
{
    PyArrayObject *g = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_DESCR(g) != PyArray_DESCR(x) || !PyArray_ISALIGNED(g)
        || !PyArray_SAMESHAPE(g, x) || PyArray_SIZE(g) < 2) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(g); i++) {
        if (PyArray_STRIDE(g, i) != 0 && PyArray_DIM(g, i) > 1) {
            return 0;
        }
    }
    return 1;
}

/* Write blocks one after another, of arrays, the first of which may be stretched, and a parameter behind them. */
static void
in_blocks(const Activation *which, int is_double, int is_stretched, char *const *arrays, void *parameter, npy_intp size)
{
    npy_intp item = is_double ? sizeof(double) : sizeof(float);
    char stretched[BLOCK * sizeof(double)];
    if (is_stretched) {
        for (npy_intp i = 0; i < BLOCK; i++) {
            memcpy(stretched + i * item, arrays[0], item);
        }
    }
    for (npy_intp start = 0; start < size; start += BLOCK) {
        npy_intp n = size - start < BLOCK ? size - start : BLOCK;
        void *data[ARRAYS + 1];
        for (int i = 0; i <= which->takes; i++) {
            data[i] = is_stretched && i == 0 ? stretched : arrays[i] + start * item;
        }
        data[which->takes + 1] = parameter;
        (is_double ? which->of_double : which->of_float)(data, n);
    }
}

/* Return the new array that an activation gives, NULL where Python is to compute it. */
static PyObject *
activated(const Activation *which, PyObject *const *args, void *parameter)
{
    PyArrayObject *x = (PyArrayObject *)args[which->takes - 1];
    if (!is_taken(args[which->takes - 1], NULL)) {
        return NULL;
    }
    int is_stretched = which->takes == 2 && is_one_number(args[0], x);
    int is_double = PyArray_DESCR(x) == double_dtype;
    char *arrays[ARRAYS];
    if ((is_double ? which->of_double : which->of_float) == NULL) {
        return NULL;
    }
    for (int i = 0; i < which->takes; i++) {
        int known = (is_stretched && i == 0) || is_taken(args[i], PyArray_DESCR(x));
        if (!known || !PyArray_SAMESHAPE((PyArrayObject *)args[i], x)) {
            return NULL;
        }
        arrays[i] = PyArray_BYTES((PyArrayObject *)args[i]);
    }
    PyObject *y = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), is_double ? NPY_DOUBLE : NPY_FLOAT);
    if (y == NULL) {
        return NULL;
    }
    npy_intp size = PyArray_SIZE(x);
    arrays[which->takes] = PyArray_BYTES((PyArrayObject *)y);
    Way way = enter(size);
    in_blocks(which, is_double, is_stretched, arrays, parameter, size);
    if (leave(way, which->faults)) {
        Py_CLEAR(y);
    }
    return y;
}

#define ACTIVATION(name, takes, ignored)                                                     \
    static PyObject *name(PyObject *const *args, Py_ssize_t count)                           \
    {                                                                                        \
        static const Activation which                                                        \
            = {name##_of_double, name##_of_float, takes, FAULTS & ~(ignored)};               \
        return count >= takes ? activated(&which, args, NULL) : NULL;                        \
    }                                                                                        \
    FIRST(name)

#define gelu_by_of_float NULL
#define gelu_slope_by_of_float NULL
#define gelu_of_double NULL
#define gelu_slope_of_double NULL

ACTIVATION(hardswish, 1, 0)
ACTIVATION(hardswish_slope, 2, 0)
ACTIVATION(sigmoid, 1, FE_OVERFLOW)
ACTIVATION(sigmoid_slope, 2, 0)
ACTIVATION(silu, 1, FE_OVERFLOW | FE_UNDERFLOW)
ACTIVATION(silu_slope, 2, FE_OVERFLOW | FE_UNDERFLOW)
ACTIVATION(gelu_by, 1, FE_UNDERFLOW | FE_INVALID)
ACTIVATION(gelu_slope_by, 2, FE_UNDERFLOW | FE_INVALID)
ACTIVATION(gelu, 1, FE_UNDERFLOW | FE_OVERFLOW)
ACTIVATION(gelu_slope, 2, FE_UNDERFLOW | FE_OVERFLOW)
ACTIVATION(error_function, 1, FAULTS)
ACTIVATION(error_function_slope, 2, 0)

/* Return the cotangent of exponential linear units, of `g, x, scale, alpha`. */
static PyObject *
elu_slope(PyObject *const *args, Py_ssize_t count)
{
    static const Activation which = {elu_slope_of_double, elu_slope_of_float, 2, FAULTS};
    if (count != 4 || !PyFloat_CheckExact(args[2]) || !PyFloat_CheckExact(args[3])) {
        return NULL;
    }
    double factors[2] = {PyFloat_AS_DOUBLE(args[2]), PyFloat_AS_DOUBLE(args[3])};
    return activated(&which, args, factors);
}
FIRST(elu_slope)

/* Return the cotangent of softplus, of `g, x, threshold`. */
static PyObject *
softplus_slope(PyObject *const *args, Py_ssize_t count)
{
    static const Activation which
        = {softplus_slope_of_double, softplus_slope_of_float, 2, FAULTS & ~(FE_OVERFLOW | FE_UNDERFLOW)};
    if (count != 3 || !PyFloat_CheckExact(args[2]) || !is_taken(args[1], NULL)) {
        return NULL;
    }
    double most = PyFloat_AS_DOUBLE(args[2]);
    float most_of_float = (float)most;
    int is_double = PyArray_DESCR((PyArrayObject *)args[1]) == double_dtype;
    return activated(&which, args, is_double ? (void *)&most : (void *)&most_of_float);
}
FIRST(softplus_slope)

Named activations[] = {
    NAMED(hardswish), NAMED(hardswish_slope), NAMED(sigmoid), NAMED(sigmoid_slope), NAMED(silu), NAMED(silu_slope),
    NAMED(gelu_by), NAMED(gelu_slope_by), NAMED(gelu), NAMED(gelu_slope),
    NAMED(error_function), NAMED(error_function_slope), NAMED(elu_slope), NAMED(softplus_slope),
    {NULL, {NULL, NULL, 0, NULL}},
};
