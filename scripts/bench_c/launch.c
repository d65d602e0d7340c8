/* launch -- CMD...
 * Starts CMD once and prints, in milliseconds from just before its start, when the
 * program at the end of the chain began (it is `stamp` and says so on stdout; null
 * when nobody did) and when CMD was over, as JSON. */
#include "common.h"

int main(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "--")) {
        fprintf(stderr, "usage: launch -- CMD...\n");
        return 2;
    }
    char said[4096];
    size_t used = 0;
    ssize_t got;
    uint64_t before = now_ns();
    struct child child = start(argv + 2);
    close(child.in);
    while (used < sizeof said - 1 && (got = read(child.out, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)got;
    int status;
    waitpid(child.pid, &status, 0);
    uint64_t after = now_ns();
    said[used] = 0;
    uint64_t stamped = strtoull(said, NULL, 10);
    char began[32] = "null";
    if (stamped)
        snprintf(began, sizeof began, "%.3f", (stamped - before) / 1e6);
    printf("{\"began_ms\":%s,\"over_ms\":%.3f,\"status\":%d}\n", began, (after - before) / 1e6,
           WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}
