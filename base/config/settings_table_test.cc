#include "base/config/settings_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/config/describe.h"

namespace base::config {
namespace {

using testing::HasSubstr;
using testing::Not;

SettingsTable make_table() {
  return SettingsTable(
      "LAKES_", {
                    {"PORT", IntegerType{1, 65535}, "8181", "Server", "Port to listen on."},
                    {"S3_BUCKET", TextType{}, "lakehouse", "Storage", "Bucket | of all data."},
                    {"PASSWORD", SecretType{}, "", "Storage", "Password."},
                    {"DEV_KEY", SecretType{}, "dev-key", "Storage", "Key."},
                    {"SAFE", FlagType{}, "1", "Server", "Safe mode."},
                    {"WAIT", DurationType{}, "1.5", "Server", "Pause."},
                    {"MEMORY", BytesType{}, "256MB", "Server", "Memory."},
                    {"FORMAT", ChoiceType{{"json", "text"}}, "json", "Server", "Format."},
                    {"URL", UrlType{}, "", "Server", "Own address."},
                });
}

class LoadTest : public testing::Test {
 protected:
  LoadTest() : table_(make_table()) {
    std::string name = testing::TempDir() + "settings-XXXXXX";
    places_.folder = mkdtemp(name.data());
  }
  ~LoadTest() override { std::filesystem::remove_all(places_.folder); }

  void write(const std::string& name, std::string_view text) {
    std::ofstream(places_.folder / name) << text;
  }
  SettingValues loaded() {
    auto values = load(table_, places_);
    EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message());
    return values.value_or(SettingValues());
  }
  std::string refused() {
    auto values = load(table_, places_);
    EXPECT_FALSE(values.has_value());
    if (values) return "";
    EXPECT_EQ(values.error().kind(), ErrorKind::kInvalid);
    return values.error().message();
  }

  SettingsTable table_;
  Places places_;
};

TEST_F(LoadTest, gives_the_defaults_when_nothing_is_set) {
  auto values = loaded();
  EXPECT_EQ(values.integer("PORT"), 8181);
  EXPECT_EQ(values.text("S3_BUCKET"), "lakehouse");
  EXPECT_TRUE(values.secret("PASSWORD").empty());
  EXPECT_TRUE(values.flag("SAFE"));
  EXPECT_EQ(values.duration("WAIT"), std::chrono::milliseconds(1500));
  EXPECT_EQ(values.bytes("MEMORY"), Bytes{256'000'000});
  EXPECT_EQ(values.text("FORMAT"), "json");
  EXPECT_TRUE(values.is_default("PORT"));
}

TEST_F(LoadTest, takes_the_strongest_source) {
  write("lakes.toml", "port = 1\ns3_bucket = 'toml'\nformat = 'text'\nwait = 2.5\nsafe = false\n");
  write(".env", "LAKES_PORT=2\nLAKES_S3_BUCKET=dotenv\nLAKES_FORMAT=json\n");
  places_.environment = {"LAKES_PORT=3", "LAKES_S3_BUCKET=environment"};
  places_.overrides = {"LAKES_PORT=4"};
  auto values = loaded();
  EXPECT_EQ(values.integer("PORT"), 4);
  EXPECT_EQ(values.source("PORT"), "command line");
  EXPECT_EQ(values.text("S3_BUCKET"), "environment");
  EXPECT_EQ(values.source("S3_BUCKET"), "environment");
  EXPECT_EQ(values.text("FORMAT"), "json");
  EXPECT_EQ(values.source("FORMAT"), ".env:3");
  EXPECT_EQ(values.duration("WAIT"), std::chrono::milliseconds(2500));
  EXPECT_EQ(values.source("WAIT"), "lakes.toml:wait");
  EXPECT_FALSE(values.flag("SAFE"));
}

TEST_F(LoadTest, a_toml_section_is_part_of_the_name) {
  write("lakes.toml", "[s3]\nbucket = 'x'\n");
  auto values = loaded();
  EXPECT_EQ(values.text("S3_BUCKET"), "x");
  EXPECT_EQ(values.source("S3_BUCKET"), "lakes.toml:s3.bucket");
}

TEST_F(LoadTest, reads_the_toml_file_that_is_named) {
  write("lakes.toml", "port = 1\n");
  write("other.toml", "port = 2\n");
  write(".env", "LAKES_CONFIG_FILE=other.toml\n");
  EXPECT_EQ(loaded().integer("PORT"), 2);
  places_.environment = {"LAKES_CONFIG_FILE=" + (places_.folder / "lakes.toml").string()};
  EXPECT_EQ(loaded().integer("PORT"), 1);
  places_.environment = {"LAKES_CONFIG_FILE=missing.toml"};
  EXPECT_THAT(refused(), HasSubstr("environment: LAKES_CONFIG_FILE: "));
}

TEST_F(LoadTest, a_file_cannot_name_the_file_to_read) {
  write("lakes.toml", "config_file = 'other.toml'\n");
  EXPECT_THAT(refused(), HasSubstr("lakes.toml:config_file: LAKES_CONFIG_FILE: "));
}

TEST_F(LoadTest, reports_every_fault_on_a_line_of_its_own) {
  places_.overrides = {"PORT=1", "LAKES_WAIT"};
  places_.environment = {"LAKES_PROT=1", "LAKES_SAFE=maybe", "OTHER=1"};
  write(".env", "\nLAKES_MEMORY=lots\nLAKES_BROKEN\nLAKES_URL='http://x\n");
  write("lakes.toml", "port = 70000\nformat = ['json']\n[a.b]\nc = 1\n[s3]\nbuckett = 'x'\n");
  std::string message = refused();
  for (const char* line : {
           "command line: PORT: ",
           "command line: LAKES_WAIT: ",
           "environment: LAKES_PROT: no such setting; the nearest is LAKES_PORT",
           "environment: LAKES_SAFE: must be ",
           ".env:2: LAKES_MEMORY: must be ",
           ".env:3: must have the form NAME=value",
           ".env:4: LAKES_URL: ",
           "lakes.toml:port: LAKES_PORT: must be an integer, 1 to 65535",
           "lakes.toml:format: LAKES_FORMAT: must be a string, a number or a boolean",
           "lakes.toml:a.b: LAKES_A_B: must be a string, a number or a boolean",
           "lakes.toml:s3.buckett: LAKES_S3_BUCKETT: no such setting; the nearest is "
           "LAKES_S3_BUCKET",
       }) {
    EXPECT_THAT("\n" + message, HasSubstr("\n" + std::string(line)));
  }
  EXPECT_EQ(std::ranges::count(message, '\n'), 10);
}

TEST_F(LoadTest, refuses_a_weaker_source_with_a_bad_value_too) {
  places_.environment = {"LAKES_PORT=1"};
  write("lakes.toml", "port = 'x'\n");
  EXPECT_THAT(refused(), HasSubstr("lakes.toml:port"));
}

TEST_F(LoadTest, refuses_a_setting_that_one_source_sets_twice) {
  write(".env", "LAKES_PORT=1\nLAKES_PORT=1\n");
  EXPECT_THAT(refused(), HasSubstr(".env:2: LAKES_PORT: is set a second time"));
  write(".env", "");
  write("lakes.toml", "s3_bucket = 'a'\n[s3]\nbucket = 'b'\n");
  EXPECT_THAT(refused(), HasSubstr("LAKES_S3_BUCKET: is set a second time"));
}

TEST_F(LoadTest, messages_never_repeat_a_value) {
  write("lakes.toml", "pasword = 'hunter2'\nport = 'hunter2'\n");
  EXPECT_THAT(refused(), Not(HasSubstr("hunter2")));
  write("lakes.toml", "password = 'hunter2\n");
  std::string message = refused();
  EXPECT_THAT(message, HasSubstr("lakes.toml:1:"));
  EXPECT_THAT(message, Not(HasSubstr("hunter2")));
}

TEST_F(LoadTest, a_foreign_key_cannot_forge_a_line) {
  places_.environment = {"LAKES_A\nenvironment: fine=1"};
  EXPECT_EQ(std::ranges::count(refused(), '\n'), 0);
}

TEST_F(LoadTest, refuses_files_that_are_no_files_or_too_long) {
  std::filesystem::create_directory(places_.folder / ".env");
  EXPECT_THAT(refused(), HasSubstr(".env: must be a readable file"));
  std::filesystem::remove(places_.folder / ".env");
  write("lakes.toml", std::string((1 << 20) + 1, '#'));
  EXPECT_THAT(refused(), HasSubstr("lakes.toml: must name a readable file"));
  write("lakes.toml", std::string(1 << 20, '#'));
  EXPECT_EQ(loaded().integer("PORT"), 8181);
}

TEST_F(LoadTest, refuses_deeply_nested_toml) {
  write("lakes.toml", "port = " + std::string(100'000, '['));
  EXPECT_THAT(refused(), HasSubstr("is not TOML"));
}

TEST(DotenvTest, reads_each_form_of_a_line) {
  auto found = from_dotenv(
      "# LAKES_A=0\n\nLAKES_A=1\r\n export LAKES_B = two words # note\nLAKES_C='#x' # y\n"
      "LAKES_D=\"a\\n\"\nLAKES_E=\nLAKES_F=a#b\nOTHER='broken\nLAKES_G= # only a "
      "note\nLAKES_H=last",
      "LAKES_", ".env");
  EXPECT_TRUE(found.errors.empty());
  std::vector<std::pair<std::string, std::string>> got;
  for (const auto& entry : found.entries) got.emplace_back(entry.key, entry.text);
  EXPECT_THAT(got, testing::ElementsAre(
                       testing::Pair("LAKES_A", "1"), testing::Pair("LAKES_B", "two words"),
                       testing::Pair("LAKES_C", "#x"), testing::Pair("LAKES_D", "a\\n"),
                       testing::Pair("LAKES_E", ""), testing::Pair("LAKES_F", "a#b"),
                       testing::Pair("LAKES_G", ""), testing::Pair("LAKES_H", "last")));
}

TEST_F(LoadTest, shows_values_and_their_source_but_no_secret) {
  places_.environment = {"LAKES_PASSWORD=hunter2", "LAKES_PORT=80"};
  std::string shown = show_settings(table_, loaded());
  EXPECT_THAT(shown, HasSubstr("LAKES_PASSWORD=*** (environment)\n"));
  EXPECT_THAT(shown, HasSubstr("LAKES_DEV_KEY=*** (default)\n"));
  EXPECT_THAT(shown, HasSubstr("LAKES_PORT=80 (environment)\n"));
  EXPECT_THAT(shown, HasSubstr("LAKES_WAIT=1.5 (default)\n"));
  EXPECT_THAT(shown, Not(HasSubstr("hunter2")));
  EXPECT_THAT(shown, Not(HasSubstr("dev-key")));
}

TEST(DescribeTest, writes_one_markdown_table_for_each_section) {
  std::string page = settings_markdown(make_table(), "Configuration");
  EXPECT_TRUE(page.starts_with("# Configuration\n"));
  EXPECT_THAT(page, HasSubstr("\n## Server\n"));
  EXPECT_THAT(page,
              HasSubstr("| `LAKES_PORT` | `8181` | integer, 1 to 65535 | Port to listen on. |"));
  EXPECT_THAT(page, HasSubstr("| `LAKES_PASSWORD` | not set | secret |"));
  EXPECT_THAT(page, HasSubstr("Bucket \\| of all data."));
  EXPECT_THAT(page, HasSubstr("LAKES_CONFIG_FILE"));
  EXPECT_THAT(page, Not(HasSubstr("dev-key")));
}

TEST(SettingsTableDeathTest, aborts_on_a_broken_table) {
  EXPECT_DEATH(SettingsTable("X_", {{"A", IntegerType{1, 2}, "3", "S", "H"}}), "A is listed");
  EXPECT_DEATH(
      SettingsTable("X_", {{"A", TextType{}, "", "S", "H"}, {"A", TextType{}, "", "S", "H"}}),
      "A is listed");
}

TEST_F(LoadTest, aborts_when_asked_for_another_type_or_name) {
  auto values = loaded();
  EXPECT_DEATH(static_cast<void>(values.text("PORT")), "");
  EXPECT_DEATH(static_cast<void>(values.integer("NOPE")), "");
}

}  // namespace
}  // namespace base::config
