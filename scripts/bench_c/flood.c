/* flood [-g] COUNT SIZE
 * Writes COUNT frames of SIZE bytes to stdout, a write a frame, then waits for the end
 * of its input, so that whoever stands between can be looked at while it still runs.
 * -g: begin when a line came on stdin. */
#include "common.h"

#define HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"bench/event\",\"params\":{\"seq\":%09ld,\"delta\":\""
#define TAIL "\"}}\n"

int main(int argc, char **argv) {
    int wait_for_go = argc > 1 && !strcmp(argv[1], "-g");
    if (argc != 3 + wait_for_go) {
        fprintf(stderr, "usage: flood [-g] COUNT SIZE\n");
        return 2;
    }
    long count = atol(argv[1 + wait_for_go]);
    size_t size = (size_t)atol(argv[2 + wait_for_go]);
    char *frame = malloc(size + 256), byte;
    if (wait_for_go)
        while (read(0, &byte, 1) == 1 && byte != '\n')
            ;
    for (long i = 0; i < count; i++) {
        size_t head = (size_t)sprintf(frame, HEAD, 100000000 + i), tail = sizeof TAIL - 1;
        if (size < head + tail)
            size = head + tail;
        memset(frame + head, 'a' + (int)(i % 26), size - head - tail);
        memcpy(frame + size - tail, TAIL, tail);
        if (write_all(1, frame, size))
            return 1;
    }
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
