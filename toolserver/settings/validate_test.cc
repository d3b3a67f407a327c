#include "toolserver/settings/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "toolserver/settings/good_config.h"

namespace tool::settings {
namespace {

using base::Secret;
using testing::Contains;
using testing::IsEmpty;

// Names of findings, each of which the table must have.
std::vector<std::string> names(const Findings& findings) {
  static const base::config::SettingsTable table = make_table();
  std::vector<std::string> out;
  for (const auto& finding : findings) {
    const auto* setting = table.find(base::config::name_of_path(finding.setting));
    EXPECT_TRUE(setting != nullptr && setting->path == finding.setting) << finding.setting;
    out.emplace_back(finding.setting);
  }
  return out;
}

constexpr std::array kModes = {Mode::kSimple, Mode::kBasic, Mode::kEncrypted, Mode::kEnterprise};
constexpr std::array kRoles = {Role::kServer, Role::kClient};

TEST(ValidateTest, a_good_configuration_passes_in_every_mode_and_role) {
  for (Mode mode : kModes) {
    for (Role role : kRoles) EXPECT_THAT(names(validate(good_config(mode, role), role)), IsEmpty());
  }
}

TEST(ValidateTest, the_defaults_alone_are_refused_in_every_mode_and_role) {
  for (Mode mode : kModes) {
    for (Role role : kRoles) {
      auto config = defaults();
      config.core.mode = mode;
      EXPECT_FALSE(validate(config, role).empty());
    }
  }
}

TEST(ValidateTest, an_empty_value_made_by_hand_is_refused) {
  EXPECT_FALSE(names(validate(SecureConfig(), Role::kServer)).empty());
  EXPECT_FALSE(names(validate(SecureConfig(), Role::kClient)).empty());
}

// The table of needs, seen from outside: what is taken away is missed exactly
// where it is needed.
TEST(ValidateTest, each_mode_misses_what_it_needs) {
  struct Case {
    const char* setting;
    void (*spoil)(SecureConfig&);
    const char* missed_by;  // Letters: s b e E for the server, then '/', the client.
  };
  for (const auto& c : std::initializer_list<Case>{
           {"node_id", [](SecureConfig& s) { s.core.node_id = {}; }, "beE/"},
           {"api_key", [](SecureConfig& s) { s.core.api_key = {}; }, "s/s"},
           {"secret_key", [](SecureConfig& s) { s.core.secret_key = {}; }, "beE/be"},
           {"jwt_secret", [](SecureConfig& s) { s.core.jwt_secret = {}; }, "sbeE/"},
           {"kdf_salt", [](SecureConfig& s) { s.core.kdf_salt = {}; }, "sbeE/sbe"},
           {"oauth2.audience", [](SecureConfig& s) { s.oauth2.audience = {}; }, "E/E"},
           {"oauth2.issuer", [](SecureConfig& s) { s.oauth2.issuer = {}; }, "E/E"},
           {"oauth2.jwks_url", [](SecureConfig& s) { s.oauth2.jwks_url = {}; }, "E/"},
           {"security.client_token", [](SecureConfig& s) { s.security.client_token = {}; }, "/b"},
           {"oauth2.client_id", [](SecureConfig& s) { s.oauth2.client_id = {}; }, "/E"},
           {"oauth2.client_secret", [](SecureConfig& s) { s.oauth2.client_secret = {}; }, "/E"},
           {"oauth2.token_url", [](SecureConfig& s) { s.oauth2.token_url = {}; }, "/E"},
           {"security.jwt_private_key_path",
            [](SecureConfig& s) { s.security.jwt_algorithm = JwtAlgorithm::kRs256; }, "sbeE/"},
       }) {
    std::string_view all = c.missed_by;
    auto slash = all.find('/');
    for (std::size_t i = 0; i < kModes.size(); ++i) {
      for (Role role : kRoles) {
        auto config = good_config(kModes[i], role);
        c.spoil(config);
        auto by = role == Role::kServer ? all.substr(0, slash) : all.substr(slash + 1);
        auto found = names(validate(config, role));
        if (by.contains("sbeE"[i])) {
          EXPECT_THAT(found, testing::ElementsAre(c.setting)) << i << (role == Role::kServer);
        } else {
          EXPECT_THAT(found, IsEmpty()) << c.setting << i << (role == Role::kServer);
        }
      }
    }
  }
}

TEST(ValidateTest, a_pinned_key_is_a_key_source_too) {
  auto config = good_config(Mode::kEnterprise, Role::kServer);
  config.oauth2.jwks_url = "";
  config.oauth2.local_public_key_path = "/keys/idp.pem";
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty());
}

TEST(ValidateTest, roles_need_both_where_they_stand_and_what_they_may_do) {
  auto config = good_config(Mode::kEnterprise, Role::kServer);
  config.oauth2.role_claims = {"/groups"};
  EXPECT_THAT(names(validate(config, Role::kServer)),
              testing::ElementsAre("oauth2.role_scopes_file"));
  config.oauth2.role_scopes_file = "/etc/roles";
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty());
  config.oauth2.role_claims = {};
  EXPECT_THAT(names(validate(config, Role::kServer)),
              testing::ElementsAre("oauth2.role_scopes_file"));
}

TEST(ValidateTest, a_key_with_a_name_needs_the_shared_secret_beside_it) {
  auto config = good_config(Mode::kSimple, Role::kClient);
  config.core.secret_key = {};
  config.core.kdf_salt = {};
  EXPECT_THAT(validate(config, Role::kClient), IsEmpty());
  config.core.api_key = base::Secret("scpk_reports_Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0Zr5Xq8Wn2Vb");
  EXPECT_THAT(names(validate(config, Role::kClient)), testing::ElementsAre("secret_key"));
}

TEST(ValidateTest, who_knows_the_node_key_needs_no_shared_secret) {
  for (Mode mode : {Mode::kBasic, Mode::kEncrypted}) {
    auto client = good_config(mode, Role::kClient);
    client.core.secret_key = {};
    client.core.kdf_salt = {};
    EXPECT_THAT(names(validate(client, Role::kClient)),
                testing::ElementsAre("secret_key", "kdf_salt"));
    client.security.server_keys = {std::string(43, 'k')};
    EXPECT_THAT(validate(client, Role::kClient), IsEmpty());
    auto server = good_config(mode, Role::kServer);
    server.core.secret_key = {};
    server.audit.checkpoint_key_path = "/k";
    EXPECT_THAT(names(validate(server, Role::kServer)), testing::Contains("secret_key"));
    server.security.proof_signing_key_path = "/k";
    EXPECT_THAT(validate(server, Role::kServer), IsEmpty());
  }
}

// jwt_secret mints every scope there is: no client has to hold it.
TEST(ValidateTest, a_client_needs_one_credential_and_no_jwt_secret) {
  auto basic = good_config(Mode::kBasic, Role::kClient);
  ASSERT_TRUE(basic.core.jwt_secret.empty());
  EXPECT_THAT(validate(basic, Role::kClient), IsEmpty());
  basic.security.client_token = {};
  EXPECT_THAT(names(validate(basic, Role::kClient)), testing::ElementsAre("security.client_token"));
  basic.security.client_cert_path = "/c";
  basic.security.client_key_path = "/k";
  EXPECT_THAT(validate(basic, Role::kClient), IsEmpty());
  auto encrypted = good_config(Mode::kEncrypted, Role::kClient);
  encrypted.security.client_token = {};
  EXPECT_THAT(validate(encrypted, Role::kClient), IsEmpty());
  encrypted.core.api_key = {};
  EXPECT_THAT(names(validate(encrypted, Role::kClient)), testing::ElementsAre("api_key"));
  encrypted.security.client_token = Secret("eyJhbGciOiJSUzI1NiJ9.e30.c2ln");
  EXPECT_THAT(validate(encrypted, Role::kClient), IsEmpty());
}

TEST(ValidateTest, every_secret_is_checked_for_strength) {
  struct Case {
    const char* setting;
    Secret Core::* member;
    std::size_t length;
  };
  for (const auto& c : std::initializer_list<Case>{{"api_key", &Core::api_key, 24},
                                                   {"secret_key", &Core::secret_key, 32},
                                                   {"jwt_secret", &Core::jwt_secret, 32},
                                                   {"kdf_salt", &Core::kdf_salt, 16}}) {
    // Checked when set, even in a mode that has no need of it.
    for (Mode mode : kModes) {
      auto config = good_config(mode, Role::kServer);
      auto set = [&](std::string value) {
        config.core.*c.member = Secret(std::move(value));
        return names(validate(config, Role::kServer));
      };
      std::string good = "Ve7kT2pXw9ZqB4nYc6Rm8LsHd3JgF5aU";
      EXPECT_THAT(set(good.substr(0, c.length)), IsEmpty()) << c.setting;
      EXPECT_THAT(set(good.substr(0, c.length - 1)), Contains(c.setting));
      EXPECT_THAT(set("changeme-changeme-changeme-changeme"), Contains(c.setting));
      EXPECT_THAT(set("your-256-bit-secret"), Contains(c.setting));
      EXPECT_THAT(set(std::string(40, 'z')), Contains(c.setting));
      EXPECT_THAT(set("0123456789012345678901234567890123456789"), Contains(c.setting));
      EXPECT_THAT(set("qwertyuiopasdfghjklzxcvbnmqwertyuiop"), Contains(c.setting));
    }
  }
}

TEST(ValidateTest, no_two_secrets_are_one) {
  auto config = good_config(Mode::kEncrypted, Role::kServer);
  config.core.jwt_secret = config.core.secret_key;
  EXPECT_THAT(names(validate(config, Role::kServer)), testing::ElementsAre("jwt_secret"));
  config = good_config(Mode::kEncrypted, Role::kServer);
  config.core.kdf_salt = Secret(std::string(kGoodSecretKey).substr(4, 16));
  EXPECT_THAT(names(validate(config, Role::kServer)), testing::ElementsAre("kdf_salt"));
  config = good_config(Mode::kEnterprise, Role::kClient);
  config.oauth2.client_secret = config.core.api_key;
  EXPECT_THAT(names(validate(config, Role::kClient)), testing::ElementsAre("oauth2.client_secret"));
}

TEST(ValidateTest, rules_never_repeat_a_secret) {
  auto config = good_config(Mode::kBasic, Role::kServer);
  config.core.secret_key = Secret("hunter2");
  for (const auto& finding : validate(config, Role::kServer)) {
    EXPECT_FALSE(finding.rule.contains("hunter2"));
  }
}

struct UrlCase {
  const char* name;
  const char* url;
};

// Targets in plaintext that are not this machine, whatever they look like.
constexpr auto kTricks = std::to_array<UrlCase>({
    {"another machine", "node.example"},
    {"private network", "10.0.0.1"},
    {"any address", "0.0.0.0"},
    {"name that begins with the address", "127.0.0.1.evil.com"},
    {"hexadecimal", "0x7f.1"},
    {"one number", "2130706433"},
    {"IPv4 in IPv6", "[::ffff:127.0.0.1]"},
    {"user part", "127.0.0.1@evil.com"},
    {"user and password", "localhost:80@evil.com"},
    {"dot at the end", "localhost."},
    {"dot at the end of the address", "127.0.0.1."},
    {"backslash", "127.0.0.1\\.evil.com"},
    {"fragment", "evil.com#@127.0.0.1"},
});

struct Target {
  const char* setting;
  const char* scheme;
  void (*set)(SecureConfig&, const std::string& url);
};

constexpr auto kTargets = std::to_array<Target>({
    {"server_url", "ws", [](SecureConfig& s, const std::string& url) { s.core.server_url = url; }},
    {"cluster.peers", "ws",
     [](SecureConfig& s, const std::string& url) { s.cluster.peers = {{"node-9", url, {}}}; }},
    {"hooks.consent_url", "http",
     [](SecureConfig& s, const std::string& url) { s.hooks.consent_url = url; }},
    {"hooks.filter_url", "http",
     [](SecureConfig& s, const std::string& url) { s.hooks.filter_url = url; }},
    {"guard.policy_url", "http",
     [](SecureConfig& s, const std::string& url) { s.guard.policy_url = url; }},
    {"cluster.discovery_config.endpoint", "http",
     [](SecureConfig& s, const std::string& url) { s.cluster.discovery_config.endpoint = url; }},
});

TEST(ValidateTest, rule_files_need_a_key_or_a_word_that_they_need_none) {
  auto config = good_config(Mode::kBasic, Role::kServer);
  config.guard.shipped_rules = {"secrets"};
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << "shipped ones are the service's own";
  config.guard.rules = {"mine.toml"};
  EXPECT_THAT(names(validate(config, Role::kServer)), Contains("guard.rules_key_path"));
  config.guard.rules_key_path = "rules.pub";
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty());
  config.guard.allow_unsigned_rules = true;
  EXPECT_THAT(names(validate(config, Role::kServer)), Contains("guard.allow_unsigned_rules"));
  config.guard.rules_key_path.clear();
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty());
}

TEST(ValidateTest, plaintext_to_another_machine_is_refused_with_the_permission_too) {
  for (const auto& target : kTargets) {
    for (const auto& trick : kTricks) {
      for (bool permitted : {true, false}) {
        auto config = good_config(Mode::kBasic, Role::kServer);
        config.security.allow_insecure_transit = permitted;
        target.set(config, std::string(target.scheme) + "://" + trick.url);
        EXPECT_THAT(names(validate(config, Role::kServer)), Contains(target.setting)) << trick.name;
      }
    }
  }
}

TEST(ValidateTest, plaintext_to_this_machine_needs_the_permission) {
  for (const auto& target : kTargets) {
    for (const char* host : {"127.0.0.1:80", "127.9.9.9", "localhost:1", "[::1]:80"}) {
      auto config = good_config(Mode::kBasic, Role::kServer);
      target.set(config, std::string(target.scheme) + "://" + host);
      EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << target.setting << host;
      config.security.allow_insecure_transit = false;
      EXPECT_THAT(names(validate(config, Role::kServer)), Contains(target.setting)) << host;
    }
  }
}

TEST(ValidateTest, tls_goes_anywhere) {
  for (const auto& target : kTargets) {
    auto config = good_config(Mode::kBasic, Role::kServer);
    target.set(config, std::string(target.scheme) + "s://node.example:7443/p");
    EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << target.setting;
  }
}

TEST(ValidateTest, a_client_connects_in_plaintext_to_this_machine_alone) {
  auto config = good_config(Mode::kBasic, Role::kClient);
  config.core.server_url = "ws://127.0.0.1:7443";
  EXPECT_THAT(names(validate(config, Role::kClient)), Contains("server_url"));
  config.security.allow_insecure_transit = true;
  EXPECT_THAT(validate(config, Role::kClient), IsEmpty());
  config.security.tls_enabled = true;
  EXPECT_THAT(names(validate(config, Role::kClient)), Contains("server_url"));
  config = good_config(Mode::kBasic, Role::kClient);
  config.security.allow_insecure_transit = true;
  for (const auto& trick : kTricks) {
    config.core.server_url = std::string("ws://") + trick.url;
    EXPECT_THAT(names(validate(config, Role::kClient)), Contains("server_url")) << trick.name;
  }
  for (const char* url : {"", "http://127.0.0.1", "https://node.example", "node.example"}) {
    config.core.server_url = url;
    EXPECT_THAT(names(validate(config, Role::kClient)), Contains("server_url")) << url;
  }
}

TEST(ValidateTest, the_identity_provider_is_asked_over_https_on_every_machine) {
  for (const char* url : {"http://id.example/keys", "http://127.0.0.1/keys", "http://localhost",
                          "ws://id.example", "https://u@id.example", "id.example"}) {
    for (Mode mode : kModes) {
      auto config = good_config(mode, Role::kServer);
      config.oauth2.jwks_url = url;
      EXPECT_THAT(names(validate(config, Role::kServer)), Contains("oauth2.jwks_url")) << url;
      config = good_config(mode, Role::kClient);
      config.oauth2.token_url = url;
      EXPECT_THAT(names(validate(config, Role::kClient)), Contains("oauth2.token_url")) << url;
    }
  }
}

TEST(ValidateTest, a_listener_without_tls_stays_on_this_machine) {
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "node.example", "127.0.0.1.evil.com",
                           "localhost.", "2130706433", "::ffff:127.0.0.1", ""}) {
    auto config = good_config(Mode::kSimple, Role::kServer);
    config.server.host = host;
    EXPECT_THAT(names(validate(config, Role::kServer)), Contains("server.host")) << host;
    config.security.tls_enabled = true;
    config.server.tls_cert = "/c.pem";
    config.server.tls_key = "/k.pem";
    EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << host;
  }
  auto config = good_config(Mode::kSimple, Role::kServer);
  for (const char* host : {"127.0.0.1", "::1", "localhost"}) {
    config.server.host = host;
    config.security.allow_insecure_transit = true;
    EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << host;
    config.security.allow_insecure_transit = false;
    EXPECT_THAT(names(validate(config, Role::kServer)), Contains("security.tls_enabled")) << host;
  }
}

// Each case spoils one thing of a good server.
TEST(ValidateTest, settings_fit_together) {
  struct Case {
    const char* setting;
    const char* name;
    void (*spoil)(SecureConfig&);
  };
  for (const auto& c : std::initializer_list<Case>{
           {"server.tls_cert", "TLS without certificate",
            [](SecureConfig& s) {
              s.security.tls_enabled = true;
              s.server.tls_key = "/k";
            }},
           {"server.tls_key", "TLS without key",
            [](SecureConfig& s) {
              s.security.tls_enabled = true;
              s.server.tls_cert = "/c";
            }},
           {"server.tls_cert", "certificate without TLS",
            [](SecureConfig& s) { s.server.tls_cert = "/c"; }},
           {"server.client_certificate", "client certificates without TLS",
            [](SecureConfig& s) { s.server.client_certificate = ClientCertificate::kRequired; }},
           {"server.client_ca", "client certificates without authorities",
            [](SecureConfig& s) {
              s.security.tls_enabled = true;
              s.server.tls_cert = "/c";
              s.server.tls_key = "/k";
              s.server.client_certificate = ClientCertificate::kRequired;
            }},
           {"server.client_ca", "authorities that nothing asks for",
            [](SecureConfig& s) {
              s.security.tls_enabled = true;
              s.server.tls_cert = "/c";
              s.server.tls_key = "/k";
              s.server.client_ca = "/a";
            }},
           {"cluster.discovery_config.name", "dns without name",
            [](SecureConfig& s) { s.cluster.discovery_method = Discovery::kDns; }},
           {"cluster.discovery_config.endpoint", "consul without endpoint",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kConsul;
              s.cluster.discovery_config.name = "scp";
            }},
           {"cluster.discovery_config.prefix", "etcd without prefix",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kEtcd;
              s.cluster.discovery_config.endpoint = "https://etcd.example";
            }},
           {"cluster.discovery_config.endpoint", "a registry at a name server",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kEtcd;
              s.cluster.discovery_config.prefix = "scp/";
              s.cluster.discovery_config.endpoint = "dns://192.0.2.1";
            }},
           {"cluster.discovery_config.endpoint", "dns at a registry",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kDns;
              s.cluster.discovery_config.name = "_scp._tcp.plant.example";
              s.cluster.discovery_config.endpoint = "https://etcd.example";
            }},
           {"cluster.discovery_config.user", "a user without a password",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kEtcd;
              s.cluster.discovery_config.prefix = "scp/";
              s.cluster.discovery_config.endpoint = "https://etcd.example";
              s.cluster.discovery_config.user = "plant";
            }},
           {"cluster.discovery_config.announce", "announced where nobody can be told",
            [](SecureConfig& s) { s.cluster.discovery_config.announce = "wss://b.example:7443"; }},
           {"cluster.discovery_config.announce", "announced in the clear",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kEtcd;
              s.cluster.discovery_config.prefix = "scp/";
              s.cluster.discovery_config.endpoint = "https://etcd.example";
              s.cluster.discovery_config.announce = "ws://192.0.2.1:7443";
            }},
           {"cluster.discovery_config.announce", "announced without a port",
            [](SecureConfig& s) {
              s.cluster.discovery_method = Discovery::kEtcd;
              s.cluster.discovery_config.prefix = "scp/";
              s.cluster.discovery_config.endpoint = "https://etcd.example";
              s.cluster.discovery_config.announce = "wss://b.example";
            }},
           {"cluster.peers", "this node as its own peer",
            [](SecureConfig& s) { s.cluster.peers = {{s.core.node_id, "wss://a.example", {}}}; }},
           {"cluster.peers", "a peer whose name is no namespace",
            [](SecureConfig& s) { s.cluster.peers = {{"Node.B", "wss://a.example", {}}}; }},
           {"cluster.peers", "a peer with the name of a connector",
            [](SecureConfig& s) { s.cluster.peers = {{"sql", "wss://a.example", {}}}; }},
           {"cluster.peers", "a peer twice",
            [](SecureConfig& s) {
              s.cluster.peers = {{"b", "wss://a.example", {}}, {"b", "wss://b.example", {}}};
            }},
           {"security.federation_issuer", "federation key without issuer",
            [](SecureConfig& s) { s.security.federation_jwt_public_key_path = "/f"; }},
           {"security.federation_jwt_algorithm", "federation under HS256",
            [](SecureConfig& s) { s.security.federation_jwt_algorithm = JwtAlgorithm::kHs256; }},
           {"security.replay_window", "window too short",
            [](SecureConfig& s) { s.security.replay_window = std::chrono::milliseconds(4999); }},
           {"security.replay_window", "window too long",
            [](SecureConfig& s) { s.security.replay_window = std::chrono::milliseconds(300'001); }},
           {"security.session_token_lifetime", "token outlives the session",
            [](SecureConfig& s) { s.security.session_lifetime = std::chrono::minutes(14); }},
           {"limits.unauthenticated", "more strangers than connections",
            [](SecureConfig& s) { s.limits.unauthenticated = 1025; }},
           {"limits.handshake_bytes", "hello above a message",
            [](SecureConfig& s) { s.limits.handshake_bytes = (1 << 20) + 1; }},
           {"limits.deadline", "deadline above the longest",
            [](SecureConfig& s) { s.limits.deadline = std::chrono::seconds(301); }},
           {"limits.calls_per_second", "rate above the burst",
            [](SecureConfig& s) { s.limits.calls_per_second = 101; }},
           {"limits.message_bytes", "no bound of messages",
            [](SecureConfig& s) {
              s.limits.message_bytes = 0;
              s.limits.handshake_bytes = 0;
            }},
           {"server.ping_interval", "ping after the end",
            [](SecureConfig& s) { s.server.ping_interval = std::chrono::seconds(301); }},
           {"crypto.suites", "no suite", [](SecureConfig& s) { s.crypto.suites.clear(); }},
           {"audit.path", "no audit", [](SecureConfig& s) { s.audit.path.clear(); }},
           {"connectors.sql.data_dir", "SQL without folder",
            [](SecureConfig& s) { s.connectors.sql.enabled = true; }},
           {"connectors.lake.name", "a lake without a name",
            [](SecureConfig& s) { s.connectors.lake.enabled = true; }},
           {"connectors.lake.provider_users", "users of a provider where there is none",
            [](SecureConfig& s) {
              s.connectors.lake.enabled = true;
              s.connectors.lake.provider_users = true;
            }},
           {"connectors.lake.url", "a lake in plaintext elsewhere",
            [](SecureConfig& s) { s.connectors.lake.url = "http://lake.example"; }},
           {"connectors.lake.store_url", "a store in plaintext elsewhere",
            [](SecureConfig& s) { s.connectors.lake.store_url = "http://s3.example"; }},
           {"connectors.lake.client_secret", "a placeholder at the lake",
            [](SecureConfig& s) { s.connectors.lake.client_secret = base::Secret("changeme"); }},
           {"connectors.files.root", "files without folder",
            [](SecureConfig& s) { s.connectors.files.enabled = true; }},
           {"connectors.files.root", "files of everything",
            [](SecureConfig& s) {
              s.connectors.files.enabled = true;
              s.connectors.files.root = "/tmp/..";
            }},
           {"connectors.files.extensions", "files without endings",
            [](SecureConfig& s) {
              s.connectors.files.enabled = true;
              s.connectors.files.root = "/srv";
              s.connectors.files.extensions.clear();
            }},
       }) {
    auto config = good_config(Mode::kBasic, Role::kServer);
    c.spoil(config);
    EXPECT_THAT(names(validate(config, Role::kServer)), Contains(c.setting)) << c.name;
  }
}

TEST(ValidateTest, what_files_may_hold_fits_into_messages) {
  auto config = good_config(Mode::kSimple, Role::kServer);
  config.connectors.files.enabled = true;
  config.connectors.files.root = "/srv";
  config.connectors.files.allow_write = true;
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty()) << "the defaults";
  auto with = [&](auto change) {
    auto changed = config;
    change(changed);
    return names(validate(changed, Role::kServer));
  };
  using testing::ElementsAre;
  EXPECT_THAT(with([](SecureConfig& s) { s.limits.send_queue_bytes = 2 << 20; }),
              ElementsAre("connectors.files.read_max"));
  EXPECT_THAT(with([](SecureConfig& s) { s.limits.output_bytes = 2 << 20; }),
              ElementsAre("connectors.files.read_max"));
  EXPECT_THAT(with([](SecureConfig& s) { s.connectors.files.write_max_bytes = 800'000; }),
              ElementsAre("connectors.files.write_max"));
  EXPECT_THAT(with([](SecureConfig& s) {
                s.connectors.files.write_max_bytes = 800'000;
                s.limits.message_bytes = 2 << 20;
              }),
              IsEmpty());
  EXPECT_THAT(with([](SecureConfig& s) {
                s.connectors.files.write_max_bytes = 800'000;
                s.connectors.files.allow_write = false;
              }),
              IsEmpty());
}

TEST(ValidateTest, calls_are_not_forwarded_without_a_key_for_proofs) {
  auto config = good_config(Mode::kSimple, Role::kServer);
  config.cluster.peers = {{"b", "wss://b.example", {}}};
  config.core.secret_key = {};
  config.core.kdf_salt = {};
  EXPECT_THAT(names(validate(config, Role::kServer)),
              testing::ElementsAre("security.proof_signing_key_path"));
  config.security.proof_signing_key_path = "/p.pem";
  EXPECT_THAT(validate(config, Role::kServer), IsEmpty());
}

TEST(ValidateTest, a_clients_certificate_and_key_go_together) {
  auto config = good_config(Mode::kBasic, Role::kClient);
  config.security.client_cert_path = "/c";
  EXPECT_THAT(names(validate(config, Role::kClient)),
              testing::ElementsAre("security.client_key_path"));
  config.security.client_key_path = "/k";
  EXPECT_THAT(validate(config, Role::kClient), IsEmpty());
}

}  // namespace
}  // namespace tool::settings
