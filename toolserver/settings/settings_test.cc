#include "toolserver/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/config/write.h"
#include "base/testing/repository.h"
#include "toolserver/settings/fixture_test.h"
#include "toolserver/settings/good_config.h"
#include "toolserver/settings/rows.h"

namespace tool::settings {
namespace {

using base::ErrorKind;
using base::config::Secrets;
using base::config::SettingValues;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SettingsTest;

TEST_F(SettingsTest, the_defaults_are_the_documented_ones) {
  SecureConfig config = defaults();
  EXPECT_EQ(config.core.mode, Mode::kBasic);
  EXPECT_EQ(config.server.host, "127.0.0.1");
  EXPECT_EQ(config.server.path, "/scp/v3");
  EXPECT_FALSE(config.security.allow_insecure_transit);
  EXPECT_EQ(config.security.jwt_algorithm, JwtAlgorithm::kHs256);
  EXPECT_EQ(config.security.federation_jwt_algorithm, JwtAlgorithm::kRs256);
  EXPECT_EQ(config.security.replay_window, std::chrono::seconds(60));
  EXPECT_EQ(config.security.replay_cache_size, 1'000'000U);
  EXPECT_EQ(config.security.session_token_lifetime, std::chrono::minutes(15));
  EXPECT_EQ(config.security.session_lifetime, std::chrono::hours(12));
  EXPECT_THAT(config.security.api_key_scopes, ElementsAre("cap:list"));
  EXPECT_TRUE(config.crypto.perfect_forward_secrecy);
  EXPECT_EQ(config.crypto.rekey_records, 1U << 22);
  EXPECT_EQ(config.crypto.rekey_bytes, std::uint64_t{32} << 30);
  EXPECT_EQ(config.crypto.rekey_interval, std::chrono::hours(1));
  EXPECT_EQ(config.cluster.discovery_method, Discovery::kStatic);
  EXPECT_EQ(config.hooks.fail_mode, FailMode::kClosed);
  EXPECT_EQ(config.audit.on_failure, AuditFailure::kBlock);
  EXPECT_FALSE(config.audit.log_arguments);
}

TEST_F(SettingsTest, the_default_limits_are_those_of_the_protocol) {
  Limits limits = defaults().limits;
  EXPECT_EQ(limits.connections, 1024U);
  EXPECT_EQ(limits.connections_per_address, 64U);
  EXPECT_EQ(limits.connections_per_principal, 16U);
  EXPECT_EQ(limits.unauthenticated, 128U);
  EXPECT_EQ(limits.message_bytes, 1U << 20);
  EXPECT_EQ(limits.handshake_bytes, 16U << 10);
  EXPECT_EQ(limits.in_flight, 64U);
  EXPECT_EQ(limits.calls_per_second, 50U);
  EXPECT_EQ(limits.burst, 100U);
  EXPECT_EQ(limits.deadline, std::chrono::seconds(30));
  EXPECT_EQ(limits.max_deadline, std::chrono::seconds(300));
  EXPECT_EQ(limits.output_bytes, 4U << 20);
  EXPECT_EQ(limits.send_queue_bytes, 4U << 20);
}

TEST_F(SettingsTest, connectors_are_off_and_closed_by_default) {
  Connectors connectors = defaults().connectors;
  EXPECT_FALSE(connectors.sql.enabled);
  EXPECT_FALSE(connectors.sql.enable_external_access);
  EXPECT_FALSE(connectors.sql.allow_raw_file_sql);
  EXPECT_EQ(connectors.sql.memory_bytes, 512U << 20);
  EXPECT_EQ(connectors.sql.threads, 2U);
  EXPECT_EQ(connectors.sql.max_rows, 10'000U);
  EXPECT_EQ(connectors.sql.max_bytes, 8U << 20);
  EXPECT_EQ(connectors.sql.timeout, std::chrono::seconds(30));
  EXPECT_FALSE(connectors.files.enabled);
  EXPECT_FALSE(connectors.files.allow_write);
  EXPECT_EQ(connectors.files.read_max_bytes, 1U << 20);
  EXPECT_EQ(connectors.files.write_max_bytes, 512U << 10);
  EXPECT_EQ(connectors.files.list_max_entries, 10'000U);
}

// The names that the specification of the service spells out.
TEST_F(SettingsTest, every_name_of_the_specification_is_there) {
  auto table = make_table();
  for (const char* path : {"mode",
                           "server_url",
                           "api_key",
                           "secret_key",
                           "jwt_secret",
                           "kdf_salt",
                           "security.allow_insecure_transit",
                           "security.tls_enabled",
                           "security.jwt_algorithm",
                           "security.jwt_private_key_path",
                           "security.federation_jwt_algorithm",
                           "security.federation_jwt_public_key_path",
                           "security.proof_signing_key_path",
                           "crypto.perfect_forward_secrecy",
                           "cluster.discovery_method",
                           "cluster.discovery_config.name",
                           "oauth2.audience",
                           "oauth2.issuer",
                           "oauth2.jwks_url",
                           "oauth2.local_public_key_path",
                           "oauth2.ca_cert_path"}) {
    const auto* setting = table.find(base::config::name_of_path(path));
    ASSERT_NE(setting, nullptr) << path;
    EXPECT_EQ(setting->path, path);
  }
  EXPECT_EQ(table.prefix(), "SCP_");
}

// A text that the setting takes and that is not its default.
std::string other_text(const base::config::Setting& setting) {
  using namespace base::config;
  if (const auto* integer = std::get_if<IntegerType>(&setting.type)) {
    return std::to_string(integer->max);
  }
  if (const auto* bytes = std::get_if<BytesType>(&setting.type)) return std::to_string(bytes->max);
  if (const auto* time = std::get_if<DurationType>(&setting.type)) {
    return to_text(SettingValue(time->max - std::chrono::milliseconds(1)));
  }
  if (std::holds_alternative<SecretType>(setting.type))
    return R"(a "quoted" \ # $secret é of )" + setting.name;
  for (const char* text : {"/elsewhere/a file",
                           "/elsewhere",
                           "elsewhere",
                           "wss://h.example:8443/x",
                           "https://h.example:8443/x",
                           "https://a.example,https://b.example:8443",
                           "P256_A256GCM_S256",
                           "tool:invoke:files.read,cap:list",
                           ".sql,.log",
                           "secrets,injection",
                           "node-b wss://b.example:7443 /keys/b key.pem,node-c wss://c.example",
                           "1",
                           "0",
                           "enterprise",
                           "2026-07-28",
                           "rs256",
                           "required",
                           "etcd",
                           "open",
                           "continue",
                           "synced",
                           "text",
                           "debug"}) {
    auto value = parse_setting(setting, text);
    auto standard = parse_setting(setting, setting.default_text);
    if (value && to_text(*value) != to_text(*standard)) return text;
  }
  return std::string(setting.default_text);
}

SecureConfig put_all(const SettingValues& values) {
  SecureConfig config;
  for (const auto& row : make_rows()) row.put(config, values.value(row.setting.name));
  return config;
}

class RoundTripTest : public SettingsTest {
 protected:
  RoundTripTest() {
    places_.environment.clear();
    auto table = make_table();
    for (const auto& row : make_rows()) {
      places_.overrides.push_back("SCP_" + row.setting.name + "=" + other_text(row.setting));
    }
  }
  SettingValues read_all() {
    auto values = base::config::load(make_table(), places_);
    EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message());
    return *values;
  }
};

TEST_F(RoundTripTest, no_setting_is_lost_in_any_format) {
  auto table = make_table();
  SettingValues given = read_all();
  places_.overrides.clear();
  auto env = base::config::to_env(table, given, Secrets::kInClear);
  ASSERT_TRUE(env.has_value()) << env.error().message();
  struct Case {
    const char* file;
    std::string text;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"all.toml", base::config::to_toml(table, given, Secrets::kInClear)},
           {"all.yaml", base::config::to_yaml(table, given, Secrets::kInClear)},
           {"all.env", *env},
           {".env", *env},
       }) {
    write(c.file, c.text);
    places_.environment = {std::string("SCP_CONFIG_FILE=") + c.file};
    SecureConfig from_file = put_all(read_all());
    SecureConfig standard = defaults();
    SecureConfig wanted = put_all(given);
    for (const auto& row : make_rows()) {
      EXPECT_TRUE(row.equal(from_file, wanted)) << c.file << " " << row.setting.path;
      // Of the federation's algorithm there is one.
      if (row.setting.path == "security.federation_jwt_algorithm") continue;
      EXPECT_FALSE(row.equal(from_file, standard)) << c.file << " " << row.setting.path;
    }
    std::filesystem::remove(places_.folder / c.file);
  }
}

TEST_F(RoundTripTest, every_row_has_a_member_of_its_own) {
  SettingValues given = read_all();
  const auto rows = make_rows();
  const SecureConfig standard = defaults();
  for (const auto& row : rows) {
    if (row.setting.path == "security.federation_jwt_algorithm") continue;
    SecureConfig config = standard;
    row.put(config, given.value(row.setting.name));
    for (const auto& other : rows) {
      EXPECT_EQ(other.equal(config, standard), other.setting.name != row.setting.name)
          << row.setting.path << " " << other.setting.path;
    }
  }
}

TEST_F(RoundTripTest, showing_all_of_it_tells_no_secret) {
  SettingValues given = read_all();
  std::string shown = show(Loaded{put_all(given), given});
  EXPECT_THAT(shown, HasSubstr("SCP_SECRET_KEY=*** (command line)\n"));
  EXPECT_THAT(shown, HasSubstr("SCP_MODE=enterprise (command line)\n"));
  EXPECT_THAT(shown, Not(HasSubstr("quoted")));
}

TEST_F(SettingsTest, the_strongest_source_wins) {
  unset("SCP_NODE_ID");
  write("securetool.yaml", "mode: simple\nnode_id: file\nserver: {port: 1}\nlog: {level: error}\n");
  write(".env", "SCP_NODE_ID=dotenv\nSCP_SERVER_PORT=2\nSCP_MODE=encrypted\n");
  set("SCP_SERVER_PORT=3");
  set("SCP_MODE=simple");
  places_.overrides = {"SCP_MODE=basic"};
  auto config = loaded();
  EXPECT_EQ(config.core.mode, Mode::kBasic);
  EXPECT_EQ(config.server.port, 3);
  EXPECT_EQ(config.core.node_id, "dotenv");
  EXPECT_EQ(config.log.level, base::log::Level::kError);
  EXPECT_EQ(config.core.secret_key.reveal(), kGoodSecretKey);
}

TEST_F(SettingsTest, the_file_may_be_named) {
  unset("SCP_NODE_ID");
  write("securetool.toml", "node_id = 'a'\n");
  write("other.yaml", "node_id: b\n");
  EXPECT_EQ(loaded().core.node_id, "a");
  set("SCP_CONFIG_FILE=other.yaml");
  EXPECT_EQ(loaded().core.node_id, "b");
  places_.overrides = {"SCP_CONFIG_FILE=securetool.toml"};
  EXPECT_EQ(loaded().core.node_id, "a");
  places_.overrides = {"SCP_CONFIG_FILE=none.toml"};
  EXPECT_THAT(refused(), HasSubstr("SCP_CONFIG_FILE: must name a readable file"));
}

TEST_F(SettingsTest, words_of_algorithms_may_be_capitals) {
  write("securetool.toml",
        "[security]\njwt_algorithm = 'HS256'\nfederation_jwt_algorithm = 'RS256'\n");
  EXPECT_EQ(loaded().security.jwt_algorithm, JwtAlgorithm::kHs256);
}

TEST_F(SettingsTest, peers_are_read) {
  write("b key.pem", "k");
  set("SCP_CLUSTER_PEERS=node-b wss://b.example:7443 b key.pem, node-c wss://c.example, node-d -");
  EXPECT_THAT(loaded().cluster.peers,
              ElementsAre(Peer{"node-b", "wss://b.example:7443", places_.folder / "b key.pem"},
                          Peer{"node-c", "wss://c.example", {}}, Peer{"node-d", "", {}}));
  for (const char* bad : {"node-b", "node-b http://b", "node-b wss://", "no/de wss://b",
                          "a  wss://b", "a ws://u@b", "a wss://b,a wss://b"}) {
    places_.environment.back() = std::string("SCP_CLUSTER_PEERS=") + bad;
    EXPECT_THAT(refused(), HasSubstr("SCP_CLUSTER_PEERS")) << bad;
  }
}

TEST_F(SettingsTest, an_empty_folder_is_named_first) {
  places_.environment.clear();
  EXPECT_THAT(refused(),
              ::testing::StartsWith("no configuration file found in " + places_.folder.string() +
                                    ": looked for securetool.toml"));
  write("securetool.toml", "mode = 'basic'");
  EXPECT_THAT(refused(), Not(HasSubstr("no configuration file")));
}

TEST_F(SettingsTest, a_broken_line_names_its_setting_and_not_its_value) {
  write("securetool.toml", "secret_key = 'x'\nmode = hidden-value\n");
  EXPECT_EQ(refused().substr(0, refused().find(';')),
            "securetool.toml:2:8: is not TOML: the value of mode");
  EXPECT_THAT(refused(), Not(HasSubstr("hidden")));
  write("securetool.toml", "this is = = no TOML\n");
  EXPECT_THAT(refused(), HasSubstr("a line is `name = value` or `[section]`"));
}

TEST_F(SettingsTest, a_node_of_mode_simple_has_the_name_of_its_machine) {
  unset("SCP_NODE_ID");
  EXPECT_THAT(refused(), HasSubstr("node_id: must be set in mode basic"));
  set("SCP_MODE=simple");
  EXPECT_FALSE(loaded().core.node_id.empty());
  set("SCP_NODE_ID=node-7");
  EXPECT_EQ(loaded().core.node_id, "node-7");
}

TEST_F(SettingsTest, every_fault_is_told_at_once) {
  places_.environment = {"SCP_SECRET_KEY=changeme", "SCP_JWT_SECERT=x", "SCP_MODE=basci"};
  write("securetool.toml",
        "[server]\nport = 70000\nhost = '0.0.0.0'\n[security]\nreplay_windw = 5\n");
  std::string message = "\n" + refused() + "\n";
  for (const char* line : {
           "environment: SCP_JWT_SECERT: no such setting; the nearest is SCP_JWT_SECRET",
           "environment: SCP_MODE: must be simple or basic or encrypted or enterprise",
           "securetool.toml:server.port: must be an integer, 0 to 65535",
           "securetool.toml:security.replay_windw: no such setting; the nearest is "
           "security.replay_window",
           "environment: secret_key: must not be a placeholder",
           "default: jwt_secret: must be set in mode basic",
           "default: node_id: must be set in mode basic",
           "default: kdf_salt: must be set in mode basic",
           "securetool.toml:server.host: must be this machine itself",
       }) {
    EXPECT_THAT(message, HasSubstr("\n" + std::string(line)));
  }
  EXPECT_EQ(std::ranges::count(message, '\n'), 10) << message;
}

TEST_F(SettingsTest, a_broken_file_is_the_only_fault) {
  places_.environment.clear();
  write("securetool.yaml", "mode: [\n");
  std::string message = refused();
  EXPECT_EQ(std::ranges::count(message, '\n'), 0) << message;
}

TEST_F(SettingsTest, reload_puts_live_settings_in_force_and_names_the_others) {
  auto current = loaded();
  auto same = reload(current, places_, Role::kServer);
  ASSERT_TRUE(same.has_value());
  EXPECT_THAT(same->changed, ::testing::IsEmpty());
  EXPECT_THAT(same->needs_restart, ::testing::IsEmpty());
  set("SCP_LIMITS_BURST=200");
  set("SCP_LOG_LEVEL=debug");
  set("SCP_NODE_ID=node-2");
  set("SCP_SERVER_HOST=::1");
  auto next = reload(current, places_, Role::kServer);
  ASSERT_TRUE(next.has_value()) << next.error().message();
  EXPECT_THAT(next->changed, ElementsAre("limits.burst", "log.level"));
  EXPECT_THAT(next->needs_restart, ElementsAre("node_id", "server.host"));
  EXPECT_EQ(next->config.limits.burst, 200U);
  EXPECT_EQ(next->config.core.node_id, "node-1");
  EXPECT_EQ(next->config.server.host, "127.0.0.1");
}

TEST_F(SettingsTest, tools_of_ones_own_are_a_servers_and_change_at_a_restart) {
  std::string tool = "[tools.t]\nkind = 'command'\nprogram = '/bin/true'\ndescription = ";
  write("securetool.toml", tool + "'one'\n");
  SecureConfig current = loaded();
  ASSERT_EQ(current.tools.size(), 1U);
  EXPECT_EQ(current.tools[0].capability.id.text(), "tools.t");
  write("securetool.toml", tool + "'two'\n");
  auto next = reload(current, places_, Role::kServer);
  ASSERT_TRUE(next.has_value()) << next.error().message();
  EXPECT_THAT(next->needs_restart, ElementsAre("tools"));
  EXPECT_EQ(next->config.tools[0].capability.description, "one");
  write("securetool.toml", tool + "'two'\nkindd = 1\n");
  EXPECT_EQ(refused(), "securetool.toml:tools.t.kindd: no such key; the nearest is kind");
}

TEST_F(SettingsTest, reload_is_all_or_nothing) {
  auto current = loaded();
  set("SCP_LIMITS_BURST=200");
  set("SCP_LIMITS_CONNECTIONS=0");
  auto next = reload(current, places_, Role::kServer);
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().kind(), ErrorKind::kInvalid);
}

TEST_F(SettingsTest, reload_refuses_a_mixture_that_is_not_safe) {
  auto current = loaded();
  // Safe as a whole: TLS would be on. Until the restart it is not, and the
  // filter would be asked with a permission that is gone.
  current.security.allow_insecure_transit = false;
  current.security.tls_enabled = true;
  current.server.tls_cert = places_.folder / "c.pem";
  current.server.tls_key = places_.folder / "k.pem";
  set("SCP_HOOKS_FILTER_URL=http://127.0.0.1:8181");
  auto next = reload(current, places_, Role::kServer);
  ASSERT_FALSE(next.has_value());
  EXPECT_THAT(next.error().message(), HasSubstr("until a restart: hooks.filter_url"));
}

TEST_F(SettingsTest, describes_what_is_on) {
  std::string text = describe(loaded(), Role::kServer);
  EXPECT_THAT(text, HasSubstr("mode basic"));
  EXPECT_THAT(text, HasSubstr("plaintext, this machine only"));
  EXPECT_THAT(text, HasSubstr("files: off"));
  EXPECT_THAT(text, Not(HasSubstr(kGoodSecretKey)));
  set("SCP_SERVER_URL=wss://node.example");
  set("SCP_SECURITY_CLIENT_TOKEN=eyJhbGciOiJSUzI1NiJ9.e30.c2ln");
  EXPECT_THAT(describe(loaded(Role::kClient), Role::kClient), HasSubstr("wss://node.example"));
}

// Written anew with UPDATE_DOCS=1 in the environment of this test.
TEST(DocumentationTest, the_page_is_the_tables) {
  Path page = base::testing::repository() / "docs/tool-configuration.md";
  if (std::getenv("UPDATE_DOCS") != nullptr) std::ofstream(page) << markdown();
  std::ostringstream text;
  text << std::ifstream(page).rdbuf();
  EXPECT_EQ(text.str(), markdown()) << "run this test once with UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tool::settings
