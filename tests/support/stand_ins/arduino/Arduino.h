/* Stands in for an Arduino core in tests: Serial is standard output, and the second delay() ends the program. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Output {
  void begin(long) {}
  void print(const char *text) { fputs(text, stdout); }
  void print(char letter) { putchar(letter); }
  void print(int value) { printf("%d", value); }
  void print(long value) { printf("%ld", value); }
  void print(double value, int digits) { printf("%.*f", digits, value); }
  void println() { putchar('\n'); }
  void println(int value) { printf("%d\n", value); }
};
static Output Serial;

static inline void delay(unsigned long) { exit(0); }
void setup();
void loop();

int main() {
  setup();
  for (;;) {
    loop();
  }
}
