#include "lakeproxy/console/console_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace lake::console {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ConsoleFiles, has_the_page_and_what_it_links) {
  const ConsoleFiles files;
  const ConsoleFile* page = files.find(kPage);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->media_type, "text/html; charset=utf-8");
  EXPECT_THAT(*page->text, StartsWith("<!doctype html>"));
  for (const char* name : {"console.css", "console.js", "icon.svg"}) {
    ASSERT_NE(files.find(name), nullptr) << name;
    EXPECT_THAT(*page->text, HasSubstr("\"ui/" + std::string(name) + "\""));
  }
}

TEST(ConsoleFiles, has_nothing_but_what_a_browser_needs) {
  const ConsoleFiles files;
  for (const char* name : {"", "console", "README.md", "console_files.cc", "../console.js"}) {
    EXPECT_EQ(files.find(name), nullptr) << name;
  }
}

TEST(ConsoleFiles, has_a_tag_for_each_content) {
  const ConsoleFiles files;
  std::set<std::string> tags;
  for (const ConsoleFile& file : files.all()) {
    EXPECT_EQ(file.etag.size(), 66U) << file.name;
    EXPECT_TRUE(tags.insert(file.etag).second) << file.name;
    EXPECT_FALSE(file.text->empty());
  }
  EXPECT_EQ(ConsoleFiles().find(kPage)->etag, files.find(kPage)->etag);
}

}  // namespace
}  // namespace lake::console
