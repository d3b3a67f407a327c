#include "toolserver/session/message_signature.h"

namespace tool::session {
namespace {

constexpr std::string_view kPrefix("SCP3-MSG\0", 9);
constexpr std::string_view kAlgorithm = "HS256";

}  // namespace

MessageKey::MessageKey(Direction direction, const SecretBytes& key)
    : key_id_(direction == Direction::kClientToServer ? "c" : "s"), key_(key.reveal()) {}

MessageKey MessageKey::of(const SessionKeys& keys, Direction direction) {
  bool to_server = direction == Direction::kClientToServer;
  return MessageKey(direction, keys.key(to_server ? KeyLabel::kC2sSig : KeyLabel::kS2cSig));
}

MessageSignature MessageKey::sign(const Digest& transcript, std::string_view canonical) const {
  return {.algorithm = std::string(kAlgorithm),
          .key_id = std::string(key_id_),
          .value = key_.mac({kPrefix, base::crypto::view(transcript), canonical})};
}

Outcome<void> MessageKey::verify(const Digest& transcript, std::string_view canonical,
                                 const MessageSignature& signature) const {
  Digest wanted = key_.mac({kPrefix, base::crypto::view(transcript), canonical});
  bool holds = signature.algorithm == kAlgorithm && signature.key_id == key_id_ &&
               base::crypto::equal(base::crypto::view(wanted), base::crypto::view(signature.value));
  if (!holds) return refuse(Code::kSignature, "the message's signature is wrong");
  return {};
}

}  // namespace tool::session
