/* The first ranks of rows; included for NUMBER in double and in single precision. */

/* Whether one number ranks before another: NaN counts as the largest. */
static inline int
NAME(is_before)(NUMBER a, NUMBER b, int largest)
{
    if (largest) {
        return a > b || (a != a && b == b);
    }
    return a < b || (b != b && a == a);
}

/* Write the first ranks of each row and their places; of those that tie, the first ones. */
static void
NAME(rank_rows)(const void *from, void *into, npy_int64 *places, npy_intp rows, npy_intp n, npy_intp count, int largest)
{
    const NUMBER *x = from;
    NUMBER *y = into;
    for (npy_intp i = 0; i < rows; i++, x += n, y += count, places += count) {
        npy_intp found = 0;
        for (npy_intp k = 0; k < n; k++) {
            if (found == count && !NAME(is_before)(x[k], y[count - 1], largest)) {
                continue;
            }
            npy_intp at = found < count ? found++ : count - 1;
            for (; at > 0 && NAME(is_before)(x[k], y[at - 1], largest); at--) {
                y[at] = y[at - 1];
                places[at] = places[at - 1];
            }
            y[at] = x[k];
            places[at] = k;
        }
    }
}
