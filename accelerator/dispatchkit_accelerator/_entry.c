/* The entry point of functions of one or two arrays: what `dispatchkit.declare.compiled` does for plain tensors of
   NumPy's arrays and Python numbers, by a universal function of NumPy. Anything else, and every error, is left to the
   function as Python has it, which is called in its place and decides and computes by itself.

   A function stays what it is, with all its attributes; only the pointer that calls of it go through is another one.
   What it does then is said by a tuple among its globals, which holds its code, too: whatever has the function compiled
   anew gives it another code, and the tuple does not count from then on. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* The members of the tuple. */
enum {CODE, CLS, KERNEL, TABLE, LIVE, FOREIGN, RECORD, RAW_ARRAY, COUNT, MEMBERS};

static vectorcallfunc of_python; /* what functions are called by */
static PyObject *ndarray, *ufunc, *plan_name;
static Py_ssize_t array_at, node_at, memory_at;

#define SLOT(tensor, offset) (*(PyObject **)((char *)(tensor) + (offset)))

/* Return the plan of a function that goes through `entry_call`, NULL where it has none that counts. */
static PyObject *
plan_of(PyObject *function)
{
    PyObject *plan = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function), plan_name);
    if (plan == NULL || !PyTuple_CheckExact(plan) || PyTuple_GET_SIZE(plan) != MEMBERS
        || PyTuple_GET_ITEM(plan, CODE) != PyFunction_GET_CODE(function)) {
        return NULL;
    }
    return plan;
}

/* Whether a value may stand beside a tensor as it is. */
static inline int
is_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

/* Return the tensor of a result; NULL with or without an error where Python is to compute it. */
static PyObject *
compute(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyTypeObject *cls = (PyTypeObject *)PyTuple_GET_ITEM(plan, CLS);
    PyObject *raw[3], *result, *tensor, *record;
    int flows = 0;
    raw[0] = NULL; /* room that the callee may use */
    for (Py_ssize_t i = 0; i < count; i++) {
        raw[i + 1] = args[i];
        if (Py_TYPE(args[i]) == cls) {
            raw[i + 1] = SLOT(args[i], array_at);
            if (raw[i + 1] == NULL || (PyObject *)Py_TYPE(raw[i + 1]) != ndarray || SLOT(args[i], node_at) == NULL) {
                return NULL;
            }
            flows |= SLOT(args[i], node_at) != Py_None;
        }
    }
    record = PyTuple_GET_ITEM(plan, RECORD);
    for (Py_ssize_t i = 1; i <= count; i++) {
        Py_INCREF(raw[i]); /* a callback of NumPy's may give a tensor another array meanwhile */
    }
    result = PyObject_Vectorcall(PyTuple_GET_ITEM(plan, KERNEL), raw + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (Py_ssize_t i = 1; i <= count; i++) {
        Py_DECREF(raw[i]);
    }
    if (result != NULL && (PyObject *)Py_TYPE(result) != ndarray) {
        Py_SETREF(result, PyObject_CallOneArg(PyTuple_GET_ITEM(plan, RAW_ARRAY), result));
    }
    if (result == NULL) {
        return NULL;
    }
    tensor = cls->tp_alloc(cls, 0);
    if (tensor == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    SLOT(tensor, array_at) = result;
    SLOT(tensor, memory_at) = Py_NewRef(Py_None);
    SLOT(tensor, node_at) = Py_NewRef(Py_None);
    if (flows && record != Py_None) {
        PyObject *recorded[4] = {NULL, result, args[0], count > 1 ? args[1] : NULL};
        PyObject *node = PyObject_Vectorcall(record, recorded + 1, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        if (node == NULL) {
            Py_DECREF(tensor);
            return NULL;
        }
        Py_SETREF(SLOT(tensor, node_at), node);
    }
    return tensor;
}

static PyObject *entry_call(PyObject *, PyObject *const *, size_t, PyObject *);

/* Return the plan that computes a call: that of the function for plain tensors alone, that of what answers the types
   by the table where one argument is a number; NULL where Python is to decide. */
static PyObject *
plan_for(PyObject *function, PyObject *const *args, Py_ssize_t count)
{
    PyObject *plan = plan_of(function), *answer;
    if (plan == NULL || PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT)) != count) {
        return NULL;
    }
    if (PySet_GET_SIZE(PyTuple_GET_ITEM(plan, LIVE)) != 0 || PyList_GET_SIZE(PyTuple_GET_ITEM(plan, FOREIGN)) != 0) {
        return NULL;
    }
    PyObject *cls = PyTuple_GET_ITEM(plan, CLS);
    int first = (PyObject *)Py_TYPE(args[0]) == cls;
    if (first && (count == 1 || (PyObject *)Py_TYPE(args[1]) == cls)) {
        return plan;
    }
    if (count != 2 || !(first ? is_number(args[1]) : is_number(args[0]) && (PyObject *)Py_TYPE(args[1]) == cls)) {
        return NULL;
    }
    answer = PyTuple_GET_ITEM(plan, TABLE);
    for (Py_ssize_t i = 0; i < 2 && answer != NULL; i++) {
        answer = PyDict_CheckExact(answer) ? PyDict_GetItemWithError(answer, (PyObject *)Py_TYPE(args[i])) : NULL;
    }
    if (answer == NULL || !PyFunction_Check(answer) || ((PyFunctionObject *)answer)->vectorcall != entry_call) {
        return NULL;
    }
    plan = plan_of(answer);
    return plan != NULL && PyTuple_GET_ITEM(plan, CLS) == cls && PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT)) == 2
        ? plan : NULL;
}

/* Call a function that has a plan. */
static PyObject *
entry_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if ((count == 1 || count == 2) && (names == NULL || PyTuple_GET_SIZE(names) == 0)) {
        PyObject *plan = plan_for(function, args, count), *result;
        if (plan != NULL) {
            Py_INCREF(plan);
            result = compute(plan, args, count);
            Py_DECREF(plan);
            if (result != NULL) {
                return result;
            }
        }
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_Exception)) {
                return NULL; /* such as an interrupt */
            }
            PyErr_Clear(); /* Python raises it again, and says in which call */
        }
    }
    return of_python(function, args, nargsf, names);
}

/* Let calls of a function go through this entry point from now on. */
static PyObject *
attach(PyObject *module, PyObject *args)
{
    PyObject *function, *plan;
    if (!PyArg_ParseTuple(args, "O!O!", &PyFunction_Type, &function, &PyTuple_Type, &plan)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(plan) != MEMBERS || !PyType_Check(PyTuple_GET_ITEM(plan, CLS))
        || !PySet_Check(PyTuple_GET_ITEM(plan, LIVE)) || !PyList_Check(PyTuple_GET_ITEM(plan, FOREIGN))
        || !PyLong_Check(PyTuple_GET_ITEM(plan, COUNT)) || (PyObject *)Py_TYPE(PyTuple_GET_ITEM(plan, KERNEL)) != ufunc) {
        PyErr_SetString(PyExc_TypeError, "attach: the plan is not that of a function of one or two arrays");
        return NULL;
    }
    if (PyDict_SetItem(PyFunction_GET_GLOBALS(function), plan_name, plan) < 0) {
        return NULL;
    }
    if (((PyFunctionObject *)function)->vectorcall != entry_call) {
#if PY_VERSION_HEX >= 0x030C0000
        PyFunction_SetVectorcall((PyFunctionObject *)function, entry_call);
#else
        ((PyFunctionObject *)function)->vectorcall = entry_call;
#endif
    }
    Py_RETURN_NONE;
}

/* Return where the instances of a class have a slot, -1 with an error where they have none. */
static Py_ssize_t
offset_of(PyObject *cls, const char *name)
{
    PyObject *member = PyObject_GetAttrString(cls, name);
    Py_ssize_t offset = -1;
    if (member != NULL && Py_IS_TYPE(member, &PyMemberDescr_Type)
        && ((PyMemberDescrObject *)member)->d_member->type == T_OBJECT_EX) {
        offset = ((PyMemberDescrObject *)member)->d_member->offset;
    }
    else if (member != NULL) {
        PyErr_Format(PyExc_TypeError, "start: %R has no slot %s", cls, name);
    }
    Py_XDECREF(member);
    return offset;
}

/* Note what is the same for all functions: the class that tensors have their slots from, and NumPy's types. */
static PyObject *
start(PyObject *module, PyObject *args)
{
    PyObject *storage, *a_function;
    if (!PyArg_ParseTuple(args, "O!OOO!", &PyType_Type, &storage, &ndarray, &ufunc, &PyFunction_Type, &a_function)) {
        return NULL;
    }
    Py_INCREF(ndarray);
    Py_INCREF(ufunc);
    of_python = ((PyFunctionObject *)a_function)->vectorcall;
    if ((array_at = offset_of(storage, "array")) < 0 || (node_at = offset_of(storage, "_node")) < 0
        || (memory_at = offset_of(storage, "_memory")) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach", attach, METH_VARARGS, "Let calls of a function go through this entry point, by a plan."},
    {"start", start, METH_VARARGS, "Note the class that has the slots, NumPy's array and ufunc, and any function."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dispatchkit_accelerator._entry", "The entry point of functions of one or two arrays.", -1,
    methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__entry(void)
{
    plan_name = PyUnicode_InternFromString("_plan");
    return plan_name == NULL ? NULL : PyModule_Create(&definition);
}
