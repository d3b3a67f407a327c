#include "base/core/clock.h"

#include <openssl/rand.h>

#include <cstdlib>

namespace base {

WallTime SystemClock::now() const {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void SystemRandom::fill(std::span<std::byte> out) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) != 1) {
    std::abort();
  }
}

Uuid make_uuid_v4(Random& random) {
  Uuid uuid;
  random.fill(std::as_writable_bytes(std::span(uuid)));
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace base
