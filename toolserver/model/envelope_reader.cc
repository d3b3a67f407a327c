#include <algorithm>
#include <array>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/model/envelope.h"

namespace tool {
namespace {

using base::json::Object;
using base::json::Value;

constexpr std::string_view kVersion = "3.0";
constexpr std::size_t kMaxOp = 32;
constexpr std::int64_t kMaxDeadline = 300'000;

Fault shape(std::string_view member, std::string_view rule) {
  std::string message(member);
  message += ": ";
  message += rule;
  return refuse(Code::kShape, std::move(message));
}

std::optional<std::string_view> text_of(const Value& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_string();
  return std::string_view(text.data(), text.size());
}

std::optional<std::int64_t> integer_of(const Value& value) {
  if (!value.is_int64()) return std::nullopt;
  return value.get_int64();
}

bool is_op(std::string_view text) {
  return !text.empty() && text.size() <= kMaxOp && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || c == '.';
  });
}

// "0" to "999", without leading zeros.
bool is_short_number(std::string_view text) {
  return !text.empty() && text.size() <= 3 && (text.size() == 1 || text[0] != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_version(std::string_view text) {
  std::size_t dot = text.find('.');
  return dot != std::string_view::npos && is_short_number(text.substr(0, dot)) &&
         is_short_number(text.substr(dot + 1));
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

// version-trace_id-parent_id-flags. Source: W3C Trace Context, section 3.2.2.
bool is_traceparent(std::string_view text) {
  if (text.size() != 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  auto version = text.substr(0, 2), trace = text.substr(3, 32), parent = text.substr(36, 16);
  return is_hex(version) && version != "ff" && is_hex(trace) && !is_zero(trace) && is_hex(parent) &&
         !is_zero(parent) && is_hex(text.substr(53));
}

// Decodes b64 of exactly N bytes.
template <std::size_t N>
bool read_bytes(const Value& value, std::array<std::uint8_t, N>& out) {
  auto text = text_of(value);
  if (!text || text->size() != (N * 4 + 2) / 3) return false;
  auto bytes = base::crypto::from_base64url(*text, N);
  if (!bytes || bytes->size() != N) return false;
  std::ranges::copy(*bytes, out.begin());
  return true;
}

// Reads the members into an envelope, in the order in which they come.
class Reader {
 public:
  Outcome<Envelope> read(Object& object) {
    for (auto& member : object) {
      if (auto done = take({member.key().data(), member.key().size()}, member.value()); !done) {
        return std::move(done).error();
      }
    }
    if (auto done = check_all(); !done) return std::move(done).error();
    return std::move(envelope_);
  }

 private:
  enum Member : unsigned {
    kV = 1,
    kT = 2,
    kId = 4,
    kOp = 8,
    kTs = 16,
    kN = 32,
    kAud = 64,
    kP = 128,
    kSeq = 256,
    kMeta = 512,
  };
  static constexpr std::array<std::pair<std::string_view, unsigned>, 8> kRequired{{{"v", kV},
                                                                                   {"t", kT},
                                                                                   {"id", kId},
                                                                                   {"op", kOp},
                                                                                   {"ts", kTs},
                                                                                   {"n", kN},
                                                                                   {"aud", kAud},
                                                                                   {"p", kP}}};

  Outcome<void> take(std::string_view name, Value& value) {
    if (name == "v") return take_text(kV, name, value, envelope_.version);
    if (name == "aud") return take_text(kAud, name, value, envelope_.audience);
    if (name == "op") return take_op(value);
    if (name == "t") return take_type(value);
    if (name == "id") return take_id(value);
    if (name == "ts") return take_time(value);
    if (name == "n") {
      seen_ |= kN;
      return read_bytes(value, envelope_.nonce)
                 ? Outcome<void>()
                 : Outcome<void>(shape(name, "must be base64url of 16 bytes"));
    }
    if (name == "p") return take_payload(value);
    if (name == "seq") return take_sequence(value);
    if (name == "meta") return take_meta(value);
    if (name == "sig") return take_signature(value);
    envelope_.others.emplace(boost::json::string_view(name.data(), name.size()), std::move(value));
    return {};
  }

  Outcome<void> take_text(Member member, std::string_view name, const Value& value,
                          std::string& out) {
    seen_ |= member;
    auto text = text_of(value);
    if (!text) return shape(name, "must be a text");
    out = *text;
    return {};
  }

  Outcome<void> take_op(const Value& value) {
    seen_ |= kOp;
    auto text = text_of(value);
    if (!text || !is_op(*text)) return shape("op", "must be 1 to 32 of a-z, '_' and '.'");
    envelope_.op = *text;
    return {};
  }

  Outcome<void> take_type(const Value& value) {
    seen_ |= kT;
    auto text = text_of(value);
    for (int i = 0; text && i <= static_cast<int>(MessageType::kCancel); ++i) {
      auto type = static_cast<MessageType>(i);
      if (name(type) != *text) continue;
      envelope_.type = type;
      return {};
    }
    return shape("t", "must be req, res, err, evt or cancel");
  }

  Outcome<void> take_id(const Value& value) {
    seen_ |= kId;
    auto text = text_of(value);
    auto id = text ? Ulid::parse(*text) : base::fail(base::ErrorKind::kInvalid, "");
    if (!id) return shape("id", "must be a ULID");
    envelope_.id = *id;
    return {};
  }

  Outcome<void> take_time(const Value& value) {
    seen_ |= kTs;
    auto ms = integer_of(value);
    if (!ms || *ms < 0) return shape("ts", "must be milliseconds since 1970 as an integer");
    envelope_.time = WireTime(std::chrono::milliseconds(*ms));
    return {};
  }

  Outcome<void> take_payload(Value& value) {
    seen_ |= kP;
    if (!value.is_object()) return shape("p", "must be an object");
    envelope_.payload = std::move(value.get_object());
    return {};
  }

  Outcome<void> take_sequence(const Value& value) {
    seen_ |= kSeq;
    auto number = integer_of(value);
    if (!number || *number < 0) return shape("seq", "must be an integer from 0 on");
    envelope_.sequence = *number;
    return {};
  }

  Outcome<void> take_meta(Value& value) {
    seen_ |= kMeta;
    if (!value.is_object()) return shape("meta", "must be an object");
    Meta& meta = envelope_.meta.emplace();
    for (auto& member : value.get_object()) {
      if (member.key() == "deadline_ms") {
        auto ms = integer_of(member.value());
        if (!ms || *ms < 1 || *ms > kMaxDeadline) {
          return shape("meta.deadline_ms", "must be an integer from 1 to 300000");
        }
        meta.deadline = std::chrono::milliseconds(*ms);
      } else if (member.key() == "traceparent") {
        auto text = text_of(member.value());
        if (!text || !is_traceparent(*text)) {
          return shape("meta.traceparent", "must be as in W3C Trace Context");
        }
        meta.traceparent = *text;
      } else {
        meta.others.emplace(member.key(), std::move(member.value()));
      }
    }
    return {};
  }

  // Nothing in here is signed, so nothing beside the three members is let in.
  Outcome<void> take_signature(const Value& value) {
    if (!value.is_object() || value.get_object().size() != 3) {
      return shape("sig", "must be an object of alg, kid and v");
    }
    const Object& object = value.get_object();
    const Value *alg = object.if_contains("alg"), *kid = object.if_contains("kid"),
                *v = object.if_contains("v");
    if (alg == nullptr || kid == nullptr || v == nullptr || !alg->is_string() ||
        !kid->is_string()) {
      return shape("sig", "must be an object of alg, kid and v");
    }
    MessageSignature& signature = envelope_.signature.emplace();
    signature.algorithm = *text_of(*alg);
    signature.key_id = *text_of(*kid);
    if (!read_bytes(*v, signature.value)) return shape("sig.v", "must be base64url of 32 bytes");
    return {};
  }

  Outcome<void> check_all() {
    for (auto [name, member] : kRequired) {
      if ((seen_ & member) == 0) return shape(name, "is missing");
    }
    bool hello = envelope_.type == MessageType::kReq && envelope_.op == "session.hello";
    if (hello ? !is_version(envelope_.version) : envelope_.version != kVersion) {
      return shape("v", hello ? "must be major.minor" : "must be 3.0");
    }
    bool has_sequence = (seen_ & kSeq) != 0;
    if (envelope_.type == MessageType::kEvt) {
      return has_sequence ? Outcome<void>() : Outcome<void>(shape("seq", "is missing"));
    }
    // Of no meaning in the others, as an unknown member: ignored, and signed.
    if (has_sequence) envelope_.others["seq"] = std::exchange(envelope_.sequence, 0);
    return {};
  }

  Envelope envelope_;
  unsigned seen_ = 0;
};

}  // namespace

Outcome<Envelope> parse_envelope(std::string_view text, const MessageLimits& limits) {
  auto value = parse_ijson(text, limits);
  if (!value) return std::move(value).error();
  if (!value->is_object()) return refuse(Code::kShape, "envelope: must be an object");
  return Reader().read(value->get_object());
}

Origin origin_of(std::string_view refused, const MessageLimits& limits) {
  Origin origin;
  auto value = parse_ijson(refused, limits);
  if (!value || !value->is_object()) return origin;
  const Object& object = value->get_object();
  const Value *id = object.if_contains("id"), *op = object.if_contains("op");
  if (id == nullptr || op == nullptr || !id->is_string() || !op->is_string()) return origin;
  auto known = Ulid::parse(*text_of(*id));
  if (!known || !is_op(*text_of(*op))) return origin;
  origin.id = *known;
  origin.op = *text_of(*op);
  return origin;
}

}  // namespace tool
