/* Series over time and the histogram of gaps between tokens. */

static void widen(Totals *t) {
    for (int i = 0; i < SERIES_BINS; i++) {
        int from = 2 * i, inside = from < SERIES_BINS;
        t->series_waiting[i] = inside ? t->series_waiting[from] + t->series_waiting[from + 1] : 0;
        t->series_running[i] = inside ? t->series_running[from] + t->series_running[from + 1] : 0;
        t->series_blocks[i] = inside ? t->series_blocks[from] + t->series_blocks[from + 1] : 0;
        t->series_up[i] = inside ? t->series_up[from] + t->series_up[from + 1] : 0;
    }
    t->series_width *= 2;
}

static void add_series(Totals *t, i64 from, i64 to, const double *value, double *const *series, int n) {
    while (to > t->series_width * SERIES_BINS) widen(t);
    i64 bin = from / t->series_width;
    while (from < to) {
        i64 end = (bin + 1) * t->series_width;
        if (end > to) end = to;
        for (int i = 0; i < n; i++) series[i][bin] += value[i] * (double)(end - from);
        from = end;
        bin++;
    }
}

static void advance(Engine *e, i64 time) {
    i64 passed = time - e->now;
    if (passed <= 0) return;
    Totals *t = e->totals;
    e->waiting_area += (u128)passed * (u128)e->waiting;
    e->running_area += (u128)passed * (u128)e->running;
    double value[3] = {(double)e->waiting, (double)e->running, (double)e->up};
    double *series[3] = {t->series_waiting, t->series_running, t->series_up};
    add_series(t, e->now, time, value, series, 3);
    e->now = time;
}

static int gap_bin(i64 gap) {
    if (gap < 64) return (int)gap;
    int bits = 63 - __builtin_clzll((unsigned long long)gap);
    return (bits - 5) * 64 + (int)((gap >> (bits - 6)) & 63);
}

static i64 gap_bin_end(int bin) {
    if (bin < 64) return bin + 1;
    int bits = bin / 64 + 5;
    return ((i64)1 << bits) + ((i64)(bin % 64 + 1) << (bits - 6));
}

static void add_gaps(Totals *t, i64 first, i64 increment, i64 steps, i64 weight) {
    i64 gap = first;
    while (steps > 0) {
        int bin = gap_bin(gap);
        i64 inside = steps;
        if (increment > 0) {
            i64 fits = (gap_bin_end(bin) - 1 - gap) / increment + 1;
            if (fits < inside) inside = fits;
        }
        t->gaps[bin] += inside * weight;
        gap += inside * increment;
        steps -= inside;
    }
}
