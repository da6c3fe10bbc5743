/* The backward pass through plain nodes, as `dispatchkit.graph.sweep` has it. `_entry.c` includes this. */

#ifndef DISPATCHKIT_BACKWARD_H
#define DISPATCHKIT_BACKWARD_H

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

#endif
