#ifndef ERRAND_LIBRARY_H
#define ERRAND_LIBRARY_H

#ifdef __linux__

#include "CErrandCurl.h"

// The functions of libcurl that are used. Their types are those of its manual pages, with `void *` for its handles.
struct errand_curl_functions {
    int (*global_init)(long);
    void *(*version_info)(int);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    int (*easy_pause)(void *, int);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    const char *(*easy_strerror)(int);
    const void *(*easy_option_by_name)(const char *);
    void *(*url)(void);
    int (*url_set)(void *, int, const char *, unsigned);
    void (*url_cleanup)(void *);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_setopt)(void *, int, ...);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_socket_action)(void *, int, int, int *);
    void *(*multi_info_read)(void *, int *);
};

extern struct errand_curl_functions errand_curl;

#endif
#endif
