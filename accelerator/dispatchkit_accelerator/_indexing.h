/* Elements at an index, and views: what reads and writes them, and what notes whose memory they show. `_entry.c` includes
   this. */

#ifndef DISPATCHKIT_INDEXING_H
#define DISPATCHKIT_INDEXING_H

/* The members of the tuple of what reads or writes elements. */
enum {BASE, ANSWERS, LIVE_HERE, FOREIGN_HERE, SHARE, GO_ON, FUNCTION, TAKING_NOTHING, DERIVATIVE, ENABLED_HERE, INDEX_MEMBERS};

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

/* Whether an instance of a subclass takes over nothing from another one; -1 with an error. */
static int
takes_nothing(PyObject *plan, PyObject *x)
{
    PyObject *cls = (PyObject *)Py_TYPE(x);
    int known = PySet_Contains(PyTuple_GET_ITEM(plan, TAKING_NOTHING), cls);
    if (known != 0) {
        return known;
    }
    PyObject *own = PyObject_GetAttr(cls, finalize_name), *common = PyObject_GetAttr(PyTuple_GET_ITEM(plan, BASE), finalize_name);
    PyObject *slots = PyObject_GetAttr(cls, slots_name), *held = NULL;
    int nothing = own == NULL || common == NULL || slots == NULL ? -1
        : own == common && PyTuple_CheckExact(slots) && PyTuple_GET_SIZE(slots) == 0;
    if (nothing > 0 && (held = PyObject_GetAttr(x, dict_name)) == NULL) {
        nothing = PyErr_ExceptionMatches(PyExc_AttributeError) ? 1 : -1;
        if (nothing > 0) {
            PyErr_Clear();
        }
    }
    if (held != NULL) {
        nothing = PyDict_CheckExact(held) && PyDict_GET_SIZE(held) == 0;
    }
    Py_XDECREF(own);
    Py_XDECREF(common);
    Py_XDECREF(slots);
    Py_XDECREF(held);
    return nothing;
}

/* Have a new instance of a subclass take over what it does from the one that it was made of. */
static int
finalize(PyObject *function, PyObject *tensor, PyObject *x)
{
    PyObject *sources = PyTuple_Pack(1, x);
    PyObject *done = sources == NULL ? NULL : PyObject_CallMethodObjArgs(tensor, finalize_name, function, sources, NULL);
    Py_XDECREF(sources);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Return the node of elements at an index without arrays, of which the index alone is read; NULL with an error. */
static PyObject *
node_of_part(PyObject *derivative, PyObject *vertex, PyObject *x, PyObject *key, PyObject *part)
{
    PyObject *spec = spec_of(x), *keywords = PyDict_New();
    PyObject *saved = spec == NULL ? NULL : PyTuple_Pack(2, spec, key), *edges = PyTuple_Pack(1, vertex);
    PyObject *node = NULL;
    if (keywords == NULL) {
        Py_XDECREF(saved);
        Py_XDECREF(edges);
    }
    else {
        node = new_node(call_node_type, derivative, edges, saved, (PyArrayObject *)part, keywords);
    }
    Py_XDECREF(spec);
    Py_XDECREF(keywords);
    return node;
}

/* Return the elements of a plain tensor, or of one of a subclass, at an index; NULL, with or without an error, where Python is to say. */
static PyObject *
select_plain(PyObject *plan, PyObject *x, PyObject *key)
{
    PyObject *base = PyTuple_GET_ITEM(plan, BASE), *array = SLOT(x, array_at), *vertex = vertex_of(x), *found, *tensor;
    int plain = array != NULL && (PyObject *)Py_TYPE(array) == ndarray && vertex != NULL;
    PyObject *raw = plain ? raw_index(base, key) : NULL;
    if (raw == NULL) {
        return NULL;
    }
    int basic = raw == key && (PyObject *)Py_TYPE(key) != ndarray, recorded = vertex != Py_None;
    if (recorded) {
        int on = basic && PyTuple_GET_ITEM(plan, DERIVATIVE) != Py_None ? is_recording(PyTuple_GET_ITEM(plan, ENABLED_HERE)) : 0;
        if (on <= 0) {
            return NULL; /* such as a view outside the graph of a tensor in it */
        }
    }
    Py_INCREF(array);
    Py_INCREF(raw);
    Py_INCREF(vertex); /* a part of an index may be an object that changes the tensor as it is asked for its number */
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
        Py_DECREF(vertex);
        return NULL;
    }
    tensor = tensor_of(Py_TYPE(x), found);
    if (tensor != NULL && recorded) {
        PyObject *node = node_of_part(PyTuple_GET_ITEM(plan, DERIVATIVE), vertex, x, key, found);
        if (node == NULL) {
            Py_CLEAR(tensor);
        }
        else {
            Py_SETREF(SLOT(tensor, node_at), node);
        }
    }
    Py_DECREF(found);
    Py_DECREF(vertex);
    if (tensor != NULL && basic && note_view(PyTuple_GET_ITEM(plan, SHARE), tensor, x) < 0) {
        Py_CLEAR(tensor);
    }
    if (tensor != NULL && (PyObject *)Py_TYPE(x) != base) {
        int nothing = takes_nothing(plan, x);
        if (nothing < 0 || (!nothing && finalize(PyTuple_GET_ITEM(plan, FUNCTION), tensor, x) < 0)) {
            Py_CLEAR(tensor);
        }
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

/* Return a tensor of a class around the result of a function of a plain tensor outside the graph, whose memory it may show. */
static PyObject *
wrapped(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *array = args[0], *x = args[1], *own = SLOT(x, array_at);
    PyObject *tensor = tensor_of((PyTypeObject *)args[2], array);
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

/* Note that a new tensor shares the memory of another one, if it does: `note_view` of Python in less time. */
static PyObject *
note_any_view(PyObject *plan, PyObject *const *args, Py_ssize_t count)
{
    PyObject *y = args[0], *x = args[1], *array = SLOT(y, array_at), *own = SLOT(x, array_at), *node = SLOT(y, node_at);
    PyObject *memory = SLOT(x, memory_at);
    if (count != 2 || (PyObject *)Py_TYPE(array) != ndarray || (PyObject *)Py_TYPE(own) != ndarray || memory == NULL
        || Py_TYPE(memory) != memory_type || node == NULL || (node == Py_None && SLOT(x, node_at) != Py_None)) {
        return PyObject_Vectorcall(PyTuple_GET_ITEM(plan, 1), args, count, NULL);
    }
    PyObject *base = PyArray_BASE((PyArrayObject *)array);
    if (array != own && (base == NULL || (base != own && base != PyArray_BASE((PyArrayObject *)own)))) {
        return PyObject_Vectorcall(PyTuple_GET_ITEM(plan, 1), args, count, NULL);
    }
    PyObject *views = SLOT(memory, views_at), *full = SLOT(memory, full_at);
    if (views == NULL || !PyList_CheckExact(views) || full == NULL || !PyLong_CheckExact(full)
        || PyList_GET_SIZE(views) >= PyLong_AsSsize_t(full)) {
        return PyObject_Vectorcall(PyTuple_GET_ITEM(plan, 1), args, count, NULL);
    }
    PyObject *reference = PyWeakref_NewRef(y, NULL);
    if (reference == NULL || PyList_Append(views, reference) < 0) {
        Py_XDECREF(reference);
        return NULL;
    }
    Py_DECREF(reference);
    Py_XSETREF(SLOT(y, memory_at), Py_NewRef(memory));
    if (node != Py_None && !(is_node(node) && SLOT(node, output_at) == Py_None)) { /* which has no output that counts */
        PyObject *done = PyObject_CallMethodOneArg(node, track_name, memory);
        if (done == NULL) {
            return NULL;
        }
        Py_DECREF(done);
    }
    Py_RETURN_TRUE;
}

static PyMethodDef note_any_view_method = {
    "note_view", (PyCFunction)(void (*)(void))note_any_view, METH_FASTCALL, "Note that a new tensor shares memory, if it does."};

/* Return what makes tensors of results, and what notes views; by what notes that memory is shared, and what finds out whether
   it is. */
static PyObject *
wrapper(PyObject *module, PyObject *args)
{
    if (!PyTuple_Check(args) || PyTuple_GET_SIZE(args) != 2) {
        PyErr_SetString(PyExc_TypeError, "wrapper: expected two functions");
        return NULL;
    }
    return Py_BuildValue("(NN)", PyCFunction_New(&wrapped_method, args), PyCFunction_New(&note_any_view_method, args));
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
        || !PyCallable_Check(PyTuple_GET_ITEM(members, GO_ON)) || !PySet_Check(PyTuple_GET_ITEM(members, TAKING_NOTHING))) {
        PyErr_SetString(PyExc_TypeError, "indexer: the members are not those of a plan");
        return NULL;
    }
    return PyCFunction_New(writes ? &assign_method : &select_method, members);
}

#endif
