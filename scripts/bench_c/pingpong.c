/* pingpong [-n COUNT] [-w WARM] [-s SIZE] [-p PAUSE_MS] [-g GAP_US] -- CMD...
 * Sends a request of SIZE bytes to CMD, waits for the reply, COUNT times after WARM
 * unmeasured ones, and prints the round trips in microseconds as JSON.
 * PAUSE_MS lies between the first round trip and the others: what CMD still loads
 * after its start is not part of a round trip. GAP_US lies before each measured one. */
#include "common.h"

static char answer[1 << 20];

static size_t make_request(char *out, long number, size_t size) {
    int head = sprintf(out, "%s%0*ld%s%s", REQUEST_START, REQUEST_ID_DIGITS, 100000000 + number,
                       REQUEST_MIDDLE, REQUEST_PAD);
    size_t tail = sizeof REQUEST_END - 1;
    if (size < (size_t)head + tail)
        size = (size_t)head + tail;
    memset(out + head, 'x', size - (size_t)head - tail);
    memcpy(out + size - tail, REQUEST_END, tail);
    return size;
}

static void read_line(int fd) {
    for (;;) {
        ssize_t got = read(fd, answer, sizeof answer);
        if (got <= 0) {
            fprintf(stderr, "pingpong: the command closed its stdout before it answered\n");
            exit(3);
        }
        if (answer[got - 1] == '\n')
            return;
    }
}

static uint64_t round_trip(struct child *child, char *request, long number, size_t size) {
    size_t length = make_request(request, number, size);
    uint64_t before = now_ns();
    if (write_all(child->in, request, length)) {
        fprintf(stderr, "pingpong: the command closed its stdin\n");
        exit(3);
    }
    read_line(child->out);
    return now_ns() - before;
}

static int by_size(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    long count = 10000, warm = 1000;
    size_t size = 200;
    int pause_ms = 0, gap_us = 0, option;
    while ((option = getopt(argc, argv, "+n:w:s:p:g:")) != -1) {
        switch (option) {
        case 'n': count = atol(optarg); break;
        case 'w': warm = atol(optarg); break;
        case 's': size = (size_t)atol(optarg); break;
        case 'p': pause_ms = atoi(optarg); break;
        case 'g': gap_us = atoi(optarg); break;
        default: return 2;
        }
    }
    if (count < 1)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    char *request = malloc(size + 256);
    uint64_t *took = malloc(sizeof *took * (size_t)count);

    struct child child = start(argv + optind);
    round_trip(&child, request, 0, size);
    usleep((useconds_t)pause_ms * 1000);
    for (long i = 0; i < warm; i++)
        round_trip(&child, request, 1 + i, size);
    for (long i = 0; i < count; i++) {
        if (gap_us)
            usleep((useconds_t)gap_us);
        took[i] = round_trip(&child, request, 1 + warm + i, size);
    }

    close(child.in);
    for (;;) {
        struct pollfd ready = {child.out, POLLIN, 0};
        if (poll(&ready, 1, 5000) <= 0 || read(child.out, answer, sizeof answer) <= 0)
            break;
    }
    int status = reap(child.pid, 5000);
    qsort(took, (size_t)count, sizeof *took, by_size);
    printf("{\"n\":%ld,\"min\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f,\"status\":%d}\n",
           count, took[0] / 1e3, took[count / 2] / 1e3, took[count * 9 / 10] / 1e3,
           took[count * 99 / 100] / 1e3, took[count - 1] / 1e3, status);
    return 0;
}
