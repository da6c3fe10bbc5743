/* Sums up to each element along an axis, elements at places, and sums at places: the cotangents of what is taken. */

#include "_loops.h"

#define NUMBER double
#define NAME(name) name##_double
#include "_sums.h"
#undef NUMBER
#undef NAME
#define NUMBER float
#define NAME(name) name##_float
#include "_sums.h"

/* Return an axis of an array, -1 where Python is to say what is wrong with it. */
static int
axis_of(PyObject *axis, int axes)
{
    long place = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : axes;
    if (place == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    if (place < -axes || place >= axes) {
        return -1;
    }
    return (int)(place < 0 ? place + axes : place);
}

/* Return the product of the lengths of axes from one up to another. */
static npy_intp
length_of(PyArrayObject *x, int start, int end)
{
    return PyArray_MultiplyList(PyArray_DIMS(x) + start, end - start);
}

/* Return the sums of the elements of an array up to each one along an axis, or from each one on, of `x, axis, backward`. */
static PyObject *
cumulative_sum(PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_taken(args[0], NULL) || !PyBool_Check(args[2])) {
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)args[0];
    int axis = axis_of(args[1], PyArray_NDIM(x)), backward = args[2] == Py_True;
    PyArrayObject *y = axis < 0 ? NULL : room_like(x);
    if (y == NULL) {
        return NULL;
    }
    npy_intp outer = length_of(x, 0, axis), n = PyArray_DIM(x, axis), inner = length_of(x, axis + 1, PyArray_NDIM(x));
    if (PyArray_SIZE(x) == 0) {
        return (PyObject *)y;
    }
    Way way = enter(PyArray_SIZE(x));
    if (PyArray_DESCR(x) == double_dtype) {
        accumulate_double(PyArray_BYTES(x), PyArray_BYTES(y), outer, n, inner, backward);
    }
    else {
        accumulate_float(PyArray_BYTES(x), PyArray_BYTES(y), outer, n, inner, backward);
    }
    if (leave(way, FAULTS)) {
        Py_CLEAR(y);
    }
    return (PyObject *)y;
}
FIRST_OF_COTANGENT(cumulative_sum)

/* Whether an object is an array of contiguous integers of eight bytes. */
static int
is_of_places(PyObject *object)
{
    PyArrayObject *places = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO(places) && PyArray_DESCR(places)->type_num == NPY_INT64;
}

/* Return an array of zeros of a shape, a tuple, NULL where it is none. */
static PyArrayObject *
zeros_of(PyObject *shape, PyArray_Descr *dtype)
{
    PyArray_Dims dims = {NULL, 0};
    PyArrayObject *total = NULL;
    if (PyTuple_CheckExact(shape) && PyArray_IntpConverter(shape, &dims)) {
        total = (PyArrayObject *)PyArray_ZEROS(dims.len, dims.ptr, dtype->type_num, 0);
    }
    PyDimMem_FREE(dims.ptr);
    return total;
}

/* Whether one shape is made of the axes of two arrays after one another. */
static int
is_joined(PyArrayObject *g, PyArrayObject *places, PyArrayObject *total)
{
    int axes = PyArray_NDIM(places), behind = PyArray_NDIM(total) - 1;
    return behind >= 0 && PyArray_NDIM(g) == axes + behind
        && PyArray_CompareLists(PyArray_DIMS(g), PyArray_DIMS(places), axes)
        && PyArray_CompareLists(PyArray_DIMS(g) + axes, PyArray_DIMS(total) + 1, behind);
}

/* Return rows summed at their places along the first axis of an array of zeros, of `g, places, shape`. */
static PyObject *
rows_added(PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_taken(args[0], NULL) || !is_of_places(args[1])) {
        return NULL;
    }
    PyArrayObject *g = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    PyArrayObject *total = zeros_of(args[2], PyArray_DESCR(g));
    if (total == NULL) {
        PyErr_Clear();
        return NULL;
    }
    int failed = !is_joined(g, places, total);
    if (!failed) {
        npy_intp width = length_of(total, 1, PyArray_NDIM(total)), rows = PyArray_DIM(total, 0);
        Way way = enter(PyArray_SIZE(g));
        failed = !(PyArray_DESCR(g) == double_dtype ? add_at_double : add_at_float)(
            PyArray_BYTES(g), (npy_int64 *)PyArray_DATA(places), PyArray_BYTES(total), PyArray_SIZE(places), rows, width);
        failed |= leave(way, FAULTS);
    }
    if (failed) {
        Py_CLEAR(total);
    }
    return (PyObject *)total;
}
FIRST_OF_COTANGENT(rows_added)

/* Whether an array is as long as others along all axes but one. */
static int
is_like_but_along(PyArrayObject *g, PyArrayObject *total, int axis)
{
    if (PyArray_NDIM(g) != PyArray_NDIM(total)) {
        return 0;
    }
    for (int i = 0; i < PyArray_NDIM(g); i++) {
        if (i != axis && PyArray_DIM(g, i) != PyArray_DIM(total, i)) {
            return 0;
        }
    }
    return 1;
}

/* Return elements summed at their places along an axis of an array of zeros, of `g, places, shape, axis`. */
static PyObject *
elements_added(PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !is_taken(args[0], NULL) || !is_of_places(args[1])) {
        return NULL;
    }
    PyArrayObject *g = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    PyArrayObject *total = PyArray_SAMESHAPE(g, places) ? zeros_of(args[2], PyArray_DESCR(g)) : NULL;
    if (total == NULL) {
        PyErr_Clear();
        return NULL;
    }
    int axis = axis_of(args[3], PyArray_NDIM(total)), failed = axis < 0 || !is_like_but_along(g, total, axis);
    if (!failed) {
        npy_intp outer = length_of(g, 0, axis), inner = length_of(g, axis + 1, PyArray_NDIM(g));
        Way way = enter(PyArray_SIZE(g));
        failed = !(PyArray_DESCR(g) == double_dtype ? add_along_double : add_along_float)(
            PyArray_BYTES(g), (npy_int64 *)PyArray_DATA(places), PyArray_BYTES(total), outer, PyArray_DIM(g, axis), inner,
            PyArray_DIM(total, axis));
        failed |= leave(way, FAULTS);
    }
    if (failed) {
        Py_CLEAR(total);
    }
    return (PyObject *)total;
}
FIRST_OF_COTANGENT(elements_added)

/* Return the elements of an array at places along an axis, each at its own along the others, of `x, places, axis`. */
static PyObject *
elements_taken(PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_taken(args[0], NULL) || !is_of_places(args[1])) {
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    int axis = axis_of(args[2], PyArray_NDIM(x));
    if (axis < 0 || !is_like_but_along(places, x, axis)) {
        return NULL;
    }
    PyArrayObject *y = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(places), PyArray_DIMS(places), PyArray_DESCR(x)->type_num);
    if (y == NULL) {
        return NULL;
    }
    npy_intp outer = length_of(x, 0, axis), inner = length_of(x, axis + 1, PyArray_NDIM(x));
    Way way = enter(PyArray_SIZE(places));
    int known = (PyArray_DESCR(x) == double_dtype ? take_along_double : take_along_float)(
        PyArray_BYTES(x), (npy_int64 *)PyArray_DATA(places), PyArray_BYTES(y), outer, PyArray_DIM(places, axis), inner,
        PyArray_DIM(x, axis));
    leave(way, 0);
    if (!known) {
        Py_CLEAR(y);
    }
    return (PyObject *)y;
}
FIRST(elements_taken)

Named sums_and_places[] = {
    NAMED(cumulative_sum), NAMED(rows_added), NAMED(elements_added), NAMED(elements_taken), {NULL, {NULL, NULL, 0, NULL}},
};
