#include "base/jose/client_credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/core/text.h"
#include "base/crypto/encoding.h"
#include "base/jose/shared_call.h"
#include "base/json/fields.h"

namespace base::jose {

struct ClientCredentials::State {
  State(const boost::asio::any_io_executor& loop, ClientCredentialsOptions o, Endpoint to,
        const Clock& c)
      : options(std::move(o)), endpoint(std::move(to)), clock(c), call(loop) {
    client = http::Client::create(endpoint.origin, {.connections = 1,
                                                    .header_bytes = 16 * 1024,
                                                    .body_bytes = 64 * 1024,
                                                    .connect_time = options.request_time,
                                                    .response_time = options.request_time,
                                                    .ca_file = options.ca_file});
  }

  [[nodiscard]] bool has_token(WallTime now) const { return token && now < renew_at; }
  void keep(AccessToken fresh, WallTime asked_at) {
    auto lifetime = fresh.expires_at - asked_at;
    auto margin = std::min<WallTime::duration>(options.renew_before, lifetime / 10);
    renew_at = fresh.expires_at - margin;
    token = std::move(fresh);
  }

  ClientCredentialsOptions options;
  Endpoint endpoint;
  const Clock& clock;
  std::unique_ptr<http::Client> client;
  SharedCall call;
  std::optional<AccessToken> token;
  WallTime renew_at;
  std::optional<Error> fault;  ///< Of the last request, when it failed.
};

namespace {

constexpr json::Limits kAnswerLimits{.bytes = 64 * 1024, .depth = 8, .values = 1024};
constexpr std::size_t kMaxAccessTokenBytes = 16 * 1024;
constexpr std::int64_t kMaxLifetime = 24 * 60 * 60;
constexpr std::int64_t kUnstatedLifetime = 60;  // expires_in is optional.

std::string form_encode(std::string_view text) { return percent_encode(text, Slash::kEncode); }

// Name and password are form-encoded before they are joined.
// Source: RFC 6749, section 2.3.1; RFC 7617, section 2.
std::string basic_credentials(const ClientCredentialsOptions& options) {
  return "Basic " + crypto::to_base64(form_encode(options.client_id) + ':' +
                                      form_encode(options.client_secret.reveal()));
}

std::string form_of(const ClientCredentialsOptions& options) {
  std::string form = "grant_type=client_credentials";
  auto add = [&](std::string_view parameter, const std::string& value) {
    if (!value.empty()) form += fmt::format("&{}={}", parameter, form_encode(value));
  };
  add("scope", options.scope);
  add("audience", options.audience);
  add("resource", options.resource);
  return form;
}

Error unavailable(std::string detail) {
  return fail(ErrorKind::kUnavailable, "no access token can be had").with_detail(std::move(detail));
}

// Source: RFC 6749, section 5.2.
Error refusal(const http::Response& response) {
  std::string code = "no error code";
  if (auto value = json::parse(response.body.view(), kAnswerLimits); value && value->is_object()) {
    const auto* error = value->get_object().if_contains("error");
    auto is_code = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    if (error != nullptr && error->is_string() && error->get_string().size() <= 64 &&
        std::ranges::all_of(error->get_string(), is_code)) {
      code.assign(error->get_string().data(), error->get_string().size());
    }
  }
  return fail(ErrorKind::kUnauthenticated, "the identity provider refuses this client")
      .with_detail(fmt::format("status {}, {}", response.status, code));
}

bool equals_without_case(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7e; });
}

// Source: RFC 6749, section 5.1.
Result<AccessToken> read_token(std::string_view body, WallTime asked_at) {
  ASSIGN_OR_RETURN(auto value, json::parse(body, kAnswerLimits));
  ASSIGN_OR_RETURN(auto fields, json::Fields::of(value, "the answer"));
  ASSIGN_OR_RETURN(auto token, fields.string("access_token"));
  ASSIGN_OR_RETURN(auto type, fields.string("token_type"));
  ASSIGN_OR_RETURN(auto lifetime, fields.opt_int64("expires_in"));
  if (token.empty() || token.size() > kMaxAccessTokenBytes || !is_printable(token)) {
    return fail(ErrorKind::kInvalid, "access_token: must be 1 to 16384 printable characters");
  }
  if (!equals_without_case(type, "bearer")) {
    return fail(ErrorKind::kInvalid, "token_type: must be Bearer");
  }
  auto seconds = std::min(lifetime.value_or(kUnstatedLifetime), kMaxLifetime);
  if (seconds <= 0) return fail(ErrorKind::kInvalid, "expires_in: must be above 0");
  return AccessToken{.value = Secret(std::move(token)),
                     .expires_at = asked_at + std::chrono::seconds(seconds)};
}

http::ClientRequest make_request(const ClientCredentialsOptions& options, std::string target) {
  http::ClientRequest request{.method = http::Method::kPost,
                              .target = std::move(target),
                              .body = http::Body(form_of(options))};
  request.headers.add("Authorization", basic_credentials(options));
  request.headers.add("Content-Type", "application/x-www-form-urlencoded");
  request.headers.add("Accept", "application/json");
  return request;
}

Result<AccessToken> read_answer(const Result<http::Response>& response, WallTime asked_at) {
  if (!response) {
    const Error& error = response.error();
    return unavailable(error.detail().empty() ? error.message() : error.detail());
  }
  if (response->status == 400 || response->status == 401 || response->status == 403) {
    return refusal(*response);
  }
  if (response->status != 200) return unavailable(fmt::format("status {}", response->status));
  auto token = read_token(response->body.view(), asked_at);
  if (!token) return unavailable(token.error().message());
  return token;
}

}  // namespace

ClientCredentials::ClientCredentials(std::shared_ptr<State> state) : state_(std::move(state)) {}
ClientCredentials::~ClientCredentials() = default;

Result<std::unique_ptr<ClientCredentials>> ClientCredentials::create(
    boost::asio::any_io_executor loop, ClientCredentialsOptions options, const Clock& clock) {
  auto endpoint = Endpoint::parse(options.token_url, options.plain_http);
  if (!endpoint) return std::move(endpoint).error().with_context("the token URL");
  if (options.client_id.empty() || options.client_secret.empty()) {
    return fail(ErrorKind::kInvalid, "the client's id and secret must not be empty");
  }
  return std::unique_ptr<ClientCredentials>(new ClientCredentials(
      std::make_shared<State>(loop, std::move(options), std::move(*endpoint), clock)));
}

Task<void> ClientCredentials::renew(std::shared_ptr<State> state) {
  WallTime now = state->clock.now();
  RequestContext context{.deadline =
                             std::chrono::steady_clock::now() + state->options.request_time};
  auto response =
      co_await state->client->send(context, make_request(state->options, state->endpoint.target));
  auto token = read_answer(response, now);
  if (token) {
    state->keep(std::move(*token), now);
    state->fault.reset();
  } else {
    state->fault = std::move(token).error();
  }
}

Task<Result<AccessToken>> ClientCredentials::token_of(std::shared_ptr<State> state,
                                                      RequestContext context) {
  if (state->has_token(state->clock.now())) co_return *state->token;
  CO_RETURN_IF_ERROR(co_await state->call.join(context.deadline, [state] { return renew(state); }));
  if (state->fault) co_return *state->fault;
  co_return *state->token;
}

Task<void> ClientCredentials::wait_for(std::shared_ptr<State> state) {
  co_await state->call.wait();
}

Task<Result<AccessToken>> ClientCredentials::token(RequestContext context) {
  return token_of(state_, context);
}
void ClientCredentials::forget() { state_->renew_at = WallTime::min(); }
Task<void> ClientCredentials::wait() { return wait_for(state_); }

}  // namespace base::jose
