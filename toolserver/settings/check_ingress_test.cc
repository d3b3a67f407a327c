#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/settings/good_config.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const SecureConfig& config, Role role = Role::kServer) {
  std::vector<std::string> out;
  for (const auto& finding : check_ingress(config, role)) out.emplace_back(finding.setting);
  return out;
}

SecureConfig with_ingress(Mode mode) {
  SecureConfig config = good_config(mode, Role::kServer);
  config.mcp.enabled = true;
  return config;
}

TEST(CheckIngressTest, is_off_by_default_and_may_be_on_in_the_modes_that_fit) {
  EXPECT_FALSE(defaults().mcp.enabled);
  EXPECT_EQ(defaults().mcp.path, "/mcp");
  for (Mode mode : {Mode::kSimple, Mode::kBasic, Mode::kEnterprise}) {
    EXPECT_THAT(names(with_ingress(mode)), IsEmpty());
  }
  EXPECT_THAT(names(with_ingress(Mode::kEncrypted)), ElementsAre("mcp.enabled"));
  EXPECT_THAT(names(with_ingress(Mode::kEncrypted), Role::kClient), IsEmpty());
  SecureConfig off = with_ingress(Mode::kEncrypted);
  off.mcp.enabled = false;
  EXPECT_THAT(names(off), IsEmpty());
}

TEST(CheckIngressTest, does_not_take_bearers_where_tokens_must_be_bound) {
  SecureConfig config = with_ingress(Mode::kBasic);
  config.security.require_bound_tokens = true;
  EXPECT_THAT(names(config), ElementsAre("mcp.enabled"));
}

TEST(CheckIngressTest, has_a_path_of_its_own) {
  for (const char* path :
       {"", "/scp/v3", "/healthz", "/metrics", "/.well-known/oauth-protected-resource/mcp"}) {
    SecureConfig config = with_ingress(Mode::kSimple);
    config.mcp.path = path;
    EXPECT_THAT(names(config), ElementsAre("mcp.path")) << path;
  }
}

TEST(CheckIngressTest, is_known_by_a_url_that_is_safe) {
  for (auto [url, safe] : {std::pair{"https://tools.example/mcp", true},
                           {"http://127.0.0.1:8000/mcp", true},
                           {"http://tools.example/mcp", false},
                           {"wss://tools.example/mcp", false},
                           {"https://user@tools.example/mcp", false},
                           {"tools.example", false}}) {
    SecureConfig config = with_ingress(Mode::kEnterprise);
    config.mcp.resource = url;
    if (safe) {
      EXPECT_THAT(names(config), IsEmpty()) << url;
    } else {
      EXPECT_THAT(names(config), ElementsAre("mcp.resource")) << url;
    }
  }
}

}  // namespace
}  // namespace tool::settings
