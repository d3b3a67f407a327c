#include "toolserver/settings/text_rules.h"

#include <gtest/gtest.h>

namespace tool::settings {
namespace {

struct Case {
  const char* rule_name;
  base::config::TextRule rule;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

TEST(TextRulesTest, each_rule_takes_and_refuses) {
  for (const auto& c : std::initializer_list<Case>{
           {"name",
            name_rule,
            {"a", "node-1", "N.0_x", std::string(64, 'n')},
            {"", "-a", ".a", "a b", "a/b", "ä", "a\n", std::string(65, 'n')}},
           {"host",
            host_rule,
            {"::", "127.0.0.1", "node.example"},
            {"", "a b", "[::1]", "h/p", "*"}},
           {"url path",
            url_path_rule,
            {"/scp/v3", "/a", "/a.b/c-d/_"},
            {"", "/", "a", "/a/", "//a", "/a//b", "/../a", "/a/.", "/a?b", "/a#b", "/a%2f", "/a b",
             "/" + std::string(256, 'a')}},
           {"origin",
            origin_rule,
            {"https://a.example", "http://localhost:8080", "https://[::1]:1"},
            {"", "*", "null", "a.example", "https://a.example/", "https://A.example",
             "HTTPS://a.example", "ws://a.example", "https://u@a.example", "https://*.example"}},
           {"suite",
            suite_rule,
            {"X25519_A256GCM_S256", "P256_A256GCM_S256", "X25519_C20P_S256"},
            {"", "NONE", "x25519_a256gcm_s256", "X25519_A128GCM_S256"}},
           {"scope",
            scope_rule,
            {"cap:list", "flow:run", "fed:forward", "admin:audit", "tool:invoke:files.read",
             "tool:invoke:files.*", "tool:describe:sql.query"},
            {"", "*", "cap", "cap:listing", "admin:", "tool:invoke:", "tool:call:a.b",
             "tool:invoke:a b", "tool:invoke:a\"b", "tool:invoke:\x01",
             "tool:invoke:" + std::string(256, 'a')}},
           {"server key",
            server_key_rule,
            {std::string(43, 'a'), "AZaz09-_" + std::string(35, 'x'), "/k", "node.pub",
             "a/node.pem"},
            {"", std::string(42, 'a'), std::string(44, 'a'), std::string(42, 'a') + "=", "node"}},
           {"extension",
            extension_rule,
            {".a", ".csv", ".7z", "." + std::string(16, 'a')},
            {"", ".", "csv", ".CSV", ".tar.gz", ".a/b", ".*", "." + std::string(17, 'a')}},
           {"service name",
            service_name_rule,
            {"", "_scp._tcp.example.com", "scp"},
            {"a b", "a/b"}},
           {"key prefix", key_prefix_rule, {"", "/scp/nodes/"}, {"a b", "a?b", "a%2f"}},
           {"peer",
            peer_rule,
            {"b wss://b.example", "b ws://127.0.0.1:1", "b wss://b.example /k.pem",
             "b wss://b a b"},
            {"", "b", "b ", "b wss://", "b https://b", " wss://b", "b wss://b "}},
       }) {
    for (const auto& text : c.good) EXPECT_EQ(c.rule(text), "") << c.rule_name << " " << text;
    for (const auto& text : c.bad) EXPECT_NE(c.rule(text), "") << c.rule_name << " " << text;
  }
}

}  // namespace
}  // namespace tool::settings
