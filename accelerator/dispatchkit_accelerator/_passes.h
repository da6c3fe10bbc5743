/* What passes over arrays share: processors that they are compiled for, other threads meanwhile, and what NumPy would warn of. */

#ifndef DISPATCHKIT_PASSES_H
#define DISPATCHKIT_PASSES_H

#include "_ufuncs.h"

/* Loops are compiled twice where the machine chooses between both as they are loaded: the wide one takes half the time. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Above this many numbers other threads run meanwhile. */
#define MANY 20000
/* A computation under way, during which other threads may run. */
typedef struct {
    PyThreadState *thread;
} Way;

static inline Way
enter(npy_intp size)
{
    if (fetestexcept(FAULTS)) {
        feclearexcept(FAULTS);
    }
    return (Way){size > MANY ? PyEval_SaveThread() : NULL};
}

/* End a computation; return whether one of the faults came up that NumPy would warn of. */
static inline int
leave(Way way, int faults)
{
    int found = fetestexcept(FAULTS);
    if (way.thread != NULL) {
        PyEval_RestoreThread(way.thread);
    }
    if (found) {
        feclearexcept(FAULTS);
    }
    return (found & faults) != 0;
}

/* Return a new array for as many numbers as another one has. */
static inline PyArrayObject *
room_like(PyArrayObject *x)
{
    return (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_DESCR(x)->type_num);
}

#endif
