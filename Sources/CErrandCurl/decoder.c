#ifdef __linux__

#include "CErrandCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// zlib, brotli and zstd as libcurl uses them, which has loaded them. libcurl's own decoding reports a content that ends
// early as complete, and keeps all that it decodes while a transfer is paused.

// `z_stream` of zlib.h.
struct z_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*allocate)(void *, unsigned, unsigned);
    void (*release)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long check;
    unsigned long reserved;
};

// `ZSTD_inBuffer` and `ZSTD_outBuffer` of zstd.h.
struct zstd_buffer {
    void *bytes;
    size_t size;
    size_t position;
};

enum { z_ok = 0, z_end = 1, z_no_progress = -5, z_any_header = 15 + 32, z_no_header = -15 };
enum { brotli_failed = 0, brotli_ended = 1, greatest_padding = 1 << 20 };

static struct {
    int (*init)(struct z_stream *, int, const char *, int);
    int (*inflate)(struct z_stream *, int);
    int (*reset)(struct z_stream *, int);
    int (*end)(struct z_stream *);
    void *(*brotli_create)(void *, void *, void *);
    void (*brotli_free)(void *);
    int (*brotli_decode)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
    void *(*zstd_create)(void);
    size_t (*zstd_free)(void *);
    size_t (*zstd_decode)(void *, struct zstd_buffer *, struct zstd_buffer *);
    unsigned (*zstd_failed)(size_t);
    size_t (*zstd_limit)(void *, int, int);
} library;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define FIND(member, name) *(void **)&library.member = handle ? dlsym(handle, name) : NULL
    void *handle = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    FIND(init, "inflateInit2_");
    FIND(inflate, "inflate");
    FIND(reset, "inflateReset2");
    FIND(end, "inflateEnd");
    handle = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
    FIND(brotli_create, "BrotliDecoderCreateInstance");
    FIND(brotli_free, "BrotliDecoderDestroyInstance");
    FIND(brotli_decode, "BrotliDecoderDecompressStream");
    handle = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    FIND(zstd_create, "ZSTD_createDStream");
    FIND(zstd_free, "ZSTD_freeDStream");
    FIND(zstd_decode, "ZSTD_decompressStream");
    FIND(zstd_failed, "ZSTD_isError");
    FIND(zstd_limit, "ZSTD_DCtx_setParameter");
#undef FIND
}

int errand_decoder_exists(int coding) {
    pthread_once(&once, load);
    switch (coding) {
    case ErrandCodingGzip:
    case ErrandCodingDeflate: return library.init && library.inflate && library.reset && library.end;
    case ErrandCodingBrotli: return library.brotli_create && library.brotli_free && library.brotli_decode;
    case ErrandCodingZstandard:
        return library.zstd_create && library.zstd_free && library.zstd_decode && library.zstd_failed && library.zstd_limit;
    default: return 0;
    }
}

struct errand_decoder {
    int coding;
    // At the end of a gzip member or a zstd frame, after which another one may follow.
    int is_between;
    // Whether a byte was decoded, so that the form of "deflate" is known.
    int has_begun;
    // The number of zero bytes after the end of a gzip member or of zlib data.
    size_t padding;
    void *other;
    struct z_stream z;
};

errand_decoder *errand_decoder_create(int coding) {
    if (!errand_decoder_exists(coding)) return NULL;
    struct errand_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->coding = coding;
    int is_ready;
    switch (coding) {
    case ErrandCodingBrotli:
        decoder->other = library.brotli_create(NULL, NULL, NULL);
        is_ready = decoder->other != NULL;
        break;
    case ErrandCodingZstandard:
        decoder->other = library.zstd_create();
        is_ready = decoder->other != NULL;
        // ZSTD_d_windowLogMax: 8 MiB, the most that RFC 9659 lets a server use.
        if (is_ready) library.zstd_limit(decoder->other, 100, 23);
        break;
    default: is_ready = library.init(&decoder->z, z_any_header, "1.2.11", (int)sizeof decoder->z) == z_ok;
    }
    if (!is_ready) {
        free(decoder);
        return NULL;
    }
    return decoder;
}

void errand_decoder_free(errand_decoder *decoder) {
    switch (decoder->coding) {
    case ErrandCodingBrotli: library.brotli_free(decoder->other); break;
    case ErrandCodingZstandard: library.zstd_free(decoder->other); break;
    default: library.end(&decoder->z);
    }
    free(decoder);
}

static int inflate_some(
    struct errand_decoder *decoder, const uint8_t *input, size_t input_count, size_t *consumed, uint8_t *output,
    size_t capacity, size_t *produced) {
    struct z_stream *z = &decoder->z;
    unsigned part = input_count > 1u << 30 ? 1u << 30 : (unsigned)input_count;
    unsigned room = capacity > 1u << 30 ? 1u << 30 : (unsigned)capacity;
    // Some servers pad their content, which gunzip and browsers ignore.
    size_t padding = 0;
    while (decoder->is_between && padding < part && input[padding] == 0) padding++;
    if (padding > 0) {
        decoder->padding += padding;
        *consumed = padding;
        return decoder->padding > greatest_padding ? -1 : 1;
    }
    if (decoder->is_between && part > 0) {
        // RFC 1952, section 2.2: members follow one another. Zlib data has one part only.
        if (decoder->coding != ErrandCodingGzip || library.reset(z, z_any_header) != z_ok) return -1;
        decoder->is_between = 0;
    }
    // "deflate" is the zlib format (RFC 9110, section 8.4.1.2), but some servers send bare deflate data.
    if (!decoder->has_begun && part > 0 && decoder->coding == ErrandCodingDeflate && (input[0] & 0x0F) != 8
        && library.reset(z, z_no_header) != z_ok)
        return -1;
    if (part > 0) decoder->has_begun = 1;
    z->next_in = input;
    z->avail_in = part;
    z->next_out = output;
    z->avail_out = room;
    int result = library.inflate(z, 0);
    *consumed = part - z->avail_in;
    *produced = room - z->avail_out;
    if (result == z_end) {
        decoder->is_between = 1;
        return 1;
    }
    if (decoder->is_between) return 1;
    return result == z_ok || result == z_no_progress ? 0 : -1;
}

int errand_decoder_decode(
    errand_decoder *decoder, const uint8_t *input, size_t input_count, size_t *consumed, uint8_t *output,
    size_t capacity, size_t *produced) {
    *consumed = 0;
    *produced = 0;
    switch (decoder->coding) {
    case ErrandCodingBrotli: {
        size_t left = input_count, room = capacity;
        const uint8_t *next = input;
        uint8_t *out = output;
        int result = library.brotli_decode(decoder->other, &left, &next, &room, &out, NULL);
        *consumed = input_count - left;
        *produced = capacity - room;
        if (result == brotli_failed) return -1;
        // Bytes after the end belong to nothing.
        if (result == brotli_ended) return left > 0 ? -1 : 1;
        return 0;
    }
    case ErrandCodingZstandard: {
        struct zstd_buffer in = {(void *)input, input_count, 0};
        struct zstd_buffer out = {output, capacity, 0};
        if (input_count == 0 && decoder->is_between) return 1;
        size_t result = library.zstd_decode(decoder->other, &out, &in);
        *consumed = in.position;
        *produced = out.position;
        if (library.zstd_failed(result)) return -1;
        decoder->is_between = result == 0;
        return decoder->is_between;
    }
    default: return inflate_some(decoder, input, input_count, consumed, output, capacity, produced);
    }
}

#endif
