#include "toolserver/app/audit_watch.h"

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "base/json/json.h"

namespace tool::app {
namespace {

constexpr std::chrono::seconds kAnswerTime{5};
constexpr std::chrono::seconds kRetry{5};

}  // namespace

base::Result<std::unique_ptr<Witness>> Witness::create(std::string url, base::log::Logger log,
                                                       base::metrics::Registry& metrics) {
  pipeline::WebhookOptions options;
  options.url = std::move(url);
  options.timeout = kAnswerTime;
  auto hook = pipeline::Webhook::create(std::move(options));
  if (!hook) return std::move(hook).error().with_context("audit.witness_url");
  return std::unique_ptr<Witness>(new Witness(std::move(*hook), std::move(log), metrics));
}

Witness::Witness(std::unique_ptr<pipeline::Webhook> hook, base::log::Logger log,
                 base::metrics::Registry& metrics)
    : log_(std::move(log)),
      failures_(metrics.counter("securetool_audit_witness_failures_total",
                                "Times that the witness did not take a checkpoint.")),
      hook_(std::move(hook)) {
  thread_ = std::thread([this] { run(); });
}

Witness::~Witness() {
  {
    std::lock_guard held(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
  hook_.reset();  // Its connections are closed on the loop.
  loop_.restart();
  loop_.run();
}

void Witness::send(std::string checkpoint) {
  {
    std::lock_guard held(mutex_);
    newest_ = std::move(checkpoint);
  }
  wake_.notify_one();
}

void Witness::run() {
  std::unique_lock held(mutex_);
  while (true) {
    if (newest_.empty()) {
      if (is_ending_) return;
      wake_.wait(held);
      continue;
    }
    std::string sent = newest_;
    held.unlock();
    bool is_taken = post(sent);
    held.lock();
    if (is_taken && newest_ == sent) newest_.clear();
    if (is_taken) continue;
    if (is_ending_) return;
    wake_.wait_for(held, kRetry, [this] { return is_ending_; });
  }
}

bool Witness::post(const std::string& checkpoint) {
  auto body = base::json::parse(checkpoint);
  if (!body || !body->is_object()) return true;  // Not a line of ours: nothing to send.
  std::optional<base::Result<base::json::Object>> answer;
  boost::asio::co_spawn(loop_,
                        hook_->post(base::RequestContext{}, "", std::move(body->get_object())),
                        [&](std::exception_ptr error, base::Result<base::json::Object> result) {
                          if (!error) answer.emplace(std::move(result));
                        });
  loop_.restart();
  while (!answer && loop_.run_one() > 0) {
  }
  if (answer && *answer) {
    if (is_failing_) log_.info("the witness takes checkpoints again");
    is_failing_ = false;
    return true;
  }
  failures_.add();
  if (!is_failing_) {
    log_.warning("the witness does not take the checkpoint; it is sent again",
                 {{"error", answer ? std::string(answer->error().message()) : "no answer"}});
  }
  is_failing_ = true;
  return false;
}

SpaceWatch::SpaceWatch(base::log::Logger log, base::metrics::Registry& metrics)
    : log_(std::move(log)),
      free_(metrics.gauge("securetool_audit_free_bytes",
                          "Free space on the file system of the audit trail.")),
      trail_(metrics.gauge("securetool_audit_trail_bytes", "Size of the audit trail's files.")),
      alarm_(metrics.gauge("securetool_audit_space_alarm",
                           "0: room enough; 1: little room; 2: none, calls are refused.")) {}

void SpaceWatch::show(const audit::Space& space) {
  free_.set(static_cast<std::int64_t>(space.free_bytes));
  trail_.set(static_cast<std::int64_t>(space.trail_bytes));
  alarm_.set(static_cast<std::int64_t>(space.state));
  if (space.state == last_) return;
  bool is_worse = space.state > last_;
  last_ = space.state;
  base::log::Fields fields{{"state", audit::name(space.state)},
                           {"free_bytes", space.free_bytes},
                           {"trail_bytes", space.trail_bytes}};
  if (space.state == audit::SpaceState::kFull) {
    log_.error("the audit trail has no room: calls are refused", fields);
  } else if (is_worse) {
    log_.warning("the audit trail has little room: make some before calls are refused", fields);
  } else {
    log_.info("the audit trail has more room again", fields);
  }
}

}  // namespace tool::app
