/* Averages and largest elements of windows over the last two axes of arrays, or the last one, and their cotangents.

   Windows are separable: whole rows are reduced first, and what comes out along them, so that most of it runs over
   contiguous numbers. */

#include "_loops.h"

#define LONGEST 64

/* Where a window begins along an axis, and how many elements it has that lie on the axis. */
typedef struct {
    npy_intp first, number;
} Window;

/* The windows along one axis, and the way from an element of one to the next. */
typedef struct {
    npy_intp length, count, step;
    Window *windows;
} Along;

/* The windows along the last axes, one or two; where there is one, rows are images of one line. */
typedef struct {
    int axes;
    int all_reach;  /* whether each window has an element of the axis */
    int are_short; /* whether none has so many that sums of one after another are not precise */
    Along down, across;
} Plan;

/* Images and the windows over them, and what sums of windows are divided by: a number, numbers, or how many they are. */
typedef struct {
    npy_intp number, area, area_of_result;
    const Along *down, *across;
    int is_divided;
    double divisor;
    const void *divisors;
} Images;

#define NUMBER double
#define NAME(name) name##_double
#include "_windows.h"
#undef NUMBER
#undef NAME
#define NUMBER float
#define NAME(name) name##_float
#include "_windows.h"

/* Note where windows of one size lie: a step apart, over an axis with something added before it. */
static void
place_windows(Along *along, npy_intp kernel, npy_intp stride, npy_intp before)
{
    for (npy_intp i = 0; i < along->count; i++) {
        npy_intp start = i * stride - before, left = kernel;
        for (; start < 0 && left > 0; start += along->step) {
            left--;
        }
        for (; left > 0 && start + (left - 1) * along->step >= along->length;) {
            left--;
        }
        along->windows[i] = (Window){left > 0 ? start : 0, left};
    }
}

/* Note where the windows of adaptive pooling lie, which cover an axis. */
static void
divide_axis(Along *along)
{
    npy_intp n = along->length, count = along->count;
    for (npy_intp i = 0; i < count; i++) {
        npy_intp first = i * n / count, end = ((i + 1) * n + count - 1) / count;
        along->windows[i] = (Window){first, end - first};
    }
}

/* Read the windows along an axis: `length, count` of adaptive pooling, and for others `kernel, stride, dilation, before`
   behind. Return whether they are such. */
static int
read_axis(PyObject *numbers, Along *along)
{
    npy_intp each[6] = {0, 0, 1, 1, 1, 0};
    Py_ssize_t count = PyTuple_CheckExact(numbers) ? PyTuple_GET_SIZE(numbers) : 0;
    if (count != 2 && count != 6) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        each[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
        if (each[i] < 0 || (each[i] == 0 && i != 5)) {
            PyErr_Clear();
            return 0;
        }
    }
    along->length = each[0];
    along->count = each[1];
    along->step = each[4];
    along->windows = PyMem_Malloc(along->count * sizeof(Window));
    if (along->windows == NULL) {
        return 0;
    }
    if (count == 2) {
        divide_axis(along);
    }
    else {
        place_windows(along, each[2], each[3], each[5]);
    }
    return 1;
}

static void
free_plan(Plan *plan)
{
    PyMem_Free(plan->down.windows);
    PyMem_Free(plan->across.windows);
    PyMem_Free(plan);
}

static void
free_capsule(PyObject *capsule)
{
    free_plan(PyCapsule_GetPointer(capsule, NULL));
}

static void
look_at_windows(Plan *plan, const Along *along)
{
    for (npy_intp i = 0; i < along->count; i++) {
        plan->all_reach &= along->windows[i].number > 0;
        plan->are_short &= along->windows[i].number <= LONGEST;
    }
}

/* Read the windows along the last axes, one or two; return whether they are such. */
static int
read_plan(Plan *plan, PyObject *const *args, Py_ssize_t count)
{
    plan->axes = (int)count;
    if (count == 1) {
        plan->down = (Along){1, 1, 1, PyMem_Calloc(1, sizeof(Window))};
        if (plan->down.windows == NULL) {
            return 0;
        }
        plan->down.windows[0].number = 1;
    }
    else if (!read_axis(args[0], &plan->down)) {
        return 0;
    }
    if (!read_axis(args[count - 1], &plan->across)) {
        return 0;
    }
    plan->all_reach = plan->are_short = 1;
    look_at_windows(plan, &plan->down);
    look_at_windows(plan, &plan->across);
    return 1;
}

/* Return the windows along axes, to be kept beside what describes them; NULL where there are others than one or two. */
static PyObject *
windows(PyObject *const *args, Py_ssize_t count)
{
    Plan *plan = count == 1 || count == 2 ? PyMem_Calloc(1, sizeof(Plan)) : NULL;
    PyObject *capsule = NULL;
    if (plan != NULL && read_plan(plan, args, count)) {
        capsule = PyCapsule_New(plan, NULL, free_capsule);
    }
    if (plan != NULL && capsule == NULL) {
        free_plan(plan);
    }
    return capsule;
}
FIRST(windows)

/* Note the images of an array and the windows over them; return the plan, NULL where the array is not of such images.

   `counts` says whether the array is of what comes out of the windows. */
static Plan *
read_images(PyObject *capsule, PyObject *array, int counts, Images *images)
{
    if (!PyCapsule_CheckExact(capsule) || !is_taken(array, NULL)) {
        return NULL;
    }
    Plan *plan = PyCapsule_GetPointer(capsule, NULL);
    PyArrayObject *x = (PyArrayObject *)array;
    int lead = PyArray_NDIM(x) - plan->axes;
    npy_intp down = counts ? plan->down.count : plan->down.length;
    npy_intp across = counts ? plan->across.count : plan->across.length;
    if (lead < 0 || PyArray_DIM(x, lead + plan->axes - 1) != across || (plan->axes == 2 && PyArray_DIM(x, lead) != down)) {
        return NULL;
    }
    images->down = &plan->down;
    images->across = &plan->across;
    images->area = plan->down.length * plan->across.length;
    images->area_of_result = plan->down.count * plan->across.count;
    images->number = PyArray_MultiplyList(PyArray_DIMS(x), lead);
    return plan;
}

/* Return new room for what comes out of windows, or for the array that they lie on, with the other axes of an array. */
static PyArrayObject *
room_for(const Plan *plan, PyArrayObject *x, int counts)
{
    npy_intp shape[NPY_MAXDIMS];
    int lead = PyArray_NDIM(x) - plan->axes, n = lead;
    memcpy(shape, PyArray_DIMS(x), lead * sizeof(npy_intp));
    if (plan->axes == 2) {
        shape[n++] = counts ? plan->down.count : plan->down.length;
    }
    shape[n++] = counts ? plan->across.count : plan->across.length;
    return (PyArrayObject *)PyArray_SimpleNew(n, shape, PyArray_DESCR(x) == double_dtype ? NPY_DOUBLE : NPY_FLOAT);
}

/* Note what sums are divided by: None, a number, or an array of numbers, one for each window. */
static int
read_divisor(PyObject *divisor, Images *images, PyArray_Descr *dtype)
{
    images->divisor = 1;
    images->divisors = NULL;
    images->is_divided = 1;
    if (divisor == Py_None) {
        images->is_divided = 0;
        return 1;
    }
    if (PyLong_CheckExact(divisor)) {
        images->divisor = PyLong_AsDouble(divisor);
        if (images->divisor == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return images->divisor != 0 && (dtype == double_dtype || (images->divisor < 1e30 && images->divisor > -1e30));
    }
    if (!is_taken(divisor, dtype) || PyArray_SIZE((PyArrayObject *)divisor) != images->area_of_result) {
        return 0;
    }
    images->divisors = PyArray_BYTES((PyArrayObject *)divisor);
    return 1;
}

/* One that writes something for each of some images, with room for a row and for what comes out of an image. */
typedef void Writes(const Images *images, const void *from, void *into, void *scratch);

/* Return what is written for each image, NULL where Python is to do so. */
static PyObject *
written(Writes *writes, const Images *images, const Plan *plan, PyArrayObject *x, int counts, int faults)
{
    PyArrayObject *y = room_for(plan, x, counts);
    void *scratch = y == NULL ? NULL : malloc((images->across->length + images->area_of_result) * PyArray_ITEMSIZE(x));
    int failed = scratch == NULL;
    if (!failed) {
        Way way = enter(images->number * images->area);
        writes(images, PyArray_BYTES(x), PyArray_BYTES(y), scratch);
        failed = leave(way, faults);
    }
    free(scratch);
    if (failed) {
        Py_CLEAR(y);
    }
    return (PyObject *)y;
}

/* Return the averages of windows, of `x, windows, divisor`. */
static PyObject *
averages(PyObject *const *args, Py_ssize_t count)
{
    Images images;
    Plan *plan = count >= 3 ? read_images(args[1], args[0], 0, &images) : NULL;
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (plan == NULL || !plan->are_short || !read_divisor(args[2], &images, PyArray_DESCR(x))) {
        return NULL;
    }
    return written(PyArray_DESCR(x) == double_dtype ? average_double : average_float, &images, plan, x, 1, FAULTS);
}
FIRST(averages)

/* Return the transpose of that, of `g, windows, divisor`. */
static PyObject *
shares(PyObject *const *args, Py_ssize_t count)
{
    Images images;
    Plan *plan = count >= 3 ? read_images(args[1], args[0], 1, &images) : NULL;
    PyArrayObject *g = (PyArrayObject *)args[0];
    if (plan == NULL || !read_divisor(args[2], &images, PyArray_DESCR(g))) {
        return NULL;
    }
    return written(PyArray_DESCR(g) == double_dtype ? share_double : share_float, &images, plan, g, 0, FAULTS);
}
FIRST_OF_COTANGENT(shares)

/* Return the largest elements of windows, of `x, windows`. */
static PyObject *
largest(PyObject *const *args, Py_ssize_t count)
{
    Images images;
    Plan *plan = count >= 2 ? read_images(args[1], args[0], 0, &images) : NULL;
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (plan == NULL || !plan->all_reach) {
        return NULL;
    }
    return written(PyArray_DESCR(x) == double_dtype ? largest_double : largest_float, &images, plan, x, 1, 0);
}
FIRST(largest)

/* Return the cotangent of what the largest elements were found in, of `g, x, windows`. */
static PyObject *
given_to_largest(PyObject *const *args, Py_ssize_t count)
{
    Images images, of_g;
    Plan *plan = count >= 3 ? read_images(args[2], args[1], 0, &images) : NULL;
    if (plan == NULL || !plan->all_reach || read_images(args[2], args[0], 1, &of_g) == NULL || of_g.number != images.number) {
        return NULL;
    }
    PyArrayObject *g = (PyArrayObject *)args[0], *x = (PyArrayObject *)args[1];
    PyArrayObject *total = PyArray_DESCR(g) == PyArray_DESCR(x) ? room_for(plan, x, 0) : NULL;
    if (total == NULL) {
        return NULL;
    }
    Way way = enter(PyArray_SIZE(x));
    (PyArray_DESCR(x) == double_dtype ? given_double : given_float)(&images, PyArray_BYTES(g), PyArray_BYTES(x), PyArray_BYTES(total));
    if (leave(way, FAULTS & ~FE_INVALID)) { /* comparisons with NaN raise it */
        Py_CLEAR(total);
    }
    return (PyObject *)total;
}
FIRST_OF_COTANGENT(given_to_largest)

Named windows_of_images[] = {
    NAMED(windows), NAMED(averages), NAMED(shares), NAMED(largest), NAMED(given_to_largest), {NULL, {NULL, NULL, 0, NULL}},
};
