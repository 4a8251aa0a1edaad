/* Follows something that walks in a circle, by noisy distances from four beacons; prints where it is, in cm, and in how
 * many steps the model found that out. In the middle the state is lost. */
#include <math.h>
#include <tflmgen/board.h>
#include <tracker.h>

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

/* Up to 1 cm on either side: a linear congruential generator's upper bits. */
static float noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return ((float)(state >> 16) / 65536.0f - 0.5f) * 0.02f;
}

int main(void)
{
    static const float beacons[4][2] = {{0, 0}, {10, 0}, {10, 8}, {0, 8}};
    for (int32_t second = 0; second < 16; second++) {
        const float x = 5.0f + 3.0f * cosf((float)second * 0.1f);
        const float y = 4.0f + 3.0f * sinf((float)second * 0.1f);
        for (int i = 0; i < 4; i++) {
            const float dx = x - beacons[i][0];
            const float dy = y - beacons[i][1];
            tracker_input()[i] = sqrtf(dx * dx + dy * dy) + noise();
        }
        if (second == 8) {
            tracker_reset();
            put("reset\n");
        }
        if (tracker_invoke() != TFLMGEN_OK) {
            tflmgen_board_exit(1);
        }
        put("second ");
        put_number(second, 2);
        put(": x ");
        put_number((int32_t)lroundf(tracker_output_position()[0] * 100.0f), 4);
        put(", y ");
        put_number((int32_t)lroundf(tracker_output_position()[1] * 100.0f), 4);
        put(", ");
        put_number(tracker_output_steps()[0], 1);
        put(" steps\n");
    }
    tflmgen_board_exit(0);
}
