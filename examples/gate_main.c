/* A camera that mostly sees nothing: in each eight frames one has a line. Prints what the classifier makes of them,
 * and how often its costly half ran. */
#include <gate.h>
#include <stdbool.h>
#include <string.h>
#include <tflmgen/board.h>

#define SIDE 16
#define CLASSES 5

static const char *const names[CLASSES] = {"nothing", "horizontal", "vertical", "rising", "falling"};

static void put(const char *text)
{
    while (*text != '\0') {
        tflmgen_board_link.put((uint8_t)*text++);
    }
}

static void put_number(int32_t number, int width)
{
    char digits[12];
    int used = 0;
    do {
        digits[used++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    for (; width > used; width--) {
        put(" ");
    }
    while (used > 0) {
        tflmgen_board_link.put((uint8_t)digits[--used]);
    }
}

/* From -range to range: a linear congruential generator's upper bits. */
static int32_t noise(int32_t range)
{
    static uint32_t state = 3;
    state = state * 1664525u + 1013904223u;
    return (int32_t)((state >> 16) % (uint32_t)(2 * range + 1)) - range;
}

static void take_picture(int32_t number, int8_t *frame)
{
    const int direction = number % 8 == 5 ? (int)(number / 8 % 4) : -1;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const int distances[] = {y - 6, x - 9, x + y - 16, x - y + 1};
            const bool line = direction >= 0 && (distances[direction] == 0 || distances[direction] == 1);
            frame[SIDE * y + x] = (int8_t)((line ? 110 : 0) + noise(8));
        }
    }
}

int main(void)
{
    /* What the model answers where it stops early: a constant. */
    static const int8_t early[CLASSES] = {127, -128, -128, -128, -128};
    int32_t whole = 0;
    for (int32_t number = 0; number < 32; number++) {
        take_picture(number, gate_input());
        if (gate_invoke() != TFLMGEN_OK) {
            tflmgen_board_exit(1);
        }
        const int8_t *scores = gate_output();
        int best = 0;
        for (int i = 1; i < CLASSES; i++) {
            best = scores[i] > scores[best] ? i : best;
        }
        if (memcmp(scores, early, sizeof early) != 0) {
            whole++;
        }
        if (best != 0) {
            put("frame ");
            put_number(number, 2);
            put(": ");
            put(names[best]);
            put("\n");
        }
    }
    put_number(whole, 1);
    put(" of 32 frames went all the way\n");
    tflmgen_board_exit(0);
}
