// Register models of UARTs, for drivers compiled as C++: every access of a register is a call. A model is as slow as the
// hardware: a byte is there, or sent, only after its status was asked a few times. What no driver may do ends the program.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<uint8_t> arriving, sent;
static unsigned asked, arrived, sending;
static double bit_clocks;  // of the UART's clock, per bit
static bool enabled;

static void require(bool good, const char *what) {
  if (!good) {
    std::printf("wrong: %s\n", what);
    std::exit(1);
  }
}

// A status read lets time pass: every third brings a byte nearer, two end a transmission.
static void pass_time() {
  if (++asked % 3 == 0 && arrived < arriving.size() && arrived == 0) arrived = 1;
  if (sending > 0) sending--;
}
static bool full() { return arrived != 0; }
static uint8_t take() {
  require(enabled && full(), "a byte is read that isn't there");
  const uint8_t byte = arriving.front();
  arriving.erase(arriving.begin());
  arrived = 0;
  return byte;
}
static void give(uint32_t byte) {
  require(enabled && sending == 0, "a byte is sent while there is no room");
  sent.push_back(uint8_t(byte));
  sending = 2;
}

#if defined(MODEL_STM32V1)
static uint32_t read_register(uint32_t offset) {
  if (offset == 0x04) return take();
  require(offset == 0x00, "unexpected read");
  pass_time();
  return (full() ? 1u << 5 : 0) | (sending == 0 ? 1u << 7 : 0);
}
static void write_register(uint32_t offset, uint32_t value) {
  if (offset == 0x04) give(value);
  if (offset == 0x08) bit_clocks = value;
  if (offset == 0x0C) enabled = value == (1u << 13 | 1u << 3 | 1u << 2) && bit_clocks > 0;
}
#elif defined(MODEL_STM32V2) || defined(MODEL_STM32_LPUART)
static uint32_t read_register(uint32_t offset) {
  if (offset == 0x24) return take();
  require(offset == 0x1C, "unexpected read");
  pass_time();
  return (full() ? 1u << 5 : 0) | (sending == 0 ? 1u << 7 : 0);
}
static void write_register(uint32_t offset, uint32_t value) {
  if (offset == 0x28) {
    give(value);
    return;
  }
  require(!enabled, "set up while enabled");
#ifdef MODEL_STM32_LPUART
  if (offset == 0x0C) require(value >= 0x300 && value <= 0xFFFFF, "LPUART_BRR outside 0x300..0xFFFFF");
  if (offset == 0x0C) bit_clocks = value / 256.0;
#else
  if (offset == 0x0C) require(value >= 16 && value <= 0xFFFF, "USART_BRR outside 16..0xFFFF");
  if (offset == 0x0C) bit_clocks = value;
#endif
  if (offset == 0x00 && (value & 1u)) enabled = (value & ~1u) == (1u << 3 | 1u << 2) && bit_clocks > 0;
}
#elif defined(MODEL_PL011)
static uint32_t whole, fraction;
static uint32_t read_register(uint32_t offset) {
  if (offset == 0x00) return take();
  require(offset == 0x18, "unexpected read");
  pass_time();
  return (full() ? 0 : 1u << 4) | (sending == 0 ? 0 : 1u << 5);
}
static void write_register(uint32_t offset, uint32_t value) {
  if (offset == 0x00) give(value);
  if (offset == 0x24) whole = value;
  if (offset == 0x28) fraction = value;
  if (offset == 0x2C) {  // takes over the divisor
    require(!enabled && value == (3u << 5 | 1u << 4), "UARTLCR_H");
    require(fraction < 64, "UARTFBRD");
    bit_clocks = 16 * (whole + fraction / 64.0);
  }
  if (offset == 0x30) enabled = value == 0x301 && bit_clocks > 0;
}
#elif defined(MODEL_IMX_LPUART)
static bool overrun;  // from the first status on, until it is cleared: nothing is received meanwhile
static bool overrun_cleared;
static uint32_t read_register(uint32_t offset) {
  if (offset == 0x1C) return 0xA00 | take();  // flags of the byte above its bits
  require(offset == 0x14, "unexpected read");
  pass_time();
  overrun = !overrun_cleared;
  return (full() && !overrun ? 1u << 21 : 0) | (sending == 0 ? 1u << 23 : 0) | (overrun ? 1u << 19 : 0);
}
static void write_register(uint32_t offset, uint32_t value) {
  if (offset == 0x1C) give(value);
  if (offset == 0x14) {
    require(value == 1u << 19, "LPUART_STAT");
    overrun_cleared = true;
  }
  if (offset == 0x10) {
    require(!enabled && (value >> 24 & 31) >= 3 && (value & 0x1FFF) > 0, "LPUART_BAUD");
    bit_clocks = ((value >> 24 & 31) + 1) * double(value & 0x1FFF);
  }
  if (offset == 0x18) enabled = value == 3u << 18 && bit_clocks > 0;
}
#elif defined(MODEL_NRF_UARTE)
static uint32_t receive_at, receive_count, send_at, send_count, end_receive, end_send;
static bool receiving;
static uint8_t &memory(uint32_t address) { return *reinterpret_cast<uint8_t *>(uintptr_t(address)); }
static uint32_t read_register(uint32_t offset) {
  pass_time();
  if (receiving && full()) {
    memory(receive_at) = take();
    receiving = false;
    end_receive = 1;
  }
  if (offset == 0x110) return end_receive;
  require(offset == 0x120, "unexpected read");
  if (send_count != 0 && sending == 0) {
    end_send = 1;
    send_count = 0;
  }
  return end_send;
}
static void write_register(uint32_t offset, uint32_t value) {
  static uint32_t send_maximum;
  if (offset == 0x500) enabled = value == 8;
  if (offset == 0x534) receive_at = value;
  if (offset == 0x538) receive_count = value;
  if (offset == 0x544) send_at = value;
  if (offset == 0x548) send_maximum = value;
  if (offset == 0x110) end_receive = value;
  if (offset == 0x120) end_send = value;
  if (offset == 0x000) {
    require(enabled && receive_count == 1 && !receiving && end_receive == 0, "STARTRX");
    receiving = true;
  }
  if (offset == 0x008) {
    require(send_maximum == 1, "STARTTX");
    send_count = 1;
    give(memory(send_at));
  }
}
#elif defined(MODEL_NRF51)
static bool receiving, sending_allowed, ready, done;
static uint32_t read_register(uint32_t offset) {
  if (offset == 0x518) {
    require(!ready, "RXD is read before the event is cleared");
    return take();
  }
  pass_time();
  if (receiving && full()) ready = true;
  if (offset == 0x108) return ready;
  require(offset == 0x11C, "unexpected read");
  return done = done || sending == 0;
}
static void write_register(uint32_t offset, uint32_t value) {
  if (offset == 0x500) enabled = value == 4;
  if (offset == 0x000) receiving = enabled;
  if (offset == 0x008) sending_allowed = enabled;
  if (offset == 0x108) ready = false;
  if (offset == 0x11C) done = false;
  if (offset == 0x51C) {
    require(sending_allowed, "TXD before STARTTX");
    give(value);
  }
}
#elif defined(MODEL_ESP32)
// Set up by the boot loader, whose last messages fill the FIFO of 128 bytes. Lines of the modem that are high stand
// beside both counters.
static unsigned queued = 128;
static uint32_t read_register(uint32_t offset) {
  enabled = true;
  if (offset == 0x00) return take();
  require(offset == 0x1C, "unexpected read");
  pass_time();
  if (asked % 3 == 0 && queued > 0) queued--;
  return (7u << 29 | 7u << 13) | queued << 16 | (full() ? 1u : 0);
}
static void write_register(uint32_t offset, uint32_t value) {
  require(offset == 0x00 && queued < 128, "a byte is sent while there is no room");
  queued++;
  sent.push_back(uint8_t(value));
}
#endif

struct Register {
  uint32_t offset;
  operator uint32_t() const { return read_register(offset); }
  void operator=(uint32_t value) const { write_register(offset, value); }
};
#define TFLMGEN_UART_REGISTER(at) (Register{at})
