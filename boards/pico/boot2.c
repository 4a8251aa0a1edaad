/* The RP2040's second-stage boot loader. The ROM copies the first 256 bytes of flash to RAM, checks their CRC and
 * jumps there (RP2040 Datasheet, "Bootrom"); this sets the flash interface to plain reads (command 03h, one data
 * line), which any SPI flash answers, and starts the program behind it at its vector table. */
#define SSI "0x18000000" /* SSIENR +0x08, BAUDR +0x14, CTRLR0 +0x00, CTRLR1 +0x04, SPI_CTRLR0 +0xF4 */

/* clang-format off */
__asm__(
    ".section .tflmgen_boot, \"ax\", %progbits\n"
    ".syntax unified\n"
    ".thumb\n"
    "  ldr   r3, =" SSI "\n"
    "  movs  r0, #0\n"
    "  movs  r1, #1\n"
    "  movs  r2, #4\n"
    "  str   r0, [r3, #0x08]\n" /* off while it is set up */
    "  str   r2, [r3, #0x14]\n" /* a quarter of the processor's clock */
    "  ldr   r2, =0x001F0300\n" /* frames of 32 bits, EEPROM read mode */
    "  str   r2, [r3, #0x00]\n"
    "  str   r0, [r3, #0x04]\n" /* one frame per read */
    "  ldr   r2, =0x03000218\n" /* command 03h, 8 bits of command, 24 of address */
    "  movs  r0, #0xF4\n"
    "  str   r2, [r3, r0]\n"
    "  str   r1, [r3, #0x08]\n"
    "  ldr   r0, =0x10000100\n"
    "  ldr   r1, =0xE000ED08\n" /* VTOR */
    "  str   r0, [r1]\n"
    "  ldmia r0!, {r1, r2}\n"
    "  msr   msp, r1\n"
    "  bx    r2\n"
    "  .ltorg\n"
    "  .org  252\n"
    "  .word 0x3861CAFF\n" /* CRC-32 of the 252 bytes before: polynomial 04C11DB7, initial value FFFFFFFF, plain */
    ".text\n");
