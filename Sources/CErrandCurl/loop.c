#ifdef __linux__

#define _GNU_SOURCE
#include "library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The numbers of curl's manual pages "CURLMOPT_SOCKETFUNCTION", "CURLMOPT_TIMERFUNCTION" and "curl_multi_socket_action".
enum {
    set_socket_function = 20001,
    set_socket_data = 10002,
    set_timer_function = 20004,
    set_timer_data = 10005,
    wants_input = 1,
    wants_output = 2,
    wants_nothing = 4,
    event_input = 1,
    event_output = 2,
    event_error = 4,
    no_socket = -1,
    transfer_ended = 1,
    // An hour, in milliseconds.
    longest_wait = 3600000,
    // How long a stalled connection is not watched for output, in nanoseconds.
    stall_time = 10000000,
    // The number of turns of output after which it is looked at, because asking the system takes as long as sending.
    stall_turns = 16,
};

// What libcurl wants of a socket, and what epoll watches it for.
//
// The two differ between two requests on one connection: libcurl wants nothing, and a change of epoll's list and back
// would cost two system calls for each request.
struct interest {
    unsigned char wanted;
    unsigned char watched;
    // Whether it is the socket of a connection, and not one that libcurl has made for itself.
    unsigned char is_connection;
    // Whether the server may send nothing until the next request.
    unsigned char is_quiet;
    // Whether it takes output that libcurl does not send, because the windows of HTTP/2 are full. It is not watched for output
    // until something arrives, such as another window, or for a moment.
    unsigned char is_stalled;
    // The number of turns of output since it was looked at.
    unsigned char output_turns;
    // The port of this end of a connection that is quiet, by which the next request on it is known.
    unsigned short port;
    // The place in `quiet` of a socket that is quiet.
    size_t place;
};

struct errand_curl_loop {
    void *multi;
    int epoll;
    int wake;
    // When libcurl's timer is due, in nanoseconds like `time`, or -1.
    int64_t due;
    // When stalled connections are watched again, or -1 if there is none.
    int64_t stall_due;
    struct interest *interests;
    size_t interest_count;
    // The sockets that are quiet, in no order. Their number may be small beside that of all descriptors of a server.
    int *quiet;
    size_t quiet_count;
    size_t quiet_size;
    // Why the last socket could not be created, or 0 if it could.
    int socket_error;
    struct epoll_event events[64];
    int event_count;
    // The time in nanoseconds, as of the last update.
    int64_t time;
};

// `struct curl_sockaddr` of the manual page "CURLOPT_OPENSOCKETFUNCTION".
struct socket_address {
    int family;
    int type;
    int protocol;
    unsigned length;
    struct sockaddr address;
};

// `struct CURLMsg` of the manual page "curl_multi_info_read".
struct message {
    int kind;
    void *easy;
    union {
        void *pointer;
        int code;
    } data;
};

static struct interest *interest(struct errand_curl_loop *loop, int socket) {
    if (socket < 0) return NULL;
    size_t place = (size_t)socket;
    if (place >= loop->interest_count) {
        size_t count = loop->interest_count * 2 > place + 1 ? loop->interest_count * 2 : place + 64;
        struct interest *interests = realloc(loop->interests, count * sizeof *interests);
        if (!interests) return NULL;
        memset(interests + loop->interest_count, 0, (count - loop->interest_count) * sizeof *interests);
        loop->interests = interests;
        loop->interest_count = count;
    }
    return &loop->interests[place];
}

// A socket for which there is no memory is not quiet; what it receives is then libcurl's to judge.
static void set_quiet(struct errand_curl_loop *loop, int socket, struct interest *interest_, int is_quiet) {
    if (interest_->is_quiet == is_quiet) return;
    if (is_quiet) {
        if (loop->quiet_count == loop->quiet_size) {
            size_t size = loop->quiet_size * 2 + 16;
            int *quiet = realloc(loop->quiet, size * sizeof *quiet);
            if (!quiet) return;
            loop->quiet = quiet;
            loop->quiet_size = size;
        }
        interest_->place = loop->quiet_count;
        loop->quiet[loop->quiet_count++] = socket;
    } else {
        int last = loop->quiet[--loop->quiet_count];
        loop->quiet[interest_->place] = last;
        loop->interests[last].place = interest_->place;
    }
    interest_->is_quiet = (unsigned char)is_quiet;
}

static void watch(struct errand_curl_loop *loop, int socket, struct interest *interest, unsigned char wanted) {
    if (interest->watched == wanted) return;
    if (!wanted) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL);
        interest->watched = 0;
        return;
    }
    struct epoll_event event = {0};
    event.events = (wanted & wants_input ? (unsigned)EPOLLIN : 0) | (wanted & wants_output ? (unsigned)EPOLLOUT : 0);
    event.data.fd = socket;
    int change = interest->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    int result = epoll_ctl(loop->epoll, change, socket, &event);
    if (result != 0 && errno == ENOENT) result = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket, &event);
    if (result != 0 && errno == EEXIST) result = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event);
    interest->watched = result == 0 ? wanted : 0;
}

static int socket_changed(void *easy, int socket, int what, void *data, void *own) {
    (void)easy;
    (void)own;
    struct errand_curl_loop *loop = data;
    struct interest *interest_ = interest(loop, socket);
    if (!interest_) return 0;
    interest_->wanted = what == wants_nothing ? 0 : (unsigned char)(what & (wants_input | wants_output));
    interest_->is_stalled = 0;
    if (interest_->wanted) set_quiet(loop, socket, interest_, 0);
    // Output is always ready, so watching for it without a reason would never let the loop wait. What libcurl has made for
    // itself, such as for a name lookup, is closed without a call of `close_socket`.
    if (interest_->wanted || interest_->watched & wants_output || !interest_->is_connection) watch(loop, socket, interest_, interest_->wanted);
    return 0;
}

static int timer_changed(void *multi, long milliseconds, void *data) {
    (void)multi;
    struct errand_curl_loop *loop = data;
    if (milliseconds > longest_wait) milliseconds = longest_wait;
    if (milliseconds > 0) errand_curl_loop_update_time(loop);
    loop->due = milliseconds < 0 ? -1 : loop->time + (int64_t)milliseconds * 1000000;
    return 0;
}

// Programs that are started while it is open do not inherit it.
static int open_socket(void *data, int purpose, struct socket_address *address) {
    (void)purpose;
    struct errand_curl_loop *loop = data;
    int result = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    loop->socket_error = result < 0 ? errno : 0;
    struct interest *interest_ = interest(loop, result);
    if (interest_) {
        set_quiet(loop, result, interest_, 0);
        memset(interest_, 0, sizeof *interest_);
        interest_->is_connection = 1;
    }
    return result;
}

// The system removes a closed socket from epoll's list only if no other process has it, such as a child before its `exec`.
static int close_socket(void *data, int socket) {
    struct errand_curl_loop *loop_ = data;
    struct interest *interest_ = interest(data, socket);
    if (interest_) {
        watch(loop_, socket, interest_, 0);
        set_quiet(loop_, socket, interest_, 0);
        memset(interest_, 0, sizeof *interest_);
    }
    return close(socket);
}

errand_curl_loop *errand_curl_loop_create(void) {
    struct errand_curl_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->due = -1;
    loop->stall_due = -1;
    errand_curl_loop_update_time(loop);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->multi = errand_curl.multi_init();
    struct epoll_event event = {0};
    // By edge: it is never read, and each write is an event.
    event.events = EPOLLIN | (unsigned)EPOLLET;
    event.data.fd = loop->wake;
    if (loop->epoll < 0 || loop->wake < 0 || !loop->multi
        || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) != 0) {
        errand_curl_loop_free(loop);
        return NULL;
    }
    errand_curl.multi_setopt(loop->multi, set_socket_function, socket_changed);
    errand_curl.multi_setopt(loop->multi, set_socket_data, loop);
    errand_curl.multi_setopt(loop->multi, set_timer_function, timer_changed);
    errand_curl.multi_setopt(loop->multi, set_timer_data, loop);
    return loop;
}

void errand_curl_loop_free(errand_curl_loop *loop) {
    if (loop->multi) errand_curl.multi_cleanup(loop->multi);
    if (loop->epoll >= 0) close(loop->epoll);
    if (loop->wake >= 0) close(loop->wake);
    free(loop->interests);
    free(loop->quiet);
    free(loop);
}

int errand_curl_loop_set(errand_curl_loop *loop, int option, long value) {
    return errand_curl.multi_setopt(loop->multi, option, value);
}

void errand_curl_loop_prepare(errand_curl_loop *loop, void *easy) {
    errand_curl.easy_setopt(easy, ErrandCurlOptionOpenSocketFunction, open_socket);
    errand_curl.easy_setopt(easy, ErrandCurlOptionOpenSocketData, loop);
    errand_curl.easy_setopt(easy, ErrandCurlOptionCloseSocketFunction, close_socket);
    errand_curl.easy_setopt(easy, ErrandCurlOptionCloseSocketData, loop);
}

void errand_curl_loop_update_time(errand_curl_loop *loop) {
    struct timespec time;
    // It goes on while the system is suspended, as a deadline does.
    clock_gettime(CLOCK_BOOTTIME, &time);
    loop->time = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t errand_curl_loop_time(const errand_curl_loop *loop) { return loop->time; }

int errand_curl_loop_add(errand_curl_loop *loop, void *easy) { return errand_curl.multi_add_handle(loop->multi, easy); }

int errand_curl_loop_remove(errand_curl_loop *loop, void *easy) {
    return errand_curl.multi_remove_handle(loop->multi, easy);
}

// Up to version 8.0, libcurl takes what it finds there for the response to the next request.
void errand_curl_socket_retire(int socket) {
    char bytes[4096];
    for (int i = 0; i < 64 && recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++) {}
    shutdown(socket, SHUT_RDWR);
}

// Returns the port of this end of a connection, or 0 if it has none.
static unsigned short local_port(int socket) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t size = sizeof address;
    if (getsockname(socket, &address.any, &size) != 0) return 0;
    if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
    return address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port) : 0;
}

// Whether there is something to receive, be it the end of the connection or its error. Nothing of that is taken: a transfer
// that is paused receives it when it continues.
static int is_readable(int socket) {
    struct pollfd wish = {.fd = socket, .events = POLLIN};
    return poll(&wish, 1, 0) > 0;
}

void errand_curl_loop_expect_silence(errand_curl_loop *loop, int socket) {
    struct interest *interest_ = interest(loop, socket);
    if (!interest_ || !interest_->is_connection || interest_->wanted) return;
    set_quiet(loop, socket, interest_, 1);
    if (!interest_->port) interest_->port = local_port(socket);
    // The next request may begin before the loop looks at the sockets again.
    if (!is_readable(socket)) return;
    watch(loop, socket, interest_, 0);
    errand_curl_socket_retire(socket);
}

void errand_curl_loop_expect_response(errand_curl_loop *loop, int port) {
    // From the last, whose place is taken by none that is still to be looked at.
    for (size_t i = loop->quiet_count; i-- > 0;) {
        struct interest *interest_ = &loop->interests[loop->quiet[i]];
        if (port <= 0 || !interest_->port || interest_->port == port) set_quiet(loop, loop->quiet[i], interest_, 0);
    }
}

// Returns the number of bytes that were written to a socket, or -1 if the system does not know it: those that have arrived at the
// other side, and those that have not.
static int64_t written(int socket) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    int queued = 0;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || ioctl(socket, SIOCOUTQ, &queued) != 0) return -1;
    const size_t end = offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
    return size < end || info.tcpi_bytes_acked == 0 ? -1 : (int64_t)info.tcpi_bytes_acked + queued;
}

// Notes whether libcurl has sent something on a socket that takes output.
static void note_output(struct errand_curl_loop *loop, int socket, int64_t before) {
    struct interest *interest_ = interest(loop, socket);
    if (!interest_ || !interest_->is_connection || !(interest_->wanted & wants_output)) return;
    int is_stalled = before >= 0 && written(socket) == before;
    if (before >= 0 && !is_stalled) interest_->output_turns = 0;
    if (is_stalled && loop->stall_due < 0) loop->stall_due = loop->time + stall_time;
    interest_->is_stalled = (unsigned char)is_stalled;
    watch(loop, socket, interest_, is_stalled ? interest_->wanted & wants_input : interest_->wanted);
}

static void handle(struct errand_curl_loop *loop, const struct epoll_event *event) {
    int socket = event->data.fd;
    if (socket == loop->wake) return;
    struct interest *interest_ = interest(loop, socket);
    if (!interest_) return;
    if (!interest_->wanted) {
        // The thread that started the request may have received the response before this saw it.
        if (!is_readable(socket)) return;
        // The server has closed a connection that no request uses, or has sent something unasked, or the request is paused.
        watch(loop, socket, interest_, 0);
        if (interest_->is_quiet) errand_curl_socket_retire(socket);
        return;
    }
    int mask = (event->events & EPOLLIN ? event_input : 0) | (event->events & EPOLLOUT ? event_output : 0)
        | (event->events & (EPOLLERR | EPOLLHUP) ? event_error : 0);
    int64_t before = mask == event_output && interest_->output_turns >= stall_turns ? written(socket) : -1;
    if (mask == event_output && before < 0 && interest_->output_turns < stall_turns) interest_->output_turns++;
    int running;
    errand_curl.multi_socket_action(loop->multi, socket, mask, &running);
    note_output(loop, socket, before);
}

int64_t errand_curl_loop_due(const errand_curl_loop *loop) {
    int64_t due = loop->due, stall_due = loop->stall_due;
    return due < 0 || (stall_due >= 0 && stall_due < due) ? stall_due : due;
}

void errand_curl_loop_wait(errand_curl_loop *loop, int64_t milliseconds) {
    int wait = (int)(milliseconds < longest_wait ? milliseconds : longest_wait);
    loop->event_count = epoll_wait(loop->epoll, loop->events, sizeof loop->events / sizeof *loop->events, wait);
}

void errand_curl_loop_look(errand_curl_loop *loop) {
    const int count = sizeof loop->events / sizeof *loop->events;
    for (int i = 0; i < 64; i++) {
        loop->event_count = epoll_wait(loop->epoll, loop->events, count, 0);
        for (int j = 0; j < loop->event_count; j++) handle(loop, &loop->events[j]);
        if (loop->event_count < count) break;
    }
    loop->event_count = 0;
}

void errand_curl_loop_look_aside(errand_curl_loop *loop) {
    struct epoll_event events[16];
    const int count = sizeof events / sizeof *events;
    for (int i = 0; i < 256; i++) {
        int found = epoll_wait(loop->epoll, events, count, 0);
        for (int j = 0; j < found; j++) {
            // The thread that waits does not see this event any more.
            if (events[j].data.fd == loop->wake) errand_curl_loop_wake(loop);
            else handle(loop, &events[j]);
        }
        if (found < count) return;
    }
}

void errand_curl_loop_process_events(errand_curl_loop *loop) {
    int is_full = loop->event_count == sizeof loop->events / sizeof *loop->events;
    for (int i = 0; i < loop->event_count; i++) handle(loop, &loop->events[i]);
    loop->event_count = 0;
    // Idle timeouts are checked next, and more may have arrived in time.
    if (is_full) errand_curl_loop_look(loop);
}

int errand_curl_loop_socket_error(const errand_curl_loop *loop) { return loop->socket_error; }

void errand_curl_loop_process_timer(errand_curl_loop *loop) {
    if (loop->stall_due >= 0 && loop->stall_due <= loop->time) {
        loop->stall_due = -1;
        for (size_t socket = 0; socket < loop->interest_count; socket++) {
            struct interest *interest_ = &loop->interests[socket];
            if (!interest_->is_stalled) continue;
            interest_->is_stalled = 0;
            watch(loop, (int)socket, interest_, interest_->wanted);
        }
    }
    if (loop->due < 0 || loop->due > loop->time) return;
    loop->due = -1;
    int running;
    errand_curl.multi_socket_action(loop->multi, no_socket, 0, &running);
}

void *errand_curl_loop_next_ended(errand_curl_loop *loop, int *code) {
    int left;
    for (;;) {
        struct message *message = errand_curl.multi_info_read(loop->multi, &left);
        if (!message) return NULL;
        if (message->kind != transfer_ended) continue;
        *code = message->data.code;
        return message->easy;
    }
}

void errand_curl_loop_wake(errand_curl_loop *loop) {
    uint64_t one = 1;
    (void)!write(loop->wake, &one, sizeof one);
}

#endif
