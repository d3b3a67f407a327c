#include "toolserver/model/envelope.h"

#include <fmt/format.h>

#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/canonical.h"

namespace tool {
namespace {

using base::json::Object;

void append_number(std::string& out, std::int64_t number) {
  out += fmt::format_int(number).c_str();
}

std::string encode(const MessageNonce& nonce) {
  return base::crypto::to_base64url({reinterpret_cast<const char*>(nonce.data()), nonce.size()});
}

void append_signature(std::string& out, const MessageSignature& signature) {
  out += ",\"sig\":{\"alg\":";
  base::json::append_quoted(out, signature.algorithm);
  out += ",\"kid\":";
  base::json::append_quoted(out, signature.key_id);
  out += ",\"v\":\"";
  out += base::crypto::to_base64url(base::crypto::view(signature.value));
  out += "\"}";
}

void append_meta(std::string& out, const Meta& meta) {
  out += ",\"meta\":{";
  if (meta.deadline) {
    out += "\"deadline_ms\":";
    append_number(out, meta.deadline->count());
  }
  if (!meta.traceparent.empty()) {
    if (meta.deadline) out += ',';
    out += "\"traceparent\":";
    base::json::append_quoted(out, meta.traceparent);
  }
  out += '}';
}

bool has_others(const Envelope& envelope) {
  return !envelope.others.empty() || (envelope.meta && !envelope.meta->others.empty());
}

// The whole envelope as a tree, for the rare one with members we do not know.
Object tree_of(const Envelope& envelope) {
  Object tree = envelope.others;
  tree["v"] = envelope.version;
  tree["t"] = name(envelope.type);
  tree["id"] = envelope.id.text();
  tree["op"] = envelope.op;
  tree["ts"] = envelope.time.time_since_epoch().count();
  tree["n"] = encode(envelope.nonce);
  tree["aud"] = envelope.audience;
  tree["p"] = envelope.payload;
  if (envelope.type == MessageType::kEvt) tree["seq"] = envelope.sequence;
  if (!envelope.meta) return tree;
  Object meta = envelope.meta->others;
  if (envelope.meta->deadline) meta["deadline_ms"] = envelope.meta->deadline->count();
  if (!envelope.meta->traceparent.empty()) meta["traceparent"] = envelope.meta->traceparent;
  tree["meta"] = std::move(meta);
  return tree;
}

void add_signature(Object& tree, const MessageSignature& signature) {
  tree["sig"] = {{"alg", signature.algorithm},
                 {"kid", signature.key_id},
                 {"v", base::crypto::to_base64url(base::crypto::view(signature.value))}};
}

}  // namespace

std::string_view name(MessageType type) {
  switch (type) {
    case MessageType::kReq: return "req";
    case MessageType::kRes: return "res";
    case MessageType::kErr: return "err";
    case MessageType::kEvt: return "evt";
    case MessageType::kCancel: return "cancel";
  }
  return "";
}

base::Result<Unsigned> write_unsigned(const Envelope& envelope) {
  ASSIGN_OR_RETURN(auto payload, base::json::canonical(envelope.payload));
  return write_unsigned(envelope, WrittenPayload{std::move(payload)});
}

Unsigned write_unsigned(const Envelope& envelope, const WrittenPayload& payload) {
  Unsigned out;
  std::string& text = out.text;
  text.reserve(payload.text.size() + 320);
  text += "{\"aud\":";
  base::json::append_quoted(text, envelope.audience);
  text += ",\"id\":\"";
  text += envelope.id.text();
  text += '"';
  if (envelope.meta) append_meta(text, *envelope.meta);
  text += ",\"n\":\"";
  text += encode(envelope.nonce);
  text += "\",\"op\":";
  base::json::append_quoted(text, envelope.op);
  text += ",\"p\":";
  text += payload.text;
  if (envelope.type == MessageType::kEvt) {
    text += ",\"seq\":";
    append_number(text, envelope.sequence);
  }
  out.signature_at = text.size();
  text += ",\"t\":\"";
  text += name(envelope.type);
  text += "\",\"ts\":";
  append_number(text, envelope.time.time_since_epoch().count());
  text += ",\"v\":";
  base::json::append_quoted(text, envelope.version);
  text += '}';
  return out;
}

std::string with_signature(Unsigned message, const MessageSignature& signature) {
  std::string member;
  append_signature(member, signature);
  message.text.insert(message.signature_at, member);
  return std::move(message.text);
}

base::Result<std::string> canonical_without_sig(const Envelope& envelope) {
  if (has_others(envelope)) return base::json::canonical(tree_of(envelope));
  ASSIGN_OR_RETURN(auto message, write_unsigned(envelope));
  return std::move(message.text);
}

base::Result<std::string> write_envelope(const Envelope& envelope) {
  if (!has_others(envelope) && !has_large_double(envelope.payload)) {
    ASSIGN_OR_RETURN(auto message, write_unsigned(envelope));
    if (!envelope.signature) return std::move(message.text);
    return with_signature(std::move(message), *envelope.signature);
  }
  Object tree = tree_of(envelope);
  if (envelope.signature) add_signature(tree, *envelope.signature);
  ASSIGN_OR_RETURN(auto text, base::json::canonical(tree));
  if (has_large_double(tree)) return base::json::write(tree);
  return text;
}

}  // namespace tool
