// Any bytes where a stranger, an operator or a token says who it is and what it may do: each reader
// answers without a fault. Scopes that are accepted come back the same from their own text, and
// what two have in common is never more than either.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lakeproxy/auth/authorization.h"
#include "lakeproxy/auth/clients.h"
#include "lakeproxy/auth/scope.h"

namespace {

using lake::auth::OtherWords;
using lake::auth::Scopes;

void check_scopes(std::string_view text) {
  auto scopes = Scopes::parse(text, OtherWords::kIgnored);
  if (!scopes) return;
  auto again = Scopes::parse(scopes->text(), OtherWords::kRefused);
  if (!again || again->text() != scopes->text()) std::abort();
  if (!scopes->within(*again) || !again->within(*scopes)) std::abort();
  const std::size_t middle = text.size() / 2;
  auto first = Scopes::parse(text.substr(0, middle), OtherWords::kIgnored);
  auto second = Scopes::parse(text.substr(middle), OtherWords::kIgnored);
  if (!first || !second) return;
  const Scopes both = first->both(*second);
  if (!both.within(*first) || !both.within(*second)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_scopes(text);
  for (const char* scheme : {"", "Bearer ", "Basic "}) {
    base::http::Headers headers;
    headers.add("Authorization", scheme + text);
    auto token = lake::auth::bearer_of(headers);
    if (token && (token->empty() || token->contains(' '))) std::abort();
    (void)lake::auth::basic_of(headers);
  }
  lake::auth::Clients clients;
  (void)clients.add_entries(text);
  (void)clients.add_json(text);
  return 0;
}
