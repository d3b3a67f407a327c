#include "lakeproxy/storage/sts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/storage/documents.h"
#include "lakeproxy/storage/xml.h"

namespace lake::storage {
namespace {

using base::ErrorKind;
using std::chrono::seconds;

constexpr seconds kPatience{10};
constexpr seconds kHour{3600};  // Each role allows at least that.
constexpr unsigned kTries = 2;

bool is_session_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_=,.@-").contains(c);
}

// The code in a refusal; empty without one.
std::string code_of(const base::http::Response& answer) {
  auto document = parse_xml(answer.body.view(), {.bytes = std::size_t{64} << 10});
  if (!document) return {};
  const XmlElement* error = document->name == "Error" ? &*document : document->child("Error");
  return error == nullptr ? std::string() : std::string(error->text_of("Code"));
}

// AWS says ValidationError where the role's own maximum is lower, MinIO InvalidParameterValue
// where the server's is.
bool is_too_long(const base::http::Response& answer, seconds duration) {
  if (answer.status != 400 || duration <= kHour) return false;
  const std::string code = code_of(answer);
  return code == "ValidationError" || code == "InvalidParameterValue";
}

base::Error refusal(const base::http::Response& answer) {
  return base::fail(ErrorKind::kUnavailable, "the object store gives no temporary keys now")
      .with_detail(fmt::format("AssumeRole: {} {}", answer.status, code_of(answer)));
}

bool may_pass(const base::Result<base::http::Response>& answer) {
  if (answer) return answer->status >= 500 || answer->status == 429;
  return answer.error().kind() != ErrorKind::kCancelled;
}

}  // namespace

std::string session_name(std::string_view issuer, std::string_view subject) {
  constexpr std::size_t kShown = 40;
  constexpr std::size_t kDigits = 16;
  std::string name;
  for (char c : subject.substr(0, kShown)) name += is_session_letter(c) ? c : '-';
  const std::string who = std::string(issuer) + '\0' + std::string(subject);
  return name + "-" + base::to_hex(sha256(who)).substr(0, kDigits);
}

std::string assume_role_form(const StsOptions& options, const AssumeRole& request,
                             seconds duration) {
  // Sorted and percent-encoded as a query is: a space is never '+', which Ceph does not decode.
  return canonical_query({{"Action", "AssumeRole"},
                          {"Version", "2011-06-15"},
                          {"RoleArn", options.role_arn},
                          {"RoleSessionName", request.session_name},
                          {"DurationSeconds", std::to_string(duration.count())},
                          {"Policy", request.policy}});
}

base::Result<TemporaryKeys> read_assume_role(std::string_view document) {
  auto broken = [](const char* what) {
    return base::fail(ErrorKind::kCorrupt, "STS gave no keys that can be read").with_detail(what);
  };
  auto root = parse_xml(document, {.bytes = std::size_t{256} << 10});
  if (!root) return broken("not XML");
  const XmlElement* result = root->child("AssumeRoleResult");
  const XmlElement* keys = result == nullptr ? nullptr : result->child("Credentials");
  if (keys == nullptr) return broken("no Credentials");
  TemporaryKeys out;
  out.credentials = {std::string(keys->text_of("AccessKeyId")),
                     base::Secret(std::string(keys->text_of("SecretAccessKey"))),
                     base::Secret(std::string(keys->text_of("SessionToken")))};
  const auto& made = out.credentials;
  // Without a token they would be long-lived keys.
  if (made.access_key.empty() || made.secret_key.empty() || made.session_token.empty()) {
    return broken("a key is missing");
  }
  auto expires = parse_time(keys->text_of("Expiration"));
  if (!expires) return broken("Expiration");
  out.expires = *expires;
  return out;
}

base::Result<std::unique_ptr<StsClient>> StsClient::create(StsOptions options,
                                                           const base::Clock& clock) {
  ASSIGN_OR_RETURN(auto origin, base::http::Origin::parse(options.endpoint));
  return std::unique_ptr<StsClient>(new StsClient(std::move(options), std::move(origin), clock));
}

StsClient::StsClient(StsOptions options, base::http::Origin origin, const base::Clock& clock)
    : options_(std::move(options)),
      host_(origin.authority()),
      signer_(options_.credentials, options_.region, "sts"),
      clock_(clock),
      client_(base::http::Client::create(std::move(origin), options_.client)),
      duration_(options_.duration) {}

base::http::ClientRequest StsClient::sign(std::string form) {
  base::http::ClientRequest out{
      .method = base::http::Method::kPost, .target = "/", .headers = {}, .body = {}};
  out.headers.add("Content-Type", "application/x-www-form-urlencoded");
  out.headers = signer_.sign({.method = out.method,
                              .host = host_,
                              .path = "/",
                              .query = {},
                              .headers = std::move(out.headers),
                              .payload_hash = base::to_hex(sha256(form))},
                             clock_.now());
  out.body = base::http::Body(std::move(form));
  return out;
}

// Keys that were made and never answered do no harm: they end, and nobody has them.
base::Task<base::Result<base::http::Response>> StsClient::ask(base::RequestContext context,
                                                              const AssumeRole* request,
                                                              seconds duration) {
  for (unsigned attempt = 1;; ++attempt) {
    auto answer =
        co_await client_->send(context, sign(assume_role_form(options_, *request, duration)));
    if (!may_pass(answer) || attempt == kTries || context.expired()) co_return answer;
  }
}

base::Task<base::Result<TemporaryKeys>> StsClient::assume(base::RequestContext context,
                                                          AssumeRole request) {
  context.deadline = std::min(context.deadline, std::chrono::steady_clock::now() + kPatience);
  const seconds wanted = std::min(duration_, request.enough.value_or(duration_));
  auto answer = co_await ask(context, &request, wanted);
  if (answer && is_too_long(*answer, wanted)) {
    answer = co_await ask(context, &request, kHour);
    if (answer && answer->status == 200) duration_ = kHour;
  }
  if (!answer) {
    if (answer.error().kind() == ErrorKind::kCancelled) co_return std::move(answer).error();
    co_return base::fail(ErrorKind::kUnavailable, "the object store gives no temporary keys now")
        .with_detail("AssumeRole: " + std::string(to_string(answer.error().kind())) + " " +
                     answer.error().detail());
  }
  if (answer->status != 200) co_return refusal(*answer);
  auto keys = read_assume_role(answer->body.view());
  if (!keys) {
    co_return base::fail(ErrorKind::kUnavailable, keys.error().message())
        .with_detail(keys.error().detail());
  }
  if (keys->expires <= clock_.now()) {
    co_return base::fail(ErrorKind::kUnavailable, "the object store gives keys that have ended")
        .with_detail("AssumeRole: the clocks differ, or the answer is an old one");
  }
  co_return std::move(*keys);
}

}  // namespace lake::storage
