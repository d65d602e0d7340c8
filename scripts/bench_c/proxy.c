/* proxy FILE -- CMD...
 * The yardstick: what a plain proxy in C costs that records. One thread, one poll loop.
 * It forwards what it reads, then writes each line with its time and side to a buffer
 * of 1 MiB, which goes to FILE when it is full or nothing else is to be done. It is
 * about speed only: a SIGKILL loses what is in the buffer, and a host and a child
 * that both stop reading block it. */
#include "common.h"

enum { HOST, CHILD };

static const size_t BUFFER = 1 << 20, CHUNK = 1 << 16;

static struct {
    int fd;
    char *buffer;
    size_t used;
    /* of each side, the beginning of a line whose end has not come yet */
    struct rest {
        char *bytes;
        size_t used, capacity;
    } rest[2];
} recording;

static void flush_recording(void) {
    if (recording.used && write_all(recording.fd, recording.buffer, recording.used))
        fail("recording");
    recording.used = 0;
}

static void keep(struct rest *rest, const char *bytes, size_t size) {
    if (rest->used + size > rest->capacity) {
        rest->capacity = (rest->used + size) * 2;
        rest->bytes = realloc(rest->bytes, rest->capacity);
    }
    memcpy(rest->bytes + rest->used, bytes, size);
    rest->used += size;
}

static void record_line(int side, uint64_t at, const char *line, size_t size) {
    char head[96];
    size_t length = (size_t)sprintf(head, "{\"t\":%llu,\"by\":\"%c\",\"n\":%zu,\"f\":", (unsigned long long)at,
                                    side == HOST ? 'h' : 'c', size);
    size_t whole = length + size + 2;
    if (recording.used + whole > BUFFER)
        flush_recording();
    if (whole > BUFFER) {
        if (write_all(recording.fd, head, length) || write_all(recording.fd, line, size) ||
            write_all(recording.fd, "}\n", 2))
            fail("recording");
        return;
    }
    char *out = recording.buffer + recording.used;
    memcpy(out, head, length);
    memcpy(out + length, line, size);
    memcpy(out + length + size, "}\n", 2);
    recording.used += whole;
}

static void record(int side, uint64_t at, const char *bytes, size_t size) {
    struct rest *rest = &recording.rest[side];
    const char *end;
    while ((end = memchr(bytes, '\n', size))) {
        size_t length = (size_t)(end - bytes);
        if (rest->used) {
            keep(rest, bytes, length);
            record_line(side, at, rest->bytes, rest->used);
            rest->used = 0;
        } else {
            record_line(side, at, bytes, length);
        }
        bytes = end + 1;
        size -= length + 1;
    }
    if (size)
        keep(rest, bytes, size);
}

int main(int argc, char **argv) {
    static char chunk[1 << 16];
    if (argc < 4 || strcmp(argv[2], "--")) {
        fprintf(stderr, "usage: proxy FILE -- CMD...\n");
        return 2;
    }
    recording.fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (recording.fd < 0)
        fail(argv[1]);
    recording.buffer = malloc(BUFFER);
    struct child child = start(argv + 3);
    signal(SIGPIPE, SIG_IGN);

    struct pollfd from[2] = {{0, POLLIN, 0}, {child.out, POLLIN, 0}};
    for (;;) {
        if (poll(from, 2, recording.used ? 0 : -1) == 0) {
            flush_recording();
            continue;
        }
        if (from[CHILD].revents) {
            ssize_t got = read(child.out, chunk, CHUNK);
            if (got <= 0)
                break;
            uint64_t at = now_ns();
            if (write_all(1, chunk, (size_t)got))
                break;
            record(CHILD, at, chunk, (size_t)got);
        }
        if (from[HOST].revents) {
            ssize_t got = read(0, chunk, CHUNK);
            if (got <= 0) {
                close(child.in);
                from[HOST].fd = -1;
            } else {
                uint64_t at = now_ns();
                write_all(child.in, chunk, (size_t)got);
                record(HOST, at, chunk, (size_t)got);
            }
        }
    }
    flush_recording();
    close(1);
    return reap(child.pid, 5000);
}
