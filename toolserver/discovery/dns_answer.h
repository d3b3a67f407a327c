#pragma once

// The bytes of an answer of a name server. Whoever is on the way may have written them:
// only records of the name and type that was asked for are taken, and the machine's own
// C library takes the message apart.
// Sources: RFC 1035, section 4.1; RFC 2782; RFC 3596.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace tool::discovery {

inline constexpr std::size_t kRecords = 512;  ///< Of one answer.

enum class RecordType : std::uint8_t { kA, kAaaa, kSrv };
/// The number of a type in a message.
[[nodiscard]] int number_of(RecordType type);

struct ServiceRecord {
  std::string target;  ///< In small letters, without the dot at the end; empty: no service.
  std::uint16_t port = 0;
  std::uint16_t priority = 0;
  std::uint16_t weight = 0;
  std::chrono::seconds ttl{0};
};

struct AddressRecord {
  std::string address;
  std::chrono::seconds ttl{0};
};

/// The SRV records of `name`, best first: by priority, then the heavier. None where
/// the name does not exist.
/// Errors: kInvalid  no answer to that question, or it is broken; kTooLarge  over
///         kRecords; kUnavailable  the server could not say.
[[nodiscard]] base::Result<std::vector<ServiceRecord>> read_services(std::string_view message,
                                                                     std::string_view name);

/// The same for the addresses of `name`; `type` is kA or kAaaa. Aliases are not
/// followed: the target of an SRV record must not be one.
[[nodiscard]] base::Result<std::vector<AddressRecord>> read_addresses(std::string_view message,
                                                                      std::string_view name,
                                                                      RecordType type);

}  // namespace tool::discovery
