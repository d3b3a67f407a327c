#include "toolserver/connectors/sql/sql_child.h"

#include <malloc.h>
#include <unistd.h>

#include <list>
#include <mutex>
#include <new>
#include <thread>

#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/connectors/sql/sql_exchange.h"
#include "toolserver/connectors/sql/sql_work.h"
#include "toolserver/isolate/part.h"

namespace tool::connectors {
namespace {

using isolate::Ticket;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Of a process whose engine has failed: the next one has all that it had.
constexpr int kEngineFailed = 10;

struct Watched {
  SqlCall* call;
  Ticket* ticket;
  steady_clock::time_point told;
};

/// Looks at the clock and at the caller of each call, and tells how far it is.
class Watch {
 public:
  Watch() {
    std::thread([this] {
      for (;;) {
        std::this_thread::sleep_for(kTick);
        look();
      }
    }).detach();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// A call under way, for as long as this object lives.
  class Of {
   public:
    Of(Watch& watch, SqlCall& call, Ticket& ticket) : watch_(watch) {
      std::lock_guard lock(watch_.mutex_);
      at_ = watch_.calls_.insert(watch_.calls_.end(), {&call, &ticket, steady_clock::now()});
    }
    ~Of() {
      std::lock_guard lock(watch_.mutex_);
      watch_.calls_.erase(at_);
    }
    Of(const Of&) = delete;
    Of& operator=(const Of&) = delete;

   private:
    Watch& watch_;
    std::list<Watched>::iterator at_;
  };

 private:
  static constexpr milliseconds kTick{20};
  static constexpr milliseconds kReport{250};

  void look();

  std::mutex mutex_;
  std::list<Watched> calls_;  // Guarded by mutex_.
};

void Watch::look() {
  std::lock_guard lock(mutex_);
  auto now = steady_clock::now();
  for (Watched& one : calls_) {
    if (one.ticket->cancelled()) {
      one.call->cancel();
    } else if (one.call->expired()) {
      one.call->stop();
    } else if (now - one.told >= kReport) {
      one.told = now;
      one.ticket->progress(encode(SqlNote{one.call->progress().value_or(-1), one.call->rows()}));
    }
  }
}

Outcome<ToolResult> perform(SqlWork& work, const SqlRequest& request, SqlCall& call) {
  struct Perform {
    SqlWork& work;
    SqlCall& call;
    Outcome<ToolResult> operator()(const QueryRequest& query) const {
      return work.query(query, call);
    }
    Outcome<ToolResult> operator()(const LoadRequest& load) const { return work.load(load, call); }
    Outcome<ToolResult> operator()(const UnloadRequest& unload) const {
      return work.unload(unload, call);
    }
    Outcome<ToolResult> operator()(const ListRequest&) const { return work.list_tables(); }
    Outcome<ToolResult> operator()(const DescribeRequest& describe) const {
      return work.describe(describe.table.text());
    }
    Outcome<ToolResult> operator()(const NameRequest& name) const {
      return work.name_tables(name.sql, name.params, call);
    }
    Outcome<ToolResult> operator()(const PartsRequest& parts) const {
      return work.find_parts(parts.tables, call);
    }
    Outcome<ToolResult> operator()(const BringRequest& bring) const {
      return work.bring_tables(bring.tables, call);
    }
  };
  if (auto ended = call.ended()) return *std::move(ended);
  return std::visit(Perform{work, call}, request);
}

Outcome<ToolResult> answer_to(SqlWork& work, Watch& watch, std::string_view text, Ticket& ticket) {
  auto order = read_order(text);
  if (!order) return refuse(Code::kInternal, "sql: the call could not be read");
  auto tool = ToolId::parse(order->tool);
  if (!tool) return refuse(Code::kTool, "there is no such tool");
  Invocation invocation{.tool = *std::move(tool), .args = std::move(order->args)};
  invocation.dry_run = order->dry_run;
  auto request = sql_request(invocation, work.options());
  if (!request) return std::move(request).error();
  SqlCall call(steady_clock::now() + order->time);
  Watch::Of watched(watch, call, ticket);
  const auto* query = std::get_if<QueryRequest>(&*request);
  if (order->tables.empty()) return perform(work, *request, call);
  // What else has tables is judged by those who ask.
  if (query == nullptr) return refuse(Code::kInternal, "sql: the call could not be read");
  auto kept = work.keeps_to_tables(query->sql, order->tables, call);
  if (!kept) return std::move(kept).error();
  return ToolResult{};
}

// The tables from before. One that cannot be loaded any more is not there.
void load_again(SqlWork& work, const std::vector<SavedTable>& tables) {
  for (const SavedTable& saved : tables) {
    auto file = DataFile::parse(saved.file);
    auto table = TableName::parse(saved.table);
    if (!file || !table) continue;
    SqlCall call(steady_clock::now() + work.options().time);
    (void)work.load({.file = *std::move(file), .table = *std::move(table)}, call);
  }
}

base::Result<isolate::PartHandler> open_part(const std::string& text) {
  ASSIGN_OR_RETURN(SqlOpening opening, read_opening(text));
  ASSIGN_OR_RETURN(std::shared_ptr<SqlWork> work, SqlWork::open(opening.options));
  load_again(*work, opening.tables);
  auto watch = std::make_shared<Watch>();
  std::size_t most = sql_answer_bytes(opening.options.bytes);
  return isolate::PartHandler([work, watch, most](const std::string& order, Ticket& ticket) {
    try {
      auto answer = answer_to(*work, *watch, order, ticket);
      if (!answer && answer.error().code == Code::kInternal) ::_exit(kEngineFailed);
      return encode(answer, most);
    } catch (const std::bad_alloc&) {
      return encode(refuse(Code::kLimit, "sql: the answer needs more memory than there is"), most);
    }
  });
}

}  // namespace

int sql_child(int channel) {
  // Each heap of a thread's own reserves address space, which is limited.
  ::mallopt(M_ARENA_MAX, 2);
  return isolate::serve_part(channel, {}, open_part);
}

}  // namespace tool::connectors
