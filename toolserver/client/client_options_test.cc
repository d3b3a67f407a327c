#include "toolserver/client/client_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "toolserver/client/secure_client.h"
#include "toolserver/settings/good_config.h"

namespace tool::client {
namespace {

using base::Secret;
using testing::HasSubstr;

ClientOptions good_options() {
  ClientOptions options;
  options.url = "ws://127.0.0.1:7443/scp/v3";
  options.plain = PlainTransport::kLoopbackOnly;
  options.session.suites = {session::Suite::kX25519Aes256Gcm};
  options.session.secrets = {Secret(settings::kGoodSecretKey),
                             Secret(settings::kGoodApiKey),
                             Secret(settings::kGoodSalt),
                             {},
                             {}};
  return options;
}

base::Status made(ClientOptions options) {
  base::SystemClock clock;
  base::SystemRandom random;
  auto client = SecureClient::create(std::move(options), clock, random);
  if (client) return {};
  return std::unexpected(client.error());
}

TEST(ClientOptionsTest, a_client_with_a_weak_secret_is_not_made) {
  ASSERT_TRUE(made(good_options()));
  struct Case {
    const char* name;
    Secret session::Secrets::* member;
  };
  for (const auto& c : {Case{"secret_key", &session::Secrets::secret_key},
                        {"api_key", &session::Secrets::api_key},
                        {"kdf_salt", &session::Secrets::kdf_salt},
                        {"secret_key_previous", &session::Secrets::secret_key_previous},
                        {"api_key_previous", &session::Secrets::api_key_previous}}) {
    for (const char* weak : {"x", "changeme-changeme-changeme-changeme", "your-256-bit-secret",
                             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
      auto options = good_options();
      options.session.secrets.*c.member = Secret(weak);
      auto status = made(options);
      ASSERT_FALSE(status) << c.name << " " << weak;
      EXPECT_EQ(status.error().kind(), base::ErrorKind::kInvalid);
      EXPECT_THAT(status.error().message(), testing::StartsWith(std::string(c.name) + ": "));
      EXPECT_THAT(status.error().message(), testing::Not(HasSubstr(weak)));
    }
  }
}

TEST(ClientOptionsTest, the_key_of_a_token_is_of_ed25519_and_closed_to_others) {
  using base::crypto::KeyType;
  std::string file = ::testing::TempDir() + "holder.key";
  auto write = [&](std::string_view text, mode_t mode) {
    std::ofstream(file, std::ios::trunc) << text;
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
  };
  auto with_key = [&] {
    auto options = good_options();
    options.holder_key_file = file;
    return made(options);
  };
  auto pem = base::crypto::SigningKey::generate(KeyType::kEd25519).to_pem();
  for (mode_t mode : {0600, 0400, 0640}) {
    write(pem.reveal(), mode);
    EXPECT_TRUE(with_key()) << mode;
  }
  for (mode_t mode : {0644, 0604, 0660, 0602}) {
    write(pem.reveal(), mode);
    auto status = with_key();
    ASSERT_FALSE(status) << mode;
    EXPECT_THAT(status.error().message(), HasSubstr("holder_key_path: must not be open"));
  }
  auto other = base::crypto::SigningKey::generate(KeyType::kRsa).to_pem();
  for (std::string_view text : {other.reveal(), std::string_view("no key")}) {
    write(text, 0600);
    EXPECT_THAT(with_key().error().message(), HasSubstr("must be an Ed25519 private key"));
  }
  std::filesystem::remove(file);
  EXPECT_THAT(with_key().error().message(), HasSubstr("must name a file that exists"));
}

TEST(ClientOptionsTest, plaintext_goes_to_this_machine_and_with_the_permission) {
  auto options = good_options();
  options.url = "ws://tools.example.org/scp/v3";
  EXPECT_FALSE(made(options));
  options = good_options();
  options.plain = PlainTransport::kRefused;
  EXPECT_FALSE(made(options));
}

}  // namespace
}  // namespace tool::client
