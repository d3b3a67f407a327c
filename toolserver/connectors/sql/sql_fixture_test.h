#pragma once

// A connector on a folder of its own, beside a folder that it must not reach;
// the kernel tells whether a file in either was touched.

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "base/testing/child_process.h"
#include "toolserver/connectors/approved_for_test.h"
#include "toolserver/connectors/sql/sql_connector.h"

namespace tool::connectors {

/// Everything that happens in some folders, from the last look on.
class FolderWatch {
 public:
  FolderWatch() : handle_(inotify_init1(IN_NONBLOCK)) {}
  ~FolderWatch() { close(handle_); }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  void add(const std::string& folder) {
    ASSERT_GE(inotify_add_watch(handle_, folder.c_str(), IN_ALL_EVENTS), 0) << folder;
  }
  /// How many things happened, and forgets them.
  int take() {
    alignas(inotify_event) char buffer[4096];
    int events = 0;
    for (ssize_t got; (got = read(handle_, buffer, sizeof(buffer))) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        ++events;
      }
    }
    return events;
  }

 private:
  int handle_;
};

class SqlTest : public ::testing::Test {
 protected:
  static constexpr const char* kSecret = "s3cr3t-of-the-machine";

  void SetUp() override {
    data = folder.path() + "/data";
    outside = folder.path() + "/outside";
    std::filesystem::create_directories(data + "/sub");
    std::filesystem::create_directories(outside);
    write(data + "/t.csv", "a,b\n1,one\n2,two\n3,\n");
    write(data + "/u.csv", "a,c\n1,10\n2,20\n4,40\n");
    write(data + "/unloaded.csv", std::string("x\n") + kSecret + "\n");
    write(data + "/unloaded.json", std::string("{\"x\":\"") + kSecret + "\"}\n");
    write(data + "/sub/deep.csv", "x\n5\n");
    write(outside + "/o.csv", std::string("x\n") + kSecret + "\n");
    std::filesystem::create_symlink(outside + "/o.csv", data + "/link.csv");
    open({});
    for (const std::string& place : {data, data + "/sub", outside}) watch.add(place);
  }

  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  /// A new connector with `options`, for this folder, with t and u loaded.
  void open(SqlOptions options) {
    connector.reset();
    options.data_dir = data;
    auto opened = SqlConnector::open(options);
    ASSERT_TRUE(opened) << opened.error().message() << opened.error().detail();
    connector = std::move(*opened);
    for (const char* name : {"t", "u"}) {
      auto loaded = call("sql.load", {{"file", std::string(name) + ".csv"}, {"table", name}});
      ASSERT_TRUE(loaded && !loaded->is_error) << text_of(loaded);
    }
    watch.take();
  }

  static Invocation invocation(std::string_view tool, base::json::Object args) {
    return Invocation{.context = {},
                      .request_id = {},
                      .session_id = {},
                      .peer = {},
                      .traceparent = {},
                      .principal = std::make_shared<const Principal>(),
                      .tool = *ToolId::parse(tool),
                      .args = std::move(args),
                      .args_hash = {}};
  }

  Outcome<ToolResult> call(Invocation invocation, Progress progress = {}) {
    boost::asio::io_context loop(1);
    std::optional<Outcome<ToolResult>> answer;
    boost::asio::co_spawn(
        loop, connector->invoke(ApprovedForTest::make(std::move(invocation)), std::move(progress)),
        [&](std::exception_ptr error, Outcome<ToolResult> result) {
          EXPECT_FALSE(error);
          answer.emplace(std::move(result));
        });
    loop.run();
    return *std::move(answer);
  }
  Outcome<ToolResult> call(std::string_view tool, base::json::Object args) {
    return call(invocation(tool, std::move(args)));
  }
  Outcome<ToolResult> query(std::string_view sql) { return call("sql.query", {{"sql", sql}}); }

  /// The rows of a query as JSON, or what went wrong.
  std::string rows_of(const Outcome<ToolResult>& answer) {
    if (!answer || answer->is_error || !answer->structured) return text_of(answer);
    return base::json::write(answer->structured->as_object().at("rows"));
  }
  std::string rows_of(std::string_view sql) { return rows_of(query(sql)); }

  static std::string text_of(const Outcome<ToolResult>& answer) {
    if (!answer) {
      return std::string(name(answer.error().code)) + ": " + answer.error().message + " | " +
             answer.error().detail;
    }
    return answer->content.empty() ? "" : answer->content.front().data;
  }

  /// "ok", "mistake" (an answer with is_error) or the code of the refusal.
  static std::string fate(const Outcome<ToolResult>& answer) {
    if (!answer) return std::string(name(answer.error().code));
    return answer->is_error ? "mistake" : "ok";
  }

  /// {data} and {out} in a statement.
  std::string placed(std::string sql) const {
    for (const auto& [mark, path] : {std::pair{"{data}", data}, std::pair{"{out}", outside}}) {
      for (std::size_t at; (at = sql.find(mark)) != std::string::npos;) {
        sql.replace(at, std::string_view(mark).size(), path);
      }
    }
    return sql;
  }

  base::testing::TemporaryFolder folder;
  std::string data;
  std::string outside;
  FolderWatch watch;
  std::unique_ptr<SqlConnector> connector;
};

}  // namespace tool::connectors
