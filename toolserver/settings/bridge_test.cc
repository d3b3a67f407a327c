#include "toolserver/settings/bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolserver/settings/fixture_test.h"

namespace tool::settings {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGit =
    "[bridges.git]\nkind = \"stdio\"\ncommand = \"/bin/cat\"\narguments = [\"--a\", \"b,c\", "
    "\"\"]\n";

class BridgeTest : public testing::SettingsTest {
 protected:
  void configure(std::string_view text) { write("securetool.toml", text); }
  std::string refused_with(const std::string& lines) {
    configure(std::string(kGit) + lines);
    return refused();
  }
};

TEST_F(BridgeTest, a_program_is_read_as_it_was_written) {
  write("token", "s3cret-of-git\n");
  configure(std::string(kGit) +
            "folder = \"/tmp\"\nfirst_seen = \"trust\"\nconsent = \"first\"\ntimeout = 2.5\n"
            "oldest_version = \"2025-11-25\"\n"
            "[bridges.git.environment]\nLANG = \"C.UTF-8\"\n"
            "[bridges.git.environment_files]\nTOKEN = \"token\"\n"
            "[bridges.git.rules.git_log]\nrepo_path.within = \"/srv/repo\"\n"
            "max_count = {min = 1, max = 50, optional = true}\n"
            "[bridges.git.rules.\"*\"]\nbranch = {pattern = \"[a-z]{1,3}\", values = [\"a\"]}\n");
  auto config = loaded();
  ASSERT_EQ(config.bridges.size(), 1U);
  const Bridge& git = config.bridges[0];
  EXPECT_EQ(git.name, "git");
  EXPECT_EQ(git.arguments, (std::vector<std::string>{"--a", "b,c", ""}));
  EXPECT_EQ(git.folder, "/tmp");
  EXPECT_EQ(git.first_seen, FirstSight::kTrust);
  EXPECT_EQ(git.consent, ConsentRule::kFirst);
  EXPECT_EQ(git.timeout, std::chrono::milliseconds(2500));
  ASSERT_EQ(git.environment_secrets.size(), 1U);
  EXPECT_EQ(git.environment_secrets[0].value.reveal(), "s3cret-of-git");
  ASSERT_EQ(git.rules.size(), 3U);
  EXPECT_EQ(git.rules[0].tool, "*");
  EXPECT_EQ(git.rules[0].pattern, "[a-z]{1,3}");
  EXPECT_EQ(git.rules[1].argument, "max_count");
  EXPECT_TRUE(git.rules[1].is_optional);
  EXPECT_EQ(git.rules[2].within, "/srv/repo");
}

TEST_F(BridgeTest, a_bridge_stands_in_toml_alone) {
  write("securetool.yaml", "bridges:\n  git:\n    kind: stdio\n");
  EXPECT_THAT(refused(), HasSubstr("bridges.git.kind: the section bridges stands in a TOML file"));
}

TEST_F(BridgeTest, defaults_deny) {
  configure(kGit);
  auto git = loaded().bridges.at(0);
  EXPECT_EQ(git.first_seen, FirstSight::kQuarantine);
  EXPECT_EQ(git.consent, ConsentRule::kAlways);
  EXPECT_EQ(git.offers, (BridgeOffers{.tools = true, .resources = false, .prompts = false}));
}

TEST_F(BridgeTest, what_is_offered_is_said) {
  configure(std::string(kGit) + "offers = [\"prompts\", \"resources\"]\n");
  EXPECT_EQ(loaded().bridges.at(0).offers,
            (BridgeOffers{.tools = false, .resources = true, .prompts = true}));
}

TEST_F(BridgeTest, what_is_wrong_is_named) {
  write("open", "x");
  for (auto [name, text] :
       {std::pair{"short", "s3cret\n"}, {"lines", "first line\nsecond line\n"}}) {
    write(name, text);
    std::filesystem::permissions(places_.folder / name, std::filesystem::perms(0600));
  }
  std::filesystem::permissions(places_.folder / "open", std::filesystem::perms(0644));
  for (auto [lines, rule] : std::initializer_list<std::pair<const char*, const char*>>{
           {"colour = 1\n", "securetool.toml:bridges.git.colour: no such key; the nearest is"},
           {"argumets = []\n", "bridges.git.argumets: no such key; the nearest is arguments"},
           {"first_seen = \"yes\"\n", "bridges.git.first_seen: must be quarantine or trust"},
           {"offers = []\n", "bridges.git.offers: must name one of"},
           {"offers = [\"all\"]\n", "bridges.git.offers: must hold tools, resources and prompts"},
           {"offers = [\"tools\", \"tools\"]\n", "bridges.git.offers: must hold tools"},
           {"network = \"yes\"\n", "bridges.git.network: must be true or false"},
           {"reads = \"/srv\"\n", "bridges.git.reads: must be a list"},
           {"reads = [\"\"]\n", "bridges.git.reads: must hold paths"},
           {"folder = \"\"\n", "bridges.git.folder: must not be empty"},
           {"environment = 1\n", "bridges.git.environment: must be a section"},
           {"rules = []\n", "bridges.git.rules: must be a section"},
           {"memory = \"1KiB\"\n", "bridges.git.memory: must be"},
           {"url = \"https://a\"\n", "git.url: needs kind = http"},
           {"oldest_version = \"2020-01-01\"\n", "git.oldest_version: must be one of"},
           {"timeout = 0\n", "bridges.git.timeout"},
           {"[bridges.git.environment]\n\"A B\" = \"x\"\n", "must be the name of a variable"},
           {"[bridges.git.environment_files]\nA = \"open\"\n", "environment_files.A"},
           {"[bridges.git.environment_files]\nA = \"short\"\n",
            "environment_files.A: must have 8 characters or more"},
           {"[bridges.git.environment_files]\nA = \"lines\"\n",
            "environment_files.A: must hold one line of text"},
           {"[bridges.git.header_files]\nA = \"none\"\n", "header_files.A"},
           {"[bridges.git.rules.git_log]\na = 1\n", "rules.git_log.a: must be a section"},
           {"[bridges.git.rules.git_log]\na.patern = 1\n",
            "bridges.git.rules.git_log.a.patern: no such key; the nearest is pattern"},
           {"[bridges.git.rules.git_log]\na.min = \"1\"\n",
            "rules.git_log.a.min: must be a number"},
           {"[bridges.git.rules.git_log]\na.values = [1]\n", "a.values: must be a list"},
           {"[bridges.git.rules.git_log]\na.optional = true\n", "must have one of"},
           {"[bridges.git.rules.git_log]\na.within = \"srv\"\n", "a.within: must be an absolute"},
           {"[bridges.git.rules.git_log]\na.within = \"/srv/../etc\"\n", "must be an absolute"},
           {"[bridges.git.rules.git_log]\na.pattern = \"(\"\n", "must be a pattern that RE2 takes"},
           {"[bridges.git.rules.git_log]\na = {min = 2, max = 1}\n", "min must not be over max"},
           {"[bridges.git.rules.GitLog]\na.min = 1\n", "as this service names it"}}) {
    EXPECT_THAT(refused_with(lines), HasSubstr(rule)) << lines;
  }
}

TEST_F(BridgeTest, a_name_that_is_taken_or_looks_like_another_is_refused) {
  for (const char* name : {"files", "fi1es", "sql", "sq1", "echo", "tools", "G", "g.t", "1a"}) {
    configure(std::string("[bridges.\"") + name +
              "\"]\nkind = \"stdio\"\ncommand = \"/bin/cat\"\n");
    EXPECT_THAT(refused(), HasSubstr("bridge")) << name;
  }
  configure(std::string(kGit) + "[bridges.g1t]\nkind = \"stdio\"\ncommand = \"/bin/cat\"\n");
  EXPECT_THAT(refused(), HasSubstr("looks like g"));
  configure(std::string(kGit) + "[bridges.hub]\nkind = \"stdio\"\ncommand = \"/bin/cat\"\n");
  EXPECT_EQ(loaded().bridges.size(), 2U);
}

TEST_F(BridgeTest, plaintext_goes_to_this_machine_alone) {
  auto url = [&](std::string_view text) {
    configure("[bridges.w]\nkind = \"http\"\nurl = \"" + std::string(text) + "\"\n");
  };
  for (const char* text :
       {"http://tools.example/mcp", "http://127.0.0.1.example/mcp", "http://192.168.1.1/mcp"}) {
    url(text);
    EXPECT_THAT(refused(), HasSubstr("w.url: must use TLS")) << text;
  }
  for (const char* text : {"http://127.0.0.1:80/mcp", "https://tools.example/mcp"}) {
    url(text);
    EXPECT_EQ(loaded().bridges.size(), 1U) << text;
  }
}

TEST_F(BridgeTest, a_program_must_be_there_and_closed_to_others) {
  write("mine", "#!/bin/sh\n");
  for (auto [mode, good] : {std::pair{0700, true}, {0600, false}, {0702, false}}) {
    std::filesystem::permissions(places_.folder / "mine",
                                 static_cast<std::filesystem::perms>(mode));
    configure("[bridges.w]\nkind = \"stdio\"\ncommand = \"mine\"\n");
    if (good) {
      EXPECT_EQ(loaded().bridges.at(0).command, places_.folder / "mine");
    } else {
      EXPECT_THAT(refused(), HasSubstr("w.command: must")) << mode;
    }
  }
}

TEST_F(BridgeTest, a_login_is_read_as_it_was_written) {
  const std::string server = "[bridges.w]\nkind = \"http\"\nurl = \"https://w.example/mcp\"\n";
  configure(server + "[bridges.w.login]\n");
  auto config = loaded();
  ASSERT_TRUE(config.bridges.at(0).login);
  EXPECT_EQ(config.bridges.at(0).login->grant, LoginGrant::kAuthorizationCode);
  write("secret", "s3cret-of-w\n");
  configure(server +
            "[bridges.w.login]\ngrant = \"client_credentials\"\nissuer = \"https://as.example\"\n"
            "client_id = \"us\"\nclient_secret_file = \"secret\"\nscopes = [\"a\"]\n"
            "networks = [\"10.1.0.0/16\"]\nredirect_port = 8123\n");
  config = loaded();
  const BridgeLogin& login = *config.bridges.at(0).login;
  EXPECT_EQ(login.grant, LoginGrant::kClientCredentials);
  EXPECT_EQ(login.client_secret.reveal(), "s3cret-of-w");
  EXPECT_EQ(login.scopes, std::vector<std::string>{"a"});
  EXPECT_EQ(login.redirect_port, 8123);
  EXPECT_FALSE(same(config.bridges, {}));
}

TEST_F(BridgeTest, a_login_that_would_be_unsafe_or_of_no_use_is_refused) {
  const std::string server = "[bridges.w]\nkind = \"http\"\nurl = \"https://w.example/mcp\"\n";
  write("secret", "s3cret-of-w\n");
  for (auto [lines, rule] : std::initializer_list<std::pair<const char*, const char*>>{
           {"client_id = \"us\"\n", "client_id needs issuer"},
           {"client_secret_file = \"secret\"\n", "need client_id"},
           {"grant = \"client_credentials\"\n", "needs client_id and its secret"},
           {"grant = \"password\"\n", "grant"},
           {"client_secret_file = \"nowhere\"\n", "client_secret_file"},
           {"client_metadata_url = \"http://us.example/c\"\nredirect_port = 1\n", "must be https"},
           {"client_metadata_url = \"https://us.example/c\"\n", "needs redirect_port"},
           {"scopes = [\"a b\"]\n", "words of a scope"},
           {"networks = [\"10.1.0.0/8\"]\n", "must hold networks"},
           {"redirect_port = 70000\n", "redirect_port"},
           {"scope = [\"a\"]\n", "no such key; the nearest is scopes"}}) {
    configure(server + "[bridges.w.login]\n" + lines);
    EXPECT_THAT(refused(), HasSubstr(rule)) << lines;
  }
  EXPECT_THAT(refused_with("[bridges.git.login]\n"), HasSubstr("login: needs kind = http"));
  write("token", "Bearer s3cret-of-w\n");
  configure(server + "header_files.Authorization = \"token\"\n[bridges.w.login]\n");
  EXPECT_THAT(refused(), HasSubstr("Authorization is set by the bridge itself"));
}

TEST_F(BridgeTest, a_bridge_cannot_come_from_the_environment) {
  set("SCP_BRIDGES_GIT_COMMAND=/bin/cat");
  EXPECT_THAT(refused(), HasSubstr("SCP_BRIDGES_GIT_COMMAND: no such setting"));
}

TEST_F(BridgeTest, changing_a_bridge_needs_a_restart) {
  configure(kGit);
  auto before = loaded();
  configure(std::string(kGit) + "timeout = 7\n");
  auto reloaded = reload(before, places_, Role::kServer);
  ASSERT_TRUE(reloaded.has_value());
  EXPECT_EQ(reloaded->needs_restart, std::vector<std::string>{"bridges"});
  EXPECT_TRUE(same(reloaded->config.bridges, before.bridges));
}

}  // namespace
}  // namespace tool::settings
