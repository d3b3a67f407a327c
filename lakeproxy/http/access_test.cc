// Every route of the table, asked by those who may not. Nothing behind the decision is wired
// here: a request that gets past it crashes.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <fstream>
#include <map>

#include "base/json/json.h"
#include "base/testing/repository.h"
#include "lakeproxy/console/console_files.h"
#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/pipeline.h"
#include "lakeproxy/http/route_table.h"

namespace lake::http {
namespace {

using PrincipalResult = base::Result<auth::Principal>;

// A route goes by the type of its act: one without the proof of policy fits none.
using Unasked = ActionResult (*)(RequestContext, Call*, operation::DropTable);
ActionResult drop_unasked(RequestContext, Call*, operation::DropTable) {
  co_return base::http::Response{};
}
static_assert(ActsOn<drop_table, drop_table_of>);
static_assert(!ActsOn<drop_unasked, drop_table_of>);
static_assert(!ActsOn<drop_view, drop_table_of>, "the decision about another request");
static_assert(!std::is_default_constructible_v<Endpoint>);
static_assert(!std::is_constructible_v<Endpoint, Endpoint::Run, bool>);
static_assert(!std::is_constructible_v<Endpoint, Unasked>);

// What each route is about, by the request that request_of() makes for it.
struct Asked {
  const char* about;
  const char* body = "";
};
const std::map<std::string_view, Asked> kGuarded = {
    {"createCatalog", {"server", R"({"catalog_id":"c","metadata_schema":"m","data_prefix":"p/"})"}},
    {"listCatalogs", {"server"}},
    {"listNamespaces", {"catalog"}},
    {"createNamespace", {"namespace b.c", R"({"namespace":["b","c"]})"}},
    {"loadNamespaceMetadata", {"namespace a"}},
    {"namespaceExists", {"namespace a"}},
    {"dropNamespace", {"namespace a"}},
    {"updateProperties", {"namespace a", R"({"updates":{"k":"v"}})"}},
    {"listTables", {"namespace a"}},
    {"createTable",
     {"table a.u", R"({"name":"u","schema":{"type":"struct","schema-id":0,"fields":[]}})"}},
    {"loadTable", {"table a.t"}},
    {"tableExists", {"table a.t"}},
    {"updateTable", {"table a.t", R"({"requirements":[],"updates":[]})"}},
    {"dropTable", {"table a.t"}},
    {"loadCredentials", {"table a.t"}},
    {"putStaticKey", {"catalog", R"({"principal":"p","access-key-id":"k"})"}},
    {"listStaticKeys", {"catalog"}},
    {"removeStaticKey", {"catalog"}},
    {"putTag", {"catalog", R"({"namespace":"n","name":"t"})"}},
    {"listTags", {"catalog"}},
    {"removeTag", {"catalog"}},
    {"putObjectTag",
     {"catalog", R"({"object-kind":"schema","schema":"s","tag-namespace":"n","tag-name":"t"})"}},
    {"listObjectTags", {"catalog"}},
    {"removeObjectTag",
     {"catalog", R"({"object-kind":"schema","schema":"s","tag-namespace":"n","tag-name":"t"})"}},
    {"putMaskingPolicy", {"catalog", R"({"name":"m","signature":"x","body":"v"})"}},
    {"listMaskingPolicies", {"catalog"}},
    {"removeMaskingPolicy", {"catalog"}},
    {"putRowAccessPolicy", {"catalog", R"({"name":"m","signature":"x","body":"v"})"}},
    {"listRowAccessPolicies", {"catalog"}},
    {"removeRowAccessPolicy", {"catalog"}},
    {"putPolicyAttachment",
     {"catalog",
      R"({"policy-kind":"masking","policy-name":"m","target-kind":"tag","tag-namespace":"n","tag-name":"t"})"}},
    {"listPolicyAttachments", {"catalog"}},
    {"removePolicyAttachment",
     {"catalog",
      R"({"policy-kind":"masking","policy-name":"m","target-kind":"tag","tag-namespace":"n","tag-name":"t"})"}},
    {"putRole", {"catalog", R"({"name":"r"})"}},
    {"listRoles", {"catalog"}},
    {"removeRole", {"catalog"}},
    {"putRoleGrant", {"catalog", R"({"role":"r","principal":"p"})"}},
    {"listRoleGrants", {"catalog"}},
    {"removeRoleGrant", {"catalog", R"({"role":"r","principal":"p"})"}},
    {"putObjectGrant",
     {"catalog", R"({"object-kind":"schema","schema":"s","privilege":"select","role":"r"})"}},
    {"listObjectGrants", {"catalog"}},
    {"removeObjectGrant",
     {"catalog", R"({"object-kind":"schema","schema":"s","privilege":"select","role":"r"})"}},
    {"effectivePolicies", {"catalog"}},
    {"previewRows", {"table a.t"}},
    {"signRequest",
     {"table a.t", R"({"region":"r","uri":"http://s/b/k","method":"GET","headers":{}})"}},
    {"signS3Request",
     {"catalog", R"({"region":"r","uri":"http://s/b/k","method":"GET","headers":{}})"}},
    {"reportMetrics",
     {"table a.t", R"({"report-type":"commit-report","table-name":"x","snapshot-id":1,
                       "sequence-number":1,"operation":"append","metrics":{}})"}},
    {"commitTransaction",
     {"table b.t, table c.u",
      R"({"table-changes":[
         {"identifier":{"namespace":["b"],"name":"t"},"requirements":[],"updates":[]},
         {"identifier":{"namespace":["c"],"name":"u"},"requirements":[],"updates":[]}]})"}},
    {"registerTable", {"table a.u", R"({"name":"u","metadata-location":"s3://x/y"})"}},
    {"unregisterTable", {"table a.t"}},
    {"compactTable", {"table a.t"}},
    {"listAuditRecords", {"catalog"}},
    {"renameTable", {"table b.t, table c.u", R"({"source":{"namespace":["b"],"name":"t"},
                                  "destination":{"namespace":["c"],"name":"u"}})"}},
    {"listViews", {"namespace a"}},
    {"createView", {"view a.w", R"({"name":"w","schema":{"type":"struct","schema-id":0,"fields":[]},
        "view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"summary":{},
        "default-namespace":["a"],
        "representations":[{"type":"sql","sql":"SELECT 1","dialect":"duckdb"}]},
        "properties":{}})"}},
    {"loadView", {"view a.v"}},
    {"viewExists", {"view a.v"}},
    {"replaceView", {"view a.v", R"({"requirements":[],"updates":[]})"}},
    {"dropView", {"view a.v"}},
    {"registerView", {"view a.w", R"({"name":"w","metadata-location":"s3://x/y"})"}},
    {"planTableScan", {"table a.t", R"({"filter":{"type":"is-null","term":"x"}})"}},
    {"fetchPlanningResult", {"table a.t"}},
    {"cancelPlanning", {"table a.t"}},
    {"fetchScanTasks", {"table a.t", R"({"plan-task":"x"})"}},
    {"listFunctions", {"namespace a"}},
    {"ducklakeCredentials", {"namespace a"}},
    {"loadFunction", {"namespace a"}},
    {"renameView", {"view b.v, view c.w", R"({"source":{"namespace":["b"],"name":"v"},
                                "destination":{"namespace":["c"],"name":"w"}})"}},
};

const std::map<std::string, std::string> kParameters = {
    {"prefix", "home"}, {"namespace", "a"}, {"table", "t"},    {"view", "v"},
    {"plan-id", "p"},   {"key", "k"},       {"function", "f"}, {"tag-namespace", "n"},
    {"tag-name", "t"},  {"policy", "m"},    {"role", "r"},     {"file", "console.js"}};

base::http::Request request_of(const Route& route) {
  base::http::Request request;
  request.method = route.method;
  std::string_view path = route.path;
  while (!path.empty()) {
    const std::size_t open = path.find('{');
    request.target += path.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = path.find('}');
    request.target += kParameters.at(std::string(path.substr(open + 1, close - open - 1)));
    path.remove_prefix(close + 1);
  }
  if (auto asked = kGuarded.find(route.operation); asked != kGuarded.end()) {
    request.body = asked->second.body;
  }
  if (route.operation == "effectivePolicies" || route.operation == "previewRows") {
    request.target += "?table=a.t&principal=p";
  }
  return request;
}

bool is_public(const Route& route) { return policy::is_open(route.permission); }

// To a stranger's empty request.
unsigned open_status(const Route& route) { return route.operation == "getToken" ? 400U : 200U; }

class Access : public ::testing::Test {
 protected:
  Access() {
    services_.home = std::make_shared<operation::Catalog>();
    services_.home->lake.catalog = "home";
    services_.authenticate = [this](base::RequestContext, const base::http::Headers*) {
      return who(caller_);
    };
    services_.attached = [](const std::string&) { return nullptr; };
    services_.find_registered = [this](base::RequestContext, std::string id) {
      ++looked_up_;
      return none(std::move(id));
    };
    services_.ready = [](base::RequestContext) { return ready(); };
    services_.opened = [] { return true; };
    services_.metrics = &metrics_;
    services_.console = &console_;
  }
  ~Access() override { std::fclose(lines_); }

  static base::Task<PrincipalResult> who(PrincipalResult caller) { co_return caller; }
  static base::Task<base::Result<model::RegisteredCatalog>> none(std::string id) {
    co_return ducklake::no_such_catalog(id);
  }
  static base::Task<base::Status> ready() { co_return base::Status{}; }

  base::http::Response ask(base::http::Request request) {
    base::log::LogOutput output({.descriptor = fileno(lines_)}, clock_);
    services_.home->log.emplace(output);
    auto handler = make_handler(services_, metrics_);
    boost::asio::io_context loop;
    auto answer =
        boost::asio::co_spawn(loop, handler({}, std::move(request)), boost::asio::use_future);
    loop.run();
    return answer.get();
  }

  /// The last line of the log.
  base::json::Value logged() {
    EXPECT_EQ(std::fseek(lines_, 0, SEEK_SET), 0);
    std::string line(std::size_t{64} << 10, '\0');
    std::string last;
    while (std::fgets(line.data(), static_cast<int>(line.size()), lines_) != nullptr) {
      last = line.c_str();
    }
    auto value = base::json::parse(last);
    return value ? std::move(*value) : base::json::Value();
  }

  base::metrics::Registry metrics_;
  console::ConsoleFiles console_;
  base::SystemClock clock_;
  std::FILE* lines_ = std::tmpfile();
  Services services_;
  PrincipalResult caller_ = auth::Principal{.subject = "nobody"};
  int looked_up_ = 0;
};

TEST_F(Access, who_may_do_nothing_is_refused_on_every_route_but_the_open_ones) {
  std::size_t guarded = 0;
  for (const Route& route : route_table()) {
    SCOPED_TRACE(route.operation);
    const base::http::Response response = ask(request_of(route));
    if (is_public(route)) {
      EXPECT_EQ(response.status, open_status(route));
      continue;
    }
    ++guarded;
    ASSERT_TRUE(kGuarded.contains(route.operation)) << "say here what the route is about";
    EXPECT_EQ(response.status, 403U) << response.body.view();
    EXPECT_EQ(logged().at("detail"), kGuarded.at(route.operation).about);
  }
  EXPECT_EQ(guarded, kGuarded.size());
}

TEST_F(Access, the_open_routes_are_few) {
  std::set<std::string_view> open;
  for (const Route& route : route_table()) {
    if (is_public(route)) open.insert(route.operation);
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"health", "ready", "metrics", "openapi", "getConfig",
                                              "getToken", "getConsole", "consoleExists",
                                              "getConsoleFile", "consoleFileExists"}));
}

TEST_F(Access, the_console_is_not_there_where_it_is_off) {
  base::http::Request request;
  for (const char* target : {"/ui", "/ui/console.js"}) {
    request.target = target;
    services_.console = &console_;
    EXPECT_EQ(ask(request).status, 200U);
    services_.console = nullptr;
    EXPECT_EQ(ask(request).status, 404U);
  }
}

TEST_F(Access, who_is_not_known_learns_of_nothing) {
  caller_ = base::fail(base::ErrorKind::kUnauthenticated, "no token");
  for (const Route& route : route_table()) {
    SCOPED_TRACE(route.operation);
    base::http::Request request = request_of(route);
    if (request.target.starts_with("/v1/home/")) request.target.replace(4, 4, "else");
    request.body += "no JSON";
    const base::http::Response response = ask(std::move(request));
    EXPECT_EQ(response.status, is_public(route) ? open_status(route) : 401U);
    if (!is_public(route))
      EXPECT_EQ(response.headers.get("WWW-Authenticate"),
                R"(Bearer realm="lakeproxy", error="invalid_token")");
  }
  EXPECT_EQ(looked_up_, 0);
}

TEST_F(Access, the_open_routes_are_open_while_nobody_can_tell_who_asks) {
  caller_ = base::fail(base::ErrorKind::kUnavailable, "the provider is away");
  for (const Route& route : route_table()) {
    SCOPED_TRACE(route.operation);
    const unsigned refused = route.effect == Effect::kCommit ? 409U : 503U;
    EXPECT_EQ(ask(request_of(route)).status, is_public(route) ? open_status(route) : refused);
  }
}

TEST_F(Access, a_catalog_that_is_none_of_the_callers_is_looked_for_once_it_is_known) {
  base::http::Request request;
  request.target = "/v1/else/namespaces";
  EXPECT_EQ(ask(request).status, 404U);
  EXPECT_EQ(looked_up_, 1);
}

// Bodies: what each route takes, whoever asks. A body of the right form is refused by policy, 403.
TEST_F(Access, each_route_takes_its_own_form_of_body) {
  for (const Route& route : route_table()) {
    SCOPED_TRACE(route.operation);
    const std::string_view wanted = route.body.media_type();
    const unsigned passed = is_public(route) ? open_status(route) : 403U;
    for (const std::string_view given :
         {"application/json", "APPLICATION/JSON ; charset=utf-8", "application/jsonp", "text/xml",
          "application/x-www-form-urlencoded"}) {
      base::http::Request request = request_of(route);
      if (request.body.empty()) request.body = "x";
      request.headers.add("Content-Type", std::string(given));
      const bool is_json = given.starts_with("application/json") && !given.ends_with('p');
      const bool fits =
          wanted.empty() || given == wanted ||
          (wanted == "application/json" && (is_json || given.starts_with("APPLICATION/JSON ")));
      EXPECT_EQ(ask(std::move(request)).status, fits ? passed : 415U) << given;
    }
  }
}

TEST_F(Access, a_body_over_the_routes_own_bound_is_refused_before_it_is_read) {
  for (const Route& route : route_table()) {
    SCOPED_TRACE(route.operation);
    if (route.body.limit() == SIZE_MAX) continue;
    const unsigned passed = is_public(route) ? open_status(route) : 403U;
    base::http::Request request = request_of(route);
    // White space is nothing to JSON, and part of a name to a form.
    request.body.resize(route.body.limit(), ' ');
    EXPECT_EQ(ask(request).status, passed);
    request.body += ' ';
    EXPECT_EQ(ask(request).status, 413U);
  }
}

// The table of docs/lake/access.md: each route against each scope. Its cells are what is expected
// here, so that a right which comes or goes shows in a review.

auth::Principal bearer_of(const std::string& scopes) {
  auto parsed = auth::Scopes::parse(scopes, auth::OtherWords::kRefused);
  EXPECT_TRUE(parsed) << scopes;
  auth::Principal principal{.subject = "etl", .superuser = parsed->is_administrator()};
  principal.grants = std::make_shared<const auth::Grants>(auth::Grants{.scopes = *parsed});
  return principal;
}

// The things that "table b.t, table c.u" names; their namespaces have one level but "b.c".
struct Named {
  explicit Named(std::string_view about) {
    while (!about.empty()) {
      std::string_view one = about.substr(0, about.find(','));
      about.remove_prefix(std::min(about.size(), one.size() + 2));
      kinds.emplace_back(one.substr(0, one.find(' ')));
      if (!one.contains(' ')) continue;
      std::string text(one.substr(one.find(' ') + 1));
      if (kinds.back() != "namespace") text = text.substr(0, text.rfind('.'));
      model::Namespace name;
      if (const auto dot = text.find('.'); dot != std::string::npos) {
        name.levels = {text.substr(0, dot), text.substr(dot + 1)};
      } else {
        name.levels = {text};
      }
      names.push_back(std::move(name));
    }
  }

  [[nodiscard]] policy::Targets targets() const {
    static const std::string kAnyName = "x";
    policy::Targets all;
    std::size_t next = 0;
    for (const std::string& kind : kinds) {
      if (kind == "server") all.push_back(policy::Target::server());
      if (kind == "catalog") all.push_back(policy::Target::catalog());
      if (kind == "namespace") all.push_back(policy::Target::of(names[next++]));
      if (kind == "table") all.push_back(policy::Target::table(names[next++], kAnyName));
      if (kind == "view") all.push_back(policy::Target::view(names[next++], kAnyName));
    }
    return all;
  }
  /// A scope for each of the namespaces: "ns:b:r ns:c:r".
  [[nodiscard]] std::string scopes(std::string_view before, std::string_view after) const {
    std::string text;
    for (const model::Namespace& name : names) {
      text += (text.empty() ? "ns:" : " ns:") + std::string(before) + name.display() +
              std::string(after);
    }
    return text.empty() ? "ns:a:" + std::string(after.substr(after.rfind(':') + 1)) : text;
  }

  std::vector<std::string> kinds;
  std::vector<model::Namespace> names;
};

bool is_allowed(const Route& route, const Named& named, const auth::Principal& who) {
  const policy::Targets targets = named.targets();
  boost::asio::io_context loop;
  auto decided = boost::asio::co_spawn(loop, policy::decide({}, {&who, route.permission}, targets),
                                       boost::asio::use_future);
  loop.run();
  return decided.get().has_value();
}

Named named_by(const Route& route) {
  auto asked = kGuarded.find(route.operation);
  return Named(asked == kGuarded.end() ? "server" : asked->second.about);
}

constexpr std::string_view kColumns[] = {"none", "other", "r", "w", "*:r", "*:w", "*"};

auth::Principal holder_of(std::string_view column, const Named& named) {
  if (column == "none") return auth::Principal{};
  if (column == "other") return bearer_of("ns:other:rw");
  if (column == "*") return bearer_of("*");
  if (column.starts_with("*:")) return bearer_of("ns:" + std::string(column));
  return bearer_of(named.scopes("", ":" + std::string(column)));
}

std::string line_of(const Route& route) {
  const Named named = named_by(route);
  std::string line = "| " + std::string(route.operation) + " | `" +
                     std::string(to_string(route.method)) + " " + std::string(route.path) + "` |";
  for (std::string_view column : kColumns) {
    line += is_allowed(route, named, holder_of(column, named)) ? " yes |" : " |";
  }
  return line;
}

// With UPDATE_GOLDEN=1 the page's table is written anew.
TEST(AccessTable, is_the_one_of_the_documents) {
  constexpr std::string_view kEnd = "<!-- end of the routes -->";
  const auto place = base::testing::repository() / "docs/lake/access.md";
  std::ifstream file(place);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("| health |");
  const std::size_t end = page.find(kEnd);
  ASSERT_LT(begin, end);
  ASSERT_NE(end, std::string::npos);
  std::string table;
  for (const Route& route : route_table()) table += line_of(route) + "\n";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    page.replace(begin, end - begin, table);
    std::ofstream(place) << page;
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), table);
}

TEST_F(Access, an_empty_cell_is_a_refusal_on_the_wire) {
  std::size_t refused = 0;
  for (const Route& route : route_table()) {
    const Named named = named_by(route);
    for (std::string_view column : kColumns) {
      const auth::Principal who = holder_of(column, named);
      if (is_allowed(route, named, who)) continue;
      ++refused;
      caller_ = who;
      EXPECT_EQ(ask(request_of(route)).status, 403U) << route.operation << " with " << column;
    }
  }
  EXPECT_GT(refused, 80U);
}

TEST(AccessTable, a_scope_of_a_longer_or_shorter_name_opens_nothing) {
  for (const Route& route : route_table()) {
    const Named named = named_by(route);
    if (policy::is_open(route.permission) || named.names.empty()) continue;
    SCOPED_TRACE(route.operation);
    EXPECT_FALSE(is_allowed(route, named, bearer_of(named.scopes("", "2:*")))) << "a2 for a";
    EXPECT_FALSE(is_allowed(route, named, bearer_of(named.scopes("x", ":*")))) << "xa for a";
    EXPECT_FALSE(is_allowed(route, named, bearer_of(named.scopes("x.", ":*")))) << "x.a for a";
    const bool lists = route.permission == policy::Permission::kListNamespaces;
    EXPECT_EQ(is_allowed(route, named, bearer_of(named.scopes("", ".x:*"))), lists) << "a.x for a";
  }
}

TEST(AccessTable, a_route_about_two_namespaces_needs_both) {
  std::size_t pairs = 0;
  for (const Route& route : route_table()) {
    const Named named = named_by(route);
    if (named.names.size() < 2) continue;
    ++pairs;
    SCOPED_TRACE(route.operation);
    EXPECT_FALSE(is_allowed(route, named, bearer_of("ns:b:*")));
    EXPECT_FALSE(is_allowed(route, named, bearer_of("ns:c:*")));
    EXPECT_FALSE(is_allowed(route, named, bearer_of("ns:b:* ns:c:r")));
    EXPECT_TRUE(is_allowed(route, named, bearer_of("ns:b:* ns:c:w")));
  }
  EXPECT_GE(pairs, 3U);
}

TEST(AccessTable, rw_is_r_and_w_and_the_star_as_much) {
  for (const Route& route : route_table()) {
    const Named named = named_by(route);
    const bool either = is_allowed(route, named, bearer_of(named.scopes("", ":r"))) ||
                        is_allowed(route, named, bearer_of(named.scopes("", ":w")));
    EXPECT_EQ(is_allowed(route, named, bearer_of(named.scopes("", ":rw"))), either);
    EXPECT_EQ(is_allowed(route, named, bearer_of(named.scopes("", ":*"))), either);
    EXPECT_EQ(is_allowed(route, named, bearer_of("ns:*:*")),
              is_allowed(route, named, bearer_of("ns:*:rw")));
  }
}

TEST_F(Access, an_open_server_has_no_token_to_give) {
  const std::map<const char*, unsigned> forms = {
      {"grant_type=client_credentials&client_id=a&client_secret=b%26c&scope=x+y", 404U},
      {"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&", 404U},
      {"", 400U},
      {"scope=a", 400U},
      {"grant_type=client_credentials&grant_type=password", 400U},
      {"grant_type=%zz", 400U},
      {"grant_type=a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t&u&v&w&x&y&z&0&1&2&3&4&5&6", 400U}};
  for (const auto& [form, status] : forms) {
    SCOPED_TRACE(form);
    base::http::Request request{
        .method = base::http::Method::kPost, .target = "/v1/oauth/tokens", .body = form};
    request.headers.add("Content-Type", "application/x-www-form-urlencoded");
    const base::http::Response response = ask(std::move(request));
    EXPECT_EQ(response.status, status);
    EXPECT_FALSE(response.body.view().contains("b&c")) << "no secret comes back";
    EXPECT_FALSE(base::json::write(logged()).contains("b&c")) << "nor is one logged";
  }
}

}  // namespace
}  // namespace lake::http
