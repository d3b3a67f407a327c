#pragma once

// Time and chance are inputs. Code that needs them takes a Clock or a Random,
// so that a test decides what they say.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace base {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

/// Wall-clock time. Implementations are safe to call from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime now() const = 0;
};

/// Reads the machine's clock.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime now() const override;
};

/// Source of unpredictable bytes. Safe to call from any thread.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> out) = 0;
};

/// The operating system's generator, by way of OpenSSL.
class SystemRandom final : public Random {
 public:
  /// Aborts if the system has no entropy: nothing safe can follow.
  void fill(std::span<std::byte> out) override;
};

using Uuid = std::array<std::uint8_t, 16>;

/// A random UUID, version 4. Source: RFC 9562, section 5.4.
[[nodiscard]] Uuid make_uuid_v4(Random& random);

}  // namespace base
