#include "toolserver/definition/read_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/testing/child_process.h"

namespace tool::definition {
namespace {

using base::json::Object;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReadDefinitionsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, std::string_view text, mode_t mode = 0600) {
    std::ofstream(folder.path() + "/" + name) << text;
    ASSERT_EQ(::chmod((folder.path() + "/" + name).c_str(), mode), 0);
  }
  ReadTools read(std::string_view json) {
    auto section = base::json::parse(json);
    EXPECT_TRUE(section.has_value()) << json;
    return read_definitions(
        section->get_object(),
        {folder.path(), {"TOKEN=variable-secret", "EMPTY="}, [](std::string_view secret) {
           return secret == "changeme" ? std::string_view("must not be a placeholder")
                                       : std::string_view();
         }});
  }
  // The section of a tool "t" that is good but for `members`.
  ReadTools tool(std::string_view members) {
    std::string json = R"({"t":{"idempotent":true)";
    if (!members.contains(R"("description")")) json += R"(,"description":"d")";
    if (!members.contains(R"("kind")")) json += R"(,"kind":"command")";
    if (!members.contains(R"("program")") && !members.contains("http")) {
      json += R"(,"program":"/bin/true")";
    }
    return read(json + (members.empty() ? "" : ",") + std::string(members) + "}}");
  }
  base::testing::TemporaryFolder folder;
};

TEST_F(ReadDefinitionsTest, a_command_becomes_what_the_operator_wrote) {
  write("token", "file-secret\n");
  auto read = tool(
      R"("title":"T","program":"/usr/bin/env","arguments":["-n{n}","--","{path}"],"folder":".",
         "input":"{text}","environment":{"TOKEN":"{secret.a}","LANG":"C"},
         "secrets":{"a_file":"token","b_env":"TOKEN"},"ok_codes":[0,1],"stderr":"show",
         "answer":"json","answer_schema":{"type":"object"},"answer_max":"2KiB","timeout":1.5,
         "at_once":2,"read_only":true,
         "parameters":{"n":{"type":"integer","optional":true},"path":{"type":"string"},
                       "text":{"type":"array"}})");
  ASSERT_THAT(read.faults, ElementsAre());
  ASSERT_EQ(read.tools.size(), 1U);
  const auto& one = read.tools[0];
  EXPECT_EQ(one.capability.id.text(), "tools.t");
  EXPECT_EQ(base::json::write(one.capability.input_schema),
            R"({"type":"object","properties":{"n":{"type":"integer"},"path":{"type":"string"},)"
            R"("text":{"type":"array"}},"required":["path","text"],"additionalProperties":false})");
  EXPECT_EQ(one.capability.consent, ConsentRule::kNever);
  EXPECT_TRUE(one.capability.annotations.read_only);
  EXPECT_EQ(one.capability.limits.output_bytes, 2'048U);
  EXPECT_EQ(one.capability.limits.time, std::chrono::milliseconds(1'500));
  EXPECT_EQ(one.capability.limits.at_once, 2U);
  ASSERT_EQ(one.secrets.size(), 2U);
  EXPECT_EQ(one.secrets[0].value.reveal(), "file-secret");
  EXPECT_EQ(one.secrets[1].value.reveal(), "variable-secret");
  EXPECT_THAT(read.files, ElementsAre(std::filesystem::path(folder.path()) / "token"));
  const auto& work = std::get<CommandWork>(one.work);
  EXPECT_EQ(work.arguments.size(), 3U);
  EXPECT_EQ(work.input.argument, "text");
  EXPECT_THAT(work.ok_codes, ElementsAre(0, 1));
  EXPECT_EQ(work.errors, ErrorOutput::kShow);
}

TEST_F(ReadDefinitionsTest, what_is_not_said_is_the_narrower) {
  auto read = tool("");
  ASSERT_THAT(read.faults, ElementsAre());
  const auto& one = read.tools[0];
  EXPECT_EQ(one.capability.consent, ConsentRule::kAlways);
  EXPECT_TRUE(one.capability.annotations.destructive);
  const auto& work = std::get<CommandWork>(one.work);
  EXPECT_TRUE(work.environment.empty());
  EXPECT_EQ(work.folder, "/");
  EXPECT_EQ(work.input.kind, Payload::Kind::kNone);
  EXPECT_EQ(work.errors, ErrorOutput::kHide);
}

TEST_F(ReadDefinitionsTest, an_address_becomes_what_the_operator_wrote) {
  auto read = tool(
      R"("kind":"http","url":"https://api.example:8443/v1/{city}","query":{"d":"{days}"},
         "headers":{"Authorization":"Bearer {secret.a}"},"secrets":{"a_env":"TOKEN"},
         "method":"post","body":"json","networks":["10.0.0.0/8"],"pointer":"/a/0","answer":"json",
         "parameters":{"city":{"type":"string"},"days":{"type":"integer","optional":true}})");
  ASSERT_THAT(read.faults, ElementsAre());
  const auto& work = std::get<HttpWork>(read.tools[0].work);
  EXPECT_EQ(work.origin, "https://api.example:8443");
  EXPECT_EQ(work.path.parts().size(), 2U);
  EXPECT_EQ(work.method, base::http::Method::kPost);
  EXPECT_EQ(work.pointer, "/a/0");
}

TEST_F(ReadDefinitionsTest, each_fault_names_its_key_and_no_value) {
  write("open", "file-secret", 0644);
  write("script", "#!/bin/sh\n", 0777);
  ASSERT_EQ(::chmod((folder.path() + "/script").c_str(), 0777), 0);
  write("plain", "", 0644);
  write("placeholder", "changeme");
  std::string at = folder.path();
  std::string http = R"("kind":"http","url":)";
  std::string good = http + R"("https://a.example/")";
  std::string one = R"(,"parameters":{"a":{"type":"string"},"o":{"type":"string","optional":true},
                       "l":{"type":"array"}})";
  struct Case {
    std::string members;
    std::string fault;
  };
  for (const Case& c : std::vector<Case>{
           {R"("kind":"shell")", "tools.t.kind: must be command or http"},
           {R"("descripton":"x")", "tools.t.descripton: no such key; the nearest is description"},
           {R"("programm":"/bin/ls")", "tools.t.programm: no such key; the nearest is program"},
           {R"("url":"https://a.example")", "tools.t.url: no such key"},
           {good + R"(,"program":"/bin/true")", "tools.t.program: no such key"},
           {R"("title":1)", "tools.t.title: must be a text"},
           {R"("title":"a\nb")", "tools.t.title: must be UTF-8 without control"},
           {R"("description":"")", "tools.t.description: must say"},
           {R"("read_only":"yes")", "tools.t.read_only: must be true or false"},
           {R"("consent":"maybe")", "tools.t.consent: must be"},
           {R"("timeout":0)", "tools.t.timeout: must be"},
           {R"("timeout":301)", "tools.t.timeout: must be"},
           {R"("at_once":0)", "tools.t.at_once: must be"},
           {R"("answer_max":"1GiB")", "tools.t.answer_max: must be"},
           {R"("answer_max":[1])", "tools.t.answer_max: must be"},
           {R"("answer_schema":{})", "tools.t.answer_schema: goes with"},
           {R"("parameters":{"a":1})", "tools.t.parameters.a: must be a section"},
           {R"("parameters":{"a b":{}})", "tools.t.parameters.a?b: a name has"},
           {R"("parameters":{"a":{"optional":1}})", "tools.t.parameters.a.optional: must be"},
           {R"("program":"ls")", "tools.t.program: must be an absolute path"},
           {R"("program":"/bin/no-such-program")", "tools.t.program: must name a file that exists"},
           {R"("program":"/")", "tools.t.program: must name a regular file"},
           {R"("program":")" + at + R"(/plain")", "tools.t.program: must name a file that can be"},
           {R"("program":")" + at + R"(/script")", "tools.t.program: must not be open"},
           {R"("folder":"none")", "tools.t.folder: must name a folder"},
           {R"("arguments":"a")", "tools.t.arguments: must be a list"},
           {R"("arguments":["{x}"])", "tools.t.arguments: names x, which is no parameter"},
           {R"("arguments":["{"])", "tools.t.arguments: a '{' has no '}'"},
           {R"("arguments":["{l}"])" + one, "tools.t.arguments: parameters.l must be of type"},
           {R"("arguments":["{secret.a}"],"secrets":{"a_env":"TOKEN"})",
            "tools.t.arguments: must hold no secret"},
           {R"("environment":{"A-B":"x"})", "tools.t.environment.A-B: a variable has"},
           {R"("environment":{"A":"{secret.x}"})", "tools.t.environment.A: names secret.x"},
           {R"("environment":{"A":1})", "tools.t.environment.A: must be a text"},
           {R"("input":"text")", "tools.t.input: must be none, json or"},
           {R"("input":"{x}")", "tools.t.input: names x"},
           {R"("ok_codes":[256])", "tools.t.ok_codes: must be a list"},
           {R"("ok_codes":[])", "tools.t.ok_codes: must be a list"},
           {R"("stderr":"log")", "tools.t.stderr: must be"},
           {R"("secrets":{"a":"x"})", "tools.t.secrets.a: must be NAME_file"},
           {R"("secrets":{"a_file":"none"})", "tools.t.secrets.a_file: must"},
           {R"("secrets":{"a_file":"open"})", "tools.t.secrets.a_file: must"},
           {R"("secrets":{"a_file":"placeholder"})", "tools.t.secrets.a_file: must not be a pl"},
           {R"("secrets":{"a_env":"NO_SUCH"})", "tools.t.secrets.a_env: the variable is not set"},
           {R"("secrets":{"a_env":"EMPTY"})", "tools.t.secrets.a_env: must not be empty"},
           {R"("secrets":{"a_env":"TOKEN","a_file":"token"})",
            "tools.t.secrets.a_file: is the same"},
           {http + R"("http://a.example/")", "tools.t.url: must be https"},
           {http + R"("ftp://a.example/")", "tools.t.url: must be https://"},
           {http + R"("https://{a}.example/")" + one, "tools.t.url: must be https://"},
           {http + R"("https://user@a.example/")", "tools.t.url: must be https://"},
           {http + R"("https://a.example/x?q={a}")" + one, "tools.t.url: must have no blank"},
           {http + R"("https://a.example/{o}")" + one, "tools.t.url: parameters.o must not be"},
           {http + R"("https://a.example/{secret.a}")" + one, "tools.t.url: must hold no secret"},
           {good + R"(,"query":{"k":"{secret.a}"})", "tools.t.query.k: must hold no secret"},
           {good + R"(,"headers":{"Host":"x"})", "tools.t.headers.Host: is set by the service"},
           {good + R"(,"headers":{"a b":"x"})", "tools.t.headers.a?b: is no name"},
           {good + R"(,"body":"json")", "tools.t.body: goes with POST"},
           {good + R"(,"method":"patch")", "tools.t.method: must be"},
           {good + R"(,"networks":["10.1.0.0/8"])", "tools.t.networks: must be networks"},
           {good + R"(,"ca_file":"none.pem")", "tools.t.ca_file: must name"},
           {good + R"(,"pointer":"a")", "tools.t.pointer: must be empty or"},
           {good + R"(,"pointer":"/a~")", "tools.t.pointer: must be empty or"},
       }) {
    auto read = tool(c.members);
    bool found = std::ranges::any_of(
        read.faults, [&](const std::string& fault) { return fault.starts_with(c.fault); });
    EXPECT_TRUE(found) << c.members << "\nexpected: " << c.fault
                       << "\ngot: " << (read.faults.empty() ? "nothing" : read.faults[0]);
    for (const auto& fault : read.faults) {
      EXPECT_THAT(fault, ::testing::Not(HasSubstr("variable-secret")));
    }
  }
}

TEST_F(ReadDefinitionsTest, a_section_is_one_tool_with_a_good_name) {
  auto read = this->read(R"({"Upper":{},"a.b":{},"x":1})");
  EXPECT_THAT(read.faults, ElementsAre(HasSubstr("tools.Upper: a tool's name"),
                                       HasSubstr("tools.a.b: a tool's name"),
                                       HasSubstr("tools.x: must be a section")));
}

TEST_F(ReadDefinitionsTest, a_change_is_seen_of_secrets_too) {
  write("token", "file-secret");
  std::string members = R"("secrets":{"a_file":"token"})";
  auto before = tool(members);
  EXPECT_TRUE(are_equal(before.tools, tool(members).tools));
  EXPECT_FALSE(are_equal(before.tools, tool(members + R"(,"title":"x")").tools));
  EXPECT_FALSE(are_equal(before.tools, {}));
  write("token", "other-secret");
  EXPECT_FALSE(are_equal(before.tools, tool(members).tools));
}

TEST_F(ReadDefinitionsTest, the_page_names_every_key) {
  auto page = markdown();
  for (const char* key : {"program", "arguments", "url", "networks", "secrets", "at_once"}) {
    EXPECT_THAT(page, HasSubstr(std::string("| `") + key + "` |"));
  }
}

}  // namespace
}  // namespace tool::definition
