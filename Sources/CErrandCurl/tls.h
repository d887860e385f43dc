#ifndef ERRAND_TLS_H
#define ERRAND_TLS_H

#ifdef __linux__

// Finds OpenSSL in what libcurl has loaded, if that is its TLS library by its own description.
void errand_tls_find(void *library, const char *description);

#endif
#endif
