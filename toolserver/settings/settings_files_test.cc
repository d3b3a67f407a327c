// The files of a configuration: where they are looked for, who may read and
// write them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "toolserver/settings/fixture_test.h"
#include "toolserver/settings/settings.h"

namespace tool::settings {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SettingsTest;

TEST_F(SettingsTest, secrets_come_from_files) {
  write("key", std::string(kGoodSecretKey) + "\n");
  places_.environment[1] = "SCP_SECRET_KEY_FILE=key";
  EXPECT_EQ(loaded().core.secret_key.reveal(), kGoodSecretKey);
  ASSERT_EQ(chmod((places_.folder / "key").c_str(), 0644), 0);
  std::string message = refused();
  EXPECT_THAT(message, HasSubstr("environment: SCP_SECRET_KEY_FILE: "));
  // In doubt, not missing: one line.
  EXPECT_EQ(std::ranges::count(message, '\n'), 0) << message;
}

TEST_F(SettingsTest, relative_files_begin_at_the_working_directory) {
  set("SCP_AUDIT_PATH=a.jsonl");
  set("SCP_CONNECTORS_SQL_DATA_DIR=/data");
  auto config = loaded();
  EXPECT_EQ(config.audit.path, places_.folder / "a.jsonl");
  EXPECT_EQ(config.connectors.sql.data_dir, "/data");
  EXPECT_TRUE(config.server.tls_cert.empty());
}

TEST_F(SettingsTest, a_configuration_that_others_can_write_is_refused) {
  for (const char* name : {"securetool.toml", ".env", "securetool.yaml"}) {
    write(name, name[0] == '.' ? "SCP_LIMITS_BURST=101\n" : "");
    auto path = places_.folder / name;
    for (mode_t mode : {0620, 0602, 0666}) {
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
      EXPECT_EQ(refused(),
                std::string(name) + ": must not be open to be written by group or others");
    }
    for (mode_t mode : {0644, 0600, 0400}) {
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
      loaded();
    }
    std::filesystem::remove(path);
  }
}

TEST_F(SettingsTest, a_configuration_with_a_secret_is_closed_to_others) {
  std::string value = "Wm4Zc8Qx2Lr6Tb9Kv3Np7Hs5Jd1Gf0Ya";
  struct Case {
    const char* file;
    std::string text;
    const char* named;
  };
  for (const auto& c : {Case{".env", "SCP_CLUSTER_DISCOVERY_CONFIG_TOKEN=" + value, "TOKEN"},
                        Case{"securetool.toml", "oauth2.client_secret = '" + value + "'", "SECRET"},
                        Case{"securetool.yaml", "oauth2:\n  client_secret: " + value, "SECRET"}}) {
    write(c.file, c.text);
    auto path = places_.folder / c.file;
    for (mode_t mode : {0640, 0604, 0644}) {
      ASSERT_EQ(chmod(path.c_str(), mode), 0);
      std::string message = refused();
      EXPECT_THAT(message, ::testing::StartsWith(std::string(c.file) + ": holds a secret (SCP_"));
      EXPECT_THAT(message, HasSubstr(c.named));
      EXPECT_THAT(message, HasSubstr("mode 0600"));
      EXPECT_THAT(message, Not(HasSubstr(value)));
    }
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    loaded();
    std::filesystem::remove(path);
  }
  // The name of a secret's file is none.
  write("token", value);
  write("securetool.toml", "oauth2.client_secret_file = 'token'");
  ASSERT_EQ(chmod((places_.folder / "securetool.toml").c_str(), 0644), 0);
  loaded();
}

// However the file was found, and however the secret is written in it.
TEST_F(SettingsTest, a_named_or_linked_configuration_with_a_secret_is_closed_to_others) {
  std::string value = "Wm4Zc8Qx2Lr6Tb9Kv3Np7Hs5Jd1Gf0Ya";
  std::filesystem::create_directory(places_.folder / "else");
  for (const char* name : {"else/service.toml", "else/service.env"}) {
    bool is_toml = std::string_view(name).ends_with(".toml");
    write(name, is_toml ? "[oauth2]\nclient_secret = '" + value + "'\n"
                        : "export SCP_OAUTH2_CLIENT_SECRET=\"" + value + "\"\n");
    auto path = places_.folder / name;
    auto link = places_.folder / ("link" + path.extension().string());
    std::filesystem::create_symlink(path, link);
    for (const std::string& named : {std::string(name), link.filename().string()}) {
      set("SCP_CONFIG_FILE=" + named);
      for (mode_t mode : {0640, 0604, 0644, 0660}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        EXPECT_THAT(refused(), ::testing::StartsWith(named + ": ")) << mode;
      }
      for (mode_t mode : {0600, 0400}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        EXPECT_EQ(loaded().oauth2.client_secret.reveal(), value);
      }
    }
  }
}

// Who owns a file can change it, whatever its mode says. Only root can give one
// away; file_text_test.cc has the rule itself.
TEST_F(SettingsTest, files_of_another_user_are_refused) {
  if (::geteuid() != 0) return;
  constexpr uid_t kSomebody = 12'345;
  struct Case {
    const char* file;
    const char* setting;  // In the environment; or null.
  };
  for (const auto& c : {Case{"securetool.toml", nullptr}, Case{".env", nullptr},
                        Case{"key", "SCP_OAUTH2_CLIENT_SECRET_FILE=key"},
                        Case{"k.pem", "SCP_AUDIT_CHECKPOINT_KEY_PATH=k.pem"}}) {
    write(c.file, c.setting == nullptr ? "" : "Wm4Zc8Qx2Lr6Tb9Kv3Np7Hs5Jd1Gf0Ya");
    auto path = places_.folder / c.file;
    if (c.setting != nullptr) set(c.setting);
    loaded();
    ASSERT_EQ(chown(path.c_str(), kSomebody, 0), 0);
    EXPECT_THAT(refused(), HasSubstr("a file of this user or of root")) << c.file;
    std::filesystem::remove(path);
    if (c.setting != nullptr) places_.environment.pop_back();
  }
}

TEST_F(SettingsTest, the_key_of_a_clients_token_is_looked_at) {
  set("SCP_SECURITY_CLIENT_TOKEN=eyJhbGciOiJSUzI1NiJ9.e30.c2ln");
  set("SCP_SERVER_URL=ws://127.0.0.1:7443/scp/v3");
  set("SCP_MODE=simple");
  set("SCP_SECURITY_HOLDER_KEY_PATH=k.pem");
  EXPECT_THAT(refused(Role::kClient), HasSubstr("holder_key_path: must name a file that exists"));
  write("k.pem", "key");
  EXPECT_EQ(loaded(Role::kClient).security.holder_key_path, places_.folder / "k.pem");
  for (mode_t mode : {0644, 0660}) {
    ASSERT_EQ(chmod((places_.folder / "k.pem").c_str(), mode), 0);
    EXPECT_THAT(refused(Role::kClient), HasSubstr("holder_key_path: must not be open to others"));
  }
}

TEST_F(SettingsTest, key_files_are_looked_at) {
  struct Case {
    const char* name;
    mode_t mode;
    const char* rule;  // Null when it passes.
  };
  set("SCP_SECURITY_JWT_ALGORITHM=rs256");
  set("SCP_SECURITY_JWT_PRIVATE_KEY_PATH=k.pem");
  EXPECT_THAT(refused(), HasSubstr("jwt_private_key_path: must name a file that exists"));
  for (const auto& c : std::initializer_list<Case>{{"own", 0600, nullptr},
                                                   {"own, to read", 0400, nullptr},
                                                   {"group reads", 0640, nullptr},
                                                   {"group writes", 0660, "must not be open"},
                                                   {"world reads", 0644, "must not be open"},
                                                   {"world writes", 0602, "must not be open"}}) {
    write("k.pem", "key");
    ASSERT_EQ(chmod((places_.folder / "k.pem").c_str(), c.mode), 0);
    if (c.rule == nullptr) {
      loaded();
    } else {
      EXPECT_THAT(refused(), HasSubstr(c.rule)) << c.name;
    }
    std::filesystem::remove(places_.folder / "k.pem");
  }
  write("k.pem", "");
  EXPECT_THAT(refused(), HasSubstr("must name a file that is not empty"));
  std::filesystem::remove(places_.folder / "k.pem");
  std::filesystem::create_directory(places_.folder / "k.pem");
  EXPECT_THAT(refused(), HasSubstr("must name a regular file"));
}

TEST_F(SettingsTest, public_files_may_be_read_by_all_and_written_by_no_other) {
  set("SCP_SECURITY_CA_CERT_PATH=ca.pem");
  write("ca.pem", "ca");
  ASSERT_EQ(chmod((places_.folder / "ca.pem").c_str(), 0644), 0);
  loaded();
  ASSERT_EQ(chmod((places_.folder / "ca.pem").c_str(), 0646), 0);
  EXPECT_THAT(refused(), HasSubstr("security.ca_cert_path: must not be open"));
}

TEST_F(SettingsTest, folders_of_connectors_must_be_there) {
  set("SCP_CONNECTORS_FILES_ENABLED=1");
  set("SCP_CONNECTORS_FILES_ROOT=files");
  EXPECT_THAT(refused(), HasSubstr("connectors.files.root: must name a folder that exists"));
  write("files", "");
  EXPECT_THAT(refused(), HasSubstr("connectors.files.root: must name a folder"));
  std::filesystem::remove(places_.folder / "files");
  std::filesystem::create_directory(places_.folder / "files");
  EXPECT_TRUE(loaded().connectors.files.enabled);
}

TEST_F(SettingsTest, folders_of_connectors_hold_nothing_that_guards_them) {
  std::filesystem::create_directories(places_.folder / "work/keys");
  std::filesystem::create_directories(places_.folder / "work/files");
  write("work/keys/old", "a former secret");
  set("SCP_CONNECTORS_FILES_ENABLED=1");
  set("SCP_AUDIT_OLD_KEYS=work/keys/old");
  set("SCP_AUDIT_PATH=work/audit");
  set("SCP_CONNECTORS_FILES_ROOT=work/files");
  loaded();
  places_.environment.back() = "SCP_CONNECTORS_FILES_ROOT=work";
  EXPECT_THAT(refused(), HasSubstr("connectors.files.root: must not hold the path of audit.path"));
  EXPECT_THAT(refused(), HasSubstr("must not hold the path of audit.old_keys"));
  places_.environment.back() = "SCP_CONNECTORS_FILES_ROOT=work/files/../keys";
  EXPECT_THAT(refused(), HasSubstr("must not hold the path of audit.old_keys"));
  std::filesystem::create_directory_symlink(places_.folder / "work", places_.folder / "link");
  places_.environment.back() = "SCP_CONNECTORS_FILES_ROOT=link";
  EXPECT_THAT(refused(), HasSubstr("must not hold the path of audit.path"));
}

TEST_F(SettingsTest, folders_of_connectors_hold_no_file_of_settings) {
  std::filesystem::create_directories(places_.folder / "work/files");
  set("SCP_CONNECTORS_FILES_ENABLED=1");
  set("SCP_CONNECTORS_FILES_ROOT=work/files");
  set("SCP_SECURITY_DENY_FILE=work/files/deny.toml");
  write("work/files/deny.toml", "");
  EXPECT_THAT(refused(), HasSubstr("must not hold the path of security.deny_file"));
  places_.environment.back() = "SCP_SECURITY_DENY_FILE=work/deny.toml";
  write("work/deny.toml", "");
  loaded();
  write(".env", "SCP_LOG_LEVEL=warning\n");
  loaded();
  write("work/files/key", std::string(kGoodSecretKey));
  const std::string secret_key =
      std::exchange(places_.environment[1], "SCP_SECRET_KEY_FILE=work/files/key");
  EXPECT_THAT(refused(), HasSubstr("a file of settings or secrets (key)"));
  places_.environment[1] = secret_key;
  std::erase(places_.environment, "SCP_CONNECTORS_FILES_ROOT=work/files");
  set("SCP_CONNECTORS_FILES_ROOT=.");
  EXPECT_THAT(refused(), HasSubstr("connectors.files.root: must not hold the path of a file of "
                                   "settings or secrets (.env)"));
}

TEST_F(SettingsTest, old_keys_of_the_trail_are_secrets_or_public_keys) {
  set("SCP_AUDIT_OLD_KEYS=old");
  EXPECT_THAT(refused(), HasSubstr("audit.old_keys: must name a file that exists"));
  write("old", "a former secret");
  loaded();
  ASSERT_EQ(chmod((places_.folder / "old").c_str(), 0644), 0);
  EXPECT_THAT(refused(), HasSubstr("audit.old_keys: must not be open"));
  write("old", "-----BEGIN PUBLIC KEY-----");
  ASSERT_EQ(chmod((places_.folder / "old").c_str(), 0644), 0);
  loaded();
}

}  // namespace
}  // namespace tool::settings
