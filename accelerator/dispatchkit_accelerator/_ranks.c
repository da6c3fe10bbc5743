/* The largest or smallest elements of rows, a few of each, found as they are passed by. */

#include "_loops.h"

#define NUMBER double
#define NAME(name) name##_double
#include "_ranks.h"
#undef NUMBER
#undef NAME
#define NUMBER float
#define NAME(name) name##_float
#include "_ranks.h"

/* So many ranks at most: each number that is among them is moved by others one by one. */
#define MOST_RANKS 32

/* Return the first elements of rows in order, and their places, of `x, count, largest`. */
static PyObject *
first_of_rows(PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_taken(args[0], NULL) || !PyLong_CheckExact(args[1]) || !PyBool_Check(args[2])) {
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)args[0];
    npy_intp wanted = PyLong_AsSsize_t(args[1]), shape[NPY_MAXDIMS];
    int last = PyArray_NDIM(x) - 1, is_double = PyArray_DESCR(x) == double_dtype;
    if (wanted < 1 || wanted > MOST_RANKS || last < 0 || PyArray_DIM(x, last) < wanted || PyArray_SIZE(x) == 0) {
        PyErr_Clear();
        return NULL;
    }
    memcpy(shape, PyArray_DIMS(x), last * sizeof(npy_intp));
    shape[last] = wanted;
    PyObject *values = PyArray_SimpleNew(last + 1, shape, PyArray_DESCR(x)->type_num);
    PyObject *places = values == NULL ? NULL : PyArray_SimpleNew(last + 1, shape, NPY_INT64), *both = NULL;
    if (places != NULL) {
        npy_intp n = PyArray_DIM(x, last), rows = PyArray_SIZE(x) / n;
        npy_int64 *at = PyArray_DATA((PyArrayObject *)places);
        Way way = enter(PyArray_SIZE(x));
        (is_double ? rank_rows_double : rank_rows_float)(
            PyArray_BYTES(x), PyArray_BYTES((PyArrayObject *)values), at, rows, n, wanted, args[2] == Py_True);
        leave(way, 0);
        both = PyTuple_Pack(2, values, places);
    }
    Py_XDECREF(values);
    Py_XDECREF(places);
    return both;
}
FIRST(first_of_rows)

Named ranks[] = {NAMED(first_of_rows), {NULL, {NULL, NULL, 0, NULL}}};
