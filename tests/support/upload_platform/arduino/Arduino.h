/* The declarations of the Arduino core API (Common.h, Stream.h) that the link uses. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
void setup(void);
void loop(void);
void yield(void);
#ifdef __cplusplus
}
struct Stream {
  void begin(unsigned long baud);
  int available();
  int read();
  size_t write(const uint8_t *bytes, size_t count);
};
extern Stream Serial;
#endif
