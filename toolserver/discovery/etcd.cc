#include "toolserver/discovery/etcd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "base/json/fields.h"

namespace tool::discovery {
namespace {

namespace json = base::json;
using base::ErrorKind;
using base::fail;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kKeyBytes = 1'024;
constexpr std::size_t kValueBytes = 4'096;
constexpr std::size_t kLineBytes = 64 << 10;

// The key behind all that begin with `prefix`.
std::string end_of(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // To the last key.
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

json::Object range_of(const std::string& prefix) {
  return {{"key", base::crypto::to_base64(prefix)},
          {"range_end", base::crypto::to_base64(end_of(prefix))}};
}

// 64-bit numbers are texts in the gateway's JSON.
base::Result<std::int64_t> number(const json::Fields& fields, std::string_view name) {
  ASSIGN_OR_RETURN(auto text, fields.string(name));
  auto value = base::parse_int64(text);
  if (!value) return fail(ErrorKind::kInvalid, fields.path_of(name) + ": must be a number");
  return *value;
}

struct Entry {
  std::string key;
  std::string value;
};

base::Result<Entry> read_entry(const json::Value& value) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "kv"));
  ASSIGN_OR_RETURN(auto key, fields.string("key"));
  ASSIGN_OR_RETURN(auto text, fields.opt_string("value"));
  Entry out;
  ASSIGN_OR_RETURN(out.key, base::crypto::from_base64(key, kKeyBytes));
  ASSIGN_OR_RETURN(out.value, base::crypto::from_base64(text.value_or(""), kValueBytes));
  return out;
}

base::Result<std::string> read_endpoint(const std::string& text) {
  ASSIGN_OR_RETURN(auto value, json::parse(text, {.bytes = kValueBytes, .depth = 4, .values = 64}));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "value"));
  return fields.string("endpoint");
}

}  // namespace

base::Result<EtcdNodes> read_etcd(const json::Value& answer, std::string_view prefix, Plain plain) {
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(answer, "answer"));
  ASSIGN_OR_RETURN(auto header, fields.object("header"));
  EtcdNodes out;
  ASSIGN_OR_RETURN(out.revision, number(header, "revision"));
  ASSIGN_OR_RETURN(const auto* entries, fields.opt_array("kvs"));  // Absent: there is none.
  if (entries == nullptr) return out;
  for (const auto& value : *entries) {
    auto entry = read_entry(value);
    if (!entry) {
      out.found.leave_out("a key", entry.error().message());
      continue;
    }
    std::string_view key = entry->key;
    if (!key.starts_with(prefix)) {
      out.found.leave_out(key, "a key that was not asked for");
      continue;
    }
    auto endpoint = read_endpoint(entry->value);
    if (!endpoint) {
      out.found.leave_out(key, endpoint.error().message());
      continue;
    }
    out.found.add(key.substr(prefix.size()), {std::move(*endpoint), {}}, plain);
  }
  return out;
}

WatchLine read_watch_line(std::string_view line) {
  auto value = json::parse(line, {.bytes = kLineBytes, .depth = 16, .values = 10'000});
  const auto* object = value ? value->if_object() : nullptr;
  const auto* result = object == nullptr ? nullptr : object->if_contains("result");
  const auto* fields = result == nullptr ? nullptr : result->if_object();
  // Whatever cannot be read may be a change.
  if (fields == nullptr) return WatchLine::kChange;
  const auto* reason = fields->if_contains("cancel_reason");
  if (reason != nullptr && reason->is_string() &&
      (reason->get_string().find("permission") != boost::json::string::npos ||
       reason->get_string().find("auth") != boost::json::string::npos)) {
    return WatchLine::kRefused;
  }
  bool created = fields->contains("created") && !fields->contains("canceled");
  bool changed = fields->contains("events") || fields->contains("canceled");
  return created || !changed ? WatchLine::kNothing : WatchLine::kChange;
}

RegistryClient::Call Etcd::call(std::string target, json::Object body) const {
  RegistryClient::Call out{.method = base::http::Method::kPost,
                           .target = std::move(target),
                           .headers = {},
                           .body = std::move(body)};
  const std::string& token = options_.user.empty() ? options_.secret.reveal() : session_;
  if (!token.empty()) out.headers.add("Authorization", token);
  return out;
}

base::Task<base::Status> Etcd::log_in(base::RequestContext context) {
  session_.clear();
  auto answer = co_await client_->send(
      context, call("/v3/auth/authenticate",
                    json::Object{{"name", options_.user}, {"password", options_.secret.reveal()}}));
  // A wrong password is a bad request to the gateway.
  if (!answer) {
    co_return fail(answer.error().kind(), "the registry does not log us in")
        .with_detail(answer.error().detail());
  }
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(answer->body, "answer"));
  CO_ASSIGN_OR_RETURN(session_, fields.string("token"));
  co_return base::Status();
}

// A token of a login ends after some minutes, or with the server: then once more.
base::Task<Etcd::Json> Etcd::ask(base::RequestContext context, std::string target,
                                 json::Object body) {
  bool by_password = !options_.user.empty();
  bool fresh = by_password && session_.empty();
  if (fresh) CO_RETURN_IF_ERROR(co_await log_in(context));
  auto answer = co_await client_->send(context, call(target, body));
  if (!answer && answer.error().kind() == ErrorKind::kForbidden && by_password && !fresh) {
    CO_RETURN_IF_ERROR(co_await log_in(context));
    answer = co_await client_->send(context, call(std::move(target), std::move(body)));
  }
  if (!answer) co_return std::move(answer).error();
  co_return std::move(answer->body);
}

base::Task<base::Result<Found>> Etcd::next(base::RequestContext context, milliseconds longest) {
  if (revision_ > 0) CO_RETURN_IF_ERROR(co_await wait_for_change(context, longest));
  revision_ = 0;  // So that an error is followed by a look at once.
  json::Object range = range_of(options_.prefix);
  range["limit"] = std::to_string(kNodes + kLeftOut);
  CO_ASSIGN_OR_RETURN(auto answer, co_await ask(context, "/v3/kv/range", std::move(range)));
  CO_ASSIGN_OR_RETURN(auto read, read_etcd(answer, options_.prefix, options_.plain));
  revision_ = read.revision;
  co_return std::move(read.found);
}

base::Task<base::Status> Etcd::wait_for_change(base::RequestContext context, milliseconds longest) {
  context.deadline = std::min(context.deadline, steady_clock::now() + longest);
  auto followed = co_await follow(context);
  bool may_be_old =
      !followed && followed.error().kind() == ErrorKind::kForbidden && !options_.user.empty();
  if (may_be_old) session_.clear();
  // Time to look again, whether anything has changed or not.
  bool is_time = steady_clock::now() >= context.deadline;
  if (!followed && !is_time && !may_be_old) {
    revision_ = 0;
    co_return std::move(followed).error();
  }
  co_return base::Status();
}

// Until a change, or an error.
base::Task<base::Status> Etcd::follow(base::RequestContext context) {
  json::Object create = range_of(options_.prefix);
  create["start_revision"] = std::to_string(revision_ + 1);
  CO_ASSIGN_OR_RETURN(
      auto body,
      co_await client_->follow(
          context, call("/v3/watch", json::Object{{"create_request", std::move(create)}})));
  std::string line;
  std::array<char, 4096> piece{};
  while (true) {
    CO_ASSIGN_OR_RETURN(std::size_t size, co_await body.source->read(piece));
    if (size == 0) co_return base::Status();  // The watch has ended: look.
    line.append(piece.data(), size);
    for (std::size_t end = 0; (end = line.find('\n')) != std::string::npos;
         line.erase(0, end + 1)) {
      switch (read_watch_line(std::string_view(line).substr(0, end))) {
        case WatchLine::kNothing: break;
        case WatchLine::kChange: co_return base::Status();
        case WatchLine::kRefused:
          co_return fail(ErrorKind::kForbidden, "the registry refuses the watch");
      }
    }
    if (line.size() > kLineBytes) co_return base::Status();
  }
}

// Whether the lease still stands.
base::Task<base::Result<bool>> Etcd::keep_lease(base::RequestContext context) {
  if (lease_.empty()) co_return false;
  CO_ASSIGN_OR_RETURN(auto answer,
                      co_await ask(context, "/v3/lease/keepalive", json::Object{{"ID", lease_}}));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(answer, "answer"));
  CO_ASSIGN_OR_RETURN(auto result, fields.object("result"));
  CO_ASSIGN_OR_RETURN(auto left, result.opt_string("TTL"));  // Absent: it has ended.
  co_return left.has_value() && *left != "0";
}

base::Task<base::Status> Etcd::renew(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(bool stands, co_await keep_lease(context));
  if (stands) co_return base::Status();
  const Self& self = *options_.self;
  lease_.clear();
  json::Object grant{{"TTL", std::to_string(self.lifetime.count())}};
  CO_ASSIGN_OR_RETURN(auto answer, co_await ask(context, "/v3/lease/grant", std::move(grant)));
  CO_ASSIGN_OR_RETURN(auto fields, json::Fields::of(answer, "answer"));
  CO_ASSIGN_OR_RETURN(auto lease, fields.string("ID"));
  json::Object put{
      {"key", base::crypto::to_base64(options_.prefix + self.node_id)},
      {"value", base::crypto::to_base64(json::write(json::Object{{"endpoint", self.endpoint}}))},
      {"lease", lease}};
  CO_ASSIGN_OR_RETURN(answer, co_await ask(context, "/v3/kv/put", std::move(put)));
  lease_ = std::move(lease);
  co_return base::Status();
}

base::Task<base::Status> Etcd::withdraw(base::RequestContext context) {
  if (lease_.empty()) co_return base::Status();
  json::Object revoke{{"ID", std::exchange(lease_, {})}};
  auto gone = co_await ask(context, "/v3/lease/revoke", std::move(revoke));
  if (!gone) co_return std::move(gone).error();
  co_return base::Status();
}

}  // namespace tool::discovery
