// Any bytes as what a foreign server and its authorisation server say of a login:
// a challenge, the documents, a redirect. What is taken keeps the rules that the
// rest of the login stands on.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "toolserver/mcp_login/login.h"

using namespace tool::login;  // NOLINT: this file is about nothing else.

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_scopes(const Scopes& scopes) {
  check(scopes.size() <= kMostScopes);
  check(read_scopes(write_scopes(scopes)) == scopes);
}

void read_all(const std::string& text) {
  const auto server = *Address::parse("https://mcp.example/team/mcp");
  if (auto challenge = read_challenge(text)) check_scopes(challenge->scope);
  if (auto resource = read_resource_metadata(text, server)) {
    auto address = Address::parse(resource->resource);
    check(address && same_origin(*address, server) && !resource->issuers.empty());
  }
  if (auto metadata = read_server_metadata(text, "https://as.example")) {
    check(metadata->issuer == "https://as.example");
    check_scopes(metadata->scopes);
  }
  if (auto tokens = read_tokens(text)) {
    check(!tokens->access.empty() &&
          tokens->access.reveal().find_first_of("\r\n ") == std::string::npos);
  }
  if (auto registration = read_registration(text)) check(!registration->client_id.empty());
  check(read_error_code(text).size() <= 64);
  if (auto address = Address::parse(text)) {
    check(address->target.starts_with('/'));
    check(address->target.find_first_of("\r\n \\#") == std::string::npos);
  }
  if (auto urls = server_metadata_urls(text)) {
    for (const auto& url : *urls) {
      auto address = Address::parse(url);
      check(!address || same_origin(*address, *Address::parse(text)));
    }
  }
  ServerMetadata metadata;
  metadata.issuer = "https://as.example";
  metadata.sends_issuer = true;
  if (auto code = read_redirect(text, "state", metadata)) check(!code->empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 128 << 10) return 0;
  read_all(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
