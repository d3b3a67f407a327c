#pragma once

// After welcome every message is protected, by a record or by a signature, as
// the suite says. This is the one place that knows which; the sessions above
// it write and read envelopes.
// Source: docs/wire-3.0.md, sections 3.1, 3.2 and 7.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/core/secret.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/session/frame.h"
#include "toolserver/session/key_schedule.h"
#include "toolserver/session/message_signature.h"
#include "toolserver/session/record.h"
#include "toolserver/session/suites.h"

namespace tool::session {

enum class Side : std::uint8_t { kClient, kServer };

/// Both directions of one session. Not thread-safe; movable.
class MessageLayer {
 public:
  MessageLayer(Side side, Suite suite, SessionKeys keys, const Digest& th1);

  /// The JSON text in a message of the peer.
  /// Errors: E_STATE  text where records belong, or the other way round;
  ///         E_PARSE, E_REPLAY, E_SIG  as RecordOpener::open().
  [[nodiscard]] Outcome<std::string> unwrap(FrameKind kind, std::string bytes);
  /// Whether a sig is there exactly when the suite wants one. Errors: E_SHAPE.
  [[nodiscard]] Outcome<void> check_shape(const Envelope& envelope) const;
  /// The signature, when the suite has them. Errors: E_SIG.
  [[nodiscard]] Outcome<void> authenticate(const Envelope& envelope) const;

  /// A message of ours, ready to be sent, of at most `most` bytes.
  /// Errors: E_INTERNAL  the payload has no canonical form, see
  ///         base::json::canonical(); E_LIMIT  it would be larger. Either way
  ///         nothing was written, and no counter is used up.
  [[nodiscard]] Outcome<Frame> write(const Envelope& envelope,
                                     std::size_t most = std::numeric_limits<std::size_t>::max());
  /// Likewise, with `payload` in the place of the envelope's own. Errors: E_LIMIT.
  [[nodiscard]] Outcome<Frame> write(const Envelope& envelope, const WrittenPayload& payload,
                                     std::size_t most);

  /// Later messages are signed over th2.
  void enter_ready(const Digest& th2) { transcript_ = th2; }

  /// Both directions go on in the next epoch. Only for suites with records.
  void rekey(const Digest& th_r, const SecretBytes& dh);
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  /// Whether one direction has reached `times` the limits.
  [[nodiscard]] bool reached(const RekeyLimits& limits, std::uint64_t times) const;

  [[nodiscard]] Suite suite() const { return suite_; }
  [[nodiscard]] const SessionKeys& keys() const { return keys_; }

 private:
  struct Records {
    RecordSealer sealer;
    RecordOpener opener;
  };
  struct Signatures {
    MessageKey ours;
    MessageKey theirs;
  };
  using Protection = std::variant<Records, Signatures>;
  // A message that is sent in the form that is signed.
  [[nodiscard]] Frame seal(Unsigned message);
  [[nodiscard]] static Protection protect(Side side, Suite suite, const SessionKeys& keys,
                                          const Digest& transcript, std::uint16_t epoch);

  Side side_;
  Suite suite_;
  SessionKeys keys_;
  Digest transcript_;
  std::uint32_t epoch_ = 0;
  Protection protection_;
};

}  // namespace tool::session
