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
enum {NODE_CODE, NODE_CLS, OPERATION, ENABLED, KEEPS_OUTPUT, TENSORS, READERS, SNAPSHOT, SPEC, EDGES, NODE_MEMBERS};

static vectorcallfunc of_python; /* what functions are called by */
static PyObject *ndarray, *ufunc, *plan_name;
static PyArray_Descr *double_dtype, *float_dtype; /* those without metadata */
static Py_ssize_t array_at, node_at, memory_at;
static PyTypeObject *node_type, *call_node_type, *leaf_type, *extras_type, *spec_type, *derivative_type;
static PyObject *deposit, *sums, *pull_raw_name, *repeats_name, *trusted_name, *edges_name;
static Py_ssize_t edges_at, operation_at, saved_at, output_at, shape_at, dtype_at, extras_at; /* of nodes */
static Py_ssize_t keywords_at, outputs_at; /* of nodes of calls */
static PyTypeObject *storage_type;
static Py_ssize_t hooks_at, retains_at; /* of extras */
static PyTypeObject *memory_type;
static Py_ssize_t views_at, full_at, behind_at, outside_at, version_at, changes_at, watchers_at; /* of memories */
static PyObject *gives_name, *finalize_name, *track_name, *pull_name, *kernel_name, *slots_name, *dict_name;
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

#include "_nodes.h"

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
    PyObject *raw[3] = {NULL}, *result, *tensor, *record; /* the first is room that the callee may use */
    int flows = 0;
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
        PyObject *node = node_of(record, result, args, count, NULL, NULL);
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

#include "_backward.h"
#include "_indexing.h"
#include "_reductions.h"
#include "_spelled.h"

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
        || (keywords_at = offset_of((PyObject *)call_node_type, "keywords")) < 0
        || (outputs_at = offset_of((PyObject *)call_node_type, "outputs")) < 0
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
    storage_type = (PyTypeObject *)Py_NewRef(storage);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"advance", (PyCFunction)(void (*)(void))advance, METH_FASTCALL, "Let cotangents flow through plain nodes."},
    {"reach", reach, METH_O, "Count the edges to each vertex that can be reached, in a dict that has the roots."},
    {"attach", attach, METH_VARARGS, "Let calls of a function go through this entry point, by a plan."},
    {"caller", caller, METH_O, "Return what makes calls by a plan, and gives `left` for what it leaves to Python."},
    {"flows", flows, METH_O, "Return what makes calls by kernels."},
    {"indexer", indexer, METH_VARARGS, "Return what reads elements of tensors at an index, or writes them, by a plan."},
    {"noter", noter, METH_O, "Return what makes the nodes of calls with parameters."},
    {"reducer", reducer, METH_VARARGS, "Return the reduction of a universal function, of small arrays by its loop."},
    {"wrapper", wrapper, METH_VARARGS, "Return what makes tensors of results of one plain tensor, and what notes views."},
    {"passed_on", passed_on, METH_NOARGS, "Return operation and code of each call under way that is passed on here."},
    {"spell", spell, METH_O, "Let calls of a function be carried out by what is known of its types."},
    {"speller", speller, METH_O, "Return what carries out calls by what is known of their types."},
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
    track_name = PyUnicode_InternFromString("track_memory");
    pull_name = PyUnicode_InternFromString("pull");
    kernel_name = PyUnicode_InternFromString("kernel");
    slots_name = PyUnicode_InternFromString("__dispatch_slots__");
    dict_name = PyUnicode_InternFromString("__dict__");
    edges_name = PyUnicode_InternFromString("edges");
    left = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    PyObject *module = PyErr_Occurred() ? NULL : PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "left", left) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
