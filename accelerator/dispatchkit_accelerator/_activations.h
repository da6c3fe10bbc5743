/* Pieces of activations, at most BLOCK numbers each; included for NUMBER in double and in single precision. */

/* `max(x, -3) * (min(max(x, -3) + 3, 6) / 6)`, in the order of Python's passes. */
WIDE static void
NAME(hardswish_of)(void *const *data, npy_intp n)
{
    const NUMBER *x = data[0];
    NUMBER *y = data[1];
    for (npy_intp i = 0; i < n; i++) {
        NUMBER t = x[i] < -3 ? -3 : x[i], u = t + 3;
        u = u > 6 ? 6 : u;
        y[i] = u * (NUMBER)(1.0 / 6.0) * t;
    }
}

WIDE static void
NAME(hardswish_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *x = data[1];
    NUMBER *y = data[2];
    for (npy_intp i = 0; i < n; i++) {
        NUMBER s = x[i] / 3 + (NUMBER)0.5;
        s = x[i] >= 3 ? 1 : s;
        s = x[i] <= -3 ? 0 : s;
        y[i] = g[i] * s;
    }
}

WIDE static void
NAME(opposites)(const NUMBER *x, NUMBER *y, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        y[i] = -x[i];
    }
}

WIDE static void
NAME(sigmoid_of)(void *const *data, npy_intp n)
{
    NUMBER *y = data[1];
    NAME(opposites)(data[0], y, n);
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        y[i] = 1 / (y[i] + 1);
    }
}

/* `g * (y * (1 - y))` of the value. */
WIDE static void
NAME(sigmoid_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *s = data[1];
    NUMBER *y = data[2];
    for (npy_intp i = 0; i < n; i++) {
        y[i] = g[i] * (s[i] * (1 - s[i]));
    }
}

WIDE static void
NAME(silu_of)(void *const *data, npy_intp n)
{
    const NUMBER *x = data[0];
    NUMBER *y = data[1];
    NAME(opposites)(x, y, n);
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        y[i] = x[i] / (y[i] + 1);
    }
}

WIDE static void
NAME(silu_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *x = data[1];
    NUMBER *y = data[2];
    NAME(opposites)(x, y, n);
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        NUMBER s = 1 / (y[i] + 1);
        y[i] = ((1 - s) * x[i] + 1) * s * g[i];
    }
}

/* `g * (factor * exp(-x * x))`. */
WIDE static void
NAME(error_function_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *x = data[1];
    NUMBER *y = data[2];
    for (npy_intp i = 0; i < n; i++) {
        y[i] = -x[i] * x[i];
    }
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        y[i] = g[i] * ((NUMBER)1.1283791670955125739 * y[i]);
    }
}

/* `g` times a scale where `x` is positive, and elsewhere times the exponential function as well, and alpha. */
WIDE static void
NAME(elu_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *x = data[1];
    const double *factors = data[3];
    NUMBER *y = data[2], scale = (NUMBER)factors[0], alpha = (NUMBER)factors[1];
    for (npy_intp i = 0; i < n; i++) {
        y[i] = x[i] > 0 ? 0 : x[i];
    }
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        y[i] = scale * (x[i] > 0 ? 1 : alpha * y[i]) * g[i];
    }
}

/* `g` times the logistic function, and `g` itself from a threshold on. */
WIDE static void
NAME(softplus_slope_of)(void *const *data, npy_intp n)
{
    const NUMBER *g = data[0], *x = data[1];
    NUMBER *y = data[2], most = *(NUMBER *)data[3];
    NAME(opposites)(x, y, n);
    EXP(y, n);
    for (npy_intp i = 0; i < n; i++) {
        NUMBER s = 1 / (y[i] + 1);
        y[i] = g[i] * (x[i] > most ? 1 : s);
    }
}
