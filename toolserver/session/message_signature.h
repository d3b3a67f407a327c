#pragma once

// The signature of messages in sessions without records. The algorithm and the
// key are the session's: what a message says of them can only agree or be
// refused.
// Source: docs/wire-3.0.md, section 3.1.

#include <string_view>

#include "base/crypto/digest.h"
#include "toolserver/model/envelope.h"
#include "toolserver/session/key_schedule.h"
#include "toolserver/session/record.h"

namespace tool::session {

/// The key of one direction, ready for many messages.
class MessageKey {
 public:
  MessageKey(Direction direction, const SecretBytes& key);
  [[nodiscard]] static MessageKey of(const SessionKeys& keys, Direction direction);

  [[nodiscard]] MessageSignature sign(const Digest& transcript, std::string_view canonical) const;
  /// Errors: E_SIG  another alg or kid than this key's, or a wrong value.
  [[nodiscard]] Outcome<void> verify(const Digest& transcript, std::string_view canonical,
                                     const MessageSignature& signature) const;

 private:
  std::string_view key_id_;
  base::crypto::HmacKey key_;
};

}  // namespace tool::session
