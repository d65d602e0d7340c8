/* stamp: says on stdout when it began, in nanoseconds of CLOCK_MONOTONIC. */
#include "common.h"

int main(void) {
    uint64_t began = now_ns();
    printf("%llu\n", (unsigned long long)began);
    return 0;
}
