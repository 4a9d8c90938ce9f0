/* Latencies in microseconds, in buckets that are at most 1/64 of their value wide. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    FINENESS = 6,
    BUCKETS_PER_DOUBLING = 1 << FINENESS,
    BUCKETS = (64 - FINENESS + 1) * BUCKETS_PER_DOUBLING,
};

struct histogram {
    uint64_t buckets[BUCKETS];
    uint64_t count;
    uint64_t largest;
};

/* The first 128 values have a bucket each; from there on every doubling is cut into 64. */
static size_t bucket_of(uint64_t value)
{
    if (value < 2 * BUCKETS_PER_DOUBLING)
        return value;
    int shift = 63 - __builtin_clzll(value) - FINENESS;
    return (size_t)shift * BUCKETS_PER_DOUBLING + (value >> shift);
}

static uint64_t largest_in(size_t bucket)
{
    if (bucket < 2 * BUCKETS_PER_DOUBLING)
        return bucket;
    size_t shift = bucket / BUCKETS_PER_DOUBLING - 1;
    return ((bucket - shift * BUCKETS_PER_DOUBLING + 1) << shift) - 1;
}

static void record(struct histogram *histogram, uint64_t value)
{
    histogram->buckets[bucket_of(value)]++;
    histogram->count++;
    if (value > histogram->largest)
        histogram->largest = value;
}

static double milliseconds_at(const struct histogram *histogram, double share)
{
    uint64_t below = 0;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        below += histogram->buckets[bucket];
        if (below > 0 && (double)below >= share * (double)histogram->count) {
            uint64_t value = largest_in(bucket);
            return (double)(value < histogram->largest ? value : histogram->largest) / 1e3;
        }
    }
    return 0;
}
