#include "toolserver/mcp_ingress/exchange.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
namespace json = base::json;

struct Waiting {
  explicit Waiting(const asio::any_io_executor& loop) : answered(loop) {}
  asio::steady_timer answered;
  std::optional<std::expected<json::Object, mcp::RpcError>> answer;
};

// The client may answer on another loop.
ClientSession::Answered wake(const asio::any_io_executor& loop, std::shared_ptr<Waiting> waiting) {
  return [loop, waiting](std::expected<json::Object, mcp::RpcError> answer) {
    asio::post(loop, [waiting, answer = std::move(answer)]() mutable {
      waiting->answer = std::move(answer);
      waiting->answered.cancel();
    });
  };
}

}  // namespace

void Exchange::start(mcp::RequestId id, base::Task<Reply> work, std::function<void(Reply)> done) {
  auto self = shared_from_this();
  if (session_) {
    session_->begin(id, [weak = weak_from_this(), loop = out_->loop()] {
      asio::post(loop, [weak] {
        if (auto exchange = weak.lock()) exchange->cancel();
      });
    });
  }
  auto ended = [self, id, done = std::move(done)](const std::exception_ptr& error, Reply reply) {
    if (self->session_) self->session_->end(id);
    if (error) reply = fault_reply(refuse(Code::kInternal, "internal error"));
    done(std::move(reply));
  };
  asio::co_spawn(out_->loop(), without_exception(std::move(work)),
                 asio::bind_cancellation_slot(stop_.slot(), std::move(ended)));
}

void Exchange::tell(mcp::Notification notification) {
  out_->push_if_room(mcp::write(notification));
}

base::Task<Outcome<json::Object>> Exchange::ask(json::Object questions) {
  json::Object responses;
  for (auto& one : questions) {
    const auto* question = one.value().if_object();
    const auto* method = question == nullptr ? nullptr : question->if_contains("method");
    const auto* given = question == nullptr ? nullptr : question->if_contains("params");
    if (method == nullptr || !method->is_string()) {
      co_return refuse(Code::kUpstream, "the tool asks what no client is asked");
    }
    auto params = given != nullptr && given->is_object() ? given->get_object() : json::Object();
    auto result = co_await ask_one(std::string(method->get_string()), std::move(params));
    if (!result) co_return std::move(result).error();
    responses[one.key()] = std::move(*result);
  }
  co_return responses;
}

base::Task<Outcome<json::Object>> Exchange::ask_one(std::string method, json::Object params) {
  if (!can_be_asked()) co_return refuse(Code::kConsent, "the client cannot be asked");
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto keep = shared_from_this();
  auto waiting = std::make_shared<Waiting>(out_->loop());
  auto id = session_->expect(wake(out_->loop(), waiting));
  if (!id) co_return std::move(id).error();
  out_->push(mcp::write(mcp::Request{*id, std::move(method), std::move(params)}));
  auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() == asio::cancellation_type::none) {
    boost::system::error_code woken;
    waiting->answered.expires_after(kAnswerTime);
    co_await waiting->answered.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    state = co_await asio::this_coro::cancellation_state;
  }
  session_->forget(*id);
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (!waiting->answer) {
    bool cancelled = state.cancelled() != asio::cancellation_type::none;
    co_return cancelled ? refuse(Code::kCancelled, "cancelled")
                        : refuse(Code::kTimeout, "the client did not answer");
  }
  if (!*waiting->answer) {
    Fault fault = refuse(Code::kConsent, "the client refused to be asked");
    fault.detail = waiting->answer->error().message;
    co_return fault;
  }
  co_return std::move(**waiting->answer);
}

}  // namespace tool::mcp_ingress
