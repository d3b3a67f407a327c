#include "toolserver/connectors/echo/echo_connector.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "toolserver/connectors/approved_for_test.h"

namespace tool::connectors {
namespace {

TEST(EchoConnectorTest, answers_with_its_argument) {
  Invocation call{.tool = *ToolId::parse("echo.say")};
  call.args = {{"text", "héllo"}};
  EchoConnector echo;
  boost::asio::io_context loop(1);
  auto future = boost::asio::co_spawn(loop, echo.invoke(ApprovedForTest::make(std::move(call)), {}),
                                      boost::asio::use_future);
  loop.run();
  auto result = future.get();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->is_error);
  ASSERT_EQ(result->content.size(), 1U);
  EXPECT_EQ(result->content[0].data, "héllo");
}

TEST(EchoConnectorTest, describes_its_one_tool) {
  auto capabilities = EchoConnector().capabilities();
  ASSERT_EQ(capabilities.size(), 1U);
  EXPECT_EQ(capabilities[0].id.text(), "echo.say");
  EXPECT_TRUE(capabilities[0].annotations.read_only);
}

}  // namespace
}  // namespace tool::connectors
