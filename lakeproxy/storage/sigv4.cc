#include "lakeproxy/storage/sigv4.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/core/text.h"
#include "lakeproxy/storage/sigv4_parts.h"

namespace lake::storage {
namespace {

using base::http::Headers;

std::string_view as_text(const Sha256& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return out;
}

// Without spaces at the ends, and with one where there were several.
std::string trimmed(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\t') c = ' ';
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out.push_back(c);
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 out;
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    std::abort();  // Out of memory, or a library without SHA-256.
  }
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
           &size) == nullptr) {
    std::abort();
  }
  return out;
}

std::string canonical_path(std::string_view path) {
  return base::percent_encode(path, base::Slash::kKeep);
}

std::string canonical_query(const std::vector<Parameter>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& parameter : query) {
    encoded.emplace_back(base::percent_encode(parameter.name, base::Slash::kEncode),
                         base::percent_encode(parameter.value, base::Slash::kEncode));
  }
  std::ranges::sort(encoded);
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name + "=" + value;
  }
  return out;
}

CanonicalHeaders canonical_headers(std::string_view host, const Headers& headers) {
  std::map<std::string, std::string> sorted{{"host", trimmed(host)}};
  for (const auto& field : headers.fields()) {
    auto [at, added] = sorted.try_emplace(lower_case(field.name), trimmed(field.value));
    if (!added) at->second += "," + trimmed(field.value);
  }
  CanonicalHeaders out;
  for (const auto& [name, value] : sorted) {
    out.lines += name + ":" + value + "\n";
    if (!out.names.empty()) out.names += ';';
    out.names += name;
  }
  return out;
}

std::string to_text(const CanonicalRequest& request) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", to_string(request.method), request.path,
                     request.query, request.headers.lines, request.headers.names,
                     request.payload_hash);
}

std::string signing_time(base::WallTime time) {
  return fmt::format("{:%Y%m%dT%H%M%SZ}",
                     fmt::gmtime(std::chrono::floor<std::chrono::seconds>(time)));
}

std::string signing_scope(std::string_view day, std::string_view region, std::string_view service) {
  return fmt::format("{}/{}/{}/aws4_request", day, region, service);
}

std::string signing_key(std::string_view secret, std::string_view day, std::string_view region,
                        std::string_view service) {
  Sha256 key = hmac_sha256("AWS4" + std::string(secret), day);
  for (std::string_view part : {region, service, std::string_view("aws4_request")}) {
    key = hmac_sha256(as_text(key), part);
  }
  return std::string(as_text(key));
}

std::string signature_of(std::string_view key, std::string_view time, std::string_view scope,
                         const CanonicalRequest& request) {
  std::string to_sign = fmt::format("{}\n{}\n{}\n{}", kSigningAlgorithm, time, scope,
                                    base::to_hex(sha256(to_text(request))));
  return base::to_hex(hmac_sha256(key, to_sign));
}

const std::string& Signer::key_of(const std::string& day) {
  if (day_ != day) {
    day_key_ = base::Secret(signing_key(credentials_.secret_key.reveal(), day, region_, service_));
    day_ = day;
  }
  return day_key_.reveal();
}

Headers Signer::sign(const SignableRequest& request, base::WallTime now) {
  const std::string time = signing_time(now);
  const std::string day = time.substr(0, 8);
  Headers headers = request.headers;
  headers.set("x-amz-date", time);
  headers.set("x-amz-content-sha256", request.payload_hash);
  if (!credentials_.session_token.empty()) {
    headers.set("x-amz-security-token", credentials_.session_token.reveal());
  }
  CanonicalRequest canonical{.method = request.method,
                             .path = canonical_path(request.path),
                             .query = canonical_query(request.query),
                             .headers = canonical_headers(request.host, headers),
                             .payload_hash = request.payload_hash};
  const std::string scope = signing_scope(day, region_, service_);
  const std::string signature = signature_of(key_of(day), time, scope, canonical);
  headers.set("Authorization",
              fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kSigningAlgorithm,
                          credentials_.access_key, scope, canonical.headers.names, signature));
  return headers;
}

}  // namespace lake::storage
