/* Calls of functions that have another library's names and arguments, as `dispatchkit.as_torch.calling.quick` has them: what
   carries one out is found by the types of its arguments, and by what else is known to matter. `_entry.c` includes this. */

#ifndef DISPATCHKIT_SPELLED_H
#define DISPATCHKIT_SPELLED_H

/* The members of the tuple of a function: types of tensors alone, the kinds of elements that are looked at, whether these must
   have one dtype, what computes them; the classes of tensors; what carries out calls, by types and by kinds; what decides
   otherwise; what finishes results of other classes; and the function as Python has it. */
enum {ALONE, LOOKED, ONE_DTYPE, DIRECT, CLASSES, BY_TYPES, BY_KINDS, BY_PLAN, FINISHED, IN_PYTHON, SPELLED_MEMBERS};
/* The most arguments of a call that are looked at here. */
#define MOST_SPELLED 12

/* Return the type of an argument, or those of all, with the names of some between; NULL with an error. */
static PyObject *
types_of_call(PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    if (count == 1 && named == 0) {
        return Py_NewRef((PyObject *)Py_TYPE(args[0]));
    }
    PyObject *types = PyTuple_New(count + 2 * named);
    for (Py_ssize_t i = 0; types != NULL && i < count; i++) {
        PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(args[i])));
    }
    for (Py_ssize_t i = 0; types != NULL && i < named; i++) {
        PyTuple_SET_ITEM(types, count + i, Py_NewRef(PyTuple_GET_ITEM(names, i)));
        PyTuple_SET_ITEM(types, count + named + i, Py_NewRef((PyObject *)Py_TYPE(args[count + i])));
    }
    return types;
}

/* Return the array of a tensor of one of the classes, borrowed; NULL for anything else. */
static PyArrayObject *
array_of_class(PyObject *plan, PyObject *value)
{
    int known = PySet_Contains(PyTuple_GET_ITEM(plan, CLASSES), (PyObject *)Py_TYPE(value));
    PyObject *array = known > 0 ? SLOT(value, array_at) : NULL;
    return array != NULL && (PyObject *)Py_TYPE(array) == ndarray ? (PyArrayObject *)array : NULL;
}

/* Whether tensors alone are of elements that are not looked at. */
static int
is_unlooked(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *first = array_of_class(plan, args[0]), *second = count > 1 ? array_of_class(plan, args[1]) : NULL;
    if (first == NULL || (count > 1 && second == NULL)) {
        return 0;
    }
    PyObject *looked = PyTuple_GET_ITEM(plan, LOOKED);
    Py_UCS4 kind = (Py_UCS4)PyArray_DESCR(first)->kind;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(looked); i++) {
        if (PyUnicode_READ_CHAR(looked, i) == kind) {
            return 0;
        }
    }
    return second == NULL || PyTuple_GET_ITEM(plan, ONE_DTYPE) != Py_True || PyArray_DESCR(first) == PyArray_DESCR(second);
}

/* Return what carries out calls of a tensor and constants, borrowed; NULL, with or without an error, where none is known. */
static PyObject *
run_of_types(PyObject *plan, PyObject *known, PyObject *const *args, Py_ssize_t all)
{
    PyArrayObject *array = array_of_class(plan, args[0]);
    PyObject *rest = array == NULL ? NULL : PyTuple_New(all - 1), *run = NULL;
    for (Py_ssize_t i = 1; rest != NULL && i < all; i++) {
        PyTuple_SET_ITEM(rest, i - 1, Py_NewRef(args[i]));
    }
    PyObject *key = rest == NULL ? NULL
        : Py_BuildValue("((Oii)O)", ndarray, PyArray_NDIM(array), PyArray_DESCR(array)->type_num, rest);
    if (key != NULL) {
        run = PyDict_GetItemWithError(known, key);
    }
    Py_XDECREF(key);
    Py_XDECREF(rest);
    return run;
}

/* Return what carries out calls of arguments of some kinds, borrowed; NULL likewise. */
static PyObject *
run_of_kinds(PyObject *found, PyObject *const *args, Py_ssize_t all)
{
    PyObject *key = PyObject_Vectorcall(PyTuple_GET_ITEM(found, 0), args, all, NULL);
    PyObject *run = key == NULL ? NULL : PyDict_GetItemWithError(PyTuple_GET_ITEM(found, 1), key);
    Py_XDECREF(key);
    return run;
}

/* Return what a call gives that something else is to decide. */
static PyObject *
by_plan(PyObject *plan, PyObject *types, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *given = PyTuple_New(count), *named = PyDict_New(), *result = NULL;
    int failed = given == NULL || named == NULL;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; !failed && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        failed = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[count + i]) < 0;
    }
    if (!failed) {
        result = PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(plan, BY_PLAN), types, given, named, NULL);
    }
    Py_XDECREF(given);
    Py_XDECREF(named);
    return result;
}

/* Return what carries out a call, borrowed, and how many of its arguments are passed on; NULL, with or without an error. */
static PyObject *
run_of_call(PyObject *plan, PyObject *types, PyObject *const *args, Py_ssize_t all, Py_ssize_t *passed)
{
    PyObject *found;
    int alone = PySet_Contains(PyTuple_GET_ITEM(plan, ALONE), types);
    *passed = all;
    if (alone != 0) {
        return alone > 0 && is_unlooked(plan, args, all) ? PyTuple_GET_ITEM(plan, DIRECT) : NULL;
    }
    found = PyDict_GetItemWithError(PyTuple_GET_ITEM(plan, BY_TYPES), types);
    if (found != NULL && array_of_class(plan, args[0]) != NULL) {
        *passed = 1;
        return run_of_types(plan, found, args, all);
    }
    if (found != NULL || PyErr_Occurred()) {
        *passed = -1; /* Python says of which kind the first is */
        return NULL;
    }
    found = PyDict_GetItemWithError(PyTuple_GET_ITEM(plan, BY_KINDS), types);
    return found == NULL ? NULL : run_of_kinds(found, args, all);
}

/* Return what a call gives, of arguments by place and then by name. */
static PyObject *
call_spelled(PyObject *plan, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names)), passed;
    PyObject *types = types_of_call(args, count, names);
    PyObject *run = types == NULL ? NULL : run_of_call(plan, types, args, all, &passed), *result = NULL;
    if (types == NULL || PyErr_Occurred()) {
        Py_XDECREF(types);
        return NULL;
    }
    if (run == NULL && passed < 0) {
        Py_DECREF(types);
        return of_python(PyTuple_GET_ITEM(plan, IN_PYTHON), args, count, names);
    }
    if (run != NULL) {
        Py_INCREF(run);
        result = PyObject_Vectorcall(run, args, passed, NULL);
        Py_DECREF(run);
        if (result == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
            Py_DECREF(types);
            return NULL;
        }
    }
    if (result == NULL) {
        PyErr_Clear(); /* what looks at the arguments says it in other words */
        result = by_plan(plan, types, args, count, names);
    }
    else if (!PySet_Contains(PyTuple_GET_ITEM(plan, CLASSES), (PyObject *)Py_TYPE(result))) {
        Py_SETREF(result, PyObject_CallOneArg(PyTuple_GET_ITEM(plan, FINISHED), result));
    }
    Py_DECREF(types);
    return result;
}

#if PY_VERSION_HEX >= 0x030C0000
/* Call a function whose plan is among its attributes. */
static PyObject *
spelled_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *attributes = ((PyFunctionObject *)function)->func_dict;
    PyObject *plan = attributes == NULL ? NULL : PyDict_GetItemWithError(attributes, plan_name);
    if (plan == NULL || PyTuple_GET_ITEM(plan, IN_PYTHON) != function || PyVectorcall_NARGS(nargsf) == 0) {
        return PyErr_Occurred() ? NULL : of_python(function, args, nargsf, names);
    }
    return call_spelled(plan, args, PyVectorcall_NARGS(nargsf), names);
}
#endif

/* carried_out(first, rest, keywords): the same, for a function that Python does not call by its pointer. */
static PyObject *
carried_out(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *values[MOST_SPELLED], *names = NULL, *name, *value, *result;
    Py_ssize_t places = PyTuple_GET_SIZE(args[1]) + 1, all = places + PyDict_GET_SIZE(args[2]), at = 0, place = 0;
    if (all > MOST_SPELLED || (all > places && (names = PyTuple_New(all - places)) == NULL)) {
        PyObject *given = all > MOST_SPELLED ? PyTuple_New(places) : NULL;
        for (Py_ssize_t i = 0; given != NULL && i < places; i++) {
            PyTuple_SET_ITEM(given, i, Py_NewRef(i == 0 ? args[0] : PyTuple_GET_ITEM(args[1], i - 1)));
        }
        result = given == NULL ? NULL : PyObject_Call(PyTuple_GET_ITEM(plan, IN_PYTHON), given, args[2]);
        Py_XDECREF(given);
        return result;
    }
    values[0] = args[0];
    for (Py_ssize_t i = 1; i < places; i++) {
        values[i] = PyTuple_GET_ITEM(args[1], i - 1);
    }
    while (PyDict_Next(args[2], &at, &name, &value)) {
        PyTuple_SET_ITEM(names, place, Py_NewRef(name));
        values[places + place++] = value; /* held by the dict, which nobody else has */
    }
    result = call_spelled(plan, values, places, names);
    Py_XDECREF(names);
    return result;
}

static PyMethodDef carried_out_method = {
    "carried_out", (PyCFunction)(void (*)(void))carried_out, METH_FASTCALL, "Carry out a call by what is known of its types."};

/* Return what carries out calls by a plan. */
static PyObject *
speller(PyObject *module, PyObject *plan)
{
    if (!PyTuple_Check(plan) || PyTuple_GET_SIZE(plan) != SPELLED_MEMBERS || !PyAnySet_Check(PyTuple_GET_ITEM(plan, ALONE))
        || !PyUnicode_Check(PyTuple_GET_ITEM(plan, LOOKED)) || !PyAnySet_Check(PyTuple_GET_ITEM(plan, CLASSES))
        || !PyDict_CheckExact(PyTuple_GET_ITEM(plan, BY_TYPES)) || !PyDict_CheckExact(PyTuple_GET_ITEM(plan, BY_KINDS))
        || !PyFunction_Check(PyTuple_GET_ITEM(plan, IN_PYTHON))) {
        PyErr_SetString(PyExc_TypeError, "speller: the members are not those of a plan");
        return NULL;
    }
    return PyCFunction_New(&carried_out_method, plan);
}

/* Let calls of the function of a plan go through it by its pointer. */
static PyObject *
spell(PyObject *module, PyObject *plan)
{
    PyObject *known = speller(module, plan);
    if (known == NULL) {
        return NULL;
    }
    Py_DECREF(known);
    PyObject *function = PyTuple_GET_ITEM(plan, IN_PYTHON);
    if (PyObject_SetAttr(function, plan_name, plan) < 0) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall((PyFunctionObject *)function, spelled_call);
#endif
    Py_RETURN_NONE;
}

#endif
