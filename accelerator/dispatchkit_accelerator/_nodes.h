/* The nodes of calls, as Python makes them: of functions of arrays alone, of those with parameters, and of calls by kernels
   that say themselves how gradients flow. `_entry.c` includes this, and has the slots that it knows nodes and tensors by. */

#ifndef DISPATCHKIT_NODES_H
#define DISPATCHKIT_NODES_H

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

/* Return the vertex of an argument, borrowed: None where it has none; NULL where Python is to find it, such as that of a view
   whose memory was changed. */
static inline PyObject *
vertex_of(PyObject *tensor)
{
    PyObject *vertex = SLOT(tensor, node_at);
    return vertex != NULL && (vertex == Py_None || is_node(vertex) || Py_TYPE(vertex) == leaf_type) ? vertex : NULL;
}

/* Return what a node keeps of an argument that no rule reads: what is to be known of a tensor's array, or a number; NULL,
   with or without an error, where Python is to say. */
static PyObject *
kept_unread(PyObject *plan, PyObject *value, int tensor, int in_call)
{
    if (!in_call && PyTuple_GET_ITEM(plan, SPEC) != Py_True) {
        Py_RETURN_NONE;
    }
    int known = tensor ? (PyObject *)Py_TYPE(SLOT(value, array_at)) == ndarray : is_number(value);
    return known ? spec_of(value) : NULL;
}

/* Return what a node keeps of its arguments, and the rest of those of a call; NULL, with or without an error, where Python is
   to say. `shared` tells whether the memory of one that is read may be another's, too. */
static PyObject *
kept_of(PyObject *plan, PyObject *const *args, PyObject *const *vertices, Py_ssize_t count, PyObject *rest, int *shared)
{
    long tensors = PyLong_AsLong(PyTuple_GET_ITEM(plan, TENSORS));
    Py_ssize_t more = rest == NULL ? 0 : PyTuple_GET_SIZE(rest);
    PyObject *saved = PyTuple_New(count + more);
    for (Py_ssize_t i = 0; saved != NULL && i < count; i++) {
        long readers = PyLong_AsLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(plan, READERS), i));
        int read = 0, tensor = tensors >> i & 1;
        for (Py_ssize_t j = 0; j < count; j++) {
            read |= (readers >> j & 1) && vertices[j] != NULL;
        }
        PyObject *kept = read ? Py_NewRef(args[i]) : kept_unread(plan, args[i], tensor, rest != NULL);
        if (kept == NULL) {
            Py_CLEAR(saved);
            break;
        }
        PyTuple_SET_ITEM(saved, i, kept);
        *shared |= read && tensor && SLOT(args[i], memory_at) != Py_None;
    }
    for (Py_ssize_t i = 0; saved != NULL && i < more; i++) {
        PyTuple_SET_ITEM(saved, count + i, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
    }
    return saved;
}

/* Return a new node of an operation, of a call where there are keywords; NULL with an error, and takes over what is kept. */
static PyObject *
new_node(PyTypeObject *cls, PyObject *operation, PyObject *edges, PyObject *saved, PyArrayObject *result, PyObject *keywords)
{
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(result), PyArray_DIMS(result));
    PyObject *node = edges == NULL || saved == NULL || shape == NULL ? NULL : cls->tp_alloc(cls, 0);
    if (node == NULL) {
        Py_XDECREF(edges);
        Py_XDECREF(saved);
        Py_XDECREF(shape);
        return NULL;
    }
    SLOT(node, operation_at) = Py_NewRef(operation);
    SLOT(node, edges_at) = edges;
    SLOT(node, saved_at) = saved;
    SLOT(node, output_at) = Py_NewRef(Py_None);
    SLOT(node, shape_at) = shape;
    SLOT(node, dtype_at) = Py_NewRef((PyObject *)PyArray_DESCR(result));
    SLOT(node, extras_at) = Py_NewRef(Py_None);
    if (keywords != NULL) {
        SLOT(node, keywords_at) = Py_NewRef(keywords);
        SLOT(node, outputs_at) = Py_NewRef(Py_None);
    }
    return node;
}

/* Have versions of shared memory noted by a node, which is given back; NULL with an error. */
static PyObject *
with_versions(PyObject *snapshot, PyObject *node)
{
    PyObject *done = node == NULL ? NULL : PyObject_CallOneArg(snapshot, node);
    if (done == NULL) {
        Py_CLEAR(node);
    }
    Py_XDECREF(done);
    return node;
}

/* Whether gradients are recorded, -1 with an error. */
static int
is_recording(PyObject *enabled)
{
    PyObject *answer = PyObject_CallNoArgs(enabled);
    int on = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return on;
}

/* The most arrays of a call whose nodes are made here. */
#define FEW 8

/* Return the node of a result, None where it has none; NULL with or without an error where Python is to make it. `rest` and
   `keywords` are the other arguments of a call with parameters, NULL of one without. */
static PyObject *
node_of(PyObject *record, PyObject *result, PyObject *const *args, Py_ssize_t count, PyObject *rest, PyObject *keywords)
{
    PyObject *plan = plan_of(record, NODE_MEMBERS), *vertices[FEW] = {NULL}, *node;
    int shared = 0;
    if (plan == NULL || count > FEW || PyTuple_GET_SIZE(PyTuple_GET_ITEM(plan, READERS)) != count
        || (PyTuple_GET_ITEM(plan, NODE_CLS) == (PyObject *)call_node_type) != (rest != NULL)) {
        return NULL;
    }
    long tensors = PyLong_AsLong(PyTuple_GET_ITEM(plan, TENSORS));
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *vertex = tensors >> i & 1 ? vertex_of(args[i]) : Py_None;
        if (vertex == NULL) {
            return NULL;
        }
        vertices[i] = vertex == Py_None ? NULL : vertex;
    }
    int on = is_recording(PyTuple_GET_ITEM(plan, ENABLED));
    if (on > 0 && rest != NULL) {
        char kind = PyArray_DESCR((PyArrayObject *)result)->kind;
        on = kind == 'f' || kind == 'c';
    }
    if (on <= 0) {
        return on == 0 ? Py_NewRef(Py_None) : NULL;
    }
    PyObject *saved = kept_of(plan, args, vertices, count, rest, &shared);
    Py_ssize_t places = PyLong_AsSsize_t(PyTuple_GET_ITEM(plan, EDGES));
    PyObject *edges = saved == NULL ? NULL : PyTuple_New(places);
    for (Py_ssize_t i = 0; edges != NULL && i < places; i++) {
        PyTuple_SET_ITEM(edges, i, Py_NewRef(i >= count || vertices[i] == NULL ? Py_None : vertices[i]));
    }
    node = new_node((PyTypeObject *)PyTuple_GET_ITEM(plan, NODE_CLS), PyTuple_GET_ITEM(plan, OPERATION), edges, saved,
                    (PyArrayObject *)result, keywords);
    if (node != NULL && PyTuple_GET_ITEM(plan, KEEPS_OUTPUT) == Py_True) {
        Py_SETREF(SLOT(node, output_at), Py_NewRef(result));
    }
    return node != NULL && shared ? with_versions(PyTuple_GET_ITEM(plan, SNAPSHOT), node) : node;
}

/* Return the node of a call with parameters: of its result, its arrays, and its other arguments by place and by name. */
static PyObject *
note_call(PyObject *record, PyObject *const *args, Py_ssize_t count)
{
    PyObject *node = NULL;
    if (count > 3 && (PyObject *)Py_TYPE(args[0]) == ndarray && PyTuple_CheckExact(args[count - 2])
        && PyDict_CheckExact(args[count - 1])) {
        node = node_of(record, args[0], args + 1, count - 3, args[count - 2], args[count - 1]);
    }
    if (node != NULL || PyErr_Occurred()) {
        return node;
    }
    return PyObject_Vectorcall(record, args, count, NULL);
}

static PyMethodDef note_call_method = {
    "note_call", (PyCFunction)(void (*)(void))note_call, METH_FASTCALL, "Return the node of a call with parameters."};

/* Return what makes the nodes of calls with parameters, as a function of Python does that has the plan. */
static PyObject *
noter(PyObject *module, PyObject *record)
{
    if (!PyFunction_Check(record)) {
        PyErr_SetString(PyExc_TypeError, "noter: expected a function");
        return NULL;
    }
    return PyCFunction_New(&note_call_method, record);
}

/* Whether nothing in an argument of a call has memory whose versions count. */
static int
has_no_versions(PyObject *value)
{
    if (PyObject_TypeCheck(value, storage_type)) {
        return SLOT(value, memory_at) == Py_None;
    }
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        return 1;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        if (!is_number(PySequence_Fast_GET_ITEM(value, i))) {
            return 0;
        }
    }
    return 1;
}

/* Return the node of a call that a kernel computed, which keeps all arguments; NULL, with or without an error, where Python is
   to make it. */
static PyObject *
flow_node(PyObject *operation, PyObject *leaves, PyObject *saved, PyObject *keywords, PyObject *result, PyObject *snapshot)
{
    Py_ssize_t places = PySequence_Fast_GET_SIZE(leaves), at = 0;
    PyObject *edges = PyTuple_New(places), *name, *value;
    for (Py_ssize_t i = 0; edges != NULL && i < places; i++) {
        PyObject *leaf = PySequence_Fast_GET_ITEM(leaves, i);
        PyObject *vertex = PyObject_TypeCheck(leaf, storage_type) ? vertex_of(leaf) : Py_None;
        if (vertex == NULL) {
            Py_DECREF(edges);
            return NULL;
        }
        PyTuple_SET_ITEM(edges, i, Py_NewRef(vertex));
    }
    PyObject *node = new_node(call_node_type, operation, edges, Py_NewRef(saved), (PyArrayObject *)result, keywords);
    int plain = 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++) {
        plain &= has_no_versions(PyTuple_GET_ITEM(saved, i));
    }
    while (PyDict_Next(keywords, &at, &name, &value)) {
        plain &= has_no_versions(value);
    }
    return node == NULL || plain ? node : with_versions(snapshot, node);
}

/* Return what is computed with of an argument, a new reference; NULL, with or without an error, where Python is to find it. */
static PyObject *
raw_of(PyObject *value, PyObject *plain)
{
    if (PyObject_TypeCheck(value, storage_type)) {
        PyObject *array = SLOT(value, array_at);
        return array != NULL && (PyObject *)Py_TYPE(array) == ndarray ? Py_NewRef(array) : NULL;
    }
    int known = PyTuple_Check(value) || PyList_Check(value)
        ? has_no_versions(value) : PySet_Contains(plain, (PyObject *)Py_TYPE(value));
    return known > 0 ? Py_NewRef(value) : NULL;
}

/* The members of the tuple of what records calls by kernels, and the most arguments of one that is called here. */
enum {PLAIN, SAVED, SNAPSHOTS, FLOW_MEMBERS};
#define MOST 16

/* Return what a kernel gives of a call: the result, and what takes its cotangent back; NULL with or without an error. */
static PyObject *
answer_of_flow(PyObject *flow, PyObject *args, PyObject *keywords, PyObject *plain)
{
    Py_ssize_t places = PyTuple_GET_SIZE(args), count = 0, all = places + PyDict_GET_SIZE(keywords), at = 0;
    PyObject *raw[MOST + 1], **values = raw + 1, *name, *value, *answer = NULL;
    PyObject *names = all > MOST ? NULL : PyTuple_New(all - places);
    int known = names != NULL;
    for (; known && count < places; count += known) {
        known = (values[count] = raw_of(PyTuple_GET_ITEM(args, count), plain)) != NULL;
    }
    while (known && PyDict_Next(keywords, &at, &name, &value)) {
        known = (values[count] = raw_of(value, plain)) != NULL;
        if (known) {
            PyTuple_SET_ITEM(names, count++ - places, Py_NewRef(name));
        }
    }
    if (known) {
        answer = PyObject_Vectorcall(flow, values, places | PY_VECTORCALL_ARGUMENTS_OFFSET, all > places ? names : NULL);
    }
    while (count > 0) {
        Py_DECREF(values[--count]);
    }
    Py_XDECREF(names);
    return answer;
}

/* by_flow(operation, kernel, flow, cls, leaves, args, keywords): the tensor of a call that a kernel computes and says how
   gradients flow through, with its node; what the kernel gives where Python is to go on with that, None where it is to call
   the kernel. */
static PyObject *
by_flow(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    if (count != 7 || !PyType_Check(args[3]) || !(PyList_CheckExact(args[4]) || PyTuple_CheckExact(args[4]))
        || !PyTuple_CheckExact(args[5]) || !PyDict_CheckExact(args[6])) {
        Py_RETURN_NONE;
    }
    PyObject *answer = answer_of_flow(args[2], args[5], args[6], PyTuple_GET_ITEM(plan, PLAIN));
    if (answer == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (!PyTuple_CheckExact(answer) || PyTuple_GET_SIZE(answer) != 2
        || (PyObject *)Py_TYPE(PyTuple_GET_ITEM(answer, 0)) != ndarray) {
        return answer;
    }
    PyObject *result = PyTuple_GET_ITEM(answer, 0), *node = NULL, *tensor = NULL;
    char kind = PyArray_DESCR((PyArrayObject *)result)->kind;
    PyObject *saved = kind == 'f' || kind == 'c' ? PyObject_CallOneArg(PyTuple_GET_ITEM(plan, SAVED), args[5]) : NULL;
    if (saved != NULL && PyObject_SetAttr(saved, pull_name, PyTuple_GET_ITEM(answer, 1)) == 0
        && PyObject_SetAttr(saved, kernel_name, args[1]) == 0) {
        node = flow_node(args[0], args[4], saved, args[6], result, PyTuple_GET_ITEM(plan, SNAPSHOTS));
    }
    if (node != NULL && (tensor = tensor_of((PyTypeObject *)args[3], result)) != NULL) {
        Py_SETREF(SLOT(tensor, node_at), Py_NewRef(node));
    }
    Py_XDECREF(saved);
    Py_XDECREF(node);
    if (tensor == NULL && !PyErr_Occurred()) {
        return answer;
    }
    Py_DECREF(answer);
    return tensor;
}

static PyMethodDef by_flow_method = {
    "by_flow", (PyCFunction)(void (*)(void))by_flow, METH_FASTCALL, "Return the tensor of a call by a kernel, with its node."};

/* Return what makes calls by kernels: by the types of what holds no arrays, the class of what is saved, and what notes
   versions. */
static PyObject *
flows(PyObject *module, PyObject *members)
{
    if (!PyTuple_Check(members) || PyTuple_GET_SIZE(members) != FLOW_MEMBERS || !PyAnySet_Check(PyTuple_GET_ITEM(members, PLAIN))
        || !PyCallable_Check(PyTuple_GET_ITEM(members, SAVED)) || !PyCallable_Check(PyTuple_GET_ITEM(members, SNAPSHOTS))) {
        PyErr_SetString(PyExc_TypeError, "flows: expected a set of types, a class and a function");
        return NULL;
    }
    return PyCFunction_New(&by_flow_method, members);
}

#endif
