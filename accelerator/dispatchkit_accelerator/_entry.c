/* The entry point of functions of one or two arrays: what `dispatchkit.declare.compiled` does for plain tensors of
   NumPy's arrays and Python numbers, by a universal function of NumPy. Anything else, and every error, is left to the
   function as Python has it, which is called in its place and decides and computes by itself.

   A function stays what it is, with all its attributes; only the pointer that calls of it go through is another one.
   What it does then is said by a tuple among its globals, which holds its code, too: whatever has the function compiled
   anew gives it another code, and the tuple does not count from then on. So it is with functions that make nodes. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <fenv.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* The members of the tuple of a function, and of the tuple of one that makes nodes. */
enum {CODE, CLS, KERNEL, TABLE, LIVE, FOREIGN, RECORD, RAW_ARRAY, COUNT, LOOPS, MEMBERS};
enum {NODE_CODE, NODE_CLS, OPERATION, ENABLED, KEEPS_OUTPUT, TENSORS, READERS, NODE_MEMBERS};

static vectorcallfunc of_python; /* what functions are called by */
static PyObject *ndarray, *ufunc, *plan_name;
static PyArray_Descr *double_dtype, *float_dtype; /* those without metadata */
static Py_ssize_t array_at, node_at, memory_at;
static Py_ssize_t edges_at, operation_at, saved_at, output_at, shape_at, dtype_at, extras_at; /* of nodes */

#define SLOT(tensor, offset) (*(PyObject **)((char *)(tensor) + (offset)))

/* Return the tuple of a function, of so many members, NULL where it has none that counts. */
static PyObject *
plan_of(PyObject *function, Py_ssize_t members)
{
    PyObject *plan = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function), plan_name);
    if (plan == NULL || !PyTuple_CheckExact(plan) || PyTuple_GET_SIZE(plan) != members
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

/* The loops of a universal function over numbers of double and of single precision, NULL where it has none. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    int result; /* type of the result */
} Loop;
typedef struct {
    Loop of_double, of_float;
} Loops;

/* Above this many elements NumPy computes: its loops let other threads run then, and the way to them is short. */
#define MANY 500
#define FAULTS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

static Loop
loop_over(PyUFuncObject *kernel, int type)
{
    Loop loop = {NULL, NULL, 0};
    for (int i = 0; i < kernel->ntypes && loop.loop == NULL; i++) {
        const char *types = kernel->types + i * kernel->nargs;
        int result = types[kernel->nin];
        if (types[0] == type && types[kernel->nin - 1] == type && (result == type || result == NPY_BOOL)) {
            loop = (Loop){kernel->functions[i], kernel->data == NULL ? NULL : kernel->data[i], result};
        }
    }
    return loop;
}

static void
free_loops(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, NULL));
}

/* Return the loops of a universal function. */
static PyObject *
loops_of(PyUFuncObject *kernel)
{
    Loops *loops = PyMem_Calloc(1, sizeof(Loops));
    PyObject *capsule;
    if (loops == NULL) {
        return PyErr_NoMemory();
    }
    if (!kernel->core_enabled && (kernel->nin == 1 || kernel->nin == 2) && kernel->nout == 1) {
        loops->of_double = loop_over(kernel, NPY_DOUBLE);
        loops->of_float = loop_over(kernel, NPY_FLOAT);
    }
    capsule = PyCapsule_New(loops, NULL, free_loops);
    if (capsule == NULL) {
        PyMem_Free(loops);
    }
    return capsule;
}

/* Return the result of small arrays of one shape and dtype, and of a Python number beside one, by the loop that NumPy
   would take; NULL where NumPy is to compute it, as where the loop says that a value is not a number. */
static PyObject *
by_loop(PyObject *plan, PyObject *const *raw, Py_ssize_t count)
{
    Loops *loops = PyCapsule_GetPointer(PyTuple_GET_ITEM(plan, LOOPS), NULL);
    PyArrayObject *first = NULL;
    PyObject *result;
    Loop *loop = NULL;
    double number;
    char *data[3];
    npy_intp strides[3], size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((PyObject *)Py_TYPE(raw[i]) != ndarray) {
            number = PyFloat_CheckExact(raw[i]) ? PyFloat_AS_DOUBLE(raw[i]) : PyLong_AsDouble(raw[i]);
            if (number == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                return NULL;
            }
            data[i] = (char *)&number;
            strides[i] = 0;
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)raw[i];
        if (!PyArray_ISCARRAY_RO(array)) {
            return NULL;
        }
        if (first == NULL) {
            first = array;
            size = PyArray_SIZE(array);
            PyArray_Descr *dtype = PyArray_DESCR(array);
            loop = dtype == double_dtype ? &loops->of_double : dtype == float_dtype ? &loops->of_float : NULL;
            if (loop == NULL || loop->loop == NULL || size > MANY) {
                return NULL;
            }
        }
        else if (PyArray_DESCR(array) != PyArray_DESCR(first) || !PyArray_SAMESHAPE(array, first)) {
            return NULL;
        }
        data[i] = PyArray_BYTES(array);
        strides[i] = PyArray_ITEMSIZE(array);
    }
    if (count == 2 && strides[0] != strides[1] && loop != &loops->of_double) {
        return NULL; /* NumPy says how a number is rounded */
    }
    result = PyArray_SimpleNew(PyArray_NDIM(first), PyArray_DIMS(first), loop->result);
    if (result == NULL) {
        return NULL;
    }
    data[count] = PyArray_BYTES((PyArrayObject *)result);
    strides[count] = PyArray_ITEMSIZE((PyArrayObject *)result);
    if (fetestexcept(FAULTS)) {
        feclearexcept(FAULTS);
    }
    if (size > 0) {
        loop->loop(data, &size, strides, loop->data);
    }
    if (fetestexcept(FAULTS)) {
        Py_CLEAR(result);
    }
    return result;
}

/* Return the node of a result, None where recording is off; NULL with or without an error where Python is to make it. */
static PyObject *
node_of(PyObject *record, PyObject *result, PyObject *const *args, Py_ssize_t count)
{
    PyObject *plan = plan_of(record, NODE_MEMBERS), *vertices[2] = {NULL, NULL}, *enabled, *node;
    if (plan == NULL || PyTuple_GET_SIZE(PyTuple_GET_ITEM(plan, READERS)) != count) {
        return NULL;
    }
    long tensors = PyLong_AsLong(PyTuple_GET_ITEM(plan, TENSORS));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tensors >> i & 1) {
            if (SLOT(args[i], memory_at) != Py_None || SLOT(args[i], node_at) == NULL) {
                return NULL;
            }
            vertices[i] = SLOT(args[i], node_at) == Py_None ? NULL : SLOT(args[i], node_at);
        }
    }
    enabled = PyObject_CallNoArgs(PyTuple_GET_ITEM(plan, ENABLED));
    if (enabled == NULL) {
        return NULL;
    }
    int on = PyObject_IsTrue(enabled);
    Py_DECREF(enabled);
    if (on <= 0) {
        return on == 0 ? Py_NewRef(Py_None) : NULL;
    }
    PyTypeObject *cls = (PyTypeObject *)PyTuple_GET_ITEM(plan, NODE_CLS);
    PyObject *edges = PyTuple_New(count), *saved = PyTuple_New(count);
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM((PyArrayObject *)result), PyArray_DIMS((PyArrayObject *)result));
    node = edges == NULL || saved == NULL || shape == NULL ? NULL : cls->tp_alloc(cls, 0);
    if (node == NULL) {
        Py_XDECREF(edges);
        Py_XDECREF(saved);
        Py_XDECREF(shape);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long readers = PyLong_AsLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(plan, READERS), i));
        int read = (readers & 1 && vertices[0] != NULL) || (readers & 2 && vertices[1] != NULL);
        PyTuple_SET_ITEM(edges, i, Py_NewRef(vertices[i] == NULL ? Py_None : vertices[i]));
        PyTuple_SET_ITEM(saved, i, Py_NewRef(read ? args[i] : Py_None));
    }
    SLOT(node, operation_at) = Py_NewRef(PyTuple_GET_ITEM(plan, OPERATION));
    SLOT(node, edges_at) = edges;
    SLOT(node, saved_at) = saved;
    SLOT(node, output_at) = Py_NewRef(PyTuple_GET_ITEM(plan, KEEPS_OUTPUT) == Py_True ? result : Py_None);
    SLOT(node, shape_at) = shape;
    SLOT(node, dtype_at) = Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)result));
    SLOT(node, extras_at) = Py_NewRef(Py_None);
    return node;
}

/* Return the result of NumPy's function of raw arrays, NULL with an error where there is none. */
static PyObject *
by_numpy(PyObject *plan, PyObject *const *raw, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_INCREF(raw[i]); /* a callback of NumPy's may give a tensor another array meanwhile */
    }
    PyObject *result = PyObject_Vectorcall(
        PyTuple_GET_ITEM(plan, KERNEL), raw, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(raw[i]);
    }
    if (result != NULL && (PyObject *)Py_TYPE(result) != ndarray) {
        Py_SETREF(result, PyObject_CallOneArg(PyTuple_GET_ITEM(plan, RAW_ARRAY), result));
    }
    return result;
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
    result = by_loop(plan, raw + 1, count);
    if (result == NULL) {
        result = by_numpy(plan, raw + 1, count);
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
    record = PyTuple_GET_ITEM(plan, RECORD);
    if (flows && record != Py_None) {
        PyObject *recorded[4] = {NULL, result, args[0], count > 1 ? args[1] : NULL};
        PyObject *node = node_of(record, result, args, count);
        if (node == NULL && !PyErr_Occurred()) {
            node = PyObject_Vectorcall(record, recorded + 1, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        }
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
    PyObject *plan = plan_of(function, MEMBERS), *answer;
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
    plan = plan_of(answer, MEMBERS);
    return plan != NULL && PyTuple_GET_ITEM(plan, CLS) == cls && PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT)) == 2
        ? plan : NULL;
}

/* Whether an error that is set is one that Python raises again, and says in which call. */
static int
is_repeated(void)
{
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return 0; /* such as an interrupt */
        }
        PyErr_Clear();
    }
    return 1;
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
        if (!is_repeated()) {
            return NULL;
        }
    }
    return of_python(function, args, nargsf, names);
}

/* Compute a call of plain tensors of which a function has seen that nobody else is asked; None where it is to go on. */
static PyObject *
compute_plain(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = NULL;
    if (count == PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT))) {
        result = compute(plan, args, count);
    }
    return result != NULL ? result : is_repeated() ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef compute_plain_method = {
    "compute_plain", (PyCFunction)(void (*)(void))compute_plain, METH_FASTCALL, "Compute a call of plain tensors by a plan."};

/* Return the plan of a function of some members, and the loops of its kernel, after a look at them. */
static PyObject *
whole_plan(PyObject *members)
{
    PyObject *loops, *plan;
    if (PyTuple_GET_SIZE(members) != LOOPS || !PyType_Check(PyTuple_GET_ITEM(members, CLS))
        || !PySet_Check(PyTuple_GET_ITEM(members, LIVE)) || !PyList_Check(PyTuple_GET_ITEM(members, FOREIGN))
        || !PyLong_Check(PyTuple_GET_ITEM(members, COUNT)) || (PyObject *)Py_TYPE(PyTuple_GET_ITEM(members, KERNEL)) != ufunc
        || !(PyTuple_GET_ITEM(members, RECORD) == Py_None || PyFunction_Check(PyTuple_GET_ITEM(members, RECORD)))) {
        PyErr_SetString(PyExc_TypeError, "attach: the plan is not that of a function of one or two arrays");
        return NULL;
    }
    loops = loops_of((PyUFuncObject *)PyTuple_GET_ITEM(members, KERNEL));
    if (loops == NULL) {
        return NULL;
    }
    plan = PyTuple_New(MEMBERS);
    if (plan == NULL) {
        Py_DECREF(loops);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < LOOPS; i++) {
        PyTuple_SET_ITEM(plan, i, Py_NewRef(PyTuple_GET_ITEM(members, i)));
    }
    PyTuple_SET_ITEM(plan, LOOPS, loops);
    return plan;
}

/* Let calls of a function go through this entry point from now on. */
static PyObject *
attach(PyObject *module, PyObject *args)
{
    PyObject *function, *members, *plan;
    if (!PyArg_ParseTuple(args, "O!O!", &PyFunction_Type, &function, &PyTuple_Type, &members)) {
        return NULL;
    }
    plan = whole_plan(members);
    int failed = plan == NULL || PyDict_SetItem(PyFunction_GET_GLOBALS(function), plan_name, plan) < 0;
    Py_XDECREF(plan);
    if (failed) {
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

/* Return what computes calls of plain tensors by a plan, for a function that Python does not call by its pointer. */
static PyObject *
computer(PyObject *module, PyObject *members)
{
    if (!PyTuple_Check(members)) {
        PyErr_SetString(PyExc_TypeError, "computer: expected the members of a plan");
        return NULL;
    }
    PyObject *plan = whole_plan(members), *function;
    if (plan == NULL) {
        return NULL;
    }
    function = PyCFunction_New(&compute_plain_method, plan);
    Py_DECREF(plan);
    return function;
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

/* Note what is the same for all functions: the classes that tensors and nodes have their slots from, and NumPy's types. */
static PyObject *
start(PyObject *module, PyObject *args)
{
    PyObject *storage, *node, *a_function;
    if (!PyArg_ParseTuple(args, "O!O!OOO!", &PyType_Type, &storage, &PyType_Type, &node, &ndarray, &ufunc,
                          &PyFunction_Type, &a_function)) {
        return NULL;
    }
    Py_INCREF(ndarray);
    Py_INCREF(ufunc);
    of_python = ((PyFunctionObject *)a_function)->vectorcall;
    if ((array_at = offset_of(storage, "array")) < 0 || (node_at = offset_of(storage, "_node")) < 0
        || (memory_at = offset_of(storage, "_memory")) < 0 || (edges_at = offset_of(node, "edges")) < 0
        || (operation_at = offset_of(node, "operation")) < 0 || (saved_at = offset_of(node, "saved")) < 0
        || (output_at = offset_of(node, "output")) < 0 || (shape_at = offset_of(node, "shape")) < 0
        || (dtype_at = offset_of(node, "dtype")) < 0 || (extras_at = offset_of(node, "extras")) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach", attach, METH_VARARGS, "Let calls of a function go through this entry point, by a plan."},
    {"computer", computer, METH_O, "Return what computes calls of plain tensors by a plan, None of what it leaves."},
    {"start", start, METH_VARARGS, "Note the classes that have the slots, NumPy's array and ufunc, and any function."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "dispatchkit_accelerator._entry", "The entry point of functions of one or two arrays.", -1,
    methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__entry(void)
{
    import_array();
    import_ufunc();
    double_dtype = PyArray_DescrFromType(NPY_DOUBLE);
    float_dtype = PyArray_DescrFromType(NPY_FLOAT);
    plan_name = PyUnicode_InternFromString("_plan");
    return plan_name == NULL ? NULL : PyModule_Create(&definition);
}
