#include "toolserver/transport/tool_payloads.h"

#include <gtest/gtest.h>

#include "base/json/canonical.h"

namespace tool::transport {
namespace {

namespace json = base::json;

class Tools final : public connectors::Connector {
 public:
  explicit Tools(std::vector<Capability> tools) : tools_(std::move(tools)) {}
  [[nodiscard]] std::vector<Capability> capabilities() const override { return tools_; }
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation>, Progress) override {
    co_return refuse(Code::kTool, "no such tool");
  }

 private:
  std::vector<Capability> tools_;
};

Capability capability(std::string_view id, double most = 5.0) {
  Capability one{.id = *ToolId::parse(id)};
  one.description = "Says \"\u00e4\"\n";
  one.input_schema = {{"type", "object"}, {"properties", {{"n", {{"maximum", most}}}}}};
  return one;
}

ToolPage page_of(std::vector<Capability> tools, json::Object others = {{"etag", "sha256:00"}}) {
  pipeline::ToolRegistry registry;
  EXPECT_TRUE(registry.add(std::make_shared<Tools>(std::move(tools))).has_value());
  return {.tools = registry.all(), .others = std::move(others)};
}

json::Object tree_of(const ToolPage& page) {
  json::Array records;
  for (const auto& tool : page.tools) records.push_back(tool->record);
  json::Object tree = page.others;
  tree["capabilities"] = std::move(records);
  return tree;
}

TEST(WritePageTest, the_text_is_the_canonical_form_of_the_page) {
  const json::Object more{{"etag", "sha256:00"}, {"next", "2"}, {"proof", {{"alg", "x"}}}};
  for (const auto& page :
       {page_of({}), page_of({capability("t.a")}), page_of({capability("t.a"), capability("t.b")}),
        page_of({capability("t.a"), capability("t.b")}, more)}) {
    auto payload = write_page(page);
    ASSERT_TRUE(std::holds_alternative<WrittenPayload>(payload));
    EXPECT_EQ(std::get<WrittenPayload>(payload).text, *json::canonical(tree_of(page)));
  }
}

// Its canonical form would be an integer that no reader takes.
TEST(WritePageTest, a_page_with_a_large_double_is_a_tree) {
  auto page = page_of({capability("t.a"), capability("t.b", 1e20)});
  auto payload = write_page(page);
  ASSERT_TRUE(std::holds_alternative<json::Object>(payload));
  EXPECT_EQ(std::get<json::Object>(payload), tree_of(page));
}

TEST(WritePageTest, what_is_unchanged_has_no_tools) {
  const json::Object others{{"etag", "sha256:00"}, {"unchanged", true}};
  auto payload = write_page({.others = others, .is_unchanged = true});
  ASSERT_TRUE(std::holds_alternative<json::Object>(payload));
  EXPECT_EQ(std::get<json::Object>(payload), others);
}

}  // namespace
}  // namespace tool::transport
