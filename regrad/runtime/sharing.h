/* Work for all threads of XLA's own pool. */

#ifndef REGRAD_SHARING_H
#define REGRAD_SHARING_H

#include <stdint.h>

#include "xla.h"

#define INLINE static inline __attribute__((always_inline))

INLINE int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

INLINE int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Calls `work(what, block)` for each block from 0 to `blocks` - 1, in at most `threads` threads; returns when all are done.
   Without a frame of XLA's the threads are made for it. */
void share(const Frame *frame, int64_t blocks, int64_t threads, void (*work)(const void *what, int64_t block), const void *what);

#endif
