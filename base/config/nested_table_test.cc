#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/config/describe.h"
#include "base/config/settings_table.h"
#include "base/config/write.h"

namespace base::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string_view no_x(std::string_view text) {
  return text.contains('x') ? "must have no x" : std::string_view();
}

SettingsTable make_table() {
  return SettingsTable(
      "APP_",
      {
          setting_at("name", TextType{}, "n", "Core", "Name."),
          setting_at("key", SecretType{}, "", "Core", "Key."),
          setting_at("a.port", IntegerType{1, 9}, "1", "A", "Port."),
          setting_at("a.b.c", TextType{}, "", "B", "Deep."),
          setting_at("a.b_d", TextType{}, "", "B", "Like a deep one."),
          setting_at("a.list", ListType{no_x, "without x", 3}, "p,q", "A", "List."),
          setting_at("a.on", FlagType{}, "0", "A", "Flag."),
          setting_at("a.wait", DurationType{}, "1.5", "A", "Pause."),
          setting_at("a.size", BytesType{}, "1KiB", "A", "Size."),
          setting_at("a.kind", ChoiceType{{"r", "s"}}, "r", "A", "Kind."),
          setting_at("a.url", UrlType{{"ws", "wss"}}, "", "A", "Address."),
          setting_at("a.token", SecretType{}, "", "A", "Token."),
      },
      {Nesting::kNested, "app", "core"});
}

class NestedTest : public testing::Test {
 protected:
  NestedTest() : table_(make_table()) {
    std::string name = testing::TempDir() + "nested-XXXXXX";
    places_.folder = mkdtemp(name.data());
  }
  ~NestedTest() override { std::filesystem::remove_all(places_.folder); }

  void write(const std::string& name, std::string_view text, mode_t mode = 0600) {
    std::ofstream(places_.folder / name) << text;
    ASSERT_EQ(chmod((places_.folder / name).c_str(), mode), 0);
  }
  SettingValues loaded() {
    auto values = load(table_, places_);
    EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().message());
    return values.value_or(read(table_, {{}, {}, places_.folder / "none"}).values);
  }
  std::string refused() {
    auto values = load(table_, places_);
    EXPECT_FALSE(values.has_value());
    return values ? "" : values.error().message();
  }

  SettingsTable table_;
  Places places_;
};

TEST_F(NestedTest, reads_sections_in_sections_from_each_format) {
  struct Case {
    const char* file;
    const char* text;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"app.toml", "name='m'\n[a]\nport=2\nlist=['u', 'v w']\non=true\n[a.b]\nc='deep'\n"},
           {"app.yaml", "name: m\na:\n  port: 2\n  list: [u, v w]\n  on: yes\n  b: {c: deep}\n"},
           {"app.yml",
            "name: m\na:\n  port: 2\n  list:\n  - u\n  - v w\n  on: 1\n  b:\n    c: deep\n"},
           {".env",
            "APP_NAME=m\nAPP_A_PORT=2\nAPP_A_LIST=u, v w\nexport APP_A_ON=1\nAPP_A_B_C=deep\n"},
           {"x.env",
            "# ours\nAPP_NAME=m\n\nAPP_A_PORT=2\nAPP_A_LIST='u,v w'\nAPP_A_ON=1\nAPP_A_B_C=deep"},
       }) {
    write(c.file, c.text);
    places_.overrides.clear();
    if (c.file == std::string_view("x.env")) places_.overrides = {"APP_CONFIG_FILE=x.env"};
    auto values = loaded();
    EXPECT_EQ(values.text("NAME"), "m") << c.file;
    EXPECT_EQ(values.integer("A_PORT"), 2) << c.file;
    EXPECT_THAT(values.list("A_LIST"), ElementsAre("u", "v w")) << c.file;
    EXPECT_TRUE(values.flag("A_ON")) << c.file;
    EXPECT_EQ(values.text("A_B_C"), "deep") << c.file;
    std::filesystem::remove(places_.folder / c.file);
  }
}

TEST_F(NestedTest, the_root_section_may_be_named) {
  write("app.toml", "[core]\nname = 'm'\n");
  EXPECT_EQ(loaded().text("NAME"), "m");
  write("app.toml", "");
  places_.environment = {"APP_CORE_NAME=m"};
  EXPECT_EQ(loaded().text("NAME"), "m");
  places_.environment = {"APP_CORE_NAME=m", "APP_NAME=m"};
  EXPECT_THAT(refused(), HasSubstr("is set a second time"));
  places_.environment = {"APP_CORE_A_PORT=2"};
  EXPECT_THAT(refused(), HasSubstr("no such setting"));
}

TEST_F(NestedTest, the_path_decides_between_settings_of_like_names) {
  write("app.toml", "[a]\nb_d = '1'\n");
  EXPECT_EQ(loaded().text("A_B_D"), "1");
  write("app.toml", "[a.b]\nd = '1'\n");
  EXPECT_THAT(refused(), HasSubstr("app.toml:a.b.d: no such setting; the nearest is a.b"));
  write("app.toml", "a_port = 2\n");
  EXPECT_THAT(refused(), HasSubstr("app.toml:a_port: no such setting; the nearest is a.port"));
  write("app.toml", "'a.port' = 2\n");
  EXPECT_THAT(refused(), HasSubstr("no such setting; the nearest is a.port"));
}

TEST_F(NestedTest, an_unknown_key_names_the_nearest_in_the_sources_own_form) {
  write("app.yaml", "a:\n  prot: 1\n");
  places_.environment = {"APP_A_PROT=1"};
  std::string message = refused();
  EXPECT_THAT(message, HasSubstr("app.yaml:a.prot: no such setting; the nearest is a.port"));
  EXPECT_THAT(message,
              HasSubstr("environment: APP_A_PROT: no such setting; the nearest is APP_A_PORT"));
}

TEST_F(NestedTest, an_empty_section_is_fine_and_an_empty_setting_is_not) {
  write("app.yaml", "a:\ncore:\nname: m\n");
  EXPECT_EQ(loaded().text("NAME"), "m");
  write("app.yaml", "name:\n");
  EXPECT_THAT(refused(), HasSubstr("app.yaml:name: must have a value"));
  write("app.yaml", "aa:\n");
  EXPECT_THAT(refused(), HasSubstr("no such setting"));
}

TEST_F(NestedTest, a_list_is_for_a_list_alone) {
  write("app.toml", "name = ['m']\n");
  EXPECT_THAT(refused(), HasSubstr("app.toml:name: must be a string, a number or a boolean"));
}

TEST_F(NestedTest, two_files_in_the_folder_are_one_too_many) {
  write("app.toml", "");
  write("app.yaml", "");
  EXPECT_THAT(refused(), HasSubstr("only one of app.toml, app.yaml may be there"));
  places_.overrides = {"APP_CONFIG_FILE=app.yaml"};
  EXPECT_EQ(loaded().text("NAME"), "n");
}

TEST_F(NestedTest, the_ending_of_the_name_says_the_format) {
  write("conf", "name = 'm'\n");
  places_.overrides = {"APP_CONFIG_FILE=conf"};
  EXPECT_THAT(refused(), HasSubstr("conf: the name must end with .toml, .yaml, .yml or .env"));
}

TEST_F(NestedTest, a_named_env_file_has_our_names_alone) {
  write("x.env", "APP_NAME=m\nAPQ_NAME=1\n");
  places_.overrides = {"APP_CONFIG_FILE=x.env"};
  EXPECT_THAT(refused(), HasSubstr("x.env:2: APQ_NAME: no such setting"));
}

TEST_F(NestedTest, a_file_cannot_name_the_file_to_read) {
  write("other.toml", "");
  for (const char* text :
       {"config_file = 'other.toml'\n", "[core]\nconfig_file = 'other.toml'\n"}) {
    write("app.toml", text);
    EXPECT_THAT(refused(), HasSubstr("a file cannot name the file to read")) << text;
  }
}

TEST_F(NestedTest, a_secret_may_stand_in_a_file_of_its_own) {
  write("key", "s3cret \n");
  for (const char* name : {"APP_KEY_FILE=key", "APP_CORE_KEY_FILE=key"}) {
    places_.environment = {name};
    EXPECT_EQ(loaded().secret("KEY").reveal(), "s3cret ") << name;
  }
  places_.environment = {"APP_A_TOKEN_FILE=" + (places_.folder / "key").string()};
  EXPECT_EQ(loaded().secret("A_TOKEN").reveal(), "s3cret ");
  places_.environment.clear();
  write("app.toml", "key_file = 'key'\n[a]\ntoken_file = 'key'\n");
  EXPECT_EQ(loaded().secret("KEY").reveal(), "s3cret ");
  EXPECT_EQ(loaded().source("A_TOKEN"), "app.toml:a.token_file");
}

TEST_F(NestedTest, one_line_end_is_left_off) {
  struct Case {
    const char* held;
    const char* read;
  };
  places_.environment = {"APP_KEY_FILE=key"};
  for (const auto& c :
       std::initializer_list<Case>{{"k", "k"}, {"k\n", "k"}, {"k\r\n", "k"}, {"", ""}}) {
    write("key", c.held);
    EXPECT_EQ(loaded().secret("KEY").reveal(), c.read);
  }
  write("key", "k\n\n");
  EXPECT_THAT(refused(), HasSubstr("without control characters"));
}

TEST_F(NestedTest, refuses_a_file_that_keeps_no_secret) {
  places_.environment = {"APP_KEY_FILE=key"};
  EXPECT_THAT(refused(), HasSubstr("APP_KEY_FILE: must name a readable file"));
  for (mode_t mode : {0604, 0640, 0620, 0602, 0610, 0601, 0666}) {
    write("key", "hunter2", mode);
    std::string message = refused();
    EXPECT_THAT(message, HasSubstr("group and others")) << mode;
    EXPECT_THAT(message, Not(HasSubstr("hunter2")));
  }
  for (mode_t mode : {0600, 0400, 0700}) {
    write("key", "hunter2", mode);
    EXPECT_EQ(loaded().secret("KEY").reveal(), "hunter2") << mode;
    std::filesystem::remove(places_.folder / "key");
  }
  write("key", std::string((8 << 10) + 1, 'k'));
  EXPECT_THAT(refused(), HasSubstr("at most 8 KiB"));
  std::filesystem::remove(places_.folder / "key");
  std::filesystem::create_directory(places_.folder / "key");
  EXPECT_THAT(refused(), HasSubstr("must name a readable file"));
  std::filesystem::remove(places_.folder / "key");
  ASSERT_EQ(mkfifo((places_.folder / "key").c_str(), 0600), 0);
  EXPECT_THAT(refused(), HasSubstr("must name a readable file"));
  places_.environment = {"APP_KEY_FILE="};
  EXPECT_THAT(refused(), HasSubstr("must name a file"));
}

TEST_F(NestedTest, a_secret_and_its_file_are_one_setting) {
  write("key", "from-file");
  places_.environment = {"APP_KEY=direct", "APP_KEY_FILE=key"};
  EXPECT_THAT(refused(), HasSubstr("is set a second time"));
  places_.environment = {"APP_KEY=direct"};
  write(".env", "APP_KEY_FILE=key\n");
  EXPECT_EQ(loaded().secret("KEY").reveal(), "direct");
}

TEST_F(NestedTest, only_a_secret_has_a_file) {
  write("f", "m");
  places_.environment = {"APP_NAME_FILE=f"};
  EXPECT_THAT(refused(), HasSubstr("APP_NAME_FILE: no such setting"));
}

TEST_F(NestedTest, says_which_settings_are_in_doubt) {
  places_.environment = {"APP_A_PORT=0", "APP_NMAE=1"};
  auto report = read(table_, places_);
  EXPECT_EQ(report.errors.size(), 2U);
  EXPECT_THAT(report.in_doubt, ElementsAre("A_PORT"));
  EXPECT_FALSE(report.unreadable);
  EXPECT_EQ(report.values.integer("A_PORT"), 1);
  write("app.toml", "=");
  EXPECT_TRUE(read(table_, places_).unreadable);
}

TEST_F(NestedTest, what_is_written_is_read_back_the_same) {
  places_.environment = {R"(APP_NAME=a "b" \ # 'c' é)",
                         R"(APP_KEY=k "e" \\ # $HOME)",
                         "APP_A_PORT=9",
                         "APP_A_B_C= blanks ",
                         "APP_A_B_D=true",
                         "APP_A_LIST=1,b c",
                         "APP_A_ON=1",
                         "APP_A_WAIT=0.000001",
                         "APP_A_SIZE=123456789",
                         "APP_A_KIND=s",
                         "APP_A_URL=wss://[::1]:7/x",
                         "APP_A_TOKEN='"};
  auto given = loaded();
  places_.environment.clear();
  write("app.toml", to_toml(table_, given, Secrets::kInClear));
  auto from_toml = loaded();
  std::filesystem::remove(places_.folder / "app.toml");
  write("app.yaml", to_yaml(table_, given, Secrets::kInClear));
  auto from_yaml = loaded();
  for (const auto& setting : table_.settings()) {
    for (const auto* values : {&from_toml, &from_yaml}) {
      EXPECT_EQ(to_text(values->value(setting.name)), to_text(given.value(setting.name)))
          << setting.name;
    }
  }
  EXPECT_EQ(from_toml.secret("KEY").reveal(), given.secret("KEY").reveal());
  EXPECT_EQ(from_yaml.secret("A_TOKEN").reveal(), "'");
}

TEST_F(NestedTest, a_line_cannot_carry_both_kinds_of_quotes) {
  places_.environment = {"APP_NAME=\"'"};
  auto text = to_env(table_, loaded(), Secrets::kInClear);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().kind(), ErrorKind::kUnsupported);
}

TEST_F(NestedTest, secrets_are_written_on_demand_alone) {
  places_.environment = {"APP_KEY=hunter2", "APP_A_PORT=2"};
  auto values = loaded();
  EXPECT_THAT(to_toml(table_, values, Secrets::kLeftOut), Not(HasSubstr("hunter2")));
  EXPECT_THAT(to_yaml(table_, values, Secrets::kLeftOut), Not(HasSubstr("hunter2")));
  EXPECT_THAT(*to_env(table_, values, Secrets::kLeftOut), Not(HasSubstr("hunter2")));
  EXPECT_EQ(*to_env(table_, values, Secrets::kInClear), "APP_KEY=\"hunter2\"\nAPP_A_PORT=\"2\"\n");
}

TEST_F(NestedTest, the_documentation_shows_path_and_variable) {
  std::string page = settings_markdown(table_, "Settings");
  EXPECT_THAT(page, HasSubstr("| `a.port` | `APP_A_PORT` | `1` | integer, 1 to 9 | Port. |"));
  EXPECT_THAT(page, HasSubstr("`app.toml`, `app.yaml`, `app.yml`"));
  EXPECT_THAT(page, HasSubstr("| list parted by commas, each without x |"));
}

TEST_F(NestedTest, an_open_section_is_no_setting_and_keeps_its_types) {
  SettingsTable open(
      "APP_", {setting_at("name", TextType{}, "n", "Core", "Name.")},
      {.nesting = Nesting::kNested, .file_stem = "app", .open_sections = {"own", "other"}});
  write("app.toml",
        "name = 'x'\n[own.a]\nn = 1\nf = 1.5\nb = true\nlist = ['x', 2, [3]]\n[own.a.deep]\ns = "
        "'t'\n[other.b]\nn = 2\n");
  auto report = read(open, places_);
  EXPECT_THAT(report.errors, ElementsAre());
  EXPECT_EQ(json::write(report.open),
            R"({"other":{"b":{"n":2}},"own":{"a":{"b":true,"deep":{"s":"t"},"f":1.5,)"
            R"("list":["x",2,[3]],"n":1}}})");
  EXPECT_EQ(report.open_source, "app.toml");
  std::string deep = "1";
  for (int i = 0; i < 40; ++i) deep = "[" + deep + "]";
  for (const std::string& text : {std::string("own = 1"), std::string("[own.a]\nd = 2026-11-26"),
                                  std::string("[own.a]\nf = inf"), "[own.a]\nl = " + deep}) {
    write("app.toml", text);
    EXPECT_EQ(read(open, places_).errors.size(), 1U) << text;
  }
}

TEST_F(NestedTest, an_open_section_stands_in_toml_alone) {
  SettingsTable open(
      "APP_", {setting_at("name", TextType{}, "n", "Core", "Name.")},
      {.nesting = Nesting::kNested, .file_stem = "app", .open_sections = {"own", "other"}});
  write("app.yaml", "own:\n  a:\n    n: 1\nother: {b: 1}\n");
  auto report = read(open, places_);
  EXPECT_THAT(report.errors,
              ElementsAre("app.yaml:own.a.n: the section own stands in a TOML file",
                          "app.yaml:other.b: the section other stands in a TOML file"));
  EXPECT_TRUE(report.open.empty());
}

TEST(NestedTableDeathTest, aborts_on_a_name_that_is_not_its_path) {
  EXPECT_DEATH(
      SettingsTable("X_", {{"A", TextType{}, "", "S", "H", "b.a"}}, {Nesting::kNested, "x", ""}),
      "A is listed");
}

}  // namespace
}  // namespace base::config
