/* Loops over arrays of NumPy's for which its own functions need several passes, or many calls.

   A function of Python is given away for one that computes here first, and calls it where this is left to Python: of
   other arrays than contiguous ones in double or single precision, and where NumPy would warn. */

#define DISPATCHKIT_LOOPS_STARTS
#include "_loops.h"

PyArray_Descr *double_dtype, *float_dtype;

#define MOST_ARGUMENTS 8

PyObject *
first_by(Computation *compute, PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *result = names == NULL ? compute(args, count) : NULL;
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return PyObject_Vectorcall(otherwise, args, count, names);
}

PyObject *
first_by_contiguous(Computation *compute, PyObject *otherwise, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyArrayObject *g = count > 0 && PyArray_CheckExact(args[0]) ? (PyArrayObject *)args[0] : NULL;
    int known = g != NULL && (PyArray_DESCR(g) == double_dtype || PyArray_DESCR(g) == float_dtype);
    if (names != NULL || !known || PyArray_ISCARRAY_RO(g) || count > MOST_ARGUMENTS) {
        return first_by(compute, otherwise, args, count, names);
    }
    PyObject *all[MOST_ARGUMENTS];
    memcpy(all, args, count * sizeof(*args));
    all[0] = (PyObject *)PyArray_GETCONTIGUOUS(g);
    PyObject *result = all[0] == NULL ? NULL : compute(all, count);
    Py_XDECREF(all[0]);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return PyObject_Vectorcall(otherwise, args, count, NULL);
}

/* Return what computes by the loop of a name first, and by a function of Python what the loop does not take. */
static PyObject *
first(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *otherwise;
    Named *const tables[] = {activations, ranks, sums_and_places, windows_of_images};
    if (!PyArg_ParseTuple(args, "sO", &name, &otherwise)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        for (Named *each = tables[i]; each->name != NULL; each++) {
            if (strcmp(each->name, name) == 0) {
                return PyCFunction_New(&each->method, otherwise);
            }
        }
    }
    PyErr_Format(PyExc_KeyError, "first: there is no loop of the name '%s'", name);
    return NULL;
}

/* Note the functions of NumPy whose loops are used here. */
static PyObject *
start(PyObject *module, PyObject *args)
{
    PyObject *exp, *tanh;
    if (!PyArg_ParseTuple(args, "O!O!", &PyUFunc_Type, &exp, &PyUFunc_Type, &tanh)) {
        return NULL;
    }
    return PyBool_FromLong(start_activations(exp, tanh));
}

static PyMethodDef methods[] = {
    {"first", first, METH_VARARGS, "Return what computes by the loop of a name first, and else by a function of Python."},
    {"start", start, METH_VARARGS, "Note the exponential function and the hyperbolic tangent; return whether they will do."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dispatchkit_accelerator._loops", "Loops over arrays.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__loops(void)
{
    import_array();
    import_ufunc();
    double_dtype = PyArray_DescrFromType(NPY_DOUBLE);
    float_dtype = PyArray_DescrFromType(NPY_FLOAT);
    return PyModule_Create(&definition);
}
