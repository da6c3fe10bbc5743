/* The entry point of functions of one or two arrays: what `dispatchkit.declare.compiled` does for plain tensors of
   NumPy's arrays and Python numbers, by a universal function of NumPy or one of the library, and for types of which it
   is known who answers. Anything else, and every error of a computation, is left to the function as Python has it, which
   is called in its place and decides and computes by itself.

   A function stays what it is, with all its attributes; only the pointer that calls of it go through is another one.
   What it does then is said by a tuple among its globals, which holds its code, too: whatever has the function compiled
   anew gives it another code, and the tuple does not count from then on. So it is with functions that make nodes. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>
#include "_ufuncs.h"

/* The members of the tuple of a function, and of the tuple of one that makes nodes. */
enum {CODE, CLS, KERNEL, TABLE, LIVE, FOREIGN, RECORD, RAW_ARRAY, COUNT, CALLED, CONTINUE, HIDE, LOOPS, MEMBERS};
enum {NODE_CODE, NODE_CLS, OPERATION, ENABLED, KEEPS_OUTPUT, TENSORS, READERS, SNAPSHOT, SPEC, NODE_MEMBERS};

static vectorcallfunc of_python; /* what functions are called by */
static PyObject *ndarray, *ufunc, *plan_name;
static PyArray_Descr *double_dtype, *float_dtype; /* those without metadata */
static Py_ssize_t array_at, node_at, memory_at;
static PyTypeObject *node_type, *call_node_type, *leaf_type, *extras_type, *spec_type, *derivative_type;
static PyObject *deposit, *sums, *pull_raw_name, *repeats_name, *trusted_name, *edges_name;
static Py_ssize_t edges_at, operation_at, saved_at, output_at, shape_at, dtype_at, extras_at; /* of nodes */
static Py_ssize_t hooks_at, retains_at; /* of extras */
static PyTypeObject *memory_type;
static Py_ssize_t views_at, full_at, behind_at, outside_at, version_at, changes_at, watchers_at; /* of memories */
static PyObject *gives_name, *finalize_name;
static Py_ssize_t spec_shape_at, spec_dtype_at, spec_strides_at, spec_device_at;

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

/* The loops of a universal function over numbers of double and of single precision. */
typedef struct {
    Loop of_double, of_float;
} Loops;

/* Above this many elements NumPy computes: its loops let other threads run then, and the way to them is short. */
#define MANY 500

static void
free_loops(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, NULL));
}

/* Return the loops of a universal function; there are none of another one. */
static PyObject *
loops_of(PyObject *function)
{
    PyUFuncObject *kernel = (PyUFuncObject *)function;
    Loops *loops = PyMem_Calloc(1, sizeof(Loops));
    PyObject *capsule;
    if (loops == NULL) {
        return PyErr_NoMemory();
    }
    if (Py_TYPE(function) == &PyUFunc_Type && !kernel->core_enabled && (kernel->nin == 1 || kernel->nin == 2) && kernel->nout == 1) {
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
by_loop(PyObject *capsule, PyObject *const *raw, Py_ssize_t count)
{
    Loops *loops = PyCapsule_GetPointer(capsule, NULL);
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

/* Whether an object is the node of a call, and of no class derived from it. */
static inline int
is_node(PyObject *vertex)
{
    return Py_TYPE(vertex) == node_type || Py_TYPE(vertex) == call_node_type;
}

/* Return shape, dtype and strides of a tensor's array, a number as it is. */
static PyObject *
spec_of(PyObject *value)
{
    if (is_number(value)) {
        return Py_NewRef(value);
    }
    PyArrayObject *array = (PyArrayObject *)SLOT(value, array_at);
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
    PyObject *strides = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_STRIDES(array));
    PyObject *spec = shape == NULL || strides == NULL ? NULL : spec_type->tp_alloc(spec_type, 0);
    if (spec == NULL) {
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        return NULL;
    }
    SLOT(spec, spec_shape_at) = shape;
    SLOT(spec, spec_dtype_at) = Py_NewRef((PyObject *)PyArray_DESCR(array));
    SLOT(spec, spec_strides_at) = strides;
    SLOT(spec, spec_device_at) = Py_NewRef(Py_None);
    return spec;
}

/* Return the node of a result, None where recording is off; NULL with or without an error where Python is to make it. */
static PyObject *
node_of(PyObject *record, PyObject *result, PyObject *const *args, Py_ssize_t count)
{
    PyObject *plan = plan_of(record, NODE_MEMBERS), *vertices[2] = {NULL, NULL}, *enabled, *node;
    int shared[2] = {0, 0}, reads_shared = 0, failed = 0;
    if (plan == NULL || PyTuple_GET_SIZE(PyTuple_GET_ITEM(plan, READERS)) != count) {
        return NULL;
    }
    long tensors = PyLong_AsLong(PyTuple_GET_ITEM(plan, TENSORS));
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tensors >> i & 1) {
            PyObject *vertex = SLOT(args[i], node_at);
            if (vertex == NULL || !(vertex == Py_None || is_node(vertex) || Py_TYPE(vertex) == leaf_type)) {
                return NULL; /* such as one of a view whose memory was changed */
            }
            vertices[i] = vertex == Py_None ? NULL : vertex;
            shared[i] = SLOT(args[i], memory_at) != Py_None;
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
        PyObject *kept = read ? Py_NewRef(args[i])
            : PyTuple_GET_ITEM(plan, SPEC) == Py_True ? spec_of(args[i]) : Py_NewRef(Py_None);
        failed |= kept == NULL;
        PyTuple_SET_ITEM(saved, i, kept);
        reads_shared |= read && shared[i];
    }
    SLOT(node, operation_at) = Py_NewRef(PyTuple_GET_ITEM(plan, OPERATION));
    SLOT(node, edges_at) = edges;
    SLOT(node, saved_at) = saved;
    SLOT(node, output_at) = Py_NewRef(PyTuple_GET_ITEM(plan, KEEPS_OUTPUT) == Py_True ? result : Py_None);
    SLOT(node, shape_at) = shape;
    SLOT(node, dtype_at) = Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)result));
    SLOT(node, extras_at) = Py_NewRef(Py_None);
    if (failed) {
        Py_CLEAR(node);
    }
    else if (reads_shared) {
        PyObject *done = PyObject_CallOneArg(PyTuple_GET_ITEM(plan, SNAPSHOT), node);
        Py_XDECREF(done);
        if (done == NULL) {
            Py_CLEAR(node);
        }
    }
    return node;
}

/* Return the result of the function of raw arrays, NULL with an error where there is none. */
static PyObject *
by_kernel(PyObject *plan, PyObject *const *raw, Py_ssize_t count)
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
    result = by_loop(PyTuple_GET_ITEM(plan, LOOPS), raw + 1, count);
    if (result == NULL) {
        result = by_kernel(plan, raw + 1, count);
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

/* Return who answers a call first by the types of its arguments, borrowed; NULL, with or without an error, where that is
   not known. */
static PyObject *
answer_of(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *answer = PyTuple_GET_ITEM(plan, TABLE);
    for (Py_ssize_t i = 0; i < count && answer != NULL; i++) {
        answer = PyDict_CheckExact(answer) ? PyDict_GetItemWithError(answer, (PyObject *)Py_TYPE(args[i])) : NULL;
    }
    return answer;
}

/* Whether a plan says how plain tensors are computed, and no other library's arrays may be in them. */
static inline int
computes(PyObject *plan)
{
    return PyTuple_GET_ITEM(plan, KERNEL) != Py_None && PyList_GET_SIZE(PyTuple_GET_ITEM(plan, FOREIGN)) == 0;
}

/* Return the plan that computes a tensor beside a number, that of who answers; NULL where there is none. */
static PyObject *
plan_beside_number(PyObject *plan, PyObject *answer)
{
    if (!computes(plan) || !PyFunction_Check(answer) || ((PyFunctionObject *)answer)->vectorcall != entry_call) {
        return NULL;
    }
    PyObject *cls = PyTuple_GET_ITEM(plan, CLS);
    plan = plan_of(answer, MEMBERS);
    return plan != NULL && PyTuple_GET_ITEM(plan, CLS) == cls && PyTuple_GET_ITEM(plan, KERNEL) != Py_None
        && PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT)) == 2 ? plan : NULL;
}

/* Whether an answer is what computes tensors of a subclass, which a function with further parameters does itself. */
static int
computes_subclass(PyObject *plan, PyObject *answer)
{
    if (PyTuple_GET_ITEM(plan, KERNEL) != Py_None) {
        return 0;
    }
    PyObject *attributes = ((PyFunctionObject *)answer)->func_dict;
    return attributes != NULL && PyDict_GetItemWithError(attributes, gives_name) != NULL;
}

/* Have the library's frames removed from the error that is set, as Python does where one leaves a public function. */
static void
hide_frames(PyObject *plan)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *error = PyErr_GetRaisedException();
#else
    PyObject *cls, *error, *trace;
    PyErr_Fetch(&cls, &error, &trace);
    PyErr_NormalizeException(&cls, &error, &trace);
    if (trace != NULL) {
        PyException_SetTraceback(error, trace);
    }
    Py_XDECREF(cls);
    Py_XDECREF(trace);
#endif
    PyObject *done = PyObject_CallFunctionObjArgs(
        PyTuple_GET_ITEM(plan, HIDE), error, PyTuple_GET_ITEM(plan, CALLED), NULL);
    if (done == NULL) {
        Py_DECREF(error);
        return;
    }
    Py_DECREF(done);
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

#ifdef _MSC_VER
#define OF_THREAD static __declspec(thread)
#elif defined(__GNUC__) && defined(__ELF__)
/* Found by an offset rather than by a call, which takes as long as all else that is noted of a call. */
#define OF_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define OF_THREAD static _Thread_local
#endif
#define DEEP 16

/* The calls under way in a thread that are passed on here, where Python has frames: the operation of each, and who answers
   it first. Greenlets, which take turns in a thread, may take each other's away: then less is known of where one is. */
typedef struct {
    int depth;
    struct {PyObject *operation, *first;} calls[DEEP];
} UnderWay;
OF_THREAD UnderWay under_way;

static inline void
drop_to(UnderWay *here, int before)
{
    while (here->depth > before) {
        here->depth--;
        if (here->depth < DEEP) {
            Py_CLEAR(here->calls[here->depth].operation);
            Py_CLEAR(here->calls[here->depth].first);
        }
    }
}

/* Return operation and code of who answers of each call that is passed on here, the innermost last. */
static PyObject *
passed_on(PyObject *module, PyObject *unused)
{
    PyObject *calls = PyList_New(0);
    for (int i = 0; calls != NULL && i < under_way.depth && i < DEEP; i++) {
        PyObject *code = PyFunction_GET_CODE(under_way.calls[i].first);
        PyObject *call = PyTuple_Pack(2, under_way.calls[i].operation, code);
        if (call == NULL || PyList_Append(calls, call) < 0) {
            Py_CLEAR(calls);
        }
        Py_XDECREF(call);
    }
    return calls;
}

/* Return what a call gives of which it is known who answers first, NULL with an error where there is nothing. */
static PyObject *
call_answer(PyObject *plan, PyObject *first, PyObject *const *args, Py_ssize_t count)
{
    UnderWay *here = &under_way;
    int before = here->depth++;
    Py_INCREF(plan); /* a rule may register another one, which drops both */
    Py_INCREF(first);
    if (before < DEEP) {
        here->calls[before].operation = Py_NewRef(PyTuple_GET_ITEM(plan, CALLED));
        here->calls[before].first = Py_NewRef(first);
    }
    PyObject *result = PyObject_Vectorcall(first, args, count, NULL);
    drop_to(here, before);
    if (result == Py_NotImplemented || result == Py_None) {
        PyObject *given = count == 1 ? PyTuple_Pack(1, args[0]) : PyTuple_Pack(2, args[0], args[1]);
        PyObject *named = given == NULL ? NULL : PyDict_New();
        Py_SETREF(result, named == NULL ? NULL : PyObject_CallFunctionObjArgs(
            PyTuple_GET_ITEM(plan, CONTINUE), PyTuple_GET_ITEM(plan, CALLED), first, given, named, result, NULL));
        Py_XDECREF(named);
        Py_XDECREF(given);
    }
    if (result == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        hide_frames(plan);
    }
    Py_DECREF(first);
    Py_DECREF(plan);
    return result;
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

/* Return what a plan computes; NULL with an error, or without one where Python is to compute. */
static PyObject *
compute_or_leave(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    Py_INCREF(plan);
    PyObject *result = compute(plan, args, count);
    Py_DECREF(plan);
    if (result == NULL) {
        is_repeated();
    }
    return result;
}

/* Return what a call gives by a plan, NULL with an error, or without one where Python is to decide. */
static PyObject *
call_by(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    if (PyLong_AsLong(PyTuple_GET_ITEM(plan, COUNT)) != count || PySet_GET_SIZE(PyTuple_GET_ITEM(plan, LIVE)) != 0) {
        return NULL;
    }
    PyObject *cls = PyTuple_GET_ITEM(plan, CLS), *answer, *beside;
    int first = (PyObject *)Py_TYPE(args[0]) == cls;
    if (first && (count == 1 || (PyObject *)Py_TYPE(args[1]) == cls)) {
        return computes(plan) ? compute_or_leave(plan, args, count) : NULL;
    }
    answer = PyTuple_GET_ITEM(plan, CONTINUE) == Py_None ? NULL : answer_of(plan, args, count);
    if (answer == NULL) {
        is_repeated();
        return NULL;
    }
    if (count == 2 && (first ? is_number(args[1]) : is_number(args[0]) && (PyObject *)Py_TYPE(args[1]) == cls)) {
        beside = plan_beside_number(plan, answer);
        return beside == NULL ? NULL : compute_or_leave(beside, args, count);
    }
    return !PyFunction_Check(answer) || computes_subclass(plan, answer) ? NULL : call_answer(plan, answer, args, count);
}

/* Call a function that has a plan. */
static PyObject *
entry_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if ((count == 1 || count == 2) && (names == NULL || PyTuple_GET_SIZE(names) == 0)) {
        PyObject *plan = plan_of(function, MEMBERS), *result = plan == NULL ? NULL : call_by(plan, args, count);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return of_python(function, args, nargsf, names);
}

/* What stands for a call that is left to Python. */
static PyObject *left;

/* Return what a call gives by a plan, `left` where Python is to decide. */
static PyObject *
call_or_leave(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = call_by(plan, args, count);
    return result != NULL || PyErr_Occurred() ? result : Py_NewRef(left);
}

static PyMethodDef call_or_leave_method = {
    "call_or_leave", (PyCFunction)(void (*)(void))call_or_leave, METH_FASTCALL, "Return what a call gives by a plan."};

/* Return the plan of a function of some members, and the loops of its kernel, after a look at them. */
static PyObject *
whole_plan(PyObject *members)
{
    PyObject *loops, *plan;
    if (PyTuple_GET_SIZE(members) != LOOPS || !PyType_Check(PyTuple_GET_ITEM(members, CLS))
        || !PySet_Check(PyTuple_GET_ITEM(members, LIVE)) || !PyList_Check(PyTuple_GET_ITEM(members, FOREIGN))
        || !PyLong_Check(PyTuple_GET_ITEM(members, COUNT))
        || !(PyTuple_GET_ITEM(members, KERNEL) == Py_None || PyCallable_Check(PyTuple_GET_ITEM(members, KERNEL)))
        || !(PyTuple_GET_ITEM(members, RECORD) == Py_None || PyFunction_Check(PyTuple_GET_ITEM(members, RECORD)))) {
        PyErr_SetString(PyExc_TypeError, "attach: the plan is not that of a function of one or two arrays");
        return NULL;
    }
    loops = loops_of(PyTuple_GET_ITEM(members, KERNEL));
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

/* Return what makes calls by a plan, for a function that Python does not call by its pointer. */
static PyObject *
caller(PyObject *module, PyObject *members)
{
    if (!PyTuple_Check(members)) {
        PyErr_SetString(PyExc_TypeError, "caller: expected the members of a plan");
        return NULL;
    }
    PyObject *plan = whole_plan(members), *function;
    if (plan == NULL) {
        return NULL;
    }
    function = PyCFunction_New(&call_or_leave_method, plan);
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

/* Whether the extras of a vertex ask for its gradient. */
static int
has_hooks(PyObject *extras)
{
    if (extras == Py_None) {
        return 0;
    }
    return extras == NULL || Py_TYPE(extras) != extras_type || SLOT(extras, retains_at) != Py_False
        || SLOT(extras, hooks_at) == NULL || !PyDict_CheckExact(SLOT(extras, hooks_at))
        || PyDict_GET_SIZE(SLOT(extras, hooks_at)) != 0;
}

/* Return whether an attribute is true, -1 with an error where that is not to be known. */
static int
is_true(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int answer = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return answer;
}

/* Put a cotangent at a vertex whose shape and dtype it has, or add it to the one there; else have Python do so, which
 * notes in `added` where a sum of its own is. */
static int
put(PyObject *grads, PyObject *vertex, PyObject *g, PyObject *added)
{
    PyObject *before = PyDict_GetItemWithError(grads, vertex);
    if (before != NULL && (PyObject *)Py_TYPE(before) == ndarray && (PyObject *)Py_TYPE(g) == ndarray) {
        PyObject *both[2] = {before, g}, *sum = by_loop(sums, both, 2);
        if (sum != NULL) {
            int failed = PyDict_SetItem(grads, vertex, sum);
            Py_DECREF(sum);
            return failed;
        }
    }
    else if (before == NULL && !PyErr_Occurred() && (PyObject *)Py_TYPE(g) == ndarray
        && (PyObject *)PyArray_DESCR((PyArrayObject *)g) == SLOT(vertex, dtype_at)) {
        PyObject *shape = SLOT(vertex, shape_at);
        int ndim = PyArray_NDIM((PyArrayObject *)g), same = PyTuple_CheckExact(shape) && PyTuple_GET_SIZE(shape) == ndim;
        for (int i = 0; same && i < ndim; i++) {
            same = PyLong_CheckExact(PyTuple_GET_ITEM(shape, i))
                && PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == PyArray_DIM((PyArrayObject *)g, i);
        }
        if (same) {
            return PyDict_SetItem(grads, vertex, g);
        }
    }
    PyObject *done = PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(deposit, grads, vertex, g, added, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Count one edge less that leads to a vertex, and note it where that was the last. */
static int
count_down(PyObject *pending, PyObject *vertex, PyObject *ready)
{
    PyObject *count = PyDict_GetItemWithError(pending, vertex);
    if (count == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetObject(PyExc_KeyError, vertex);
        }
        return -1;
    }
    long left = PyLong_AsLong(count) - 1;
    count = PyLong_FromLong(left);
    int failed = count == NULL || PyDict_SetItem(pending, vertex, count) < 0;
    Py_XDECREF(count);
    return failed || (left == 0 && PyList_Append(ready, vertex) < 0) ? -1 : 0;
}

/* Let the cotangent of a node flow on to its edges. */
static int
flow(PyObject *node, PyObject *g, PyObject *ready, PyObject *grads, PyObject *pending, PyObject *added, int retain)
{
    PyObject *operation = Py_NewRef(SLOT(node, operation_at)), *edges = Py_NewRef(SLOT(node, edges_at));
    PyObject *pulled = PyObject_CallMethodObjArgs(operation, pull_raw_name, node, g, NULL);
    PyObject *incoming = pulled == NULL ? NULL : PySequence_Fast(pulled, "expected a sequence of cotangents");
    int repeats = incoming == NULL ? -1 : retain ? 1 : is_true(operation, repeats_name);
    int failed = repeats < 0;
    if (repeats == 0) {
        Py_XSETREF(SLOT(node, saved_at), Py_NewRef(Py_None));
        Py_XSETREF(SLOT(node, output_at), Py_NewRef(Py_None));
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(edges) && i < PySequence_Fast_GET_SIZE(incoming); i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *part = PySequence_Fast_GET_ITEM(incoming, i);
        if (edge != Py_None) {
            failed = (part != Py_None && put(grads, edge, part, added) < 0) || count_down(pending, edge, ready) < 0;
        }
    }
    Py_XDECREF(pulled);
    Py_XDECREF(incoming);
    Py_DECREF(edges);
    Py_DECREF(operation);
    return failed ? -1 : 0;
}

/* Let cotangents flow through the nodes that are ready, until one is not plain: whether none is left. */
static PyObject *
advance(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 5 || !PyList_CheckExact(args[0]) || !PyDict_CheckExact(args[1]) || !PyDict_CheckExact(args[2])
        || !PySet_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "advance: expected a list, two dicts, a set, and whether the graph is kept");
        return NULL;
    }
    PyObject *ready = args[0], *grads = args[1], *pending = args[2], *added = args[3];
    int retain = PyObject_IsTrue(args[4]);
    Py_ssize_t last;
    while ((last = PyList_GET_SIZE(ready) - 1) >= 0) {
        PyObject *node = PyList_GET_ITEM(ready, last), *g;
        if (deposit == NULL || !is_node(node) || has_hooks(SLOT(node, extras_at)) || SLOT(node, saved_at) == Py_None
            || SLOT(node, saved_at) == NULL || !PyTuple_CheckExact(SLOT(node, edges_at))
            || Py_TYPE(SLOT(node, operation_at)) != derivative_type) {
            Py_RETURN_FALSE;
        }
        g = PyDict_GetItemWithError(grads, node);
        int trusted = g == NULL ? 0 : is_true(SLOT(node, operation_at), trusted_name);
        if (trusted <= 0) {
            return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
        }
        Py_INCREF(node);
        Py_INCREF(g);
        int failed = PyList_SetSlice(ready, last, last + 1, NULL) < 0 || PyDict_DelItem(grads, node) < 0
            || flow(node, g, ready, grads, pending, added, retain) < 0;
        Py_DECREF(g);
        Py_DECREF(node);
        if (failed) {
            return NULL;
        }
    }
    Py_RETURN_TRUE;
}

/* Count the edges to each vertex that can be reached, in a dict that has the roots; return what is left to do. */
static PyObject *
reach(PyObject *module, PyObject *pending)
{
    PyObject *stack = PyDict_CheckExact(pending) ? PyDict_Keys(pending) : NULL, *edges = NULL;
    Py_ssize_t last;
    if (stack == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "reach: expected a dict");
    }
    while ((last = PyList_GET_SIZE(stack) - 1) >= 0) {
        PyObject *vertex = PyList_GET_ITEM(stack, last);
        edges = is_node(vertex) ? Py_NewRef(SLOT(vertex, edges_at)) : PyObject_GetAttr(vertex, edges_name);
        if (edges == NULL || PyList_SetSlice(stack, last, last + 1, NULL) < 0 || !PyTuple_Check(edges)) {
            goto failed;
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges); i++) {
            PyObject *edge = PyTuple_GET_ITEM(edges, i), *before, *after;
            if (edge == Py_None) {
                continue;
            }
            before = PyDict_GetItemWithError(pending, edge);
            if (before == NULL && (PyErr_Occurred() || PyList_Append(stack, edge) < 0)) {
                goto failed;
            }
            after = PyLong_FromLong(before == NULL ? 1 : PyLong_AsLong(before) + 1);
            int stored = after != NULL && PyDict_SetItem(pending, edge, after) == 0;
            Py_XDECREF(after);
            if (!stored) {
                goto failed;
            }
        }
        Py_CLEAR(edges);
    }
    return stack;
failed:
    Py_DECREF(stack);
    Py_XDECREF(edges);
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "reach: edges are no tuple");
}

/* The members of the tuple of what reads or writes elements. */
enum {BASE, ANSWERS, LIVE_HERE, FOREIGN_HERE, SHARE, GO_ON, FUNCTION, INDEX_MEMBERS};

/* Whether a part of an index is an integer, a slice, None or an ellipsis. */
static inline int
is_basic_part(PyObject *part)
{
    return PyLong_CheckExact(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis;
}

static int
is_basic(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) {
        return is_basic_part(key);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        if (!is_basic_part(PyTuple_GET_ITEM(key, i))) {
            return 0;
        }
    }
    return 1;
}

/* Return the array of a plain tensor of NumPy's outside the graph, borrowed; NULL for anything else. */
static inline PyObject *
plain_array(PyObject *value)
{
    PyObject *array = SLOT(value, array_at);
    return array != NULL && (PyObject *)Py_TYPE(array) == ndarray && SLOT(value, node_at) == Py_None ? array : NULL;
}

/* Return the raw index of an index that is no tuple with arrays, borrowed; NULL for another one. */
static PyObject *
raw_index(PyObject *base, PyObject *key)
{
    if ((PyObject *)Py_TYPE(key) == base) {
        return plain_array(key);
    }
    return is_basic(key) || (PyObject *)Py_TYPE(key) == ndarray ? key : NULL;
}

/* Return a new tuple of the parts of an index and an ellipsis, which makes an array of what would be a number. */
static PyObject *
with_ellipsis(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) {
        return PyTuple_Pack(2, key, Py_Ellipsis);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(key);
    PyObject *longer = PyTuple_New(count + 1);
    if (longer != NULL) {
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(longer, i, Py_NewRef(PyTuple_GET_ITEM(key, i)));
        }
        PyTuple_SET_ITEM(longer, count, Py_NewRef(Py_Ellipsis));
    }
    return longer;
}

/* Note that a new tensor outside the graph shows the memory of another one. */
static int
note_view(PyObject *share, PyObject *view, PyObject *base)
{
    PyObject *memory = SLOT(base, memory_at), *views, *full;
    if (memory != NULL && Py_TYPE(memory) == memory_type) {
        views = SLOT(memory, views_at);
        full = SLOT(memory, full_at);
        if (views != NULL && PyList_CheckExact(views) && full != NULL && PyLong_CheckExact(full)
            && PyList_GET_SIZE(views) < PyLong_AsSsize_t(full)) {
            PyObject *reference = PyWeakref_NewRef(view, NULL);
            int failed = reference == NULL || PyList_Append(views, reference) < 0;
            Py_XDECREF(reference);
            if (!failed) {
                Py_XSETREF(SLOT(view, memory_at), Py_NewRef(memory));
            }
            return failed ? -1 : 0;
        }
    }
    PyObject *both[3] = {NULL, view, base}, *done = PyObject_Vectorcall(share, both + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Return a tensor around an array, outside the graph. */
static PyObject *
tensor_of(PyTypeObject *cls, PyObject *array)
{
    PyObject *tensor = cls->tp_alloc(cls, 0);
    if (tensor != NULL) {
        SLOT(tensor, array_at) = Py_NewRef(array);
        SLOT(tensor, memory_at) = Py_NewRef(Py_None);
        SLOT(tensor, node_at) = Py_NewRef(Py_None);
    }
    return tensor;
}

/* Return the elements of a plain tensor, or of one of a subclass, at an index; NULL, with or without an error, where Python is to say. */
static PyObject *
select_plain(PyObject *plan, PyObject *x, PyObject *key)
{
    PyObject *base = PyTuple_GET_ITEM(plan, BASE), *array = plain_array(x), *found, *tensor;
    PyObject *raw = array == NULL ? NULL : raw_index(base, key);
    if (raw == NULL) {
        return NULL;
    }
    int basic = raw == key && (PyObject *)Py_TYPE(key) != ndarray;
    Py_INCREF(array);
    Py_INCREF(raw);
    if (PyLong_CheckExact(raw)) {
        PyObject *longer = with_ellipsis(raw);
        found = longer == NULL ? NULL : PyObject_GetItem(array, longer);
        Py_XDECREF(longer);
    }
    else {
        found = PyObject_GetItem(array, raw);
        if (found != NULL && basic && PyTuple_CheckExact(raw) && (PyObject *)Py_TYPE(found) != ndarray) {
            PyObject *longer = with_ellipsis(raw);
            Py_SETREF(found, longer == NULL ? NULL : PyObject_GetItem(array, longer));
            Py_XDECREF(longer);
        }
    }
    Py_DECREF(raw);
    Py_DECREF(array);
    if (found == NULL || (PyObject *)Py_TYPE(found) != ndarray
        || (!basic && PyArray_BASE((PyArrayObject *)found) != NULL)) {
        Py_XDECREF(found);
        return NULL;
    }
    tensor = tensor_of(Py_TYPE(x), found);
    Py_DECREF(found);
    if (tensor != NULL && basic && note_view(PyTuple_GET_ITEM(plan, SHARE), tensor, x) < 0) {
        Py_CLEAR(tensor);
    }
    if (tensor != NULL && (PyObject *)Py_TYPE(x) != base) {
        PyObject *sources = PyTuple_Pack(1, x);
        PyObject *done = sources == NULL ? NULL
            : PyObject_CallMethodObjArgs(tensor, finalize_name, PyTuple_GET_ITEM(plan, FUNCTION), sources, NULL);
        Py_XDECREF(sources);
        if (done == NULL) {
            Py_CLEAR(tensor);
        }
        Py_XDECREF(done);
    }
    return tensor;
}

/* Write a number or a plain array into a plain tensor whose memory no other one shows: 1 where it was done. */
static int
assign_plain(PyObject *plan, PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *base = PyTuple_GET_ITEM(plan, BASE), *array = plain_array(x), *memory = SLOT(x, memory_at), *counter;
    PyObject *raw = array == NULL ? NULL : raw_index(base, key), *new = value;
    if (raw == NULL || memory == NULL || Py_TYPE(memory) != memory_type) {
        return 0; /* whose memory is made at the first change */
    }
    if ((PyObject *)Py_TYPE(value) == base) {
        new = plain_array(value);
    }
    else if (!is_number(value) && !PyBool_Check(value) && !PyComplex_CheckExact(value) && (PyObject *)Py_TYPE(value) != ndarray) {
        return 0;
    }
    PyObject *views = SLOT(memory, views_at), *behind = SLOT(memory, behind_at);
    if (new == NULL || views == NULL || !PyList_CheckExact(views) || PyList_GET_SIZE(views) != 1 || behind == NULL
        || !PyDict_CheckExact(behind) || PyDict_GET_SIZE(behind) != 0 || SLOT(memory, outside_at) != Py_False) {
        return 0;
    }
    counter = SLOT(memory, version_at);
    if (counter == Py_None) {
        counter = memory;
    }
    if (counter == NULL || Py_TYPE(counter) != memory_type || SLOT(counter, changes_at) == NULL
        || !PyLong_CheckExact(SLOT(counter, changes_at)) || SLOT(counter, watchers_at) != Py_None) {
        return 0;
    }
    Py_INCREF(array);
    Py_INCREF(raw);
    Py_INCREF(new);
    Py_INCREF(counter);
    int failed = PyObject_SetItem(array, raw, new) < 0;
    PyObject *changes = failed ? NULL : PyLong_FromLongLong(PyLong_AsLongLong(SLOT(counter, changes_at)) + 1);
    if (changes != NULL) {
        Py_XSETREF(SLOT(counter, changes_at), changes);
    }
    Py_DECREF(counter);
    Py_DECREF(new);
    Py_DECREF(raw);
    Py_DECREF(array);
    return changes != NULL;
}

/* Return the types in an index: that of one that is no tuple, else a tuple. */
static PyObject *
types_in(PyObject *key)
{
    if (!PyTuple_CheckExact(key)) {
        return Py_NewRef((PyObject *)Py_TYPE(key));
    }
    PyObject *types = PyTuple_New(PyTuple_GET_SIZE(key));
    for (Py_ssize_t i = 0; types != NULL && i < PyTuple_GET_SIZE(key); i++) {
        PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(PyTuple_GET_ITEM(key, i))));
    }
    return types;
}

/* Return what the first answer to a call of these types gives, None where none is known and Python is to decide. */
static PyObject *
answer_of_types(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *types = types_in(args[1]), *path, *first, *result;
    if (types == NULL) {
        return NULL;
    }
    path = count == 2 ? PyTuple_Pack(2, Py_TYPE(args[0]), types) : PyTuple_Pack(3, Py_TYPE(args[0]), types, Py_TYPE(args[2]));
    Py_DECREF(types);
    first = path == NULL ? NULL : PyDict_GetItemWithError(PyTuple_GET_ITEM(plan, ANSWERS), path);
    Py_XDECREF(path);
    if (first == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (PyFunction_Check(first) && ((PyFunctionObject *)first)->func_dict != NULL) {
        PyObject *gives = PyDict_GetItemWithError(((PyFunctionObject *)first)->func_dict, gives_name);
        if (gives == NULL && PyErr_Occurred()) {
            return NULL;
        }
        if (gives != NULL) { /* a subclass that nothing overrides */
            int reads = gives == (PyObject *)Py_TYPE(args[0]) && count == 2 && is_basic(args[1])
                && PyList_GET_SIZE(PyTuple_GET_ITEM(plan, FOREIGN_HERE)) == 0;
            result = reads ? select_plain(plan, args[0], args[1]) : NULL;
            return result != NULL ? result : is_repeated() ? Py_NewRef(Py_None) : NULL;
        }
    }
    Py_INCREF(first);
    result = PyObject_Vectorcall(first, args, count, NULL);
    if (result == Py_NotImplemented || (result == Py_None && count == 2)) {
        PyObject *all[5] = {first, result, args[0], args[1], count == 2 ? NULL : args[2]};
        Py_SETREF(result, PyObject_Vectorcall(PyTuple_GET_ITEM(plan, GO_ON), all, count + 2, NULL));
    }
    else if (result == Py_None) {
        Py_SETREF(result, Py_NewRef(Py_True)); /* written */
    }
    Py_DECREF(first);
    return result;
}

/* Whether nobody but the types of the arguments decides. */
static inline int
is_quiet(PyObject *plan)
{
    return PySet_GET_SIZE(PyTuple_GET_ITEM(plan, LIVE_HERE)) == 0;
}

/* Return the elements at an index, None where Python is to say. */
static PyObject *
select_elements(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !is_quiet(plan)) {
        Py_RETURN_NONE;
    }
    if ((PyObject *)Py_TYPE(args[0]) != PyTuple_GET_ITEM(plan, BASE)) {
        return answer_of_types(plan, args, 2);
    }
    PyObject *result = NULL;
    if (PyList_GET_SIZE(PyTuple_GET_ITEM(plan, FOREIGN_HERE)) == 0) {
        result = select_plain(plan, args[0], args[1]);
    }
    return result != NULL ? result : is_repeated() ? Py_NewRef(Py_None) : NULL;
}

/* Write elements and return something else than None, which says that Python is to do so. */
static PyObject *
assign_elements(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_quiet(plan)) {
        Py_RETURN_NONE;
    }
    if ((PyObject *)Py_TYPE(args[0]) != PyTuple_GET_ITEM(plan, BASE)) {
        return answer_of_types(plan, args, 3);
    }
    int done = PyList_GET_SIZE(PyTuple_GET_ITEM(plan, FOREIGN_HERE)) == 0 && assign_plain(plan, args[0], args[1], args[2]);
    return done ? Py_NewRef(Py_True) : is_repeated() ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef select_method = {
    "select", (PyCFunction)(void (*)(void))select_elements, METH_FASTCALL, "Return the elements at an index by a plan."};
static PyMethodDef assign_method = {
    "assign", (PyCFunction)(void (*)(void))assign_elements, METH_FASTCALL, "Write elements at an index by a plan."};

/* Return a tensor around the result of a function of a plain tensor outside the graph, whose memory it may show. */
static PyObject *
wrapped(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *array = args[0], *x = args[1], *tensor = tensor_of(Py_TYPE(x), array), *own = SLOT(x, array_at);
    PyObject *base = PyArray_BASE((PyArrayObject *)array);
    if (tensor == NULL || (array != own && base == NULL)) {
        return tensor;
    }
    int known = array == own || base == own || base == PyArray_BASE((PyArrayObject *)own), failed;
    if (known) {
        failed = note_view(PyTuple_GET_ITEM(plan, 0), tensor, x) < 0;
    }
    else {
        PyObject *done = PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(plan, 1), tensor, x, NULL);
        failed = done == NULL;
        Py_XDECREF(done);
    }
    if (failed) {
        Py_CLEAR(tensor);
    }
    return tensor;
}

static PyMethodDef wrapped_method = {
    "wrapped", (PyCFunction)(void (*)(void))wrapped, METH_FASTCALL, "Return a tensor around a result of NumPy's."};

/* Return what makes tensors of results, by what notes that memory is shared, and what finds out whether it is. */
static PyObject *
wrapper(PyObject *module, PyObject *args)
{
    if (!PyTuple_Check(args) || PyTuple_GET_SIZE(args) != 2) {
        PyErr_SetString(PyExc_TypeError, "wrapper: expected two functions");
        return NULL;
    }
    return PyCFunction_New(&wrapped_method, args);
}

/* Return what reads elements by a plan, and what writes them. */
static PyObject *
indexer(PyObject *module, PyObject *args)
{
    PyObject *members;
    int writes;
    if (!PyArg_ParseTuple(args, "O!p", &PyTuple_Type, &members, &writes)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(members) != INDEX_MEMBERS || !PyType_Check(PyTuple_GET_ITEM(members, BASE))
        || !PyDict_CheckExact(PyTuple_GET_ITEM(members, ANSWERS)) || !PySet_Check(PyTuple_GET_ITEM(members, LIVE_HERE))
        || !PyList_Check(PyTuple_GET_ITEM(members, FOREIGN_HERE)) || !PyCallable_Check(PyTuple_GET_ITEM(members, SHARE))
        || !PyCallable_Check(PyTuple_GET_ITEM(members, GO_ON))) {
        PyErr_SetString(PyExc_TypeError, "indexer: the members are not those of a plan");
        return NULL;
    }
    return PyCFunction_New(writes ? &assign_method : &select_method, members);
}

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

/* Note what is the same for all functions: the classes that tensors and nodes have their slots from, and NumPy's types. */
static PyObject *
start(PyObject *module, PyObject *args)
{
    PyObject *storage, *a_function, *known_deposit, *add;
    if (!PyArg_ParseTuple(args, "O!OOO!OOOOOOOOO", &PyFunction_Type, &a_function, &known_deposit, &add, &PyType_Type, &storage,
                          &ndarray, &ufunc, &node_type, &call_node_type, &leaf_type, &extras_type, &spec_type, &derivative_type, &memory_type)
        || (sums = loops_of(add)) == NULL) {
        return NULL;
    }
    PyObject *node = (PyObject *)node_type, *spec = (PyObject *)spec_type;
    of_python = ((PyFunctionObject *)a_function)->vectorcall;
    if ((array_at = offset_of(storage, "array")) < 0 || (node_at = offset_of(storage, "_node")) < 0
        || (memory_at = offset_of(storage, "_memory")) < 0 || (edges_at = offset_of(node, "edges")) < 0
        || (operation_at = offset_of(node, "operation")) < 0 || (saved_at = offset_of(node, "saved")) < 0
        || (output_at = offset_of(node, "output")) < 0 || (shape_at = offset_of(node, "shape")) < 0
        || (dtype_at = offset_of(node, "dtype")) < 0 || (extras_at = offset_of(node, "extras")) < 0
        || (views_at = offset_of((PyObject *)memory_type, "views")) < 0 || (full_at = offset_of((PyObject *)memory_type, "full")) < 0
        || (behind_at = offset_of((PyObject *)memory_type, "behind")) < 0
        || (outside_at = offset_of((PyObject *)memory_type, "outside")) < 0
        || (version_at = offset_of((PyObject *)memory_type, "_version")) < 0
        || (changes_at = offset_of((PyObject *)memory_type, "changes")) < 0
        || (watchers_at = offset_of((PyObject *)memory_type, "watchers")) < 0
        || (hooks_at = offset_of((PyObject *)extras_type, "hooks")) < 0
        || (retains_at = offset_of((PyObject *)extras_type, "retains")) < 0
        || (spec_shape_at = offset_of(spec, "shape")) < 0 || (spec_dtype_at = offset_of(spec, "dtype")) < 0
        || (spec_strides_at = offset_of(spec, "strides")) < 0 || (spec_device_at = offset_of(spec, "device")) < 0) {
        return NULL;
    }
    PyObject *held[] = {ndarray, ufunc, node, (PyObject *)call_node_type, (PyObject *)leaf_type, (PyObject *)extras_type, spec,
                        (PyObject *)derivative_type, (PyObject *)memory_type, known_deposit};
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
        Py_INCREF(held[i]);
    }
    deposit = known_deposit;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"advance", (PyCFunction)(void (*)(void))advance, METH_FASTCALL, "Let cotangents flow through plain nodes."},
    {"reach", reach, METH_O, "Count the edges to each vertex that can be reached, in a dict that has the roots."},
    {"attach", attach, METH_VARARGS, "Let calls of a function go through this entry point, by a plan."},
    {"caller", caller, METH_O, "Return what makes calls by a plan, and gives `left` for what it leaves to Python."},
    {"indexer", indexer, METH_VARARGS, "Return what reads elements of tensors at an index, or writes them, by a plan."},
    {"reducer", reducer, METH_VARARGS, "Return the reduction of a universal function, of small arrays by its loop."},
    {"wrapper", wrapper, METH_VARARGS, "Return what makes tensors of results of one plain tensor."},
    {"passed_on", passed_on, METH_NOARGS, "Return operation and code of each call under way that is passed on here."},
    {"start", start, METH_VARARGS, "Note functions of Python, the classes that have the slots, and NumPy's."},
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
    pull_raw_name = PyUnicode_InternFromString("pull_raw");
    repeats_name = PyUnicode_InternFromString("repeats");
    trusted_name = PyUnicode_InternFromString("trusted");
    finalize_name = PyUnicode_InternFromString("__tensor_finalize__");
    gives_name = PyUnicode_InternFromString("gives");
    edges_name = PyUnicode_InternFromString("edges");
    left = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    PyObject *module = PyErr_Occurred() ? NULL : PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "left", left) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
