#include "base/pages/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace base::pages {
namespace {

using ::testing::HasSubstr;

constexpr std::array kPages{embedded::Text{"index", "<!doctype html>"}};
constexpr std::array kScripts{embedded::Text{"a", "export {};"}, embedded::Text{"b", ""}};

PageFiles files() { return PageFiles({.pages = kPages, .scripts = kScripts}); }

TEST(PageFiles, has_each_file_by_its_whole_name) {
  const PageFiles all = files();
  ASSERT_NE(all.find("a.js"), nullptr);
  EXPECT_EQ(*all.find("a.js")->text, "export {};");
  EXPECT_NE(all.find("a.js")->etag, all.find("b.js")->etag);
  for (const char* name : {"", "a", "a.css", "A.js", "../a.js", "index.html/", "index"}) {
    EXPECT_EQ(all.find(name), nullptr) << name;
  }
}

TEST(PageFiles, says_what_a_browser_may_do_with_them_also_to_who_has_them) {
  const PageFiles all = files();
  const PageFile& page = *all.find("index.html");
  http::Request request;
  http::Response response = answer(request, page);
  EXPECT_EQ(response.status, 200U);
  EXPECT_EQ(response.headers.get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.body.view(), "<!doctype html>");
  request.headers.add("If-None-Match", "\"other\", " + page.etag);
  response = answer(request, page);
  EXPECT_EQ(response.status, 304U);
  EXPECT_EQ(response.body.size(), 0U);
  EXPECT_THAT(std::string(*response.headers.get("Content-Security-Policy")),
              HasSubstr("default-src 'none'"));
  request.headers.set("If-None-Match", "\"other\"");
  EXPECT_EQ(answer(request, page).status, 200U);
}

}  // namespace
}  // namespace base::pages
