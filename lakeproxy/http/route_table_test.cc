#include "lakeproxy/http/route_table.h"

#include <gtest/gtest.h>

#include <set>

namespace lake::http {
namespace {

using base::http::Method;

struct Case {
  Method method;
  const char* path;
  const char* operation;  ///< Empty: no such route.
};

TEST(RouteTable, finds_the_route_of_a_path) {
  const Case cases[] = {
      {Method::kGet, "/healthz", "health"},
      {Method::kGet, "/v1/config", "getConfig"},
      {Method::kGet, "/v1/lake/namespaces", "listNamespaces"},
      {Method::kHead, "/v1/lake/namespaces/a", "namespaceExists"},
      {Method::kPost, "/v1/lake/namespaces/a/tables/t", "updateTable"},
      {Method::kPost, "/v1/lake/tables/rename", "renameTable"},
      {Method::kGet, "/ui", "getConsole"},
      {Method::kHead, "/ui/console.css", "consoleFileExists"},
      {Method::kPost, "/ui", ""},
      {Method::kGet, "/ui/", ""},
      {Method::kGet, "/ui/a/b", ""},
      {Method::kGet, "/", ""},
      {Method::kGet, "", ""},
      {Method::kGet, "/v1/lake/namespaces/", ""},
      {Method::kGet, "/v1//namespaces", ""},
      {Method::kGet, "/v1/lake/namespaces/a/tables/t/", ""},
      {Method::kGet, "/v1/lake/namespaces/%zz", ""},
      {Method::kGet, "/healthz/x", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    const Route* route = match(c.method, c.path).route;
    if (std::string_view(c.operation).empty()) {
      EXPECT_EQ(route, nullptr);
    } else {
      ASSERT_NE(route, nullptr);
      EXPECT_EQ(route->operation, c.operation);
    }
  }
}

TEST(RouteTable, decodes_a_part_without_letting_it_leave_its_place) {
  Match found = match(Method::kGet, "/v1/lake/namespaces/a%1Fb/tables/x%2Fy%20z");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.parameters.at("namespace"),
            "a\x1f"
            "b");
  EXPECT_EQ(found.parameters.at("table"), "x/y z");
}

TEST(RouteTable, names_the_methods_that_a_path_has) {
  Match found = match(Method::kPut, "/v1/lake/namespaces/a");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_EQ(found.allow, "GET, HEAD, DELETE");
  EXPECT_EQ(match(Method::kPut, "/v1/lake/namespaces/%zz").allow, "");
}

TEST(RouteTable, announces_each_endpoint_that_it_has_and_no_other) {
  std::size_t catalog = 0;
  for (const Route& route : route_table()) {
    const bool for_others = route.path.starts_with("/v1/{prefix}/admin/") ||
                            route.path.starts_with("/v1/{prefix}/governance/") ||
                            route.path.ends_with("/ducklake-credentials") ||
                            route.path == "/v1/{prefix}/aws/s3/sign";
    catalog += route.path.starts_with("/v1/{prefix}/") && !for_others;
  }
  auto announced = announced_endpoints();
  EXPECT_EQ(announced.size(), catalog);
  for (const std::string& endpoint : announced) {
    SCOPED_TRACE(endpoint);
    auto space = endpoint.find(' ');
    ASSERT_NE(space, std::string::npos);
    Method method = base::http::parse_method(endpoint.substr(0, space));
    const Route* route = match(method, endpoint.substr(space + 1)).route;
    ASSERT_NE(route, nullptr);
    EXPECT_EQ(route->path, endpoint.substr(space + 1));
  }
}

TEST(RouteTable, has_no_operation_and_no_path_twice) {
  std::set<std::string> seen;
  for (const Route& route : route_table()) {
    EXPECT_TRUE(seen.insert(std::string(route.operation)).second) << route.operation;
    std::string place = std::string(to_string(route.method)) + " " + std::string(route.path);
    EXPECT_TRUE(seen.insert(place).second) << place;
  }
}

}  // namespace
}  // namespace lake::http
