#ifndef ERRAND_CURL_H
#define ERRAND_CURL_H

// libcurl, opened at run time. No header of curl is needed to build this, and no flag to link it.
//
// The numbers below are part of libcurl's binary interface and never change; the test `everyNumberIsTheOneOfTheLibrary`
// compares the options with what the library says. Each is described on the page of its name in curl's documentation:
// `CURLOPT_…`, `CURLINFO_…`, `CURLMOPT_…` and "libcurl-errors".

#ifdef __linux__

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// MARK: Options of a transfer (curl_easy_setopt)

enum {
    ErrandCurlOptionWriteData = 10001,
    ErrandCurlOptionURL = 10002,
    ErrandCurlOptionProxy = 10004,
    ErrandCurlOptionProxyUserPassword = 10006,
    ErrandCurlOptionReadData = 10009,
    ErrandCurlOptionErrorBuffer = 10010,
    ErrandCurlOptionWriteFunction = 20011,
    ErrandCurlOptionReadFunction = 20012,
    ErrandCurlOptionHTTPHeader = 10023,
    ErrandCurlOptionKeyPassword = 10026,
    ErrandCurlOptionHeaderData = 10029,
    ErrandCurlOptionTLSVersion = 32,
    ErrandCurlOptionCustomRequest = 10036,
    ErrandCurlOptionNoBody = 44,
    ErrandCurlOptionUpload = 46,
    ErrandCurlOptionPost = 47,
    ErrandCurlOptionInterface = 10062,
    ErrandCurlOptionTrustFile = 10065,
    ErrandCurlOptionFreshConnection = 74,
    ErrandCurlOptionForbidReuse = 75,
    ErrandCurlOptionHeaderFunction = 20079,
    ErrandCurlOptionTrustFolder = 10097,
    ErrandCurlOptionGet = 80,
    ErrandCurlOptionHTTPVersion = 84,
    ErrandCurlOptionBufferSize = 98,
    ErrandCurlOptionNoSignal = 99,
    ErrandCurlOptionPrivate = 10103,
    ErrandCurlOptionContextFunction = 20108,
    ErrandCurlOptionContextData = 10109,
    ErrandCurlOptionBodySize = 30115,
    ErrandCurlOptionPostSize = 30120,
    ErrandCurlOptionConnectTimeout = 156,
    ErrandCurlOptionContentDecoding = 158,
    ErrandCurlOptionOpenSocketFunction = 20163,
    ErrandCurlOptionOpenSocketData = 10164,
    ErrandCurlOptionCopiedPost = 10165,
    ErrandCurlOptionSeekFunction = 20167,
    ErrandCurlOptionSeekData = 10168,
    ErrandCurlOptionNoProxy = 10177,
    ErrandCurlOptionProtocols = 181,
    ErrandCurlOptionResolve = 10203,
    ErrandCurlOptionCloseSocketFunction = 20208,
    ErrandCurlOptionCloseSocketData = 10209,
    ErrandCurlOptionPinnedKey = 10230,
    ErrandCurlOptionUnixSocket = 10231,
    ErrandCurlOptionPathAsIs = 234,
    ErrandCurlOptionWaitForMultiplexing = 237,
    ErrandCurlOptionProxyTrustFile = 10246,
    ErrandCurlOptionProxyTrustFolder = 10247,
    ErrandCurlOptionProxyTLSVersion = 250,
    ErrandCurlOptionSuppressConnectHeaders = 265,
    ErrandCurlOptionDisallowUserInURL = 278,
    ErrandCurlOptionUploadBufferSize = 280,
    ErrandCurlOptionParsedURL = 10282,
    ErrandCurlOptionMaximumIdleAge = 288,
    ErrandCurlOptionCertificate = 40291,
    ErrandCurlOptionKey = 40292,
    ErrandCurlOptionTrust = 40309,
    ErrandCurlOptionProxyTrust = 40310,
    ErrandCurlOptionBeginFunction = 20312,
    ErrandCurlOptionBeginData = 10313,
    ErrandCurlOptionMaximumLifetime = 314,
    ErrandCurlOptionQuickExit = 322,
};

// MARK: What is known of a transfer (curl_easy_getinfo)

enum {
    ErrandCurlInfoPrivate = 0x100000 + 21,
    ErrandCurlInfoRemoteAddress = 0x100000 + 32,
    ErrandCurlInfoRequestSize = 0x200000 + 12,
    ErrandCurlInfoHeaderSize = 0x200000 + 11,
    ErrandCurlInfoSystemError = 0x200000 + 25,
    ErrandCurlInfoConnectionCount = 0x200000 + 26,
    ErrandCurlInfoRemotePort = 0x200000 + 40,
    ErrandCurlInfoHTTPVersion = 0x200000 + 46,
    ErrandCurlInfoUploadSize = 0x600000 + 7,
    ErrandCurlInfoDownloadSize = 0x600000 + 8,
    ErrandCurlInfoNameLookupTime = 0x600000 + 51,
    ErrandCurlInfoConnectTime = 0x600000 + 52,
    ErrandCurlInfoResponseTime = 0x600000 + 54,
    ErrandCurlInfoTLSTime = 0x600000 + 56,
    ErrandCurlInfoSocket = 0x500000 + 44,
    ErrandCurlInfoTLSSession = 0x400000 + 45,
};

// MARK: Options of a set of transfers (curl_multi_setopt)

enum {
    ErrandCurlSetMaximumIdleConnections = 6,
    ErrandCurlSetMaximumConnectionsPerHost = 7,
    ErrandCurlSetMaximumConnections = 13,
};

// MARK: The library

/// Opens libcurl, once, and returns what is missing, or NULL if it can be used.
const char *_Nullable errand_curl_missing(void);

/// The version of the library, such as "7.88.1"; "none" if there is none.
const char *errand_curl_version(void);

/// The version as a number, such as 0x075801; 0 if there is none.
unsigned errand_curl_version_number(void);

/// The file of the certificate authorities that libcurl was built to use, or NULL.
const char *_Nullable errand_curl_trust_file(void);
/// The folder of those authorities, or NULL.
const char *_Nullable errand_curl_trust_folder(void);

/// The number of the option with this name, such as "URL", or -1 if the library does not know it or cannot say.
int errand_curl_option_number(const char *name);

// MARK: One transfer

typedef void (*errand_curl_function)(void);

void *_Nullable errand_curl_easy_create(void);
void errand_curl_easy_free(void *easy);
int errand_curl_easy_pause(void *easy, int mask);
int errand_curl_set_long(void *easy, int option, long value);
int errand_curl_set_size(void *easy, int option, int64_t value);
int errand_curl_set_pointer(void *easy, int option, const void *_Nullable value);
int errand_curl_set_function(void *easy, int option, errand_curl_function value);
/// The library copies the bytes.
int errand_curl_set_bytes(void *easy, int option, const void *bytes, size_t count);
long errand_curl_get_long(void *easy, int info);
int64_t errand_curl_get_size(void *easy, int info);
void *_Nullable errand_curl_get_pointer(void *easy, int info);
/// The socket of the last connection, or -1.
int errand_curl_get_socket(void *easy);
/// A parsed URL; NULL without memory.
void *_Nullable errand_curl_url_create(void);
void errand_curl_url_free(void *_Nullable url);
/// Parses a URL, whose path stays as it is; not 0 if that cannot be done.
int errand_curl_url_set(void *url, const char *text);
/// What the library says of an error code.
const char *errand_curl_error_text(int code);

/// Adds a line, which is copied; NULL without memory, and the list is as it was.
void *_Nullable errand_curl_list_append(void *_Nullable list, const char *line);
void errand_curl_list_free(void *_Nullable list);

// MARK: TLS connections

/// A folder that always exists and that nobody can add a certificate to.
#define ERRAND_CURL_EMPTY_FOLDER "/proc/self/task"

/// The TLS connections of a transport. Used by several threads at once.
typedef struct errand_curl_tls errand_curl_tls;

/// Connections that trust the authorities of a file, of a folder, or of both, or those of a text in PEM format; without any,
/// those that libcurl reads. They may end without `close_notify` if that is accepted. NULL without memory.
errand_curl_tls *_Nullable errand_curl_tls_create(
    const char *_Nullable file, const char *_Nullable folder, const void *_Nullable bytes, size_t count, int accepts_any_end);
void errand_curl_tls_free(errand_curl_tls *tls);

/// The connections that one handle makes; kept in one place as long as the handle.
struct errand_curl_tls_use {
    errand_curl_tls *tls;
    /// Whether a server has requested a certificate in a handshake.
    int wants_certificate;
};

/// Sets what the connections of a handle are; returns whether their authorities are read here, once, and not by libcurl, which
/// needs OpenSSL.
int errand_curl_tls_apply(void *easy, struct errand_curl_tls_use *use);
/// Whether `errand_curl_uses_http2` works, which needs OpenSSL.
int errand_curl_sees_http2(void);
/// The TLS session of the connection that a transfer has at this moment, or NULL; needs OpenSSL.
const void *_Nullable errand_curl_tls_session(void *easy);
/// Whether the connection of a transfer that begins carries HTTP/2 over TLS.
int errand_curl_uses_http2(void *easy);

// MARK: Many transfers

/// A set of transfers with what they wait for. Used by one thread at a time, except `errand_curl_loop_wait`, during which
/// another thread may use everything that does not concern events, and `errand_curl_loop_wake`.
typedef struct errand_curl_loop errand_curl_loop;

errand_curl_loop *_Nullable errand_curl_loop_create(void);
void errand_curl_loop_free(errand_curl_loop *loop);
int errand_curl_loop_set(errand_curl_loop *loop, int option, long value);
/// Makes the sockets of a transfer those of the loop; once for each handle.
void errand_curl_loop_prepare(errand_curl_loop *loop, void *easy);
/// Reads the system's clock.
void errand_curl_loop_update_time(errand_curl_loop *loop);
/// The time in nanoseconds of the last update.
int64_t errand_curl_loop_time(const errand_curl_loop *loop);
int errand_curl_loop_add(errand_curl_loop *loop, void *easy);
int errand_curl_loop_remove(errand_curl_loop *loop, void *easy);
/// When libcurl's timer is due, in nanoseconds of the same clock, or -1.
int64_t errand_curl_loop_due(const errand_curl_loop *loop);
/// Waits for events: sockets that are ready, and the wake-up; at most so many milliseconds.
void errand_curl_loop_wait(errand_curl_loop *loop, int64_t milliseconds);
/// Looks for what has arrived on idle connections, while another thread may wait for events.
void errand_curl_loop_look_aside(errand_curl_loop *loop);
/// Does what the events of the last wait are for.
void errand_curl_loop_process_events(errand_curl_loop *loop);
/// Does what libcurl's timer is for, if it was due at the last update of the time.
void errand_curl_loop_process_timer(errand_curl_loop *loop);
/// Makes libcurl find a connection closed that must not be used again.
void errand_curl_socket_retire(int socket);
/// Does what sockets are ready for, without waiting.
void errand_curl_loop_look(errand_curl_loop *loop);
/// Whatever arrives on this socket before the next request on it makes its connection unusable.
void errand_curl_loop_expect_silence(errand_curl_loop *loop, int socket);
/// A request begins on the connection of this local port: what arrives belongs to it, also while it is paused and libcurl wants
/// nothing of the socket. With port 0, it may be any connection.
void errand_curl_loop_expect_response(errand_curl_loop *loop, int port);
/// Returns the next transfer that has ended, with its error code, or NULL.
void *_Nullable errand_curl_loop_next_ended(errand_curl_loop *loop, int *code);
/// Makes the wait under way, or the next one, return. From any thread, also in a signal handler.
void errand_curl_loop_wake(errand_curl_loop *loop);
/// Why the last socket could not be created, as `errno`, or 0 if it could.
int errand_curl_loop_socket_error(const errand_curl_loop *loop);

// MARK: Content codings

enum { ErrandCodingGzip = 0, ErrandCodingDeflate = 1, ErrandCodingBrotli = 2, ErrandCodingZstandard = 3 };

typedef struct errand_decoder errand_decoder;

/// Whether the library for a coding is there.
int errand_decoder_exists(int coding);
errand_decoder *_Nullable errand_decoder_create(int coding);
void errand_decoder_free(errand_decoder *decoder);
/// Decodes from the front of the input until it is used up or the output is full.
/// Returns 1 at the end of the coded content, 0 before it, and -1 if it is damaged.
int errand_decoder_decode(
    errand_decoder *decoder, const uint8_t *input, size_t input_count, size_t *consumed, uint8_t *output,
    size_t capacity, size_t *produced);

// MARK: The thread

/// Starts a thread that calls a function and then ends; returns 0, or an error number if the system has none left.
///
/// No signal is delivered to it, so that no handler of the program runs there.
int errand_thread_start(void *_Nullable (*_Nonnull body)(void *_Nonnull), void *context);
/// Names the calling thread, for debuggers.
void errand_thread_name(const char *name);

#pragma clang assume_nonnull end

#endif
#endif
