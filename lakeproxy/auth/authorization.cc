#include "lakeproxy/auth/authorization.h"

#include <algorithm>

#include "base/crypto/encoding.h"
#include "base/jose/jws.h"

namespace lake::auth {
namespace {

using base::ErrorKind;

constexpr std::string_view kField = "Authorization";
constexpr std::size_t kMaxBasicBytes = 2048;

struct Field {
  std::string_view value;
  std::size_t count = 0;
};

Field field_of(const base::http::Headers& headers) {
  Field field;
  for (const auto& header : headers.fields()) {
    if (!header.is(kField)) continue;
    if (field.count++ == 0) field.value = header.value;
  }
  return field;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// What follows the scheme, which is compared without case, and its spaces.
std::optional<std::string_view> after_scheme(std::string_view value, std::string_view scheme) {
  const std::string_view given = value.substr(0, value.find(' '));
  if (!std::ranges::equal(given, scheme, {}, lower)) return std::nullopt;
  value.remove_prefix(given.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

// Source: RFC 6750, section 2.1, "b64token".
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").contains(c);
  });
}

base::Error refused(std::string message) {
  return base::fail(ErrorKind::kUnauthenticated, std::move(message))
      .with_reason(base::jose::reason::kMalformed);
}

base::Error malformed() {
  return base::fail(ErrorKind::kInvalid, "Authorization: is no valid HTTP Basic");
}

}  // namespace

base::Result<std::string_view> bearer_of(const base::http::Headers& headers) {
  const Field field = field_of(headers);
  if (field.count == 0) {
    return base::fail(ErrorKind::kUnauthenticated, "Authorization: a bearer token is required")
        .with_reason(kNoToken);
  }
  // Which of two is meant, nobody can tell.
  if (field.count > 1) return refused("Authorization: must stand there once");
  auto token = after_scheme(field.value, "bearer");
  if (!token) return refused("Authorization: must be a bearer token");
  if (!is_token(*token) || token->size() > base::jose::kMaxTokenBytes) {
    return refused("Authorization: is no valid token");
  }
  return *token;
}

base::Result<std::optional<ShownClient>> basic_of(const base::http::Headers& headers) {
  const Field field = field_of(headers);
  if (field.count > 1) {
    return base::fail(ErrorKind::kInvalid, "Authorization: must stand there once");
  }
  auto encoded = after_scheme(field.value, "basic");
  if (!encoded) return std::optional<ShownClient>();
  auto text = base::crypto::from_base64(*encoded, kMaxBasicBytes);
  if (!text) return malformed();
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return malformed();
  auto id = base::http::decode_form(text->substr(0, colon));
  const std::string raw = text->substr(colon + 1);
  auto secret = base::http::decode_form(raw);
  if (!id) return malformed();
  ShownClient client{.id = std::move(*id), .secret = base::Secret(secret.value_or(raw))};
  if (secret && *secret != raw) client.undecoded = base::Secret(raw);
  return std::optional(std::move(client));
}

}  // namespace lake::auth
