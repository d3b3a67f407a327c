#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using testing::close_of;
using testing::find;
using testing::give;
using testing::Options;
using testing::Pair;
using testing::RawPair;
using testing::sent;

// A hello that a raw client changes before it is sent.
struct HelloCase {
  const char* what;
  void (*change)(base::json::Object& hello, base::json::Object& payload);
  std::string_view code;
  std::uint16_t close;
};

TEST(HelloTest, a_server_refuses_a_hello_that_breaks_a_rule) {
  using O = base::json::Object;
  const std::vector<HelloCase> cases = {
      {"versions 2.0",
       [](O& h, O& p) {
         p["versions"] = base::json::Array{"2.0"};
         h["v"] = "2.0";
       },
       "E_VERSION", 4426},
      {"versions 4.0",
       [](O& h, O& p) {
         p["versions"] = base::json::Array{"4.0"};
         h["v"] = "4.0";
       },
       "E_VERSION", 4426},
      {"no versions", [](O&, O& p) { p["versions"] = base::json::Array(); }, "E_SHAPE", 4400},
      {"17 versions", [](O&, O& p) { p["versions"] = base::json::Array(17, "3.0"); }, "E_SHAPE",
       4400},
      {"version form", [](O&, O& p) { p["versions"] = base::json::Array{"3.00"}; }, "E_SHAPE",
       4400},
      {"v is not the highest", [](O& h, O&) { h["v"] = "3.1"; }, "E_SHAPE", 4400},
      {"want_mode", [](O&, O& p) { p["want_mode"] = "simple"; }, "E_AUTH", 4401},
      {"want_mode missing", [](O&, O& p) { p.erase("want_mode"); }, "E_SHAPE", 4400},
      {"suites", [](O&, O& p) { p["suites"] = base::json::Array{"NONE"}; }, "E_SHAPE", 4400},
      {"unknown suite", [](O&, O& p) { p["suites"] = base::json::Array{"ROT13"}; }, "E_SHAPE",
       4400},
      {"no suites", [](O&, O& p) { p["suites"] = base::json::Array(); }, "E_SHAPE", 4400},
      {"9 suites", [](O&, O& p) { p["suites"] = base::json::Array(9, "NONE"); }, "E_SHAPE", 4400},
      {"no share", [](O&, O& p) { p["eph_c"] = O(); }, "E_SHAPE", 4400},
      {"share of another group", [](O&, O& p) { p["eph_c"] = O{{"P256", "AAAA"}}; }, "E_SHAPE",
       4400},
      {"9 groups",
       [](O&, O& p) {
         for (int i = 0; i < 8; ++i) p["eph_c"].as_object()["g" + std::to_string(i)] = "";
       },
       "E_SHAPE", 4400},
      {"short share", [](O&, O& p) { p["eph_c"] = O{{"X25519", std::string(42, 'A')}}; }, "E_SHAPE",
       4400},
      {"long share", [](O&, O& p) { p["eph_c"] = O{{"X25519", std::string(44, 'A')}}; }, "E_SHAPE",
       4400},
      {"zero share", [](O&, O& p) { p["eph_c"] = O{{"X25519", std::string(43, 'A')}}; }, "E_SHAPE",
       4400},
      {"share of order 1",
       [](O&, O& p) { p["eph_c"] = O{{"X25519", "AQ" + std::string(41, 'A')}}; }, "E_SHAPE", 4400},
      {"share as a number", [](O&, O& p) { p["eph_c"] = O{{"X25519", 7}}; }, "E_SHAPE", 4400},
      {"short nonce", [](O&, O& p) { p["nonce_c"] = std::string(42, 'A'); }, "E_SHAPE", 4400},
      {"no channels", [](O&, O& p) { p["channels"] = base::json::Array(); }, "E_SHAPE", 4400},
      {"5 channels", [](O&, O& p) { p["channels"] = base::json::Array(5, "none"); }, "E_SHAPE",
       4400},
      {"client's name", [](O&, O& p) { p["client"].as_object()["name"] = std::string(65, 'x'); },
       "E_SHAPE", 4400},
      {"client", [](O&, O& p) { p["client"] = "me"; }, "E_SHAPE", 4400},
      {"aud", [](O& h, O&) { h["aud"] = "node-b"; }, "E_REPLAY", 4409},
  };
  for (const auto& row : cases) {
    RawPair pair;
    auto tree = base::json::parse(pair.client.hello().bytes)->as_object();
    row.change(tree, tree["p"].as_object());
    auto actions = pair.server.on_text(base::json::write(tree));
    EXPECT_EQ(pair.client.refusal(actions), row.code) << row.what;
    EXPECT_EQ(close_of(actions), row.close) << row.what;
    EXPECT_EQ(pair.server.state(), ServerState::kFailed) << row.what;
  }
}

TEST(HelloTest, a_server_takes_both_ends_of_every_range_of_a_hello) {
  using O = base::json::Object;
  const std::vector<void (*)(O&, O&)> cases = {
      [](O&, O& p) { p["versions"] = base::json::Array(16, "3.0"); },
      [](O& h, O& p) {
        p["versions"] = base::json::Array{"2.9", "3.7", "3.2"};
        h["v"] = "3.7";
      },
      [](O& h, O& p) {
        p["versions"] = base::json::Array{"4.0", "3.0"};
        h["v"] = "4.0";
      },
      [](O&, O& p) {
        auto& list = p["suites"].as_array();
        while (list.size() < 8) list.emplace_back("NONE");
      },
      [](O&, O& p) { p["channels"] = base::json::Array{"x", "x", "x", "none"}; },
      [](O&, O& p) { p["proofs"] = base::json::Array{"x", "x", "x", "hmac"}; },
      [](O&, O& p) { p["client"].as_object()["name"] = std::string(64, 'x'); },
      [](O&, O& p) {
        std::string name;
        for (int i = 0; i < 64; ++i) name += "é";
        p["client"].as_object()["name"] = name;
      },
      [](O&, O& p) { p["client"].as_object()["name"] = ""; },
      [](O& h, O& p) {
        h["later"] = {1, 2};
        p["later"] = true;
      },
  };
  for (const auto& change : cases) {
    RawPair pair;
    auto tree = base::json::parse(pair.client.hello().bytes)->as_object();
    change(tree, tree["p"].as_object());
    auto actions = pair.server.on_text(base::json::write(tree));
    EXPECT_EQ(close_of(actions), 0) << base::json::write(tree);
    EXPECT_EQ(pair.server.state(), ServerState::kNegotiated);
  }
}

TEST(HelloTest, a_refused_version_names_those_of_the_server) {
  RawPair pair;
  auto tree = base::json::parse(pair.client.hello().bytes)->as_object();
  tree["p"].as_object()["versions"] = base::json::Array{"9.9"};
  tree["v"] = "9.9";
  auto answer = pair.client.read(sent(pair.server.on_text(base::json::write(tree))));
  EXPECT_EQ(base::json::write(answer.payload.at("data")), R"({"versions":["3.0"]})");
  EXPECT_EQ(answer.audience, "");
}

TEST(HelloTest, the_point_of_p256_must_be_on_the_curve) {
  for (char first : {'\x04', '\x02', '\x00'}) {
    Options options{.suites = {Suite::kP256Aes256Gcm}};
    RawPair pair(options);
    auto tree = base::json::parse(pair.client.hello().bytes)->as_object();
    std::string share(65, '\x01');
    share[0] = first;
    tree["p"].as_object()["eph_c"].as_object()["P256"] = base::crypto::to_base64url(share);
    EXPECT_EQ(pair.client.refusal(pair.server.on_text(base::json::write(tree))), "E_SHAPE");
  }
}

TEST(ServerContextTest, refuses_a_configuration_with_a_hole) {
  struct Case {
    const char* what;
    void (*change)(ServerConfig&);
  };
  const std::vector<Case> cases = {
      {"no node", [](ServerConfig& c) { c.node_id = ""; }},
      {"node of everybody", [](ServerConfig& c) { c.node_id = "*"; }},
      {"long node", [](ServerConfig& c) { c.node_id = std::string(257, 'n'); }},
      {"no cluster", [](ServerConfig& c) { c.cluster = ""; }},
      {"no suites", [](ServerConfig& c) { c.suites = {}; }},
      {"no methods", [](ServerConfig& c) { c.methods = {}; }},
      {"no versions", [](ServerConfig& c) { c.versions = {}; }},
      {"suite of another mode", [](ServerConfig& c) { c.suites.push_back(Suite::kNone); }},
      {"method of another mode", [](ServerConfig& c) { c.methods.push_back(Method::kMtls); }},
      {"no secret", [](ServerConfig& c) { c.secrets.secret_key = {}; }},
      {"no api key", [](ServerConfig& c) { c.secrets.api_key = {}; }},
  };
  testing::World world;
  for (const auto& [what, change] : cases) {
    auto config = testing::server_config({});
    SessionTokens tokens("node-b", "cluster-1",
                         *session_token_signer(config.secrets.secret_key, {}));
    change(config);
    auto made = ServerContext::create(config, tokens, world.replay, world.clock, world.random);
    EXPECT_FALSE(made.has_value()) << what;
  }
}

TEST(VersionTest, negotiates_the_highest_that_both_speak) {
  using V = Version;
  struct Case {
    std::vector<V> ours, theirs;
    std::optional<V> chosen;
  };
  const std::vector<Case> cases = {
      {{{3, 0}}, {{3, 0}}, V{3, 0}},
      {{{3, 0}}, {{3, 5}}, V{3, 0}},
      {{{3, 5}}, {{3, 0}}, V{3, 0}},
      {{{3, 2}, {3, 4}}, {{3, 3}, {3, 1}}, V{3, 3}},
      {{{3, 9}, {4, 0}}, {{4, 2}, {3, 9}}, V{4, 0}},
      {{{3, 0}}, {{2, 9}, {4, 0}}, std::nullopt},
      {{{3, 0}}, {}, std::nullopt},
  };
  for (const auto& [ours, theirs, chosen] : cases) {
    EXPECT_EQ(negotiate(ours, theirs), chosen);
    EXPECT_EQ(negotiate(theirs, ours), chosen);
    if (chosen) EXPECT_TRUE(covers(theirs, *chosen));
  }
  EXPECT_FALSE(covers(cases[0].ours, V{3, 1}));
  EXPECT_FALSE(covers(cases[0].ours, V{2, 0}));
}

}  // namespace
}  // namespace tool::session
