#include "lakeproxy/delegation/bucket_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>

#include "base/json/json.h"
#include "lakeproxy/app/authority.h"
#include "lakeproxy/app/shared.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/registry/static_keys.h"
#include "lakeproxy/storage/documents.h"
#include "lakeproxy/storage/requester.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using base::ErrorKind;

// Statements that this command wrote before, and writes anew.
constexpr std::string_view kOurs = "lakeproxy";

int fail(const base::Error& error) {
  fmt::print(stderr, "lakeproxy bucket-policy: {}{}{}\n", error.message(),
             error.detail().empty() ? "" : ": ", error.detail());
  return 1;
}

storage::RequesterOptions requester_options(const storage::StoreOptions& store,
                                            base::http::Origin origin) {
  return {
      .origin = std::move(origin),
      .region = store.region,
      .bucket = store.bucket,
      .credentials = {.access_key = store.access_key,
                      .secret_key = store.secret_key,
                      .session_token = {}},
      .addressing = store.addressing,
      .client = {.connections = 1, .body_bytes = std::size_t{1} << 20, .ca_file = store.ca_file}};
}

struct Work {
  const settings::Settings* settings;
  const auth::Clients* clients;
  base::pg::Pool* pool;
  storage::Requester* store;
};

// A key with what a policy is to let it do.
struct Confined {
  ducklake::StaticKey key;
  auth::Scopes scopes;
};

base::Task<base::Result<std::vector<Confined>>> confined_keys(base::RequestContext context,
                                                              ducklake::StaticKeys keys,
                                                              const auth::Clients* clients) {
  CO_ASSIGN_OR_RETURN(auto all, co_await keys.list(context));
  std::vector<Confined> found;
  for (auto& key : all) {
    const auth::Client* client = clients->find(key.principal);
    if (key.confined && client != nullptr) found.push_back({std::move(key), client->scopes});
  }
  co_return found;
}

base::Task<base::Result<delegation::BucketPolicy>> generate(base::RequestContext context,
                                                            ducklake::StaticKeys keys,
                                                            const Work* work,
                                                            const std::vector<Confined>* confined) {
  CO_ASSIGN_OR_RETURN(auto folders, co_await keys.table_folders(context));
  std::vector<delegation::PolicyFolder> places;
  for (const auto& one : folders) {
    auto name = ducklake::namespace_of_schema(one.schema);
    auto folder = storage::Location::parse(one.folder);
    if (name && folder) {
      places.push_back({std::move(*name), std::move(*folder)});
    } else {
      fmt::print(stderr, "left out: {}\n", one.folder);
    }
  }
  std::vector<delegation::PolicyKey> wanted;
  for (const Confined& one : *confined) wanted.push_back({one.key.access_key, one.scopes});
  co_return delegation::bucket_policy(work->settings->storage.bucket, wanted, places);
}

// The bucket's statements that are not ours.
base::Task<base::Result<json::Array>> foreign_statements(base::RequestContext context,
                                                         storage::Requester* store) {
  CO_ASSIGN_OR_RETURN(auto answer, co_await store->send(context, {.query = {{"policy", ""}}}));
  if (answer.status == 404 && storage::error_code(answer) == "NoSuchBucketPolicy") {
    co_return json::Array();
  }
  if (answer.status != 200) co_return storage::to_error(answer);
  auto policy = json::parse(answer.body.view());
  const json::Value* statements =
      policy && policy->is_object() ? policy->as_object().if_contains("Statement") : nullptr;
  if (statements == nullptr || !statements->is_array()) {
    co_return base::fail(ErrorKind::kCorrupt, "the bucket has a policy that cannot be read");
  }
  json::Array foreign;
  for (const json::Value& one : statements->as_array()) {
    const json::Value* sid = one.is_object() ? one.as_object().if_contains("Sid") : nullptr;
    const bool ours = sid != nullptr && sid->is_string() && sid->as_string().starts_with(kOurs);
    if (!ours) foreign.push_back(one);
  }
  co_return foreign;
}

std::string merged(json::Array statements, const std::string& policy) {
  if (!policy.empty()) {
    auto made = json::parse(policy);
    for (json::Value& one : made->as_object()["Statement"].as_array()) {
      one.as_object()["Sid"] = std::string(kOurs) + std::to_string(statements.size());
      statements.push_back(std::move(one));
    }
  }
  if (statements.empty()) return "";
  return json::write(json::Object{{"Version", "2012-10-17"}, {"Statement", std::move(statements)}});
}

base::Task<base::Status> replace_policy(base::RequestContext context, storage::Requester* store,
                                        std::string text) {
  storage::S3Request request{.method = base::http::Method::kDelete, .query = {{"policy", ""}}};
  if (!text.empty()) {
    request.method = base::http::Method::kPut;
    request.headers.add("Content-Type", "application/json");
    request.body = base::http::Body(std::move(text));
  }
  CO_ASSIGN_OR_RETURN(auto answer, co_await store->send(context, std::move(request)));
  if (answer.status < 200 || answer.status > 299) co_return storage::to_error(answer);
  co_return base::Status{};
}

// A key is handed out by the note of what it opens. So a note that will be wrong goes before the
// policy changes, and comes back after.
base::Task<base::Status> apply(base::RequestContext context, ducklake::StaticKeys keys,
                               const Work* work, const std::vector<Confined>* confined,
                               std::string policy) {
  CO_ASSIGN_OR_RETURN(auto all, co_await keys.list(context));
  for (const auto& key : all) {
    auto stays = std::ranges::any_of(*confined, [&](const Confined& one) {
      return one.key.access_key == key.access_key && key.applied_scope == one.scopes.text();
    });
    if (key.applied_scope && !stays) {
      CO_RETURN_IF_ERROR(co_await keys.note_applied(context, key.access_key, std::nullopt));
    }
  }
  CO_ASSIGN_OR_RETURN(auto foreign, co_await foreign_statements(context, work->store));
  CO_RETURN_IF_ERROR(
      co_await replace_policy(context, work->store, merged(std::move(foreign), policy)));
  for (const Confined& one : *confined) {
    CO_RETURN_IF_ERROR(co_await keys.note_applied(context, one.key.access_key, one.scopes.text()));
  }
  co_return base::Status{};
}

base::Task<base::Status> run(base::RequestContext context, const Work* work, PolicyWork what) {
  ducklake::StaticKeys keys(*work->pool, lake_options(*work->settings));
  CO_ASSIGN_OR_RETURN(auto confined, co_await confined_keys(context, keys, work->clients));
  CO_ASSIGN_OR_RETURN(auto policy, co_await generate(context, keys, work, &confined));
  for (const std::string& folder : policy.left_out) fmt::print(stderr, "left out: {}\n", folder);
  fmt::print("{}\n", policy.text.empty() ? "{}" : policy.text);
  if (what == PolicyWork::kApply) {
    CO_RETURN_IF_ERROR(co_await apply(context, keys, work, &confined, policy.text));
  }
  work->pool->close();
  co_return base::Status{};
}

}  // namespace

int bucket_policy(const settings::Settings& settings, PolicyWork what) {
  base::SystemClock clock;
  base::SystemRandom random;
  auto authority = Authority::create(settings.auth, clock, random);
  if (!authority) return fail(authority.error());
  if (*authority == nullptr) {
    return fail(base::fail(ErrorKind::kInvalid, "there are no clients: LAKEPROXY_OAUTH_CLIENTS"));
  }
  const storage::StoreOptions options = store_options(settings);
  auto origin = base::http::Origin::parse(options.endpoint);
  if (!origin) return fail(origin.error());
  asio::io_context loop(1);
  auto pool = base::pg::Pool::create(pool_options(settings));
  storage::Requester store(requester_options(options, std::move(*origin)), clock, random);
  const Work work{&settings, &(*authority)->clients(), pool.get(), &store};
  base::RequestContext context;
  context.deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  auto done = asio::co_spawn(loop, run(context, &work, what), asio::use_future);
  loop.run();
  auto status = done.get();
  pool->close();
  return status ? 0 : fail(status.error());
}

}  // namespace lake::app
