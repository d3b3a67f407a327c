#include "toolserver/session/payload_reader.h"

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"

namespace tool::session {
namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kKeyBytes = 32;  // Of Ed25519.

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }

}  // namespace

const base::json::Value* PayloadReader::find(std::string_view name) const {
  return object_.if_contains({name.data(), name.size()});
}

bool PayloadReader::has(std::string_view name) const { return find(name) != nullptr; }

void PayloadReader::fail(std::string_view name, std::string_view rule) {
  if (fault_) return;
  std::string message = path_;
  message += '.';
  message += name;
  message += ": ";
  message += rule;
  fault_ = refuse(Code::kShape, std::move(message));
}

std::string PayloadReader::text(std::string_view name, std::size_t max) {
  const auto* value = find(name);
  if (value != nullptr && value->is_string() && value->get_string().size() <= max) {
    return std::string(view(value->get_string()));
  }
  fail(name, "must be a text of at most " + std::to_string(max) + " bytes");
  return {};
}

std::string PayloadReader::words(std::string_view name, std::size_t max) {
  const auto* value = find(name);
  if (value != nullptr && value->is_string() && characters(view(value->get_string())) <= max) {
    return std::string(view(value->get_string()));
  }
  fail(name, "must be a text of at most " + std::to_string(max) + " characters");
  return {};
}

std::string PayloadReader::bytes(std::string_view name, std::size_t bytes) {
  const auto* value = find(name);
  if (value != nullptr && value->is_string()) {
    auto decoded = base::crypto::from_base64url(view(value->get_string()), bytes);
    if (decoded && decoded->size() == bytes) return std::move(*decoded);
  }
  fail(name, "must be base64url of " + std::to_string(bytes) + " bytes");
  return {};
}

std::int64_t PayloadReader::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const auto* value = find(name);
  if (value != nullptr && value->is_int64() && value->get_int64() >= least &&
      value->get_int64() <= most) {
    return value->get_int64();
  }
  fail(name, "must be an integer from " + std::to_string(least) +
                 (most == kMostInteger ? " on" : " to " + std::to_string(most)));
  return least;
}

std::vector<std::string> PayloadReader::texts(std::string_view name, std::size_t least,
                                              std::size_t most, std::size_t max) {
  const auto* value = find(name);
  std::vector<std::string> out;
  bool good = value != nullptr && value->is_array() && value->get_array().size() >= least &&
              value->get_array().size() <= most;
  for (std::size_t i = 0; good && i < value->get_array().size(); ++i) {
    const auto& element = value->get_array()[i];
    good = element.is_string() && element.get_string().size() <= max;
    if (good) out.emplace_back(view(element.get_string()));
  }
  if (good) return out;
  fail(name, "must be a list of " + std::to_string(least) + " to " + std::to_string(most) +
                 " texts of at most " + std::to_string(max) + " bytes");
  return {};
}

std::string PayloadReader::ed25519_key(std::string_view name) {
  const base::json::Object* jwk = object(name);
  if (jwk == nullptr) return {};
  PayloadReader inner(*jwk, path_ + '.' + std::string(name));
  // What it says of its kind is compared with the only one, never used.
  for (auto [member, only] : {std::pair{"kty", "OKP"}, {"crv", "Ed25519"}}) {
    if (inner.text(member, kMaxWord) != only) {
      inner.fail(member, "must be " + std::string(only));
    }
  }
  auto key = inner.bytes("x", kKeyBytes);
  if (inner.fault() && !fault_) fault_ = inner.fault();
  if (jwk->size() != 3) fail(name, "must have crv, kty and x and no other member");
  return key;
}

const base::json::Object* PayloadReader::object(std::string_view name) {
  const auto* value = find(name);
  if (value != nullptr && value->is_object()) return &value->get_object();
  fail(name, "must be an object");
  return nullptr;
}

}  // namespace tool::session
