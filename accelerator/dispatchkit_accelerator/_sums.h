/* Sums along axes, and elements at places; included for NUMBER in double and in single precision. */

/* Write the sums up to each element of a line, of several lines at once, as one sum waits for the one before. */
static inline void
NAME(line)(const NUMBER *x, NUMBER *y, npy_intp n, npy_intp step, npy_intp lines, npy_intp apart)
{
    NUMBER sums[4] = {0, 0, 0, 0};
    for (npy_intp k = 0; k < lines; k++) {
        y[k * apart] = sums[k] = x[k * apart];
    }
    if (lines == 4) {
        NUMBER a = sums[0], b = sums[1], c = sums[2], d = sums[3];
        for (npy_intp i = 1; i < n; i++) {
            x += step;
            y += step;
            y[0] = a += x[0];
            y[apart] = b += x[apart];
            y[2 * apart] = c += x[2 * apart];
            y[3 * apart] = d += x[3 * apart];
        }
        return;
    }
    for (npy_intp k = 0; k < lines; k++) {
        NUMBER sum = sums[k];
        for (npy_intp i = 1; i < n; i++) {
            y[k * apart + i * step] = sum += x[k * apart + i * step];
        }
    }
}

static void
NAME(accumulate_lines)(const NUMBER *x, NUMBER *y, npy_intp lines, npy_intp n, int backward)
{
    npy_intp start = backward ? n - 1 : 0, step = backward ? -1 : 1;
    for (npy_intp i = 0; i < lines; i += 4) {
        npy_intp left = lines - i < 4 ? lines - i : 4;
        NAME(line)(x + i * n + start, y + i * n + start, n, step, left, n);
    }
}

WIDE static void
NAME(add_rows)(const NUMBER *x, const NUMBER *before, NUMBER *y, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        y[i] = before[i] + x[i];
    }
}

/* Write the sums along the middle one of three axes, forward or backward. */
static void
NAME(accumulate)(const void *from, void *into, npy_intp outer, npy_intp n, npy_intp inner, int backward)
{
    const NUMBER *x = from;
    NUMBER *y = into;
    if (inner == 1) {
        NAME(accumulate_lines)(x, y, outer, n, backward);
        return;
    }
    npy_intp step = backward ? -inner : inner;
    for (npy_intp i = 0; i < outer; i++, x += n * inner, y += n * inner) {
        npy_intp at = backward ? (n - 1) * inner : 0;
        memcpy(y + at, x + at, inner * sizeof(NUMBER));
        for (npy_intp k = 1; k < n; k++) {
            at += step;
            NAME(add_rows)(x + at, y + at - step, y + at, inner);
        }
    }
}

/* Add rows of so many elements to those of an array at places; return whether all places are rows of it. */
WIDE static int
NAME(add_at)(const void *from, const npy_int64 *places, void *into, npy_intp count, npy_intp rows, npy_intp width)
{
    const NUMBER *g = from;
    for (npy_intp i = 0; i < count; i++, g += width) {
        npy_intp place = places[i] < 0 ? places[i] + rows : places[i];
        if (place < 0 || place >= rows) {
            return 0;
        }
        NUMBER *row = (NUMBER *)into + place * width;
        for (npy_intp k = 0; k < width; k++) {
            row[k] += g[k];
        }
    }
    return 1;
}

/* Add elements at places along the middle one of three axes, where an array has more than the places. */
static int
NAME(add_along)(const void *from, const npy_int64 *places, void *into, npy_intp outer, npy_intp n, npy_intp inner, npy_intp rows)
{
    const NUMBER *g = from;
    NUMBER *y = into;
    for (npy_intp i = 0; i < outer; i++, y += rows * inner) {
        for (npy_intp k = 0; k < n; k++) {
            for (npy_intp j = 0; j < inner; j++, g++, places++) {
                npy_intp place = *places < 0 ? *places + rows : *places;
                if (place < 0 || place >= rows) {
                    return 0;
                }
                y[place * inner + j] += *g;
            }
        }
    }
    return 1;
}

/* Take elements at places along the middle one of three axes; return whether all places are there. */
static int
NAME(take_along)(const void *from, const npy_int64 *places, void *into, npy_intp outer, npy_intp n, npy_intp inner, npy_intp rows)
{
    const NUMBER *x = from;
    NUMBER *y = into;
    for (npy_intp i = 0; i < outer; i++, x += rows * inner) {
        for (npy_intp k = 0; k < n; k++) {
            for (npy_intp j = 0; j < inner; j++, y++, places++) {
                npy_intp place = *places < 0 ? *places + rows : *places;
                if (place < 0 || place >= rows) {
                    return 0;
                }
                *y = x[place * inner + j];
            }
        }
    }
    return 1;
}
