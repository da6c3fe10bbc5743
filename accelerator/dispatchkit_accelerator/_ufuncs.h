/* The loops of NumPy's universal functions, which compute small arrays in less time than the way to them takes. */

#ifndef DISPATCHKIT_UFUNCS_H
#define DISPATCHKIT_UFUNCS_H

#include <Python.h>
#include <fenv.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* What NumPy may warn of. */
#define FAULTS (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

/* The loop of a universal function over numbers of one type, NULL where it has none. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *data;
    int result; /* type of the result */
} Loop;

static inline Loop
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

#endif
