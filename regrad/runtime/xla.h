/* What C functions called by compiled programs use of XLA's foreign function interface.

XLA calls such a handler with a frame that says where operands, results and attributes lie (`xla/ffi/api/c_api.h`, version 0.3
of its binary interface). It is declared here, so that building takes a C compiler and nothing else. */

#ifndef REGRAD_XLA_H
#define REGRAD_XLA_H

#include <stddef.h>
#include <stdint.h>

enum { METADATA = 1, EXECUTE = 3 };

typedef struct { size_t size; void *extensions; int type; void *data; int64_t rank, *dims; } Buffer;
typedef struct { size_t size; void *extensions; int64_t count; int *types; Buffer **items; } Buffers;
typedef struct { int type; void *value; } Scalar;
typedef struct { size_t size; void *extensions; int64_t count; int *types; void **names, **items; } Attributes; /* Scalar *, Span * */
typedef struct { size_t size; void *extensions; int major, minor; } Version;
typedef struct { size_t size; Version version; } Metadata;
typedef struct { size_t size; int type; void *next; Metadata *metadata; } Extension;
typedef struct { const char *data; size_t length; } Span;
typedef struct { size_t size; void *extensions; const char *message; int code; } Create;
typedef struct { size_t size; void *extensions, *error; } Destroy;
typedef struct { size_t size; void *extensions, *context; void (*task)(void *); void *data; } Schedule;
typedef struct { size_t size; void *extensions, *context; int64_t *threads; } Threads;

typedef struct {
    size_t size;
    void *extensions;
    Version version;
    void *internal;
    void *(*create_error)(Create *);
    void *error_message;
    void (*destroy_error)(Destroy *);
    void *other[8];
    void *(*schedule)(Schedule *);
    void *(*threads)(Threads *);
} Interface;

typedef struct {
    size_t size;
    Extension *extensions;
    const Interface *xla;
    void *context;
    int stage;
    Buffers operands, results;
    Attributes attributes;
} Frame;

/* True if a handler is to compute; else XLA asked which version of the interface it is for, and has the answer. */
static inline int to_execute(const Frame *frame)
{
    if (frame->extensions && frame->extensions->type == METADATA) {
        frame->extensions->metadata->version.major = 0;
        frame->extensions->metadata->version.minor = 3;
    }
    return !frame->extensions && frame->stage == EXECUTE;
}

/* Returns an error for a handler to return. */
static inline void *failure(const Interface *xla, const char *message)
{
    enum { INTERNAL = 13 };
    return xla->create_error(&(Create){sizeof(Create), NULL, message, INTERNAL});
}

#endif
