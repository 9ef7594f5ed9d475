/* Small arrays that lie one behind another in one, taken apart and put together in compiled programs (runtime/packing.py). */

#include <string.h>

#include "xla.h"

typedef struct { int type; size_t count; const int64_t *items; } Numbers;

/* How many bytes each of the arrays has: the only attribute. */
static const int64_t *sizes(const Frame *frame)
{
    return ((const Numbers *)frame->attributes.items[0])->items;
}

void *regrad_unpacked(Frame *frame)
{
    if (to_execute(frame)) {
        const char *from = frame->operands.items[0]->data;
        for (int64_t i = 0; i < frame->results.count; from += sizes(frame)[i++])
            memcpy(frame->results.items[i]->data, from, sizes(frame)[i]);
    }
    return NULL;
}

void *regrad_packed(Frame *frame)
{
    if (to_execute(frame)) {
        char *to = frame->results.items[0]->data;
        for (int64_t i = 0; i < frame->operands.count; to += sizes(frame)[i++])
            memcpy(to, frame->operands.items[i]->data, sizes(frame)[i]);
    }
    return NULL;
}
