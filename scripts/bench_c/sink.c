/* sink -e BYTES [-b READ] [-d DELAY_US] [-g WAIT_MS] -- CMD...
 * Reads BYTES from CMD and prints how fast they came, and how much memory CMD held
 * (its own process; VmHWM, the most it ever had), as JSON.
 * -b: bytes asked for in a read. -d: sleep so long after each read, a slow reader.
 * -g: wait so long, then send a line to CMD, which makes `flood -g` begin. */
#include "common.h"

/* A figure of /proc/PID/status in KiB; -1 when the process is gone. */
static long memory_kib(pid_t pid, const char *key) {
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    if (!status)
        return value;
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
            value = atol(line + strlen(key) + 1);
    fclose(status);
    return value;
}

int main(int argc, char **argv) {
    uint64_t expected = 0, total = 0, first = 0, last = 0;
    size_t size = 1 << 20;
    int delay_us = 0, wait_ms = -1, option;
    while ((option = getopt(argc, argv, "+e:b:d:g:")) != -1) {
        switch (option) {
        case 'e': expected = strtoull(optarg, NULL, 10); break;
        case 'b': size = (size_t)atol(optarg); break;
        case 'd': delay_us = atoi(optarg); break;
        case 'g': wait_ms = atoi(optarg); break;
        default: return 2;
        }
    }
    if (!expected) {
        fprintf(stderr, "sink: -e BYTES is needed\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    char *buffer = malloc(size);
    struct child child = start(argv + optind);
    if (wait_ms >= 0) {
        usleep((useconds_t)wait_ms * 1000);
        write_all(child.in, "go\n", 3);
    }
    long early_kib = 0;
    while (total < expected) {
        ssize_t got = read(child.out, buffer, size);
        if (got <= 0)
            break;
        last = now_ns();
        if (!first)
            first = last;
        total += (uint64_t)got;
        /* Whether memory stays flat is told by what it is after a tenth and at the end. */
        if (!early_kib && total >= expected / 10)
            early_kib = memory_kib(child.pid, "VmHWM");
        if (delay_us)
            usleep((useconds_t)delay_us);
    }
    long peak_kib = memory_kib(child.pid, "VmHWM");
    close(child.in);
    while (read(child.out, buffer, size) > 0)
        ;
    int status = reap(child.pid, 10000);
    double seconds = (last - first) / 1e9;
    printf("{\"bytes\":%llu,\"seconds\":%.4f,\"mb_per_s\":%.1f,\"early_kib\":%ld,\"peak_kib\":%ld,\"status\":%d}\n",
           (unsigned long long)total, seconds, seconds > 0 ? total / 1e6 / seconds : 0.0, early_kib, peak_kib,
           status);
    return 0;
}
