/* What the i.MX RT1060's boot ROM looks for in the first 8 KiB of a serial flash (Reference Manual, "System Boot"): how
 * to read the flash, and behind 4 KiB where the program is. It begins at its vector table, 8 KiB into the flash. */

/* clang-format off */
__asm__(
    ".section .tflmgen_boot, \"a\", %progbits\n"
    ".Lbegin:\n"
    "  .word 0x42464346, 0x56010400, 0\n"     /* FlexSPI's configuration block, version 1.4.0 */
    "  .word 0x00030301\n"                    /* sampled by the looped-back DQS pad; 3 clocks around chip select */
    "  .org .Lbegin + 0x44\n"
    "  .word 0x00060401\n"                    /* serial NOR, 4 lines, 100 MHz */
    "  .org .Lbegin + 0x50\n"
    "  .word 0x00800000\n"                    /* 8 MiB */
    "  .org .Lbegin + 0x80\n"
    "  .word 0x0A1804EB\n"                    /* reads: command EBh by one line, 24 bits of address by four */
    "  .word 0x26043206\n"                    /* 6 clocks of wait, data by four lines */
    "  .org .Lbegin + 0x1C0\n"
    "  .word 256, 4096\n"                     /* bytes of a page, of a sector */
    "  .org .Lbegin + 0x1D0\n"
    "  .word 65536\n"                         /* of a block */
    "  .org .Lbegin + 0x1000\n"
    "  .word 0x412000D1, tflmgen_vectors, 0\n" /* image vector table of 32 bytes, version 4.1; the program */
    "  .word 0, 0x60001020, 0x60001000\n"     /* no device configuration; boot data; this table */
    "  .word 0, 0\n"                          /* no signature */
    "  .word 0x60000000, 0x00800000, 0\n"     /* boot data: the flash, and no plug-in */
    "  .org .Lbegin + 0x2000\n"
    ".text\n");
