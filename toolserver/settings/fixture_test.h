#pragma once

// A folder with files of settings, and an environment that is good by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "toolserver/settings/good_config.h"
#include "toolserver/settings/settings.h"

namespace tool::settings::testing {

inline std::vector<std::string> good_environment() {
  return {std::string("SCP_API_KEY=") + kGoodApiKey,
          std::string("SCP_SECRET_KEY=") + kGoodSecretKey,
          std::string("SCP_JWT_SECRET=") + kGoodJwtSecret,
          std::string("SCP_KDF_SALT=") + kGoodSalt,
          "SCP_NODE_ID=node-1",
          "SCP_SECURITY_ALLOW_INSECURE_TRANSIT=1"};
}

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    std::string name = ::testing::TempDir() + "secure-XXXXXX";
    places_.folder = mkdtemp(name.data());
    places_.environment = good_environment();
  }
  ~SettingsTest() override { std::filesystem::remove_all(places_.folder); }

  void write(const std::string& name, std::string_view text) {
    std::ofstream(places_.folder / name) << text;
    ASSERT_EQ(chmod((places_.folder / name).c_str(), 0600), 0);
  }
  void set(std::string entry) {
    unset(entry.substr(0, entry.find('=')));
    places_.environment.push_back(std::move(entry));
  }
  void unset(const std::string& name) {
    std::erase_if(places_.environment,
                  [&](const std::string& entry) { return entry.starts_with(name + "="); });
  }

  SecureConfig loaded(Role role = Role::kServer) {
    auto got = load(places_, role);
    EXPECT_TRUE(got.has_value()) << (got ? "" : got.error().message());
    return got ? got->config : SecureConfig();
  }
  std::string refused(Role role = Role::kServer) {
    auto got = load(places_, role);
    EXPECT_FALSE(got.has_value());
    if (got) return "";
    EXPECT_EQ(got.error().kind(), base::ErrorKind::kInvalid);
    return got.error().message();
  }

  base::config::Places places_;
};

}  // namespace tool::settings::testing
