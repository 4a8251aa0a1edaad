#include <Arduino.h>

Stream Serial;
void Stream::begin(unsigned long) {}
int Stream::available() { return 0; }
int Stream::read() { return -1; }
size_t Stream::write(const uint8_t *, size_t count) { return count; }
extern "C" void yield(void) {}

int main() {
  setup();
  for (;;) loop();
}
