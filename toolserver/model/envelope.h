#pragma once

// Every message of the wire is one envelope. It is read once, here, into a
// value whose every member has been checked, and written in one form: the
// canonical one, which is what is signed, so that signing and writing are the
// same pass.
// Source: docs/wire-3.0.md, sections 2 and 3; RFC 8785; RFC 7493.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/crypto/digest.h"
#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/ijson.h"
#include "toolserver/model/ulid.h"

namespace tool {

enum class MessageType : std::uint8_t { kReq, kRes, kErr, kEvt, kCancel };
/// "req".
[[nodiscard]] std::string_view name(MessageType type);

/// The wire's time: milliseconds since 1970.
using WireTime = std::chrono::sys_time<std::chrono::milliseconds>;
[[nodiscard]] inline WireTime wire_time(base::WallTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time);
}

using MessageNonce = std::array<std::uint8_t, 16>;

struct Meta {
  std::optional<std::chrono::milliseconds> deadline;  ///< 1 ms to 300 s.
  std::string traceparent;                            ///< W3C Trace Context; empty when absent.
  base::json::Object others;                          ///< Unknown members, kept for the signature.
};

/// As the message claims it; nothing of it is believed.
struct MessageSignature {
  std::string algorithm;
  std::string key_id;
  base::crypto::Digest value{};
};

struct Envelope {
  std::string version = "3.0";
  MessageType type = MessageType::kReq;
  Ulid id;
  std::string op;
  WireTime time{};
  MessageNonce nonce{};
  std::string audience;
  std::int64_t sequence = 0;  ///< Of an evt; 0 in others.
  base::json::Object payload;
  std::optional<Meta> meta;  ///< Of meaning in a req only.
  std::optional<MessageSignature> signature;
  base::json::Object others;  ///< Unknown top-level members: ignored, and signed.
};

/// Reads one message.
/// Errors: E_PARSE  not I-JSON: bad UTF-8, a duplicate name, an integer beyond
///                  2^53-1, a number out of range, or over a limit;
///         E_SHAPE  a member is missing or breaks its rule; the message begins
///                  with its name.
[[nodiscard]] Outcome<Envelope> parse_envelope(std::string_view text,
                                               const MessageLimits& limits = {});

/// What can be said of a message that parse_envelope refused, so that the err
/// can name the request: default values where the message does not tell.
struct Origin {
  Ulid id;
  std::string op;
};
[[nodiscard]] Origin origin_of(std::string_view refused, const MessageLimits& limits = {});

/// The bytes a signature covers: RFC 8785, all members but sig.
/// Errors: kInvalid  as base::json::canonical().
[[nodiscard]] base::Result<std::string> canonical_without_sig(const Envelope& envelope);

/// The text of the whole envelope, with its signature if it has one: canonical,
/// unless a number would not be read back from that, see has_large_double().
/// Errors: kInvalid  as above.
[[nodiscard]] base::Result<std::string> write_envelope(const Envelope& envelope);

/// The canonical text of an envelope that is about to be signed, and where its
/// sig belongs: one pass for a message of our own. To be sent as it is only
/// without a large double in it.
struct Unsigned {
  std::string text;
  std::size_t signature_at = 0;
};
/// `envelope` has no unknown members (ours have none) and its signature is
/// passed over. Errors: kInvalid  as above.
[[nodiscard]] base::Result<Unsigned> write_unsigned(const Envelope& envelope);

/// A payload that is sent again and again: its canonical text, without a large double in it.
struct WrittenPayload {
  std::string text;
};
/// Likewise, with `payload` in the place of the envelope's own.
[[nodiscard]] Unsigned write_unsigned(const Envelope& envelope, const WrittenPayload& payload);
/// The whole text.
[[nodiscard]] std::string with_signature(Unsigned message, const MessageSignature& signature);

}  // namespace tool
