#include "toolserver/session/message_layer.h"

#include <utility>

namespace tool::session {
namespace {

// Of a signature with its names, which is larger than a record's header and tag.
constexpr std::size_t kProtectionBytes = 128;

Direction sending(Side side) {
  return side == Side::kClient ? Direction::kClientToServer : Direction::kServerToClient;
}
Direction receiving(Side side) {
  return side == Side::kClient ? Direction::kServerToClient : Direction::kClientToServer;
}

Outcome<void> check_size(const Unsigned& message, std::size_t most) {
  if (message.text.size() + kProtectionBytes <= most) return {};
  return refuse(Code::kLimit, "the answer is too large for one message");
}

}  // namespace

MessageLayer::Protection MessageLayer::protect(Side side, Suite suite, const SessionKeys& keys,
                                               const Digest& transcript, std::uint16_t epoch) {
  if (!has_records(suite)) {
    return Signatures{.ours = MessageKey::of(keys, sending(side)),
                      .theirs = MessageKey::of(keys, receiving(side))};
  }
  return Records{
      .sealer = RecordSealer(record_start(suite, keys, sending(side), transcript, epoch)),
      .opener = RecordOpener(record_start(suite, keys, receiving(side), transcript, epoch))};
}

MessageLayer::MessageLayer(Side side, Suite suite, SessionKeys keys, const Digest& th1)
    : side_(side),
      suite_(suite),
      keys_(std::move(keys)),
      transcript_(th1),
      protection_(protect(side, suite, keys_, th1, 0)) {}

Outcome<std::string> MessageLayer::unwrap(FrameKind kind, std::string bytes) {
  auto* records = std::get_if<Records>(&protection_);
  if ((kind == FrameKind::kBinary) != (records != nullptr)) {
    return refuse(Code::kState, records != nullptr ? "a message must be a record here"
                                                   : "a message must be text here");
  }
  if (records == nullptr) return bytes;
  return records->opener.open(bytes);
}

Outcome<void> MessageLayer::check_shape(const Envelope& envelope) const {
  bool wanted = !has_records(suite_);
  if (envelope.signature.has_value() == wanted) return {};
  return refuse(Code::kShape, wanted ? "sig: is missing" : "sig: must not be in a record");
}

Outcome<void> MessageLayer::authenticate(const Envelope& envelope) const {
  const auto* signatures = std::get_if<Signatures>(&protection_);
  if (signatures == nullptr) return {};
  auto canonical = canonical_without_sig(envelope);
  if (!canonical || !envelope.signature) {
    return refuse(Code::kSignature, "the message's signature is wrong");
  }
  return signatures->theirs.verify(transcript_, *canonical, *envelope.signature);
}

Outcome<Frame> MessageLayer::write(const Envelope& envelope, std::size_t most) {
  auto message = write_unsigned(envelope);
  if (!message) {
    return Fault{Code::kInternal, "the answer cannot be written", std::nullopt,
                 message.error().message()};
  }
  if (auto fits = check_size(*message, most); !fits) return std::move(fits).error();
  if (!has_large_double(envelope.payload)) return seal(std::move(*message));
  if (auto* records = std::get_if<Records>(&protection_)) {
    return Frame{FrameKind::kBinary, records->sealer.seal(write_envelope(envelope).value())};
  }
  Envelope whole = envelope;
  whole.signature = std::get<Signatures>(protection_).ours.sign(transcript_, message->text);
  return Frame{FrameKind::kText, write_envelope(whole).value()};
}

Outcome<Frame> MessageLayer::write(const Envelope& envelope, const WrittenPayload& payload,
                                   std::size_t most) {
  auto message = write_unsigned(envelope, payload);
  if (auto fits = check_size(message, most); !fits) return std::move(fits).error();
  return seal(std::move(message));
}

Frame MessageLayer::seal(Unsigned message) {
  if (auto* records = std::get_if<Records>(&protection_)) {
    return {FrameKind::kBinary, records->sealer.seal(message.text)};
  }
  auto signature = std::get<Signatures>(protection_).ours.sign(transcript_, message.text);
  return {FrameKind::kText, with_signature(std::move(message), signature)};
}

void MessageLayer::rekey(const Digest& th_r, const SecretBytes& dh) {
  ++epoch_;
  keys_ = keys_.next(th_r, dh);
  protection_ = protect(side_, suite_, keys_, th_r, static_cast<std::uint16_t>(epoch_));
}

bool MessageLayer::reached(const RekeyLimits& limits, std::uint64_t times) const {
  const auto* records = std::get_if<Records>(&protection_);
  return records != nullptr &&
         (records->sealer.reached(limits, times) || records->opener.reached(limits, times));
}

}  // namespace tool::session
