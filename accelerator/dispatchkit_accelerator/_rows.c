/* Norms, softmax and cross entropy of NumPy's arrays, by rows: what takes NumPy some passes over an array, and a call for
   each, is one pass or two here, and one call.

   Each function takes contiguous arrays of single or double precision and the machine's byte order, and gives None for
   anything else, and where NumPy would warn, or a result is not finite: what is to be done then the Python functions say,
   which are called in its place. Those in `dispatchkit.nn.functional.norms_of_core` go through it. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <float.h>
#include <math.h>
#include "_passes.h"

#if defined(__GNUC__)
#define VECTORS
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
/* How an array is sets of elements that share a mean: `images` with `sets` each, which have `each` channels, or columns,
   of `length` elements; a set is one of an image, or `shared` by all of them. */
typedef struct {
    npy_intp images, sets, each, length;
    int shared;
} Layout;

/* Elements that are added up in their own precision, that stay in the cache, and that are compared side by side; and rows
   whose sums are added up in their own precision. */
enum {CHUNK = 1024, BLOCK = 4096, SIDE = 16, FLUSHED = 64};

static PyArray_Descr *double_dtype, *float_dtype; /* those without metadata */
static Loop exp_of_double, exp_of_float;

#define T double
#define NAME(function) function##_double
#define LOG log
#include "_rows_of.h"
#undef T
#undef NAME
#undef LOG

#define T float
#define NAME(function) function##_float
#define LOG logf
#include "_rows_of.h"
#undef T
#undef NAME
#undef LOG

/* Call a function for the precision of an array. */
#define BY_TYPE(x, function, ...) \
    (PyArray_DESCR(x) == double_dtype ? function##_double(__VA_ARGS__) : function##_float(__VA_ARGS__))
#define DATA(x) ((void *)((x) == NULL ? NULL : PyArray_DATA(x)))

/* Return an object as an array that is computed here, NULL where it is another one. */
static PyArrayObject *
numbers(PyObject *value)
{
    PyArrayObject *x = (PyArrayObject *)value;
    if (!PyArray_CheckExact(value) || !PyArray_ISCARRAY_RO(x) || PyArray_SIZE(x) == 0 || PyArray_NDIM(x) == 0
        || (PyArray_DESCR(x) != double_dtype && PyArray_DESCR(x) != float_dtype)) {
        return NULL;
    }
    return x;
}

static int
fit(PyArrayObject *x, PyArrayObject *y)
{
    return PyArray_DESCR(x) == PyArray_DESCR(y) && PyArray_SAMESHAPE(x, y);
}

/* Return a cotangent as it lies in memory like the result that it belongs to, a copy where need be; NULL, with or without
   an error, where it is another kind of array. */
static PyArrayObject *
cotangent(PyObject *value, PyArrayObject *y)
{
    PyArrayObject *g = (PyArrayObject *)value;
    if (!PyArray_CheckExact(value) || !fit(g, y)) {
        return NULL;
    }
    if (PyArray_ISCARRAY_RO(g)) {
        return (PyArrayObject *)Py_NewRef(value);
    }
    return (PyArrayObject *)PyArray_NewCopy(g, NPY_CORDER);
}

/* Return None for what is left to Python, unless there is an error. */
static PyObject *
left(void)
{
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Read weight or bias, an array like the axes of `x` from `first` on, up to `last`, or None; return whether it is one. */
static int
read_parameter(PyObject *value, PyArrayObject *x, int first, int last, PyArrayObject **into)
{
    *into = NULL;
    if (value == Py_None) {
        return 1;
    }
    PyArrayObject *parameter = numbers(value);
    if (parameter == NULL || PyArray_DESCR(parameter) != PyArray_DESCR(x) || PyArray_NDIM(parameter) != last - first) {
        return 0;
    }
    for (int i = first; i < last; i++) {
        if (PyArray_DIM(parameter, i - first) != PyArray_DIM(x, i)) {
            return 0;
        }
    }
    *into = parameter;
    return 1;
}

/* Return how many axes at the end of an array have the lengths that a number, tuple or list says; 0 where none have. */
static int
axes_at_end(PyArrayObject *x, PyObject *lengths)
{
    PyObject *const *items = &lengths;
    Py_ssize_t count = 1;
    if (PyTuple_Check(lengths) || PyList_Check(lengths)) {
        items = PySequence_Fast_ITEMS(lengths);
        count = PySequence_Fast_GET_SIZE(lengths);
    }
    if (count < 1 || count > PyArray_NDIM(x)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t length = PyLong_CheckExact(items[i]) ? PyLong_AsSsize_t(items[i]) : -1;
        if (length == -1 && PyErr_Occurred()) {
            PyErr_Clear();
        }
        if (length != PyArray_DIM(x, PyArray_NDIM(x) - count + i)) {
            return 0;
        }
    }
    return (int)count;
}

static npy_intp
product(PyArrayObject *x, int first, int last)
{
    npy_intp all = 1;
    for (int i = first; i < last; i++) {
        all *= PyArray_DIM(x, i);
    }
    return all;
}

/* Return standardized elements, with what their cotangents are taken back by if that is asked for; None for others. */
static PyObject *
standardized(PyArrayObject *x, Layout at, PyArrayObject *weight, PyArrayObject *bias, PyObject *eps, PyObject *keep)
{
    npy_intp shape[2] = {3, at.shared ? at.sets : at.images * at.sets};
    double least = PyFloat_AS_DOUBLE(eps);
    PyArrayObject *y = room_like(x), *kept = (PyArrayObject *)PyArray_SimpleNew(2, shape, PyArray_DESCR(x)->type_num);
    PyObject *result = NULL;
    int done = 0;
    if (y != NULL && kept != NULL) {
        Way way = enter(PyArray_SIZE(x));
        done = BY_TYPE(x, standardize, DATA(x), DATA(y), at, least, DATA(weight), DATA(bias), DATA(kept));
        done &= !leave(way, FAULTS);
    }
    if (done && keep == Py_True) {
        result = Py_BuildValue("(O(Onnnni))", y, kept, at.images, at.sets, at.each, at.length, at.shared);
    }
    else if (done) {
        result = Py_NewRef((PyObject *)y);
    }
    Py_XDECREF(y);
    Py_XDECREF(kept);
    return result != NULL ? result : left();
}

/* layer_norm(x, normalized_shape, weight, bias, eps, keep) */
static PyObject *
layer_norm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 6 ? numbers(args[0]) : NULL, *weight, *bias;
    int axes = x == NULL ? 0 : axes_at_end(x, args[1]), first = axes == 0 ? 0 : PyArray_NDIM(x) - axes;
    if (axes == 0 || !PyFloat_CheckExact(args[4]) || !read_parameter(args[2], x, first, PyArray_NDIM(x), &weight)
        || !read_parameter(args[3], x, first, PyArray_NDIM(x), &bias)) {
        Py_RETURN_NONE;
    }
    Layout at = {product(x, 0, first), 1, product(x, first, PyArray_NDIM(x)), 1, 0};
    return standardized(x, at, weight, bias, args[4], args[5]);
}

/* group_norm(x, num_groups, weight, bias, eps, keep) */
static PyObject *
group_norm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 6 ? numbers(args[0]) : NULL, *weight, *bias;
    if (x == NULL || PyArray_NDIM(x) < 2 || !PyLong_CheckExact(args[1]) || !PyFloat_CheckExact(args[4])
        || !read_parameter(args[2], x, 1, 2, &weight) || !read_parameter(args[3], x, 1, 2, &bias)) {
        Py_RETURN_NONE;
    }
    Py_ssize_t groups = PyLong_AsSsize_t(args[1]), channels = PyArray_DIM(x, 1);
    if (groups < 1 || channels % groups) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    Layout at = {PyArray_DIM(x, 0), groups, channels / groups, product(x, 2, PyArray_NDIM(x)), 0};
    return standardized(x, at, weight, bias, args[4], args[5]);
}

/* batch_norm(x, weight, bias, eps, keep), of images */
static PyObject *
batch_norm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 5 ? numbers(args[0]) : NULL, *weight, *bias;
    if (x == NULL || PyArray_NDIM(x) < 3 || !PyFloat_CheckExact(args[3]) || !read_parameter(args[1], x, 1, 2, &weight)
        || !read_parameter(args[2], x, 1, 2, &bias)) {
        Py_RETURN_NONE;
    }
    Layout at = {PyArray_DIM(x, 0), PyArray_DIM(x, 1), 1, product(x, 2, PyArray_NDIM(x)), 1};
    if (at.length == 1) {
        Py_RETURN_NONE;
    }
    return standardized(x, at, weight, bias, args[3], args[4]);
}

/* norm_back(g, x, weight, bias, kept): the cotangents of x, and of weight and bias where they are arrays */
static PyObject *
norm_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 5 ? numbers(args[1]) : NULL, *kept, *weight = NULL, *bias = NULL;
    Layout at;
    if (x == NULL || !PyTuple_CheckExact(args[4])
        || !PyArg_ParseTuple(args[4], "O!nnnni", &PyArray_Type, &kept, &at.images, &at.sets, &at.each, &at.length, &at.shared)
        || (args[2] != Py_None && (weight = numbers(args[2])) == NULL)
        || (args[3] != Py_None && (bias = numbers(args[3])) == NULL)) {
        return left();
    }
    PyArrayObject *g = cotangent(args[0], x), *of_x = g == NULL ? NULL : room_like(x);
    PyObject *of_weight = weight == NULL ? Py_NewRef(Py_None) : (PyObject *)room_like(weight);
    PyObject *of_bias = bias == NULL ? Py_NewRef(Py_None) : (PyObject *)room_like(bias), *result = NULL;
    if (of_x != NULL && of_weight != NULL && of_bias != NULL) {
        void *into_weight = weight == NULL ? NULL : DATA((PyArrayObject *)of_weight);
        void *into_bias = bias == NULL ? NULL : DATA((PyArrayObject *)of_bias);
        Way way = enter(PyArray_SIZE(x));
        int done = BY_TYPE(x, all_back, DATA(g), DATA(x), DATA(of_x), at, DATA(weight), DATA(kept), into_weight, into_bias);
        done &= !leave(way, FAULTS);
        result = done ? PyTuple_Pack(3, of_x, of_weight, of_bias) : NULL;
    }
    Py_XDECREF(g);
    Py_XDECREF(of_x);
    Py_XDECREF(of_weight);
    Py_XDECREF(of_bias);
    return result != NULL ? result : left();
}

/* Return an array whose rows, along its last axis, are taken; NULL for others, and for another axis. */
static PyArrayObject *
rows_along(PyObject *value, PyObject *axis)
{
    PyArrayObject *x = numbers(value);
    if (x == NULL || !PyLong_CheckExact(axis)) {
        return NULL;
    }
    long place = PyLong_AsLong(axis);
    if (place == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return place == -1 || place == PyArray_NDIM(x) - 1 ? x : NULL;
}

static npy_intp
row_of(PyArrayObject *x)
{
    return PyArray_DIM(x, PyArray_NDIM(x) - 1);
}

static const Loop *
exponential_for(PyArrayObject *x)
{
    return PyArray_DESCR(x) == double_dtype ? &exp_of_double : &exp_of_float;
}

/* Return memory for a block of rows. */
static void *
room_of_block(PyArrayObject *x)
{
    npy_intp length = row_of(x);
    return PyMem_Malloc((length > BLOCK ? length : BLOCK) * PyArray_ITEMSIZE(x));
}

/* softmax(x, axis) */
static PyObject *
softmax(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 2 ? rows_along(args[0], args[1]) : NULL, *y = x == NULL ? NULL : room_like(x);
    if (y == NULL) {
        return left();
    }
    npy_intp length = row_of(x), rows = PyArray_SIZE(x) / length;
    Way way = enter(PyArray_SIZE(x));
    int done = BY_TYPE(x, write_softmax, DATA(x), DATA(y), rows, length, exponential_for(x));
    if (leave(way, FAULTS) || !done) {
        Py_SETREF(y, (PyArrayObject *)Py_NewRef(Py_None));
    }
    return (PyObject *)y;
}

/* log_softmax(x, axis) */
static PyObject *
log_softmax(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 2 ? rows_along(args[0], args[1]) : NULL, *y = x == NULL ? NULL : room_like(x);
    npy_intp length = y == NULL ? 1 : row_of(x), rows = y == NULL ? 0 : PyArray_SIZE(x) / length;
    void *room = y == NULL ? NULL : room_of_block(x);
    if (room == NULL) {
        Py_XDECREF(y);
        return left();
    }
    Way way = enter(PyArray_SIZE(x));
    int done = BY_TYPE(x, write_log_softmax, DATA(x), DATA(y), rows, length, exponential_for(x), room);
    if (leave(way, FAULTS) || !done) {
        Py_SETREF(y, (PyArrayObject *)Py_NewRef(Py_None));
    }
    PyMem_Free(room);
    return (PyObject *)y;
}

/* softmax_back(g, y, axis), log_softmax_back(g, y, axis): the cotangent of what the result was taken of */
static PyObject *
back(PyObject *const *args, Py_ssize_t count, int of_logarithm)
{
    PyArrayObject *y = count == 3 ? rows_along(args[1], args[2]) : NULL, *g = y == NULL ? NULL : cotangent(args[0], y);
    PyArrayObject *of_x = g == NULL ? NULL : room_like(y);
    if (of_x == NULL) {
        Py_XDECREF(g);
        return left();
    }
    npy_intp length = row_of(y), rows = PyArray_SIZE(y) / length;
    Way way = enter(PyArray_SIZE(y));
    if (of_logarithm) {
        BY_TYPE(y, log_softmax_back, DATA(g), DATA(y), DATA(of_x), rows, length, exponential_for(y));
    }
    else {
        BY_TYPE(y, softmax_back, DATA(g), DATA(y), DATA(of_x), rows, length);
    }
    if (leave(way, FAULTS)) {
        Py_SETREF(of_x, (PyArrayObject *)Py_NewRef(Py_None));
    }
    Py_DECREF(g);
    return (PyObject *)of_x;
}

static PyObject *
softmax_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return back(args, count, 0);
}

static PyObject *
log_softmax_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return back(args, count, 1);
}

/* Return numbers of classes, one for each row, as integers of 64 bits; NULL, with or without an error, where some are
   other numbers, or none of a class. */
static PyArrayObject *
classes_of(PyObject *value, npy_intp rows, npy_intp count)
{
    PyArrayObject *target = (PyArrayObject *)value;
    if (!PyArray_CheckExact(value) || PyArray_NDIM(target) != 1 || PyArray_DIM(target, 0) != rows
        || !PyArray_ISINTEGER(target)) {
        return NULL;
    }
    target = (PyArrayObject *)PyArray_FROMANY(value, NPY_INT64, 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
    int fits = target != NULL;
    for (npy_intp i = 0; fits && i < rows; i++) {
        npy_int64 number = ((npy_int64 *)PyArray_DATA(target))[i];
        fits = 0 <= number && number < count;
    }
    if (!fits) {
        Py_CLEAR(target);
    }
    return target;
}

/* cross_entropy(x, target, mean): the loss, and what its cotangent is taken back by; of rows of scores, and of numbers of
   classes that all count */
static PyObject *
cross_entropy(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *x = count == 3 ? numbers(args[0]) : NULL;
    if (x == NULL || PyArray_NDIM(x) != 2) {
        Py_RETURN_NONE;
    }
    npy_intp rows = PyArray_DIM(x, 0), length = PyArray_DIM(x, 1);
    PyArrayObject *target = classes_of(args[1], rows, length);
    if (target == NULL) {
        return left();
    }
    int type = PyArray_DESCR(x)->type_num;
    PyArrayObject *y = room_like(x), *sums = (PyArrayObject *)PyArray_SimpleNew(1, &rows, type);
    PyArrayObject *loss = (PyArrayObject *)PyArray_SimpleNew(0, NULL, type);
    PyObject *result = NULL;
    void *room = room_of_block(x);
    if (y != NULL && sums != NULL && loss != NULL && room != NULL) {
        double all = 0;
        Way way = enter(PyArray_SIZE(x));
        int done = BY_TYPE(x, cross_entropy, DATA(x), DATA(y), rows, length, DATA(target), DATA(sums), exponential_for(x), room,
                           &all);
        all = args[2] == Py_True ? all / (double)rows : all;
        BY_TYPE(x, write_totals, &all, DATA(loss), 1);
        done &= !leave(way, FAULTS);
        result = done ? PyTuple_Pack(4, loss, y, sums, target) : NULL;
    }
    PyMem_Free(room);
    Py_DECREF(target);
    Py_XDECREF(y);
    Py_XDECREF(sums);
    Py_XDECREF(loss);
    return result != NULL ? result : left();
}

/* cross_entropy_back(g, mean, y, sums, target): the cotangent of the scores */
static PyObject *
cross_entropy_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *y = count == 5 ? numbers(args[2]) : NULL, *g = (PyArrayObject *)args[0];
    if (y == NULL || !PyArray_CheckExact(args[0]) || PyArray_NDIM(g) != 0 || PyArray_DESCR(g) != PyArray_DESCR(y)) {
        Py_RETURN_NONE;
    }
    PyArrayObject *of_x = room_like(y);
    if (of_x == NULL) {
        return NULL;
    }
    npy_intp rows = PyArray_DIM(y, 0), length = PyArray_DIM(y, 1);
    double share = PyArray_DESCR(y) == double_dtype ? *(double *)PyArray_DATA(g) : *(float *)PyArray_DATA(g);
    Way way = enter(PyArray_SIZE(y));
    share /= args[1] == Py_True ? (double)rows : 1.0;
    if (PyArray_DESCR(y) == double_dtype) {
        cross_entropy_back_double(share, DATA(y), DATA(of_x), rows, length, DATA((PyArrayObject *)args[4]), DATA((PyArrayObject *)args[3]));
    }
    else {
        cross_entropy_back_float((float)share, DATA(y), DATA(of_x), rows, length, DATA((PyArrayObject *)args[4]), DATA((PyArrayObject *)args[3]));
    }
    if (leave(way, FAULTS)) {
        Py_SETREF(of_x, (PyArrayObject *)Py_NewRef(Py_None));
    }
    return (PyObject *)of_x;
}

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, text}

static PyMethodDef methods[] = {
    METHOD(layer_norm, "Return rows of the last axes, standardized, and what takes cotangents back if it is kept."),
    METHOD(group_norm, "Return groups of channels, standardized, likewise."),
    METHOD(batch_norm, "Return channels of all images, standardized, likewise."),
    METHOD(norm_back, "Return the cotangents of what was standardized, of weight and of bias."),
    METHOD(softmax, "Return softmax along the last axis."),
    METHOD(log_softmax, "Return the logarithm of softmax along the last axis."),
    METHOD(softmax_back, "Return the cotangent of what softmax was taken of."),
    METHOD(log_softmax_back, "Return the cotangent of what the logarithm of softmax was taken of."),
    METHOD(cross_entropy, "Return the loss of scores and classes, and what its cotangent is taken back by."),
    METHOD(cross_entropy_back, "Return the cotangent of scores."),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dispatchkit_accelerator._rows", "Norms, softmax and cross entropy of NumPy's arrays, by rows.", -1,
    methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__rows(void)
{
    import_array();
    PyObject *numpy = PyImport_ImportModule("numpy"), *exponential = NULL;
    if (numpy != NULL) {
        exponential = PyObject_GetAttrString(numpy, "exp");
        Py_DECREF(numpy);
    }
    if (exponential == NULL) {
        return NULL;
    }
    double_dtype = PyArray_DescrFromType(NPY_DOUBLE);
    float_dtype = PyArray_DescrFromType(NPY_FLOAT);
    exp_of_double = loop_over((PyUFuncObject *)exponential, NPY_DOUBLE); /* numpy.exp is there as long as the process */
    exp_of_float = loop_over((PyUFuncObject *)exponential, NPY_FLOAT);
    return PyModule_Create(&definition);
}
