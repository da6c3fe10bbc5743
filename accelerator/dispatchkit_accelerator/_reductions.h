/* Reductions of small arrays by the loops that NumPy would take. `_entry.c` includes this. */

#ifndef DISPATCHKIT_REDUCTIONS_H
#define DISPATCHKIT_REDUCTIONS_H

/* The members of the tuple of a reduction. */
enum {REDUCE, LOOPS_OF, FROM_FIRST, REDUCTION_MEMBERS};

/* Above this many rows that are reduced element by element NumPy has the shorter way. */
#define ROWS 64

/* Reduce the middle one of three axes of contiguous elements, as NumPy does: from the first element on, or from zero. */
static void
reduce_middle(Loop *loop, char *from, char *into, npy_intp outer, npy_intp count, npy_intp inner, npy_intp item, int first)
{
    for (npy_intp i = 0; i < outer; i++, from += count * inner * item, into += inner * item) {
        npy_intp rest = count - first, along[3] = {0, item, 0}, beside[3] = {item, item, item};
        if (first) {
            memcpy(into, from, inner * item);
        }
        else {
            memset(into, 0, inner * item);
        }
        for (npy_intp j = first; inner > 1 && j < count; j++) {
            char *data[3] = {into, from + j * inner * item, into};
            loop->loop(data, &inner, beside, loop->data);
        }
        if (inner == 1 && rest > 0) {
            char *data[3] = {into, from + first * item, into};
            loop->loop(data, &rest, along, loop->data);
        }
    }
}

/* Return a new array for what is left of an array, all of whose axes or one are reduced. */
static PyArrayObject *
reduced_room(PyArrayObject *x, PyObject *axis, int at, int keeps, int type)
{
    npy_intp shape[NPY_MAXDIMS];
    int left = 0;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        int gone = axis == Py_None || i == at;
        if (!gone || keeps) {
            shape[left++] = gone ? 1 : PyArray_DIM(x, i);
        }
    }
    return (PyArrayObject *)PyArray_SimpleNew(left, shape, type);
}

/* Return the reduction of a small array by the loop that NumPy would take, of `x, axis, dtype, out, keepdims` by position;
   NULL, with or without an error, where NumPy is to compute it. */
static PyObject *
reduced_by_loop(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    if (count < 2 || count > 5 || !PyArray_CheckExact(args[0]) || (count > 2 && args[2] != Py_None)
        || (count > 4 && !PyBool_Check(args[4]))) {
        return NULL;
    }
    PyArrayObject *x = (PyArrayObject *)args[0], *result = NULL;
    PyObject *axis = args[1], *out = count > 3 ? args[3] : Py_None;
    Loops *loops = PyCapsule_GetPointer(PyTuple_GET_ITEM(plan, LOOPS_OF), NULL);
    PyArray_Descr *dtype = PyArray_DESCR(x);
    int type = dtype == double_dtype ? NPY_DOUBLE : NPY_FLOAT, keeps = count > 4 && args[4] == Py_True, at = -1;
    Loop *loop = dtype == double_dtype ? &loops->of_double : dtype == float_dtype ? &loops->of_float : NULL;
    npy_intp size = PyArray_SIZE(x), length = size, inner = 1;
    if (loop == NULL || loop->loop == NULL || loop->result != type || !PyArray_ISCARRAY_RO(x) || PyArray_NDIM(x) == 0
        || size == 0 || size > MANY) {
        return NULL;
    }
    if (axis != Py_None) {
        long place = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : PyArray_NDIM(x);
        if (place == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
        if (place < -PyArray_NDIM(x) || place >= PyArray_NDIM(x)) {
            return NULL;
        }
        at = (int)(place < 0 ? place + PyArray_NDIM(x) : place);
        length = PyArray_DIM(x, at);
        for (int i = at + 1; i < PyArray_NDIM(x); i++) {
            inner *= PyArray_DIM(x, i);
        }
    }
    if (inner > 1 && length > ROWS) {
        return NULL;
    }
    if (out == Py_None) {
        result = reduced_room(x, axis, at, keeps, type);
    }
    else if (PyArray_CheckExact(out) && axis == Py_None && !keeps && PyArray_NDIM((PyArrayObject *)out) == 0
        && PyArray_DESCR((PyArrayObject *)out) == dtype && PyArray_ISCARRAY((PyArrayObject *)out)
        && PyArray_BASE((PyArrayObject *)out) == NULL) {
        result = (PyArrayObject *)Py_NewRef(out);
    }
    if (result == NULL) {
        return NULL;
    }
    if (fetestexcept(FAULTS)) {
        feclearexcept(FAULTS);
    }
    reduce_middle(loop, PyArray_BYTES(x), PyArray_BYTES(result), size / (length * inner), length, inner,
                  PyArray_ITEMSIZE(x), PyTuple_GET_ITEM(plan, FROM_FIRST) == Py_True);
    if (fetestexcept(FAULTS)) {
        Py_DECREF(result);
        return NULL;
    }
    return out == Py_None ? PyArray_Return(result) : (PyObject *)result;
}

static PyObject *
reduced(PyObject *plan, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *result = names == NULL ? reduced_by_loop(plan, args, count) : NULL;
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return PyObject_Vectorcall(PyTuple_GET_ITEM(plan, REDUCE), args, count, names);
}

static PyMethodDef reduced_method = {
    "reduced", (PyCFunction)(void (*)(void))reduced, METH_FASTCALL | METH_KEYWORDS, "Reduce an array as NumPy does."};

/* Return the reduction of a universal function, of small arrays by its loop: from the first element on, or from zero. */
static PyObject *
reducer(PyObject *module, PyObject *args)
{
    PyObject *function, *from_first;
    if (!PyArg_ParseTuple(args, "OO!", &function, &PyBool_Type, &from_first)) {
        return NULL;
    }
    PyObject *reduce = PyObject_GetAttrString(function, "reduce");
    PyObject *loops = reduce == NULL ? NULL : loops_of(function);
    PyObject *plan = loops == NULL ? NULL : PyTuple_Pack(REDUCTION_MEMBERS, reduce, loops, from_first);
    PyObject *made = plan == NULL ? NULL : PyCFunction_New(&reduced_method, plan);
    Py_XDECREF(plan);
    Py_XDECREF(loops);
    Py_XDECREF(reduce);
    return made;
}

#endif
