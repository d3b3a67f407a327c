#pragma once

// What answers a route, in three parts: what the request asks for, as a value; the decision
// of policy about it; the act, which takes the value only with the decision. The three are put
// together here and nowhere else, so a route without a decision does not compile.

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/policy/authorized.h"

namespace lake::http {

struct Call;

using ActionResult = base::Task<base::Result<base::http::Response>>;

/// The type of what `parse`, a plain function of a call, reads from a request.
template <auto parse>
using AskedBy = typename decltype(parse(std::declval<const Call&>()))::value_type;

/// The act of a request of type T: it cannot be called before policy has allowed the request.
template <class T>
using Act = ActionResult (*)(base::RequestContext, Call*, policy::Authorized<T>);

template <auto act, auto parse>
concept ActsOn = std::same_as<std::decay_t<decltype(act)>, Act<AskedBy<parse>>>;

/// A change that policy has allowed, of a client that can lose its answer: it sends it again under
/// the same Idempotency-Key, and the change is made once.
/// Source: Iceberg REST description, parameter "Idempotency-Key".
class AllowedChange {
 public:
  virtual ~AllowedChange() = default;
  [[nodiscard]] virtual ActionResult make() = 0;
  /// What is answered when it was made before, by its request and the state.
  [[nodiscard]] virtual ActionResult tell_again() = 0;
  [[nodiscard]] virtual policy::Targets about() const = 0;
};

/// Makes the change of a call with an Idempotency-Key, or tells what became of it before. The key
/// of another request is 422. 5xx and what may be tried again are not kept.
[[nodiscard]] base::Task<base::http::Response> change_once(base::RequestContext context, Call* call,
                                                           std::unique_ptr<AllowedChange> change);

namespace detail {

/// The answer, or the one to its error. The error is logged, with what it is `about`, and a commit
/// is counted.
[[nodiscard]] base::http::Response settled(const base::RequestContext& context, Call& call,
                                           base::Result<base::http::Response> result,
                                           std::span<const policy::Target> about);
[[nodiscard]] policy::Caller caller_of(const Call& call);
/// For the log of requests.
void note_decision(Call& call, const policy::Decision& decision);
[[nodiscard]] const std::optional<model::IdempotencyKey>& key_of(const Call& call);

template <class T, Act<T> act, Act<T> again>
class ChangeOf final : public AllowedChange {
 public:
  ChangeOf(base::RequestContext context, Call* call, policy::Authorized<T> request)
      : context_(context), call_(call), request_(std::move(request)) {}
  ActionResult make() override { return act(context_, call_, request_); }
  ActionResult tell_again() override { return again(context_, call_, request_); }
  policy::Targets about() const override { return targets(*request_); }

 private:
  base::RequestContext context_;
  Call* call_;
  policy::Authorized<T> request_;
};

template <auto parse, auto act, auto again>
base::Task<base::http::Response> run(base::RequestContext context, Call* call) {
  using T = AskedBy<parse>;
  base::Result<T> asked = parse(*call);
  if (!asked) co_return settled(context, *call, std::move(asked).error(), {});
  auto allowed =
      co_await policy::authorize(context, caller_of(*call), std::move(*asked), key_of(*call));
  if (!allowed) co_return settled(context, *call, std::move(allowed).error(), {});
  note_decision(*call, allowed->decision());
  if constexpr (!std::is_null_pointer_v<decltype(again)>) {
    if (key_of(*call)) {
      co_return co_await change_once(
          context, call,
          std::make_unique<ChangeOf<T, act, again>>(context, call, std::move(*allowed)));
    }
  }
  auto result = co_await act(context, call, *allowed);
  if (!result) co_return settled(context, *call, std::move(result), targets(**allowed));
  co_return settled(context, *call, std::move(result), {});
}

}  // namespace detail

/// See above. Made by answers<> and changes<> alone.
class Endpoint {
 public:
  using Run = base::Task<base::http::Response> (*)(base::RequestContext, Call*);

  /// Answers a call whose route, caller and catalog are known.
  [[nodiscard]] base::Task<base::http::Response> run(base::RequestContext context,
                                                     Call* call) const {
    return run_(context, call);
  }
  /// Whether it takes an Idempotency-Key.
  [[nodiscard]] constexpr bool can_be_told_again() const { return told_again_; }

 private:
  constexpr Endpoint(Run run, bool told_again) : run_(run), told_again_(told_again) {}

  template <auto parse, auto act>
    requires ActsOn<act, parse>
  friend consteval Endpoint answers();
  template <auto parse, auto act, auto again>
    requires ActsOn<act, parse> && ActsOn<again, parse>
  friend consteval Endpoint changes();

  Run run_;
  bool told_again_;
};

/// An endpoint that changes nothing, or nothing of a catalog's.
template <auto parse, auto act>
  requires ActsOn<act, parse>
consteval Endpoint answers() {
  return {detail::run<parse, act, nullptr>, false};
}

/// One that changes a catalog: a client that lost the answer may send the request again under
/// the same Idempotency-Key, and is then told by `again`.
template <auto parse, auto act, auto again>
  requires ActsOn<act, parse> && ActsOn<again, parse>
consteval Endpoint changes() {
  return {detail::run<parse, act, again>, true};
}

}  // namespace lake::http
