#include "toolserver/mcp/request_meta.h"

#include <gtest/gtest.h>

#include "toolserver/mcp/revision.h"

namespace tool::mcp {
namespace {

base::json::Object params(const char* meta) { return {{"_meta", *base::json::parse(meta)}}; }

TEST(McpRequestMetaTest, reads_what_it_writes) {
  RequestMeta written;
  written.version = "2026-07-28";
  written.client_capabilities = {{"elicitation", base::json::Object{}}};
  written.client_info = {{"name", "c"}, {"version", "1"}};
  written.log_level = "info";
  written.progress_token = RequestId("p");
  written.idempotency_key = "pay-1";
  written.traceparent = "00-9415928c958e290ecfdc761e662e1e17-25f5b099c8349ee9-01";
  auto read = read_meta({{"_meta", write_meta(written)}});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, written.version);
  EXPECT_EQ(read->client_capabilities, written.client_capabilities);
  EXPECT_EQ(read->client_info, written.client_info);
  EXPECT_EQ(read->log_level, "info");
  EXPECT_EQ(read->progress_token, RequestId("p"));
  EXPECT_EQ(read->traceparent, written.traceparent);
  EXPECT_EQ(read->idempotency_key, "pay-1");
}

TEST(McpRequestMetaTest, takes_none_and_unknown_members) {
  EXPECT_TRUE(read_meta({}));
  auto read = read_meta(params(R"({"com.example/x":1})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, "");
  EXPECT_EQ(read->client_capabilities, std::nullopt);
}

TEST(McpRequestMetaTest, refuses_members_of_another_type) {
  for (const char* text : {R"({"io.modelcontextprotocol/protocolVersion":1})",
                           R"({"io.modelcontextprotocol/clientCapabilities":[]})",
                           R"({"io.modelcontextprotocol/clientInfo":"c"})",
                           R"({"io.modelcontextprotocol/logLevel":"loud"})", R"({"traceparent":7})",
                           R"({"progressToken":1.5})", R"({"securetool/idempotencyKey":7})",
                           R"({"securetool/idempotencyKey":""})"}) {
    auto read = read_meta(params(text));
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, code::kInvalidParams);
  }
  EXPECT_FALSE(read_meta({{"_meta", 7}}));
}

}  // namespace
}  // namespace tool::mcp
