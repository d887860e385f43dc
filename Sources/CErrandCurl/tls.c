#ifdef __linux__

#define _GNU_SOURCE
#include "tls.h"
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// What libcurl does not do with OpenSSL, done where it lets a program change a connection (CURLOPT_SSL_CTX_FUNCTION):
//
// - It reads all authorities again for each connection, which takes longer than the handshake: it keeps only those of a file
//   without a folder. So each transport has a store, which is read again after a day or when the files change.
// - It takes the end of a connection for the end of a body, whether or not `close_notify` came before (RFC 9112, section 9.8):
//   since 7.88 OpenSSL does not see the end of the connection.
// - It does not say that the server has requested a certificate.

enum {
    success = 0,
    // `CURLE_SSL_CACERT_BADFILE`.
    cannot_read = 77,
    seconds_of_a_day = 86400,
    // `X509_V_FLAG_TRUSTED_FIRST` and `X509_V_FLAG_PARTIAL_CHAIN`, as libcurl sets them.
    trusted_first = 0x8000,
    partial_chain = 0x80000,
    // `SSL_OP_IGNORE_UNEXPECTED_EOF` and `SSL_CB_HANDSHAKE_DONE`.
    accept_any_end = 1 << 7,
    handshake_done = 0x20,
    // `BIO_CB_READ`, `BIO_CB_WRITE`, `BIO_CB_CTRL`, `BIO_CB_RETURN` and `BIO_CTRL_EOF`.
    reads = 0x02,
    writes = 0x03,
    controls = 0x06,
    returns = 0x80,
    asks_for_end = 2,
    // `PEM_R_NO_START_LINE` within an error, which is the end of the text.
    reason_mask = 0xFFF,
    no_start_line = 108,
};

typedef long bio_function(void *, int, const char *, size_t, int, long, int, size_t *);

static struct {
    void *(*store_create)(void);
    void (*store_free)(void *);
    int (*store_load)(void *, const char *, const char *);
    int (*store_add)(void *, void *);
    int (*store_set_flags)(void *, unsigned long);
    void (*context_use_store)(void *, void *);
    uint64_t (*context_set_options)(void *, uint64_t);
    void (*context_on_certificate)(void *, int (*)(void *, void *), void *);
    void (*context_on_change)(void *, void (*)(const void *, int, int));
    void (*on_certificate)(const void *, int (*)(void *, void *), void *);
    void (*protocol)(const void *, const unsigned char **, unsigned *);
    void *(*input)(const void *);
    void (*set_quiet_end)(void *, int);
    int (*quiet_end)(const void *);
    void *(*bio_of_bytes)(const void *, int);
    int (*bio_free)(void *);
    void (*bio_on_use)(void *, bio_function *);
    void (*bio_set_note)(void *, char *);
    char *(*bio_note)(const void *);
    void *(*read_certificate)(void *, void *, void *, void *);
    void (*certificate_free)(void *);
    unsigned long (*last_error)(void);
    void (*clear_errors)(void);
} openssl;

static int is_found;

void errand_tls_find(void *library, const char *description) {
    if (!description || strncmp(description, "OpenSSL/", 8) != 0) return;
    is_found = 1;
#define FIND(member, name) if (!(*(void **)&openssl.member = dlsym(library, name))) is_found = 0
    FIND(store_create, "X509_STORE_new");
    FIND(store_free, "X509_STORE_free");
    FIND(store_load, "X509_STORE_load_locations");
    FIND(store_add, "X509_STORE_add_cert");
    FIND(store_set_flags, "X509_STORE_set_flags");
    FIND(context_use_store, "SSL_CTX_set1_cert_store");
    FIND(context_set_options, "SSL_CTX_set_options");
    FIND(context_on_certificate, "SSL_CTX_set_cert_cb");
    FIND(context_on_change, "SSL_CTX_set_info_callback");
    FIND(on_certificate, "SSL_set_cert_cb");
    FIND(protocol, "SSL_get0_alpn_selected");
    FIND(input, "SSL_get_rbio");
    FIND(set_quiet_end, "SSL_set_quiet_shutdown");
    FIND(quiet_end, "SSL_get_quiet_shutdown");
    FIND(bio_of_bytes, "BIO_new_mem_buf");
    FIND(bio_free, "BIO_free");
    FIND(bio_on_use, "BIO_set_callback_ex");
    FIND(bio_set_note, "BIO_set_callback_arg");
    FIND(bio_note, "BIO_get_callback_arg");
    FIND(read_certificate, "PEM_read_bio_X509");
    FIND(certificate_free, "X509_free");
    FIND(last_error, "ERR_peek_last_error");
    FIND(clear_errors, "ERR_clear_error");
#undef FIND
}

// MARK: Authorities

struct version {
    struct timespec changed;
    ino_t number;
    off_t size;
};

struct errand_curl_tls {
    // The event loops of a transport share it.
    pthread_mutex_t lock;
    char *file;
    char *folder;
    void *bytes;
    size_t count;
    void *store;
    time_t loaded;
    struct version file_version;
    struct version folder_version;
    int accepts_any_end;
};

static struct version version(const char *path) {
    struct version version = {0};
    struct stat status;
    if (!path || stat(path, &status) != 0) return version;
    version.changed = status.st_mtim;
    version.number = status.st_ino;
    version.size = status.st_size;
    return version;
}

static int is_same(struct version one, struct version other) {
    return one.changed.tv_sec == other.changed.tv_sec && one.changed.tv_nsec == other.changed.tv_nsec
        && one.number == other.number && one.size == other.size;
}

errand_curl_tls *errand_curl_tls_create(
    const char *file, const char *folder, const void *bytes, size_t count, int accepts_any_end) {
    struct errand_curl_tls *tls = calloc(1, sizeof *tls);
    if (!tls || pthread_mutex_init(&tls->lock, NULL) != 0) {
        free(tls);
        return NULL;
    }
    tls->accepts_any_end = accepts_any_end;
    tls->file = file ? strdup(file) : NULL;
    tls->folder = folder ? strdup(folder) : NULL;
    tls->bytes = bytes && count > 0 ? malloc(count) : NULL;
    if (tls->bytes) {
        memcpy(tls->bytes, bytes, count);
        tls->count = count;
    }
    return tls;
}

void errand_curl_tls_free(errand_curl_tls *tls) {
    if (!tls) return;
    if (tls->store) openssl.store_free(tls->store);
    pthread_mutex_destroy(&tls->lock);
    free(tls->file);
    free(tls->folder);
    free(tls->bytes);
    free(tls);
}

// Adds the certificates of a text; returns their number, or 0 if there is none or one that cannot be read.
static int add_certificates(void *store, const void *bytes, size_t count) {
    if (count > INT_MAX) return 0;
    void *text = openssl.bio_of_bytes(bytes, (int)count);
    if (!text) return 0;
    openssl.clear_errors();
    int number = 0, is_added = 1;
    void *certificate;
    while (is_added && (certificate = openssl.read_certificate(text, NULL, NULL, NULL))) {
        is_added = openssl.store_add(store, certificate) == 1;
        openssl.certificate_free(certificate);
        number++;
    }
    int is_complete = is_added && (openssl.last_error() & reason_mask) == no_start_line;
    openssl.clear_errors();
    openssl.bio_free(text);
    return is_complete ? number : 0;
}

static void *load(const struct errand_curl_tls *tls) {
    void *store = openssl.store_create();
    if (!store) return NULL;
    int count = 0;
    if (tls->bytes) count = add_certificates(store, tls->bytes, tls->count);
    // One of the two may be missing.
    if (tls->file) count = openssl.store_load(store, tls->file, NULL) == 1;
    if (tls->folder) count += openssl.store_load(store, NULL, tls->folder) == 1;
    openssl.clear_errors();
    // libcurl adds its own folder to the store of each connection, which has no effect if it is there already: the store is
    // shared by threads.
    if (count > 0 && openssl.store_load(store, NULL, ERRAND_CURL_EMPTY_FOLDER) == 1
        && openssl.store_set_flags(store, trusted_first | partial_chain) == 1) return store;
    openssl.store_free(store);
    return NULL;
}

// Makes a connection trust the authorities; returns an error code of libcurl.
static int use_store(struct errand_curl_tls *tls, void *context) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    pthread_mutex_lock(&tls->lock);
    struct version file = version(tls->file), folder = version(tls->folder);
    int is_current = tls->store && now.tv_sec - tls->loaded < seconds_of_a_day && is_same(file, tls->file_version)
        && is_same(folder, tls->folder_version);
    void *store = is_current ? tls->store : load(tls);
    if (store) openssl.context_use_store(context, store);
    if (store && !is_current) {
        if (tls->store) openssl.store_free(tls->store);
        tls->store = store;
        tls->loaded = now.tv_sec;
        tls->file_version = file;
        tls->folder_version = folder;
    }
    pthread_mutex_unlock(&tls->lock);
    return store ? success : cannot_read;
}

// MARK: Connections

static int is_http2(const void *ssl) {
    const unsigned char *name = NULL;
    unsigned count = 0;
    openssl.protocol(ssl, &name, &count);
    return count == 2 && memcmp(name, "h2", 2) == 0;
}

// Makes OpenSSL see the end of a connection, as it does by itself where libcurl leaves it the socket. Nothing is written on it
// then: OpenSSL would send an alert, whose failure would be the first one of the transfer, and libcurl keeps the first one's words.
static long note_end(
    void *bio, int operation, const char *bytes, size_t count, int argument, long other, int result, size_t *processed) {
    (void)bytes;
    (void)count;
    (void)other;
    (void)processed;
    void *ssl = openssl.bio_note(bio);
    if (operation == writes && openssl.quiet_end(ssl)) return -1;
    if (operation == (reads | returns) && result == 0) openssl.set_quiet_end(ssl, 1);
    if (operation == (controls | returns) && argument == asks_for_end && openssl.quiet_end(ssl)) return 1;
    return result;
}

static int certificate_wanted(void *ssl, void *own) {
    (void)ssl;
    ((struct errand_curl_tls_use *)own)->wants_certificate = 1;
    return 1;
}

static void connection_changed(const void *ssl, int change, int result) {
    (void)result;
    if (!(change & handshake_done)) return;
    // The connection may outlive the handle that made it.
    openssl.on_certificate(ssl, NULL, NULL);
    // A stream of HTTP/2 has an end of its own.
    void *input = is_http2(ssl) ? NULL : openssl.input(ssl);
    if (!input) return;
    openssl.bio_set_note(input, (char *)ssl);
    openssl.bio_on_use(input, note_end);
}

// `CURLOPT_SSL_CTX_FUNCTION`.
static int prepare(void *easy, void *context, void *own) {
    (void)easy;
    struct errand_curl_tls_use *use = own;
    struct errand_curl_tls *tls = use->tls;
    if (tls->accepts_any_end) openssl.context_set_options(context, accept_any_end);
    openssl.context_on_certificate(context, certificate_wanted, use);
    openssl.context_on_change(context, connection_changed);
    return tls->file || tls->folder || tls->bytes ? use_store(tls, context) : success;
}

int errand_curl_tls_apply(void *easy, struct errand_curl_tls_use *use) {
    if (!is_found || errand_curl.easy_setopt(easy, ErrandCurlOptionContextData, use) != 0
        || errand_curl.easy_setopt(easy, ErrandCurlOptionContextFunction, prepare) != 0) return 0;
    return use->tls->file || use->tls->folder || use->tls->bytes;
}

int errand_curl_sees_http2(void) {
    errand_curl_missing();
    return is_found;
}

const void *errand_curl_tls_session(void *easy) {
    // `struct curl_tlssessioninfo` of the manual page "CURLINFO_TLS_SSL_PTR".
    struct { int library; void *ssl; } *session = NULL;
    if (!is_found || errand_curl.easy_getinfo(easy, ErrandCurlInfoTLSSession, &session) != 0) return NULL;
    return session ? session->ssl : NULL;
}

int errand_curl_uses_http2(void *easy) {
    const void *session = errand_curl_tls_session(easy);
    return session && is_http2(session);
}

#endif
