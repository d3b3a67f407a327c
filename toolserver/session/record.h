#pragma once

// Encrypted messages in one direction of one epoch. The counter is the replay
// protection: the receiver takes exactly the record that comes next.
// Source: docs/wire-3.0.md, section 7.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/crypto/aead.h"
#include "base/crypto/digest.h"
#include "toolserver/model/fault.h"
#include "toolserver/session/key_schedule.h"
#include "toolserver/session/suites.h"

namespace tool::session {

enum class Direction : std::uint8_t { kClientToServer, kServerToClient };

inline constexpr std::size_t kRecordHeaderBytes = 12;
/// What a record is longer than its plaintext.
inline constexpr std::size_t kRecordOverhead = kRecordHeaderBytes + 16;

/// After so much in one direction of an epoch the client renews the keys; at
/// twice as much the server ends the session.
struct RekeyLimits {
  std::uint64_t records = std::uint64_t{1} << 22;
  std::uint64_t bytes = std::uint64_t{32} << 30;
};

/// Where one direction begins. Views: they outlive the construction only.
struct RecordStart {
  base::crypto::Aead::Algorithm algorithm = base::crypto::Aead::Algorithm::kAes256Gcm;
  std::string_view key;  ///< 32 bytes.
  std::string_view iv;   ///< 12 bytes.
  Digest transcript{};   ///< th1, in a later epoch th_r.
  std::uint16_t epoch = 0;
  std::uint64_t counter = 0;
};
[[nodiscard]] RecordStart record_start(Suite suite, const SessionKeys& keys, Direction direction,
                                       const Digest& transcript, std::uint16_t epoch);

/// Key, IV, epoch, counter and additional data of one direction.
class RecordState {
 public:
  RecordState(const RecordStart& start, base::crypto::Aead::Use use);

  /// Whether `times` the limits are reached.
  [[nodiscard]] bool reached(const RekeyLimits& limits, std::uint64_t times) const;

 protected:
  void advance(std::size_t bytes);
  [[nodiscard]] base::crypto::Aead::Nonce nonce() const;
  /// The header that the next record has.
  [[nodiscard]] std::string_view header() const { return {bound_.data(), kRecordHeaderBytes}; }
  /// Header and transcript.
  [[nodiscard]] std::string_view additional_data() const { return {bound_.data(), bound_.size()}; }

  base::crypto::Aead aead_;

 private:
  void write_counter();

  SecretBytes iv_;
  std::uint64_t counter_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  std::array<char, kRecordHeaderBytes + sizeof(Digest)> bound_;
};

/// Not thread-safe.
class RecordSealer : public RecordState {
 public:
  explicit RecordSealer(const RecordStart& start)
      : RecordState(start, base::crypto::Aead::Use::kSealing) {}
  [[nodiscard]] std::string seal(std::string_view plaintext);
};

/// Not thread-safe.
class RecordOpener : public RecordState {
 public:
  explicit RecordOpener(const RecordStart& start)
      : RecordState(start, base::crypto::Aead::Use::kOpening) {}
  /// The plaintext. After an error the session is at its end.
  /// Errors: E_PARSE  short, or of another type; E_REPLAY  another epoch or
  ///         counter than the next; E_SIG  the tag is wrong.
  [[nodiscard]] Outcome<std::string> open(std::string_view record);
};

}  // namespace tool::session
