"""The C that runs a kernel test's calls: buffers from standard input, their contents afterwards to standard output."""

from __future__ import annotations

MAIN = """
static uint32_t number(void)
{
    uint32_t value = 0;
    if (fread(&value, sizeof value, 1, stdin) != 1) {
        exit(2);
    }
    return value;
}

int main(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        void *buffers[64];
        void *slots[64];
        uint32_t sizes[64];
        const uint32_t count = number();
        for (uint32_t b = 0; b < count; ++b) {
            sizes[b] = number();
            buffers[b] = malloc(sizes[b]);
            if (fread(buffers[b], 1, sizes[b], stdin) != sizes[b]) {
                return 2;
            }
        }
        const uint32_t operands = number();
        for (uint32_t n = 0; n < operands; ++n) {
            const uint32_t b = number();
            slots[n] = (char *)buffers[b] + number();
        }
        calls[i](slots);
        for (uint32_t b = 0; b < count; ++b) {
            fwrite(buffers[b], 1, sizes[b], stdout);
            free(buffers[b]);
        }
    }
    return 0;
}
"""
