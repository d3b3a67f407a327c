#include "toolserver/mcp_ingress/live_task.h"

#include <fmt/format.h>

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
using std::chrono::steady_clock;

constexpr std::size_t kMessageBytes = 512;
constexpr std::string_view kNobodyKnows = "whether the call did its work is not known";

// Cut between characters.
std::string shortened(std::string text) {
  if (text.size() <= kMessageBytes) return text;
  std::size_t most = kMessageBytes;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text + "...";
}

std::string_view text_in(const json::Value* value, std::string_view member) {
  const auto* fields = value == nullptr ? nullptr : value->if_object();
  const auto* found = fields == nullptr ? nullptr : fields->if_contains(member);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : "";
}

// "E_CANCELLED" of a refusal.
std::string_view code_of(const mcp::RpcError& error) {
  return text_in(error.data ? &*error.data : nullptr, "code");
}

// What a run says of itself, of a call that is one.
std::string_view state_in(const json::Object& result) {
  return text_in(result.if_contains("structuredContent"), "state");
}

bool is_last(std::string_view state) {
  return state == "done" || state == "failed" || state == "cancelled" || state == "unknown";
}

std::string words_in(const json::Object& result) {
  const auto* content = result.if_contains("content");
  const auto* parts = content == nullptr ? nullptr : content->if_array();
  if (parts == nullptr || parts->empty()) return {};
  return std::string(text_in(&parts->front(), "text"));
}

}  // namespace

LiveTask::LiveTask(Facts facts, const base::Clock& clock, asio::any_io_executor loop,
                   std::shared_ptr<ClientSide> asked_by, std::function<void()> on_change)
    : facts_(std::move(facts)),
      clock_(clock),
      loop_(loop),
      on_change_(std::move(on_change)),
      asked_by_(std::move(asked_by)),
      answered_(loop, steady_clock::time_point::max()),
      news_(loop, steady_clock::time_point::max()),
      updated_(clock.now()) {}

void LiveTask::start(base::Task<Reply> work, std::function<void()> ended) {
  auto done = [self = shared_from_this(), ended = std::move(ended)](const std::exception_ptr& error,
                                                                    Reply reply) {
    if (error) reply = fault_reply(refuse(Code::kInternal, "internal error"));
    self->end(std::move(reply));
    ended();
  };
  asio::co_spawn(loop_, without_exception(std::move(work)),
                 asio::bind_cancellation_slot(stop_.slot(), std::move(done)));
}

void LiveTask::end(Reply reply) {
  {
    std::lock_guard held(mutex_);
    questions_.clear();
    answers_.clear();
    updated_ = clock_.now();
    bytes_ = reply.body ? json::write(*reply.body).size() : 0;
    reply_ = std::move(reply);
  }
  news_.cancel();
  if (handed_over_) on_change_();
}

void LiveTask::hand_over_now() {
  handed_over_ = true;
  asked_by_.reset();
}

base::Task<bool> LiveTask::wait_for_news(base::Deadline deadline) {
  auto keep = shared_from_this();
  // All of this is of one loop, so nothing happens between a look and a wait.
  while (!has_ended() && !is_due_ && steady_clock::now() < deadline) {
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return false;
    news_.expires_at(deadline);
    boost::system::error_code woken;
    co_await news_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return true;
}

base::Task<std::optional<Reply>> LiveTask::hand_over(base::Deadline deadline) {
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto keep = shared_from_this();
  bool is_wanted = co_await wait_for_news(deadline);
  if (!is_wanted) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    stop_.emit(asio::cancellation_type::all);
    while (!has_ended()) {
      news_.expires_at(steady_clock::time_point::max());
      boost::system::error_code woken;
      co_await news_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (!has_ended()) {
    hand_over_now();
    co_return std::nullopt;
  }
  std::lock_guard held(mutex_);
  co_return std::move(reply_);
}

Progress LiveTask::progress() {
  return [weak = weak_from_this()](double done, std::optional<double> total, std::string note) {
    auto self = weak.lock();
    if (!self) return;
    std::string message = total ? fmt::format("{} of {}", done, *total) : fmt::format("{}", done);
    if (!note.empty()) message += ": " + note;
    {
      std::lock_guard held(self->mutex_);
      self->message_ = shortened(std::move(message));
      self->updated_ = self->clock_.now();
    }
    if (!std::exchange(self->is_due_, true)) self->news_.cancel();
    if (self->handed_over_) self->on_change_();
  };
}

void LiveTask::tell(mcp::Notification notification) {
  if (asked_by_) asked_by_->tell(std::move(notification));
}

std::string LiveTask::name_for(std::string_view question) {
  std::string name(question);
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}-{}", question, i);
  return name;
}

base::Task<Outcome<json::Object>> LiveTask::ask(json::Object questions) {
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto keep = shared_from_this();
  std::vector<std::pair<std::string, std::string>> asked;  // As it was meant, and as it is asked.
  {
    std::lock_guard held(mutex_);
    answers_.clear();
    for (auto& one : questions) {
      std::string name = name_for(one.key());
      questions_[name] = std::move(one.value());
      asked.emplace_back(one.key(), std::move(name));
    }
    updated_ = clock_.now();
  }
  on_change_();
  Outcome<json::Object> out = refuse(Code::kTimeout, "nobody answered the task's question");
  while (true) {
    auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      out = refuse(Code::kCancelled, "cancelled");
      break;
    }
    {
      std::lock_guard held(mutex_);
      if (questions_.empty()) {
        json::Object responses;
        for (const auto& [meant, name] : asked) responses[meant] = std::move(answers_[name]);
        out = std::move(responses);
        break;
      }
    }
    if (steady_clock::now() >= facts_.deadline) break;
    answered_.expires_at(facts_.deadline);
    boost::system::error_code woken;
    co_await answered_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  {
    std::lock_guard held(mutex_);
    questions_.clear();
    answers_.clear();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return out;
}

void LiveTask::answer(const json::Object& responses) {
  bool is_whole = false;
  {
    std::lock_guard held(mutex_);
    for (const auto& one : responses) {
      if (questions_.erase(one.key()) == 0) continue;
      answers_[one.key()] = one.value();
      updated_ = clock_.now();
      is_whole = questions_.empty();
    }
  }
  if (is_whole) wake();
  on_change_();
}

void LiveTask::wake() {
  asio::post(loop_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->answered_.cancel();
  });
}

void LiveTask::cancel(By who) {
  {
    std::lock_guard held(mutex_);
    if (reply_) return;
    is_cancelled_ = is_cancelled_ || who == By::kOwner;
    updated_ = clock_.now();
  }
  asio::post(loop_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->stop_.emit(asio::cancellation_type::all);
  });
}

bool LiveTask::has_ended() const {
  std::lock_guard held(mutex_);
  return reply_.has_value();
}

std::size_t LiveTask::bytes() const {
  std::lock_guard held(mutex_);
  return bytes_;
}

bool LiveTask::waits() const {
  bool lasts = facts_.lasts == Lasts::kByItsRecord;
  return lasts && has_ended() && view().status == TaskStatus::kWorking;
}

TaskView LiveTask::base_view() const {
  TaskView view;
  view.id = facts_.id;
  view.message = message_;
  view.created = facts_.created;
  view.changed = std::max(updated_, facts_.created);
  view.life = facts_.life;
  return view;
}

TaskView LiveTask::view() const {
  std::lock_guard held(mutex_);
  if (reply_) return ended_view();
  TaskView view = base_view();
  if (!questions_.empty()) {
    view.status = TaskStatus::kInputRequired;
    view.questions = questions_;
  }
  return view;
}

// Of one that lasts only what its record says is an end.
TaskView LiveTask::ended_view() const {
  TaskView view = base_view();
  bool lasts = facts_.lasts == Lasts::kByItsRecord;
  if (!reply_->body) {
    const mcp::RpcError& error = reply_->body.error();
    view.message = error.message;
    bool is_cancelled = is_cancelled_ && code_of(error) == name(Code::kCancelled);
    if (is_cancelled) {
      view.status = TaskStatus::kCancelled;
      view.message = lasts ? std::string(kTakenBack) : fmt::format("cancelled; {}", kNobodyKnows);
    } else if (lasts) {
      view.message = fmt::format("it waits: {}: {}", code_of(error), error.message);
    } else {
      view.status = TaskStatus::kFailed;
      view.error = error;
    }
    return view;
  }
  std::string_view state = state_in(*reply_->body);
  if (lasts && !is_last(state)) {
    view.message = shortened("it waits: " + words_in(*reply_->body));
    return view;
  }
  if (lasts && state == "cancelled") {
    view.status = TaskStatus::kCancelled;
    view.message = kTakenBack;
    return view;
  }
  view.status = TaskStatus::kCompleted;
  view.result = *reply_->body;
  if (lasts && state == "unknown")
    view.message = "whether one of the steps did its work is not known";
  return view;
}

}  // namespace tool::mcp_ingress
