/* What `_rows.c` computes on numbers of one precision, for which it includes this file: `T` is their type, `NAME` names
   a function for them, `LOG` takes their logarithm. */

#ifdef VECTORS
typedef T NAME(V) __attribute__((vector_size(32)));
typedef T NAME(At) __attribute__((vector_size(32), aligned(sizeof(T)), may_alias)); /* one anywhere in memory */
#define LANES ((npy_intp)(32 / sizeof(T)))
#define AT(x) ((NAME(V))*(const NAME(At) *)(x))
#define FILLED(number) ((NAME(V)){0} + (number))
#define LANE(v, j) ((v)[j])
#else
typedef T NAME(V);
#define LANES ((npy_intp)1)
#define AT(x) (*(x))
#define FILLED(number) (number)
#define LANE(v, j) (v)
#endif
#define V NAME(V)

INLINE T
NAME(together)(V sums)
{
    T sum = 0;
    for (npy_intp j = 0; j < LANES; j++) {
        sum += LANE(sums, j);
    }
    return sum;
}

/* Return the sum of numbers, in double precision from one chunk to the next. */
INLINE double
NAME(sum_of)(const T *x, npy_intp count)
{
    double sum = 0;
    for (npy_intp start = 0; start < count; start += CHUNK) {
        npy_intp end = start + CHUNK < count ? start + CHUNK : count, i = start;
        V a = FILLED(0), b = a, c = a, d = a;
        for (; i + 4 * LANES <= end; i += 4 * LANES) {
            a += AT(x + i);
            b += AT(x + i + LANES);
            c += AT(x + i + 2 * LANES);
            d += AT(x + i + 3 * LANES);
        }
        for (; i + LANES <= end; i += LANES) {
            a += AT(x + i);
        }
        T part = NAME(together)((a + b) + (c + d));
        for (; i < end; i++) {
            part += x[i];
        }
        sum += part;
    }
    return sum;
}

/* Add numbers less their mean, and their squares, to two sums. */
INLINE void
NAME(add_deviations)(const T *x, npy_intp count, T mean, double *sum, double *squares)
{
    for (npy_intp start = 0; start < count; start += CHUNK) {
        npy_intp end = start + CHUNK < count ? start + CHUNK : count, i = start;
        V a = FILLED(0), b = a, of_a = a, of_b = a, middle = FILLED(mean);
        for (; i + 2 * LANES <= end; i += 2 * LANES) {
            V d = AT(x + i) - middle, e = AT(x + i + LANES) - middle;
            a += d;
            b += e;
            of_a += d * d;
            of_b += e * e;
        }
        T part = NAME(together)(a + b), of_part = NAME(together)(of_a + of_b);
        for (; i < end; i++) {
            T d = x[i] - mean;
            part += d;
            of_part += d * d;
        }
        *sum += part;
        *squares += of_part;
    }
}

/* Add cotangents, times weights if there are some, and their products with numbers less their mean, to two sums. */
INLINE void
NAME(add_products)(const T *g, const T *x, const T *weight, npy_intp count, T mean, double *sum, double *products)
{
    for (npy_intp start = 0; start < count; start += CHUNK) {
        npy_intp end = start + CHUNK < count ? start + CHUNK : count, i = start;
        V a = FILLED(0), b = a, of_a = a, of_b = a, middle = FILLED(mean);
        for (; i + 2 * LANES <= end; i += 2 * LANES) {
            V first = AT(g + i), second = AT(g + i + LANES);
            if (weight != NULL) {
                first *= AT(weight + i);
                second *= AT(weight + i + LANES);
            }
            a += first;
            b += second;
            of_a += first * (AT(x + i) - middle);
            of_b += second * (AT(x + i + LANES) - middle);
        }
        T part = NAME(together)(a + b), of_part = NAME(together)(of_a + of_b);
        for (; i < end; i++) {
            T h = weight == NULL ? g[i] : g[i] * weight[i];
            part += h;
            of_part += h * (x[i] - mean);
        }
        *sum += part;
        *products += of_part;
    }
}

/* Return the largest of some numbers; what is not a number may be passed over. */
INLINE T
NAME(largest_of)(const T *x, npy_intp count)
{
    T largest = x[0], parts[SIDE];
    npy_intp i = 0;
    if (count >= SIDE) {
        memcpy(parts, x, sizeof(parts));
        for (i = SIDE; i + SIDE <= count; i += SIDE) {
            for (int j = 0; j < SIDE; j++) {
                parts[j] = x[i + j] > parts[j] ? x[i + j] : parts[j];
            }
        }
        for (int j = 0; j < SIDE; j++) {
            largest = parts[j] > largest ? parts[j] : largest;
        }
    }
    for (; i < count; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    return largest;
}

/* Find the mean of a set, what that was rounded by, and one divided by the standard deviation. */
INLINE void
NAME(find_moments)(const T *x, Layout at, double eps, T *mean, T *rest, T *factor)
{
    npy_intp count = at.each * at.length, parts = at.shared ? at.images : 1, apart = at.sets * count;
    double sum = 0, moved = 0, squares = 0, all = (double)(count * parts);
    for (npy_intp i = 0; i < parts; i++) {
        sum += NAME(sum_of)(x + i * apart, count);
    }
    T total = (T)sum; /* which may be infinite, as NumPy's is */
    *mean = isfinite(total) ? (T)(sum / all) : total;
    for (npy_intp i = 0; i < parts; i++) {
        NAME(add_deviations)(x + i * apart, count, *mean, &moved, &squares);
    }
    moved /= all;
    double variance = squares / all - moved * moved;
    *rest = (T)moved;
    *factor = (T)(1 / sqrt((variance > 0 ? variance : squares * 0) + eps));
}

/* Write the standardized elements of one set in one image. */
INLINE void
NAME(write_standardized)(const T *x, T *y, Layout at, T mean, T rest, T factor, const T *weight, const T *bias)
{
    T moved = -rest * factor;
    if (at.length == 1) {
        for (npy_intp i = 0; i < at.each; i++) {
            y[i] = (x[i] - mean) * factor + moved;
        }
        for (npy_intp i = 0; weight != NULL && i < at.each; i++) {
            y[i] *= weight[i];
        }
        for (npy_intp i = 0; bias != NULL && i < at.each; i++) {
            y[i] += bias[i];
        }
        return;
    }
    for (npy_intp j = 0; j < at.each; j++, x += at.length, y += at.length) {
        T scale = weight == NULL ? 1 : weight[j], more = bias == NULL ? 0 : bias[j];
        for (npy_intp i = 0; i < at.length; i++) {
            y[i] = ((x[i] - mean) * factor + moved) * scale + more;
        }
    }
}

/* Standardize all sets; return whether all factors are finite. `kept` has room for means, rests and factors. */
WIDE static int
NAME(standardize)(const T *x, T *y, Layout at, double eps, const T *weight, const T *bias, T *kept)
{
    npy_intp count = at.each * at.length, sets = at.shared ? at.sets : at.images * at.sets, finite = 1;
    T *means = kept, *rests = kept + sets, *factors = kept + 2 * sets;
    for (npy_intp set = 0; set < sets; set++) {
        npy_intp channel = set % at.sets * at.each;
        const T *scale = weight == NULL ? NULL : weight + channel, *more = bias == NULL ? NULL : bias + channel;
        NAME(find_moments)(x + set * count, at, eps, means + set, rests + set, factors + set);
        finite &= isfinite(factors[set]) && isfinite(means[set]);
        for (npy_intp i = 0; i < (at.shared ? at.images : 1); i++) {
            npy_intp from = (i * at.sets + set) * count;
            NAME(write_standardized)(x + from, y + from, at, means[set], rests[set], factors[set], scale, more);
        }
    }
    return finite;
}

/* Write cotangents of the elements of one set in one image: factor * (h - moved - (x - mean) * slope), where h is the
   cotangent of the result times the weight. */
INLINE void
NAME(write_cotangents)(const T *g, const T *x, T *of_x, Layout at, T mean, T factor, T moved, T slope, const T *weight)
{
    for (npy_intp j = 0; j < (at.length == 1 ? 1 : at.each); j++, g += at.length, x += at.length, of_x += at.length) {
        npy_intp count = at.length == 1 ? at.each : at.length;
        if (at.length == 1 && weight != NULL) {
            for (npy_intp i = 0; i < count; i++) {
                of_x[i] = factor * (g[i] * weight[i] - moved - (x[i] - mean) * slope);
            }
            continue;
        }
        T scale = weight == NULL ? 1 : weight[j];
        for (npy_intp i = 0; i < count; i++) {
            of_x[i] = factor * (g[i] * scale - moved - (x[i] - mean) * slope);
        }
    }
}

/* Add what the elements of one set in one image give to the cotangents of weight and bias, which have a number for each
   channel, and their weighted sums to two. */
INLINE void
NAME(add_channels)(const T *g, const T *x, Layout at, T mean, T rest, T factor, const T *weight, double *totals[2],
                   double sums[2])
{
    for (npy_intp j = 0; j < at.each; j++, g += at.length, x += at.length) {
        double sum = 0, products = 0, scale = weight == NULL ? 1 : weight[j];
        NAME(add_products)(g, x, NULL, at.length, mean, &sum, &products);
        products -= rest * sum;
        sums[0] += scale * sum;
        sums[1] += scale * products;
        totals[0][j] += products * factor;
        totals[1][j] += sum;
    }
}

/* Add what the elements of one row give to the cotangents of weight and bias, which have a number for each of them. */
INLINE void
NAME(add_columns)(const T *g, const T *x, npy_intp count, T mean, T rest, T factor, T *of_weight, T *of_bias)
{
    T moved = -rest * factor;
    for (npy_intp i = 0; i < count; i++) {
        of_weight[i] += g[i] * ((x[i] - mean) * factor + moved);
    }
    for (npy_intp i = 0; i < count; i++) {
        of_bias[i] += g[i];
    }
}

/* Add numbers to others, and begin anew. */
INLINE void
NAME(flush)(T *from, double *onto, npy_intp count)
{
    for (npy_intp i = 0; i < count; i++) {
        onto[i] += from[i];
        from[i] = 0;
    }
}

/* Take cotangents of standardized elements back. `totals` has zeros for those of weights and of biases, `room` as many
   for those of some rows at a time, so that no sum of many rows loses precision; it is left out where nobody asks. */
WIDE static void
NAME(take_back)(const T *g, const T *x, T *of_x, Layout at, const T *weight, const T *kept, double *totals, T *room)
{
    npy_intp count = at.each * at.length, sets = at.shared ? at.sets : at.images * at.sets, channels = at.sets * at.each;
    npy_intp images = at.shared ? at.images : 1;
    const T *means = kept, *rests = kept + sets, *factors = kept + 2 * sets;
    for (npy_intp set = 0; set < sets; set++) {
        npy_intp channel = set % at.sets * at.each;
        const T *scale = weight == NULL ? NULL : weight + channel;
        T mean = means[set], rest = rests[set], factor = factors[set];
        double sums[2] = {0, 0}, *of_channels[2] = {totals + channel, totals + channels + channel};
        for (npy_intp i = 0; i < images; i++) {
            const T *part = g + (i * at.sets + set) * count, *elements = x + (i * at.sets + set) * count;
            if (at.length > 1) {
                NAME(add_channels)(part, elements, at, mean, rest, factor, scale, of_channels, sums);
                continue;
            }
            NAME(add_products)(part, elements, scale, count, mean, sums, sums + 1);
            sums[1] -= rest * sums[0];
            if (room != NULL) {
                NAME(add_columns)(part, elements, count, mean, rest, factor, room + channel, room + channels + channel);
            }
        }
        /* (x - mean - rest) * slope is (x - mean) * slope less rest * slope. */
        double all = (double)(count * images), slope = sums[1] / all * factor * factor;
        double moved = sums[0] / all - rest * slope;
        for (npy_intp i = 0; i < images; i++) {
            npy_intp from = (i * at.sets + set) * count;
            NAME(write_cotangents)(g + from, x + from, of_x + from, at, mean, factor, (T)moved, (T)slope, scale);
        }
        if (at.length == 1 && room != NULL && ((set + 1) % (FLUSHED * at.sets) == 0 || set + 1 == sets)) {
            NAME(flush)(room, totals, 2 * channels);
        }
    }
}

/* Write totals in the precision of a parameter, where there is one. */
INLINE void
NAME(write_totals)(const double *totals, T *into, npy_intp count)
{
    for (npy_intp i = 0; into != NULL && i < count; i++) {
        into[i] = (T)totals[i];
    }
}

/* Take all cotangents back, of which those of a parameter may be left out; return whether there was memory to do so. */
static int
NAME(all_back)(const T *g, const T *x, T *of_x, Layout at, const T *weight, const T *kept, T *of_weight, T *of_bias)
{
    npy_intp channels = at.sets * at.each;
    double *totals = calloc(2 * channels, sizeof(double));
    T *room = calloc(2 * channels, sizeof(T));
    int asked = of_weight != NULL || of_bias != NULL, done = totals != NULL && room != NULL;
    if (done) {
        NAME(take_back)(g, x, of_x, at, weight, kept, totals, asked ? room : NULL);
        NAME(write_totals)(totals, of_weight, channels);
        NAME(write_totals)(totals + channels, of_bias, channels);
    }
    free(totals);
    free(room);
    return done;
}

/* Write d = x - max of some rows, their exponentials, which may take the place of d, and the sums of these; return whether
   all sums are finite. */
INLINE int
NAME(write_exponentials)(const T *x, T *d, T *y, npy_intp rows, npy_intp count, T *sums, const Loop *exponential)
{
    npy_intp finite = 1, size = rows * count, strides[2] = {sizeof(T), sizeof(T)};
    char *data[2] = {(char *)d, (char *)y};
    for (npy_intp row = 0; row < rows; row++) {
        const T *from = x + row * count;
        T *into = d + row * count, largest = NAME(largest_of)(from, count);
        for (npy_intp i = 0; i < count; i++) {
            into[i] = from[i] - largest;
        }
    }
    exponential->loop(data, &size, strides, exponential->data);
    for (npy_intp row = 0; row < rows; row++) {
        sums[row] = (T)NAME(sum_of)(y + row * count, count);
        finite &= isfinite(sums[row]) != 0;
    }
    return (int)finite;
}

/* Return how many rows are taken at a time. */
INLINE npy_intp
NAME(rows_of_block)(npy_intp count)
{
    return BLOCK / count > 0 ? BLOCK / count : 1;
}

/* Write softmax of rows; return whether it is finite. */
WIDE static int
NAME(write_softmax)(const T *x, T *y, npy_intp rows, npy_intp count, const Loop *exponential)
{
    npy_intp step = NAME(rows_of_block)(count), finite = 1;
    T sums[BLOCK];
    for (npy_intp start = 0; start < rows && finite; start += step, x += step * count, y += step * count) {
        npy_intp some = start + step < rows ? step : rows - start;
        finite = NAME(write_exponentials)(x, y, y, some, count, sums, exponential);
        for (npy_intp row = 0; row < some; row++) {
            T *into = y + row * count, sum = sums[row];
            for (npy_intp i = 0; i < count; i++) {
                into[i] /= sum;
            }
        }
    }
    return (int)finite;
}

/* Write the logarithm of softmax of rows; return whether it is finite. `room` has that of a block. */
WIDE static int
NAME(write_log_softmax)(const T *x, T *y, npy_intp rows, npy_intp count, const Loop *exponential, T *room)
{
    npy_intp step = NAME(rows_of_block)(count), finite = 1;
    T sums[BLOCK];
    for (npy_intp start = 0; start < rows && finite; start += step, x += step * count, y += step * count) {
        npy_intp some = start + step < rows ? step : rows - start;
        finite = NAME(write_exponentials)(x, y, room, some, count, sums, exponential);
        for (npy_intp row = 0; row < some; row++) {
            T *into = y + row * count, logarithm = LOG(sums[row]);
            for (npy_intp i = 0; i < count; i++) {
                into[i] -= logarithm;
            }
        }
    }
    return (int)finite;
}

/* Find the sum of the losses of rows, whose exponentials and their sums are written; return whether it is finite. */
WIDE static int
NAME(cross_entropy)(const T *x, T *y, npy_intp rows, npy_intp count, const npy_int64 *right, T *sums,
                    const Loop *exponential, T *room, double *loss)
{
    npy_intp step = NAME(rows_of_block)(count);
    for (npy_intp start = 0; start < rows; start += step, x += step * count, y += step * count) {
        npy_intp some = start + step < rows ? step : rows - start;
        if (!NAME(write_exponentials)(x, room, y, some, count, sums + start, exponential)) {
            return 0;
        }
        for (npy_intp row = 0; row < some; row++) {
            *loss += LOG(sums[start + row]) - room[row * count + right[start + row]];
        }
    }
    return isfinite(*loss) != 0;
}

/* Write the cotangent of what softmax was taken of: y * (g - sum(g * y)). */
WIDE static void
NAME(softmax_back)(const T *g, const T *y, T *of_x, npy_intp rows, npy_intp count)
{
    for (npy_intp row = 0; row < rows; row++, g += count, y += count, of_x += count) {
        double sum = 0, products = 0;
        NAME(add_products)(g, y, NULL, count, 0, &sum, &products);
        T all = (T)products;
        for (npy_intp i = 0; i < count; i++) {
            of_x[i] = y[i] * (g[i] - all);
        }
    }
}

/* Write the cotangent of what the logarithm was taken of: g - exp(y) * sum(g). */
WIDE static void
NAME(log_softmax_back)(const T *g, const T *y, T *of_x, npy_intp rows, npy_intp count, const Loop *exponential)
{
    npy_intp step = NAME(rows_of_block)(count), strides[2] = {sizeof(T), sizeof(T)};
    for (npy_intp start = 0; start < rows; start += step) {
        npy_intp end = start + step < rows ? start + step : rows, size = (end - start) * count;
        char *data[2] = {(char *)(y + start * count), (char *)(of_x + start * count)};
        exponential->loop(data, &size, strides, exponential->data);
        for (npy_intp row = start; row < end; row++) {
            const T *from = g + row * count;
            T *into = of_x + row * count, sum = (T)NAME(sum_of)(from, count);
            for (npy_intp i = 0; i < count; i++) {
                into[i] = from[i] - into[i] * sum;
            }
        }
    }
}

/* Write the cotangent of scores from that of their loss: share * g - g at the right class. */
WIDE static void
NAME(cross_entropy_back)(T g, const T *y, T *of_x, npy_intp rows, npy_intp count, const npy_int64 *right, const T *sums)
{
    for (npy_intp row = 0; row < rows; row++) {
        const T *from = y + row * count;
        T *into = of_x + row * count, scale = g / sums[row];
        for (npy_intp i = 0; i < count; i++) {
            into[i] = from[i] * scale;
        }
        into[right[row]] -= g;
    }
}

#undef V
#undef LANES
#undef AT
#undef FILLED
#undef LANE
