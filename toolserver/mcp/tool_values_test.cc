#include "toolserver/mcp/tool_values.h"

#include <gtest/gtest.h>

namespace tool::mcp {
namespace {

namespace json = base::json;

Capability read_capability() {
  Capability out{.id = *ToolId::parse("files.read")};
  out.title = "Read a file";
  out.description = "Reads.";
  out.input_schema = {{"type", "object"}};
  out.output_schema = json::Object{{"type", "object"}};
  out.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
  return out;
}

TEST(McpToolTest, is_the_same_from_a_capability_and_from_its_record) {
  Capability capability = read_capability();
  json::Object tool = write_tool(capability, "files.read");
  EXPECT_EQ(tool, write_tool(capability.to_json()));
  auto read = read_tool(tool);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "files.read");
  EXPECT_EQ(read->title, "Read a file");
  EXPECT_EQ(read->input_schema, capability.input_schema);
  EXPECT_EQ(read->output_schema, capability.output_schema);
  EXPECT_TRUE(read->annotations.read_only);
  EXPECT_FALSE(read->annotations.destructive);
}

TEST(McpToolTest, believes_the_worst_of_a_tool_that_says_nothing) {
  auto read = read_tool(*json::parse(R"({"name":"Get_Weather","inputSchema":{"type":"object"},
                                         "annotations":{"title":"Weather"}})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->title, "Weather");
  EXPECT_FALSE(read->annotations.read_only);
  EXPECT_TRUE(read->annotations.destructive);
  EXPECT_TRUE(read->annotations.open_world);
}

TEST(McpToolTest, refuses_a_description_that_breaks_a_rule) {
  for (const char* text :
       {R"([])", R"({"inputSchema":{}})", R"({"name":"","inputSchema":{}})",
        R"({"name":"a b","inputSchema":{}})", R"({"name":"a"})", R"({"name":"a","inputSchema":[]})",
        R"({"name":"a","inputSchema":{},"outputSchema":7})",
        R"({"name":"a","inputSchema":{},"description":7})",
        R"({"name":"a","inputSchema":{},"annotations":{"readOnlyHint":"yes"}})"}) {
    EXPECT_FALSE(read_tool(*json::parse(text))) << text;
  }
}

TEST(McpContentTest, comes_back_in_every_kind) {
  const std::string bytes("\x89PNG\0", 5);
  for (const Content& content : std::initializer_list<Content>{
           {"text/plain", "héllo"},
           {"image/png", bytes},
           {"audio/wav", bytes},
           {"text/plain", "copy", PartOf::kResource, "file:///a"},
           {"application/octet-stream", bytes, PartOf::kResource, "file:///b"},
           {"text/csv", "", PartOf::kLink, "file:///c", "c"}}) {
    auto read = read_content(write_content(content, 0));
    ASSERT_TRUE(read) << content.media_type;
    EXPECT_EQ(read->media_type, content.media_type);
    EXPECT_EQ(read->data, content.data);
    EXPECT_EQ(read->part_of, content.part_of);
    EXPECT_EQ(read->uri, content.uri);
    EXPECT_EQ(read->name, content.name);
  }
}

TEST(McpContentTest, other_bytes_are_a_resource_with_a_uri) {
  auto written = write_content({"application/vnd.apache.arrow.stream", "\x01"}, 3);
  EXPECT_EQ(written.at("type"), "resource");
  EXPECT_EQ(written.at("resource").at("uri"), "attachment:3");
  EXPECT_EQ(written.at("resource").at("blob"), "AQ==");
}

TEST(McpContentTest, refuses_parts_that_break_a_rule) {
  for (const char* text : {R"(7)", R"({})", R"({"type":"video"})", R"({"type":"text"})",
                           R"({"type":"image","data":"AA==","mimeType":"text/html"})",
                           R"({"type":"image","data":"A","mimeType":"image/png"})",
                           R"({"type":"audio","mimeType":"audio/wav"})", R"({"type":"resource"})",
                           R"({"type":"resource","resource":{"uri":"a:b"}})",
                           R"({"type":"resource","resource":{"text":"x"}})",
                           R"({"type":"resource_link","uri":"a:b"})"}) {
    EXPECT_FALSE(read_content(*json::parse(text))) << text;
  }
}

TEST(McpResultTest, comes_back_with_all_its_parts) {
  ToolResult result{.content = {{"text/plain", "x"}}};
  result.structured = json::Value{1, 2};
  result.is_error = true;
  auto old = write_result(result, Revision::k2025_11_25);
  EXPECT_FALSE(old.contains("resultType"));
  auto written = write_result(result, Revision::k2026_07_28);
  EXPECT_EQ(written.at("resultType"), "complete");
  auto read = read_result(written);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_error);
  EXPECT_EQ(read->structured, result.structured);
  EXPECT_EQ(read->content.at(0).data, "x");
}

TEST(McpResultTest, asks_for_input) {
  ToolResult result;
  result.input_needed = InputNeeded{{{"name", {{"method", "elicitation/create"}}}}, "mine"};
  auto written = write_result(result, Revision::k2026_07_28, "sealed");
  EXPECT_EQ(written.at("resultType"), "input_required");
  EXPECT_EQ(written.at("requestState"), "sealed");
  auto read = read_result(written);
  ASSERT_TRUE(read);
  ASSERT_TRUE(read->input_needed);
  EXPECT_EQ(read->input_needed->state, "sealed");
  EXPECT_TRUE(read->input_needed->requests.contains("name"));
}

TEST(McpResultTest, refuses_what_is_no_result) {
  for (const char* text :
       {R"({})", R"({"content":{}})", R"({"content":[{"type":"text"}]})",
        R"({"resultType":"later","content":[]})", R"({"content":[],"isError":"no"})",
        R"({"resultType":"input_required","inputRequests":[]})",
        R"({"resultType":"input_required","requestState":7})"}) {
    EXPECT_FALSE(read_result(json::parse(text)->get_object())) << text;
  }
}

}  // namespace
}  // namespace tool::mcp
