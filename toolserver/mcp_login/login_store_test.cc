#include "toolserver/mcp_login/login_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace tool::login {
namespace {

class LoginStoreTest : public testing::Test {
 protected:
  LoginStoreTest() {
    std::string name = testing::TempDir() + "/logins_XXXXXX";
    parent_ = ::mkdtemp(name.data());
  }
  ~LoginStoreTest() override { std::filesystem::remove_all(parent_); }

  std::filesystem::path parent_;
};

TEST_F(LoginStoreTest, what_is_written_is_read_by_its_owner_alone) {
  auto store = LoginStore::open(parent_ / "logins", "weather");
  ASSERT_TRUE(store) << store.error().message();
  auto nothing = store->read();
  ASSERT_TRUE(nothing) << nothing.error().message();
  EXPECT_FALSE(*nothing);
  StoredLogin login;
  login.server_url = "https://mcp.example/mcp";
  login.issuer = "https://as.example";
  login.client = {"c", base::Secret("s"), ClientAuth::kPost};
  login.access = base::Secret("a");
  login.expires_at = base::WallTime(std::chrono::seconds(7));
  login.refresh = base::Secret("r");
  login.requested = {"x"};
  login.wanted = {"y", "z"};
  ASSERT_TRUE(store->write(login));
  auto read = store->read();
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->server_url, login.server_url);
  EXPECT_EQ((*read)->client.client_secret.reveal(), "s");
  EXPECT_EQ((*read)->client.auth, ClientAuth::kPost);
  EXPECT_EQ((*read)->access.reveal(), "a");
  EXPECT_EQ((*read)->expires_at, login.expires_at);
  EXPECT_EQ((*read)->refresh.reveal(), "r");
  EXPECT_EQ((*read)->wanted, login.wanted);
  struct stat facts{};
  ASSERT_EQ(::stat(store->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat((parent_ / "logins").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  ASSERT_TRUE(store->remove());
  EXPECT_EQ(store->remove().error().kind(), base::ErrorKind::kNotFound);
}

TEST_F(LoginStoreTest, what_others_could_read_is_not_taken) {
  auto store = LoginStore::open(parent_ / "logins", "weather");
  ASSERT_TRUE(store && store->write({}));
  ASSERT_EQ(::chmod(store->path().c_str(), 0640), 0);
  EXPECT_EQ(store->read().error().kind(), base::ErrorKind::kForbidden);
  ASSERT_EQ(::chmod((parent_ / "logins").c_str(), 0750), 0);
  EXPECT_EQ(LoginStore::open(parent_ / "logins", "weather").error().kind(),
            base::ErrorKind::kForbidden);
  std::filesystem::create_directory_symlink(parent_ / "logins", parent_ / "link");
  EXPECT_EQ(LoginStore::open(parent_ / "link", "weather").error().kind(),
            base::ErrorKind::kForbidden);
}

TEST_F(LoginStoreTest, a_broken_file_is_told_apart_and_not_repeated) {
  auto store = LoginStore::open(parent_ / "logins", "weather");
  ASSERT_TRUE(store && store->write({}));
  std::ofstream(store->path()) << R"({"version":1,"access_token":"secret-token"})";
  auto read = store->read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), base::ErrorKind::kCorrupt);
  EXPECT_EQ(read.error().message().find("secret-token"), std::string::npos);
}

}  // namespace
}  // namespace tool::login
