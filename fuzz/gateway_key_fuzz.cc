// Any bytes as what a client shows of a key of the gateway, and any text as what a key is for: a
// key opens what it was made for, until its end, and no other bytes open anything. The names that
// clients send, of pages and of namespaces, are read back as they are written.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/text.h"
#include "lakeproxy/gateway/keys.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/planning/scan_plans.h"

namespace {

using namespace lake::gateway;

const base::WallTime kEnd(std::chrono::seconds(1'800'000'000));

void require(bool holds) {
  if (!holds) std::abort();
}

Keys& keys() {
  static base::SystemRandom random;
  static Keys made = *Keys::create(base::Secret(std::string(32, 'a')), {}, random);
  return made;
}

void check_shown(std::string_view text) {
  const std::size_t cut = std::min(text.find('\n'), text.size());
  const auto before = kEnd - std::chrono::seconds(1);
  require(!keys().open(text.substr(0, cut), text.substr(std::min(cut + 1, text.size())), before));
}

void check_made(std::string_view text) {
  auto grants = std::make_shared<lake::auth::Grants>();
  grants->roles = {std::string(text)};
  Grant grant{.principal = {.subject = std::string(text), .superuser = false, .grants = grants},
              .catalog = std::string(text),
              .table = {{{std::string(text)}}, "t"},
              .location = std::string(text),
              .expires = kEnd};
  const auto key = keys().mint(grant);
  if (!key) return require(text.size() > 100);
  const std::string token(key->session_token.reveal());
  const auto opened = keys().open(key->access_key_id, token, kEnd - std::chrono::seconds(1));
  require(opened && opened->grant.principal.subject == text && opened->grant.table == grant.table &&
          opened->grant.principal.grants->roles == grants->roles &&
          opened->grant.catalog == grant.catalog && opened->grant.location == grant.location &&
          opened->secret_access_key.reveal() == key->secret_access_key.reveal());
  require(!keys().open(key->access_key_id, token, kEnd + std::chrono::seconds(1)));
  require(!keys().open(key->access_key_id + "A", token, kEnd - std::chrono::seconds(1)));
}

void check_names(std::string_view text) {
  if (const auto page = lake::planning::parse_page_name(text)) {
    require(lake::planning::to_string(*page) == text);
  }
  if (const auto name = lake::model::parse_namespace(text)) {
    require(!name->levels.empty() && name->levels.size() <= 16);
    std::string joined;
    for (const auto& level : name->levels) {
      require(!level.empty() && level.size() <= 255);
      joined += (joined.empty() ? "" : "\x1f") + level;
    }
    require(joined == text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_shown(text);
  check_names(text);
  if (base::is_utf8(text)) check_made(text);
  return 0;
}
