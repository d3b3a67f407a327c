#include "base/jose/key_cache.h"

#include <fmt/format.h>

#include <optional>

#include "base/jose/jwks.h"
#include "base/jose/shared_call.h"

namespace base::jose {

struct KeyCache::State {
  State(const boost::asio::any_io_executor& loop, KeyCacheOptions o, Endpoint from, const Clock& c)
      : options(std::move(o)), endpoint(std::move(from)), clock(c), call(loop) {
    client = http::Client::create(endpoint.origin, {.connections = 1,
                                                    .header_bytes = 16 * 1024,
                                                    .body_bytes = kMaxJwksBytes,
                                                    .connect_time = options.fetch_time,
                                                    .response_time = options.fetch_time,
                                                    .ca_file = options.ca_file});
  }

  [[nodiscard]] bool is_younger(std::chrono::seconds age, WallTime now) const {
    // A clock that was set back says nothing of an age.
    return keys && now >= fetched_at && now - fetched_at < age;
  }
  [[nodiscard]] const Verifier* find(const std::string& kid, WallTime now) const {
    return is_younger(options.fresh + options.stale, now) ? keys->find(kid) : nullptr;
  }
  [[nodiscard]] bool wants_fetch(const std::string& kid, WallTime now) const;
  [[nodiscard]] Result<Verifier> answer(const std::string& kid, WallTime now) const;

  KeyCacheOptions options;
  Endpoint endpoint;
  const Clock& clock;
  std::unique_ptr<http::Client> client;
  SharedCall call;
  std::optional<KeySet> keys;
  WallTime fetched_at;                    ///< Of `keys`.
  std::optional<WallTime> last_ended;     ///< Of a fetch, good or bad.
  std::optional<std::string> last_fault;  ///< Of the last fetch, when it failed.
  std::size_t fetches = 0;
};

namespace {

Task<Result<KeySet>> fetch_keys(http::Client& client, std::string target,
                                std::chrono::milliseconds time) {
  http::ClientRequest request{.target = std::move(target)};
  request.headers.add("Accept", "application/jwk-set+json, application/json");
  RequestContext context{.deadline = std::chrono::steady_clock::now() + time};
  CO_ASSIGN_OR_RETURN(auto response, co_await client.send(context, std::move(request)));
  // A redirection is not followed: it could lead anywhere, out of HTTPS too.
  if (response.status != 200) {
    co_return fail(ErrorKind::kUnavailable, fmt::format("status {}", response.status));
  }
  co_return parse_jwks(response.body.view());
}

std::string describe(const Error& error) {
  return error.detail().empty() ? error.message() : error.message() + ": " + error.detail();
}

}  // namespace

bool KeyCache::State::wants_fetch(const std::string& kid, WallTime now) const {
  bool fresh = is_younger(options.fresh, now);
  if (fresh && keys->find(kid) != nullptr) return false;
  if (call.running() || !last_ended || now < *last_ended) return true;
  auto gap = std::max(fresh ? options.unknown_kid_gap : std::chrono::seconds(0),
                      last_fault ? options.failure_gap : std::chrono::seconds(0));
  return now - *last_ended >= gap;
}

Result<Verifier> KeyCache::State::answer(const std::string& kid, WallTime now) const {
  if (const auto* key = find(kid, now)) return *key;
  if (last_fault || !keys) {
    return fail(ErrorKind::kUnavailable, "the issuer's keys cannot be had")
        .with_detail(last_fault.value_or("not fetched"));
  }
  return fail(ErrorKind::kUnauthenticated, "the token is signed with an unknown key")
      .with_reason(reason::kKey);
}

KeyCache::KeyCache(std::shared_ptr<State> state) : state_(std::move(state)) {}
KeyCache::~KeyCache() = default;

Result<std::unique_ptr<KeyCache>> KeyCache::create(boost::asio::any_io_executor loop,
                                                   KeyCacheOptions options, const Clock& clock) {
  auto endpoint = Endpoint::parse(options.url, options.plain_http);
  if (!endpoint) return std::move(endpoint).error().with_context("the URL of the JWK set");
  return std::unique_ptr<KeyCache>(
      new KeyCache(std::make_shared<State>(loop, std::move(options), std::move(*endpoint), clock)));
}

Task<void> KeyCache::fetch(std::shared_ptr<State> state) {
  state->fetches += 1;
  auto fetched =
      co_await fetch_keys(*state->client, state->endpoint.target, state->options.fetch_time);
  state->last_ended = state->clock.now();
  if (fetched) {
    state->keys = std::move(*fetched);
    state->fetched_at = *state->last_ended;
    state->last_fault.reset();
  } else {
    state->last_fault = describe(fetched.error());
  }
}

Task<Result<Verifier>> KeyCache::find_in(std::shared_ptr<State> state, RequestContext context,
                                         std::string kid) {
  if (!is_key_id(kid)) {
    co_return fail(ErrorKind::kUnauthenticated, "the token must name its key")
        .with_reason(reason::kKey);
  }
  if (state->wants_fetch(kid, state->clock.now())) {
    CO_RETURN_IF_ERROR(
        co_await state->call.join(context.deadline, [state] { return fetch(state); }));
  }
  co_return state->answer(kid, state->clock.now());
}

Task<Result<Claims>> KeyCache::verify_by(std::shared_ptr<State> state, RequestContext context,
                                         std::string token, Rules rules) {
  // Parsed first: what is refused by its header alone causes no fetch.
  CO_ASSIGN_OR_RETURN(auto jws, UnverifiedJws::parse(token, rules.header));
  CO_ASSIGN_OR_RETURN(auto key, co_await find_in(state, context, jws.kid()));
  co_return jose::verify(jws, key, rules, state->clock.now());
}

Task<void> KeyCache::wait_for(std::shared_ptr<State> state) { co_await state->call.wait(); }

Task<Result<Verifier>> KeyCache::find(RequestContext context, std::string kid) {
  return find_in(state_, context, std::move(kid));
}
Task<Result<Claims>> KeyCache::verify(RequestContext context, std::string token, Rules rules) {
  return verify_by(state_, context, std::move(token), std::move(rules));
}
Task<void> KeyCache::wait() { return wait_for(state_); }

std::size_t KeyCache::fetches() const { return state_->fetches; }

}  // namespace base::jose
