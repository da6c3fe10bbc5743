/* What the loops over arrays share: which arrays they take, and which of their faults NumPy would warn of. */

#ifndef DISPATCHKIT_LOOPS
#define DISPATCHKIT_LOOPS

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dispatchkit_loops_array
#define PY_UFUNC_UNIQUE_SYMBOL dispatchkit_loops_ufunc
#ifndef DISPATCHKIT_LOOPS_STARTS
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif

#include <Python.h>
#include <fenv.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <stdlib.h>
#include <string.h>

#include "_passes.h"

/* Numbers of a block, which stays in the nearest cache from one pass to the next. */
#define BLOCK 1024

extern PyArray_Descr *double_dtype, *float_dtype;

/* A computation of arrays: NULL without an error leaves it to Python, before anything was changed. */
typedef PyObject *Computation(PyObject *const *args, Py_ssize_t count);

/* A computation by its name. */
typedef struct {
    const char *name;
    PyMethodDef method;
} Named;

PyObject *first_by(Computation *compute, PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names);

PyObject *first_by_contiguous(Computation *compute, PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* Define what computes by a function of C first, and by that of Python where C leaves the call to it. */
#define FIRST(compute)                                                                                         \
    static PyObject *compute##_first(PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names) \
    {                                                                                                              \
        return first_by(compute, otherwise, args, count, names);                                                  \
    }
/* The same of a cotangent, which is copied where it is stretched or not contiguous, as that of a sum. */
#define FIRST_OF_COTANGENT(compute)                                                                            \
    static PyObject *compute##_first(PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names) \
    {                                                                                                              \
        return first_by_contiguous(compute, otherwise, args, count, names);                                       \
    }
#define NAMED(compute)                                                                                          \
    {                                                                                                              \
        #compute, {#compute, (PyCFunction)(void (*)(void))compute##_first, METH_FASTCALL | METH_KEYWORDS,          \
                   "Compute in C what C takes, and all else in Python."}                                          \
    }

extern Named activations[], ranks[], sums_and_places[], windows_of_images[];
int start_activations(PyObject *exp, PyObject *tanh);
void start_normal(void);
void gelu_by_of_double(void *const *data, npy_intp n);
void gelu_slope_by_of_double(void *const *data, npy_intp n);
void gelu_of_float(void *const *data, npy_intp n);
void gelu_slope_of_float(void *const *data, npy_intp n);
void error_function_of_double(void *const *data, npy_intp n);

extern Loop exp_of_double, exp_of_float;

/* Replace numbers by what a loop computes of them. */
static inline void
apply(Loop *loop, void *numbers, npy_intp n, npy_intp item)
{
    char *data[2] = {numbers, numbers};
    npy_intp strides[2] = {item, item};
    loop->loop(data, &n, strides, loop->data);
}

/* Whether an object is an array of contiguous numbers, of a dtype or, where that is NULL, in double or single precision. */
static inline int
is_taken(PyObject *object, PyArray_Descr *dtype)
{
    if (!PyArray_CheckExact(object) || !PyArray_ISCARRAY_RO((PyArrayObject *)object)) {
        return 0;
    }
    PyArray_Descr *own = PyArray_DESCR((PyArrayObject *)object);
    return dtype == NULL ? own == double_dtype || own == float_dtype : own == dtype;
}

#endif
