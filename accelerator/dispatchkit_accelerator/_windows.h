/* Windows over images, one image at a time; included for NUMBER in double and in single precision. */

/* Add a row to another, and write the larger one of each two numbers, where one is NaN that. */
static inline void
NAME(add_row)(NUMBER *into, const NUMBER *row, npy_intp n)
{
    for (npy_intp j = 0; j < n; j++) {
        into[j] += row[j];
    }
}

static inline void
NAME(raise_to_row)(NUMBER *into, const NUMBER *row, npy_intp n)
{
    for (npy_intp j = 0; j < n; j++) {
        NUMBER larger = into[j] > row[j] ? into[j] : row[j];
        into[j] = into[j] != into[j] ? into[j] : larger;
    }
}

/* Add the elements of a window in a row, of a long one several at a time. */
static inline NUMBER
NAME(sum_of)(const NUMBER *x, npy_intp n, npy_intp step)
{
    NUMBER sums[8] = {0, 0, 0, 0, 0, 0, 0, 0}, sum = n == 0 ? 0 : x[0];
    npy_intp k = 1;
    if (step == 1 && n >= 16) {
        for (k = 0; k + 8 <= n; k += 8) {
            for (int i = 0; i < 8; i++) {
                sums[i] += x[k + i];
            }
        }
        sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    for (; k < n; k++) {
        sum += x[k * step];
    }
    return sum;
}

/* Add all elements of an image, several at a time, and parts of 256 after one another, which is precise. */
static inline NUMBER
NAME(sum_of_image)(const NUMBER *x, npy_intp n)
{
    NUMBER total = 0;
    for (npy_intp start = 0; start < n; start += 256) {
        npy_intp end = n - start < 256 ? n : start + 256, k = start;
        NUMBER sums[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        for (; k + 16 <= end; k += 16) {
            for (int i = 0; i < 16; i++) {
                sums[i] += x[k + i];
            }
        }
        for (; k < end; k++) {
            sums[k % 16] += x[k];
        }
        for (int i = 8; i > 0; i /= 2) {
            for (int j = 0; j < i; j++) {
                sums[j] += sums[j + i];
            }
        }
        total += sums[0];
    }
    return total;
}

static inline NUMBER
NAME(largest_of)(const NUMBER *x, npy_intp n, npy_intp step)
{
    NUMBER largest = x[0];
    for (npy_intp k = 1; k < n; k++) {
        NUMBER next = x[k * step], larger = largest > next ? largest : next;
        largest = largest != largest ? largest : larger;
    }
    return largest;
}

/* Write the sums of windows, or their largest elements: along the columns of whole rows, then along what comes out. */
WIDE static void
NAME(reduce_windows)(const NUMBER *x, NUMBER *y, NUMBER *row, const Along *down, const Along *across, int sums)
{
    npy_intp width = across->length;
    if (sums && down->count == 1 && down->windows->number == down->length && across->count == 1
        && across->windows->number == width) {
        *y = NAME(sum_of_image)(x, down->length * width);
        return;
    }
    for (npy_intp i = 0; i < down->count; i++, y += across->count) {
        Window lines = down->windows[i];
        memcpy(row, x + lines.first * width, width * sizeof(NUMBER));
        for (npy_intp k = 1; k < lines.number; k++) {
            const NUMBER *next = x + (lines.first + k * down->step) * width;
            if (sums) {
                NAME(add_row)(row, next, width);
            }
            else {
                NAME(raise_to_row)(row, next, width);
            }
        }
        if (lines.number == 0) {
            memset(row, 0, width * sizeof(NUMBER));
        }
        for (npy_intp j = 0; j < across->count; j++) {
            Window window = across->windows[j];
            const NUMBER *each = row + window.first;
            if (sums) {
                y[j] = NAME(sum_of)(each, window.number, across->step);
            }
            else {
                y[j] = NAME(largest_of)(each, window.number, across->step);
            }
        }
    }
}

/* Divide sums of windows by a number, by numbers, or where there are none by how many elements each window has. */
WIDE static void
NAME(divide)(NUMBER *y, const NUMBER *counts, const NUMBER *count, const Along *down, const Along *across)
{
    npy_intp size = down->count * across->count;
    for (npy_intp i = 0; counts != NULL && i < size; i++) {
        y[i] /= counts[i];
    }
    for (npy_intp i = 0; counts == NULL && count != NULL && i < size; i++) {
        y[i] /= *count;
    }
    for (npy_intp i = 0; counts == NULL && count == NULL && i < size; i++) {
        y[i] /= (NUMBER)(down->windows[i / across->count].number * across->windows[i % across->count].number);
    }
}

static void
NAME(average)(const Images *images, const void *from, void *into, void *scratch)
{
    const NUMBER *x = from;
    NUMBER *y = into, count = (NUMBER)images->divisor;
    for (npy_intp n = 0; n < images->number; n++, x += images->area, y += images->area_of_result) {
        NAME(reduce_windows)(x, y, scratch, images->down, images->across, 1);
        NAME(divide)(y, images->divisors, images->is_divided ? &count : NULL, images->down, images->across);
    }
}

static void
NAME(largest)(const Images *images, const void *from, void *into, void *scratch)
{
    const NUMBER *x = from;
    NUMBER *y = into;
    for (npy_intp n = 0; n < images->number; n++, x += images->area, y += images->area_of_result) {
        NAME(reduce_windows)(x, y, scratch, images->down, images->across, 0);
    }
}

/* Add to each element what the windows around it have, along rows and then along columns. */
WIDE static void
NAME(spread_windows)(const NUMBER *g, NUMBER *x, NUMBER *row, const Along *down, const Along *across)
{
    npy_intp width = across->length;
    memset(x, 0, down->length * width * sizeof(NUMBER));
    for (npy_intp i = 0; i < down->count; i++, g += across->count) {
        Window lines = down->windows[i];
        memset(row, 0, width * sizeof(NUMBER));
        for (npy_intp j = 0; j < across->count; j++) {
            Window window = across->windows[j];
            for (npy_intp k = 0; k < window.number; k++) {
                row[window.first + k * across->step] += g[j];
            }
        }
        for (npy_intp k = 0; k < lines.number; k++) {
            NAME(add_row)(x + (lines.first + k * down->step) * width, row, width);
        }
    }
}

static void
NAME(share)(const Images *images, const void *from, void *into, void *scratch)
{
    const NUMBER *g = from;
    NUMBER *x = into, *row = scratch, *shares = row + images->across->length, count = (NUMBER)images->divisor;
    for (npy_intp n = 0; n < images->number; n++, x += images->area, g += images->area_of_result) {
        memcpy(shares, g, images->area_of_result * sizeof(NUMBER));
        NAME(divide)(shares, images->divisors, images->is_divided ? &count : NULL, images->down, images->across);
        NAME(spread_windows)(shares, x, row, images->down, images->across);
    }
}

/* Add the cotangent of a window to the first of its largest elements, to none where one is NaN. */
static inline void
NAME(give)(NUMBER g, const NUMBER *x, NUMBER *into, Window lines, Window window, npy_intp down, npy_intp across)
{
    NUMBER largest = x[0];
    npy_intp place = 0;
    int unknown = largest != largest;
    for (npy_intp k = 0; k < lines.number; k++) {
        for (npy_intp l = 0; l < window.number; l++) {
            npy_intp at = k * down + l * across;
            NUMBER each = x[at];
            int is_larger = each > largest;
            largest = is_larger ? each : largest;
            place = is_larger ? at : place;
            unknown |= each != each;
        }
    }
    if (!unknown) {
        into[place] += g;
    }
}

static void
NAME(given)(const Images *images, const void *from, const void *elements, void *into)
{
    const NUMBER *g = from, *x = elements;
    const Along *down = images->down, *across = images->across;
    NUMBER *total = into;
    for (npy_intp n = 0; n < images->number; n++, x += images->area, total += images->area) {
        memset(total, 0, images->area * sizeof(NUMBER));
        for (npy_intp i = 0; i < down->count; i++) {
            for (npy_intp j = 0; j < across->count; j++, g++) {
                Window lines = down->windows[i], window = across->windows[j];
                npy_intp start = lines.first * across->length + window.first;
                NAME(give)(*g, x + start, total + start, lines, window, down->step * across->length, across->step);
            }
        }
    }
}
