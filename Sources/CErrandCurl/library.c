#ifdef __linux__

#define _GNU_SOURCE
#include "library.h"
#include "tls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct errand_curl_functions errand_curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[256];
static const char *version = "none";
static unsigned version_number;
static const char *trust_file, *trust_folder;

// The first members of `curl_version_info_data`, which are there in every version since 7.70.
struct version_info {
    int age;
    const char *version;
    unsigned version_number;
    const char *host;
    int features;
    const char *tls_version;
    long tls_version_number;
    const char *zlib_version;
    const char *const *protocols;
    const char *ares_version;
    int ares_version_number;
    const char *idn_version;
    int iconv_version_number;
    const char *ssh_version;
    unsigned brotli_version_number;
    const char *brotli_version;
    unsigned http2_version_number;
    const char *http2_version;
    const char *quic_version;
    const char *trust_file;
    const char *trust_folder;
};

struct option_info {
    const char *name;
    int number;
};

// The oldest version with all that is used: MAXLIFETIME_CONN is of 7.80.0.
enum { oldest_version = 0x075000, newest_age = 10, feature_tls = 1 << 2, global_all = 3 };

// `OPENSSL_INIT_NO_ATEXIT` of crypto.h.
enum { no_exit_handler = 0x00080000 };

// OpenSSL frees its state at exit, while the threads of event loops still use it, unless it is initialized without.
static void omit_exit_handler(void *library) {
    int (*initialize_tls)(uint64_t, const void *);
    *(void **)&initialize_tls = dlsym(library, "OPENSSL_init_crypto");
    if (initialize_tls) initialize_tls(no_exit_handler, NULL);
}

// The first initialization counts, which may be that of URLSession, so this is before the code of the program.
__attribute__((constructor)) static void prepare(void) { omit_exit_handler(RTLD_DEFAULT); }

static const char *const names[] = {"libcurl.so.4", "libcurl.so", "libcurl-gnutls.so.4"};

static void *open_library(void) {
    // Foundation has loaded it, as a rule; another one beside it would have a TLS library of its own.
    void *program = dlopen(NULL, RTLD_NOW);
    if (program && dlsym(program, "curl_multi_socket_action")) return program;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    return NULL;
}

static void *find(void *library, const char *name) {
    void *function = dlsym(library, name);
    if (!function && !missing[0])
        snprintf(missing, sizeof missing, "the libcurl of this system lacks the function %s; install 7.80 or newer", name);
    return function;
}

static void load(void) {
    void *library = open_library();
    if (!library) {
        // In a program that is linked statically with its C library, no library can be loaded.
        dlopen(names[0], RTLD_NOW);
        const char *reason = dlerror();
        snprintf(
            missing, sizeof missing,
            "libcurl cannot be loaded: %.120s; install it (Debian and Ubuntu: libcurl4, Fedora and Alpine: libcurl)",
            reason ? reason : "libcurl.so.4 was not found");
        return;
    }
#define FIND(member, name) *(void **)&errand_curl.member = find(library, name)
    FIND(global_init, "curl_global_init");
    FIND(version_info, "curl_version_info");
    FIND(easy_init, "curl_easy_init");
    FIND(easy_cleanup, "curl_easy_cleanup");
    FIND(easy_pause, "curl_easy_pause");
    FIND(easy_setopt, "curl_easy_setopt");
    FIND(easy_getinfo, "curl_easy_getinfo");
    FIND(easy_strerror, "curl_easy_strerror");
    FIND(easy_option_by_name, "curl_easy_option_by_name");
    FIND(url, "curl_url");
    FIND(url_set, "curl_url_set");
    FIND(url_cleanup, "curl_url_cleanup");
    FIND(slist_append, "curl_slist_append");
    FIND(slist_free_all, "curl_slist_free_all");
    FIND(multi_init, "curl_multi_init");
    FIND(multi_cleanup, "curl_multi_cleanup");
    FIND(multi_setopt, "curl_multi_setopt");
    FIND(multi_add_handle, "curl_multi_add_handle");
    FIND(multi_remove_handle, "curl_multi_remove_handle");
    FIND(multi_socket_action, "curl_multi_socket_action");
    FIND(multi_info_read, "curl_multi_info_read");
#undef FIND
    if (missing[0]) return;
    omit_exit_handler(library);
    if (errand_curl.global_init(global_all) != 0) {
        snprintf(missing, sizeof missing, "%s", "libcurl cannot be initialized: there is no memory, or its TLS library fails");
        return;
    }
    // An older library returns the members that it has for a newer age.
    const struct version_info *info = errand_curl.version_info(newest_age);
    version = info->version;
    version_number = info->version_number;
    if (version_number < oldest_version)
        snprintf(missing, sizeof missing, "libcurl %.20s is too old; install 7.80 or newer", version);
    else if (!(info->features & feature_tls))
        snprintf(missing, sizeof missing, "libcurl %.20s was built without TLS; install one with it", version);
    else errand_tls_find(library, info->tls_version);
    trust_file = info->trust_file;
    trust_folder = info->trust_folder;
}

const char *errand_curl_missing(void) {
    pthread_once(&once, load);
    return missing[0] ? missing : NULL;
}

const char *errand_curl_version(void) {
    errand_curl_missing();
    return version;
}

unsigned errand_curl_version_number(void) {
    errand_curl_missing();
    return version_number;
}

const char *errand_curl_trust_file(void) {
    errand_curl_missing();
    return trust_file;
}

const char *errand_curl_trust_folder(void) {
    errand_curl_missing();
    return trust_folder;
}

int errand_curl_option_number(const char *name) {
    if (errand_curl_missing()) return -1;
    const struct option_info *option = errand_curl.easy_option_by_name(name);
    return option ? option->number : -1;
}

int errand_thread_start(void *(*body)(void *), void *context) {
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    pthread_attr_setstacksize(&attributes, 512 << 10);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // A thread begins with the signal mask of the one that starts it.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    result = pthread_create(&thread, &attributes, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return result;
}

void errand_thread_name(const char *name) { pthread_setname_np(pthread_self(), name); }

#endif
