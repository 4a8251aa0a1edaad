/* What the RP2350's boot ROM looks for in the first 4 KiB of flash: a block that says that this is a program for the
 * RISC-V cores, which begins at its first instruction (RP2350 Datasheet, "Bootrom", minimum viable image). */

/* clang-format off */
__asm__(
    ".section .tflmgen_image, \"a\", %progbits\n"
    ".p2align 2\n"
    "  .word 0xFFFFDED3\n" /* a block begins */
    "  .word 0x11010142\n" /* IMAGE_TYPE, one word: executable, RISC-V, RP2350 */
    "  .word 0x000001FF\n" /* last item: one word of others */
    "  .word 0\n"          /* no other block */
    "  .word 0xAB123579\n" /* it ends */
    ".text\n");
