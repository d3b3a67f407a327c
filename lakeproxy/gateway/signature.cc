#include "lakeproxy/gateway/signature.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/core/text.h"
#include "base/crypto/digest.h"
#include "lakeproxy/gateway/s3_error.h"
#include "lakeproxy/storage/sigv4_parts.h"

namespace lake::gateway {
namespace {

using base::Result;
using base::http::Headers;

constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostHeaders = 64;

bool is_digits(std::string_view text, std::size_t size) {
  return text.size() == size &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_hash(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos || parts.size() > kMostHeaders) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool starts_like(std::string_view name, std::string_view lower) {
  return name.size() >= lower.size() &&
         std::ranges::equal(name.substr(0, lower.size()), lower, {},
                            [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
}

// The one field of that name. Two would be two readings.
Result<std::string_view> only(const Headers& headers, std::string_view name,
                              const S3Error& missing) {
  std::optional<std::string_view> found;
  for (const Headers::Field& field : headers.fields()) {
    if (!field.is(name)) continue;
    if (found) return refuse(s3::kBadHeader, "a field comes twice");
    found = field.value;
  }
  if (!found) return refuse(missing, "a field is missing: " + std::string(name));
  return *found;
}

// "key/20260131/us-east-1/s3/aws4_request"
base::Status read_credential(std::string_view text, ShownSignature& into) {
  auto parts = split(text, '/');
  const bool fits = parts.size() == 5 && !parts[0].empty() && is_digits(parts[1], 8) &&
                    parts[3] == "s3" && parts[4] == "aws4_request";
  if (!fits) return refuse(s3::kBadHeader, "credential");
  into.access_key_id = parts[0];
  into.scope = text.substr(parts[0].size() + 1);
  into.day = parts[1];
  into.region = parts[2];
  return {};
}

base::Status read_part(std::string_view part, ShownSignature& into) {
  auto value_of = [&](std::string_view name, std::string_view held) -> Result<std::string_view> {
    if (!held.empty()) return refuse(s3::kBadHeader, "a part comes twice");
    return part.substr(name.size());
  };
  if (part.starts_with("Credential=")) {
    ASSIGN_OR_RETURN(auto value, value_of("Credential=", into.scope));
    return read_credential(value, into);
  }
  if (part.starts_with("SignedHeaders=")) {
    ASSIGN_OR_RETURN(into.signed_headers, value_of("SignedHeaders=", into.signed_headers));
    return {};
  }
  if (part.starts_with("Signature=")) {
    ASSIGN_OR_RETURN(into.signature, value_of("Signature=", into.signature));
    return {};
  }
  return refuse(s3::kBadHeader, "an unknown part");
}

// "20260131T235959Z"
std::optional<base::WallTime> parse_signing_time(std::string_view text) {
  const bool fits = text.size() == 16 && is_digits(text.substr(0, 8), 8) && text[8] == 'T' &&
                    is_digits(text.substr(9, 6), 6) && text[15] == 'Z';
  if (!fits) return std::nullopt;
  auto number = [&](std::size_t at, std::size_t size) {
    return static_cast<int>(*base::parse_int64(text.substr(at, size)));
  };
  using namespace std::chrono;
  const year_month_day date{year(number(0, 4)), month(static_cast<unsigned>(number(4, 2))),
                            day(static_cast<unsigned>(number(6, 2)))};
  if (!date.ok() || number(9, 2) > 23 || number(11, 2) > 59 || number(13, 2) > 59) {
    return std::nullopt;
  }
  return sys_days(date) + hours(number(9, 2)) + minutes(number(11, 2)) + seconds(number(13, 2));
}

base::Status check_time(std::string_view time, std::string_view day, base::WallTime now) {
  auto signed_at = parse_signing_time(time);
  if (!signed_at || !time.starts_with(day)) return refuse(s3::kBadHeader, "x-amz-date");
  if (*signed_at > now + kClockSkew || *signed_at < now - kClockSkew) {
    return refuse(s3::kSkewed, std::string(time));
  }
  return {};
}

// The signed fields without Host, where all that had to be signed are among them.
Result<Headers> signed_fields(const ShownSignature& shown, const Headers& headers) {
  const auto names = split(shown.signed_headers, ';');
  auto is_signed = [&](const Headers::Field& field) {
    return std::ranges::any_of(names, [&](std::string_view name) { return field.is(name); });
  };
  if (names.size() > kMostHeaders || std::ranges::find(names, "host") == names.end()) {
    return refuse(s3::kBadHeader, "the host is not signed");
  }
  Headers kept;
  for (const Headers::Field& field : headers.fields()) {
    const bool covered = is_signed(field);
    if (!covered && starts_like(field.name, "x-amz-")) {
      return refuse(s3::kBadHeader, "a field is not signed: " + field.name);
    }
    if (covered && !field.is("Host")) kept.add(field.name, field.value);
  }
  return kept;
}

Result<std::string> canonical_query_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  std::vector<storage::Parameter> all;
  if (mark == std::string_view::npos || mark + 1 == target.size()) return std::string();
  for (std::string_view pair : split(target.substr(mark + 1), '&')) {
    const std::size_t equals = pair.find('=');
    auto name = base::percent_decode(pair.substr(0, equals));
    auto value = base::percent_decode(equals == pair.npos ? "" : pair.substr(equals + 1));
    if (!name || !value) return refuse(s3::kInvalidRequest, "the query is wrongly encoded");
    all.push_back({std::move(*name), std::move(*value)});
  }
  return storage::canonical_query(all);
}

Result<storage::CanonicalRequest> canonical_of(const ShownSignature& shown,
                                               const base::http::Request& request,
                                               std::string_view payload_hash) {
  ASSIGN_OR_RETURN(auto host, only(request.headers, "Host", s3::kBadHeader));
  ASSIGN_OR_RETURN(Headers fields, signed_fields(shown, request.headers));
  auto path = base::percent_decode(request.path());
  if (!path) return refuse(s3::kInvalidRequest, "the path is wrongly encoded");
  storage::CanonicalRequest canonical{.method = request.method,
                                      .path = storage::canonical_path(*path),
                                      .headers = storage::canonical_headers(host, fields),
                                      .payload_hash = std::string(payload_hash)};
  ASSIGN_OR_RETURN(canonical.query, canonical_query_of(request.target));
  // Others in the list than came, or another order.
  if (canonical.headers.names != shown.signed_headers) {
    return refuse(s3::kBadSignature, "the signed fields are not those that came");
  }
  return canonical;
}

}  // namespace

Result<ShownSignature> read_authorization(const Headers& headers) {
  ASSIGN_OR_RETURN(std::string_view text, only(headers, "Authorization", s3::kMissingToken));
  constexpr std::string_view kStart = "AWS4-HMAC-SHA256 ";
  if (text.size() > kMostBytes || !text.starts_with(kStart)) {
    return refuse(s3::kBadHeader, "another scheme");
  }
  text.remove_prefix(kStart.size());
  ShownSignature shown;
  for (std::string_view part : split(text, ',')) RETURN_IF_ERROR(read_part(trim(part), shown));
  const bool whole = !shown.scope.empty() && !shown.signed_headers.empty();
  if (!whole || !is_hash(shown.signature)) return refuse(s3::kBadHeader, "a part is missing");
  return shown;
}

Result<Verified> verify_signature(const ShownSignature& shown, const base::http::Request& request,
                                  const base::Secret& secret, std::string_view region,
                                  base::WallTime now) {
  if (shown.region != region) return refuse(s3::kBadHeader, "another region");
  ASSIGN_OR_RETURN(auto time, only(request.headers, "x-amz-date", s3::kBadHeader));
  ASSIGN_OR_RETURN(auto payload, only(request.headers, "x-amz-content-sha256", s3::kBadHeader));
  RETURN_IF_ERROR(check_time(time, shown.day, now));
  ASSIGN_OR_RETURN(auto canonical, canonical_of(shown, request, payload));
  Verified verified{.signing_key = storage::signing_key(secret.reveal(), shown.day, region, "s3"),
                    .time = std::string(time),
                    .scope = std::string(shown.scope),
                    .signature = {},
                    .payload_hash = std::string(payload)};
  verified.signature =
      storage::signature_of(verified.signing_key, verified.time, verified.scope, canonical);
  if (!base::crypto::equal(verified.signature, shown.signature)) return refuse(s3::kBadSignature);
  return verified;
}

}  // namespace lake::gateway
