/* Listens to a made-up evening: noise, and now and then a whistle. Prints what is heard. In the middle of the last one
 * the device sleeps, which costs it its RAM, all but the blob that keeps the model's state. */
#include <stdbool.h>
#include <tflmgen/board.h>
#include <whistle.h>

#define BANDS 8
#define FRAMES 12
#define THRESHOLD 0.4f

static const char *const names[] = {"rise", "fall", "call"};

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
    static uint32_t state = 7;
    state = state * 1664525u + 1013904223u;
    return (int32_t)((state >> 16) % (uint32_t)(2 * range + 1)) - range;
}

static int band(int signal, int frame)
{
    const int rising = frame * BANDS / FRAMES;
    return signal == 0 ? rising : signal == 1 ? BANDS - 1 - rising : frame / 3 % 2 == 0 ? 2 : 5;
}

/* What a microphone and a filter bank would give: noise, and a whistle of 12 frames, in each 30 frames. */
static void record(int32_t now, int8_t *frame)
{
    static const int evening[] = {0, 2, 0, 1};
    const int32_t at = now % 30 - 15;
    for (int i = 0; i < BANDS; i++) {
        const bool whistled = at >= 0 && at < FRAMES && i == band(evening[now / 30 % 4], (int)at);
        frame[i] = (int8_t)((whistled ? 60 : 0) + noise(20));
    }
}

int main(void)
{
    static uint8_t blob[WHISTLE_STATE_BLOB_BYTES];
    bool heard[3] = {false, false, false};
    for (int32_t now = 0; now < 120; now++) {
        record(now, whistle_input());
        if (whistle_invoke() != TFLMGEN_OK) {
            tflmgen_board_exit(1);
        }
        for (int i = 0; i < 3; i++) {
            const float evidence = whistle_output()[i];
            if (evidence > THRESHOLD && !heard[i]) {
                put("frame ");
                put_number(now, 3);
                put(": ");
                put(names[i]);
                put(", evidence ");
                put_number((int32_t)(evidence * 100.0f), 1);
                put(" %\n");
            }
            heard[i] = evidence > THRESHOLD;
        }
        if (now == 111) {
            whistle_state_save(blob);
            whistle_reset();
            put("frame 111: asleep\n");
            if (whistle_state_load(blob) != TFLMGEN_OK) {
                tflmgen_board_exit(2);
            }
        }
    }
    tflmgen_board_exit(0);
}
