/* What the bench programs share. Linux; MIT, like the project. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The request that pingpong sends and the reply that echo makes of it have the
 * same length, so that echo only has to overwrite a few bytes in place. The id
 * has nine digits. */
#define REQUEST_START "{\"jsonrpc\":\"2.0\",\"id\":"
#define REQUEST_ID_DIGITS 9
#define REQUEST_MIDDLE ",\"method\":\"bench/ping\",\"params\":"
#define REPLY_MIDDLE ",                      \"result\":"
#define REQUEST_PAD "{\"pad\":\""
#define REQUEST_END "\"}}\n"
_Static_assert(sizeof REQUEST_MIDDLE == sizeof REPLY_MIDDLE, "a reply must be as long as its request");

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Write everything; 0, or -1 when the reader is gone. Inherited descriptors may be non-blocking. */
static inline int write_all(int fd, const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t done = write(fd, at, size);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EAGAIN) {
                struct pollfd ready = {fd, POLLOUT, 0};
                poll(&ready, 1, -1);
                continue;
            }
            return -1;
        }
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

struct child {
    pid_t pid;
    int in, out; /* our ends of its stdin and stdout */
};

/* Start a command with pipes on stdin and stdout; stderr is ours. */
static inline struct child start(char **argv) {
    int in[2], out[2];
    if (!argv[0]) {
        fprintf(stderr, "no command given\n");
        exit(2);
    }
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        fail("pipe");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL); /* an ignored signal would stay ignored across exec */
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    return (struct child){pid, in[1], out[0]};
}

/* Wait for our child at most so long, then kill it. Its exit status; 128+n for a signal. */
static inline int reap(pid_t pid, int limit_ms) {
    int status;
    for (int waited = 0; waitpid(pid, &status, WNOHANG) != pid; waited++) {
        if (waited == limit_ms) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            break;
        }
        usleep(1000);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
