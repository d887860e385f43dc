#ifdef __linux__

#include "library.h"

// A list of options takes its values as variadic arguments, which Swift cannot pass: one function for each type.

// `struct curl_blob` of curl's manual page "CURLOPT_CAINFO_BLOB".
struct blob {
    void *data;
    size_t count;
    unsigned flags;
};

enum { blob_is_copied = 1 };

void *errand_curl_easy_create(void) { return errand_curl.easy_init(); }
void errand_curl_easy_free(void *easy) { errand_curl.easy_cleanup(easy); }
int errand_curl_easy_pause(void *easy, int mask) { return errand_curl.easy_pause(easy, mask); }

int errand_curl_set_long(void *easy, int option, long value) { return errand_curl.easy_setopt(easy, option, value); }

int errand_curl_set_size(void *easy, int option, int64_t value) {
    return errand_curl.easy_setopt(easy, option, value);
}

int errand_curl_set_pointer(void *easy, int option, const void *value) {
    return errand_curl.easy_setopt(easy, option, value);
}

int errand_curl_set_function(void *easy, int option, errand_curl_function value) {
    return errand_curl.easy_setopt(easy, option, value);
}

int errand_curl_set_bytes(void *easy, int option, const void *bytes, size_t count) {
    struct blob blob = {(void *)bytes, count, blob_is_copied};
    return errand_curl.easy_setopt(easy, option, &blob);
}

long errand_curl_get_long(void *easy, int info) {
    long value = 0;
    errand_curl.easy_getinfo(easy, info, &value);
    return value;
}

int64_t errand_curl_get_size(void *easy, int info) {
    int64_t value = 0;
    errand_curl.easy_getinfo(easy, info, &value);
    return value;
}

void *errand_curl_get_pointer(void *easy, int info) {
    void *value = NULL;
    errand_curl.easy_getinfo(easy, info, &value);
    return value;
}

int errand_curl_get_socket(void *easy) {
    int value = -1;
    errand_curl.easy_getinfo(easy, ErrandCurlInfoSocket, &value);
    return value;
}

// The numbers of curl's manual page "curl_url_set".
enum { url_part_whole = 0, url_may_have_any_scheme = 1 << 3, url_path_as_is = 1 << 4, url_without_user = 1 << 5 };

void *errand_curl_url_create(void) { return errand_curl.url(); }
void errand_curl_url_free(void *url) { errand_curl.url_cleanup(url); }

int errand_curl_url_set(void *url, const char *text) {
    const unsigned flags = url_may_have_any_scheme | url_path_as_is | url_without_user;
    return errand_curl.url_set(url, url_part_whole, text, flags);
}

const char *errand_curl_error_text(int code) { return errand_curl.easy_strerror(code); }

void *errand_curl_list_append(void *list, const char *line) { return errand_curl.slist_append(list, line); }
void errand_curl_list_free(void *list) { errand_curl.slist_free_all(list); }

#endif
