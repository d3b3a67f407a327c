#include "base/postgres/listener.h"

#include "base/postgres/connection.h"

namespace base::pg {
namespace {

// LISTEN takes no parameter. Quoted, any name is a name.
std::string listen_statement(std::string_view channel) {
  std::string sql = "LISTEN \"";
  for (char c : channel) sql.append(c == '"' ? 2 : 1, c);
  return sql + "\"";
}

class OneListener : public Listener {
 public:
  explicit OneListener(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  Task<Result<std::vector<RowsPtr>>> ask(RequestContext context, Query query) {
    Batch batch;
    batch.queries.push_back(std::move(query));
    // Nothing here outlives the session, so nothing is ever in doubt.
    co_return settle(co_await connection_->run(std::move(batch), context.deadline), Effect::kReads);
  }

  Task<Result<bool>> try_lock(RequestContext context, std::string name) override {
    CO_ASSIGN_OR_RETURN(
        auto rows,
        co_await ask(context, {{"SELECT pg_try_advisory_lock(hashtextextended($1::text, 0))"},
                               {param(std::move(name))}}));
    co_return rows.front()->boolean(0, 0);
  }

  Task<Result<std::vector<std::string>>> next(RequestContext context) override {
    std::vector<std::string> payloads;
    Loss loss = co_await connection_->hear(&payloads, context.deadline);
    if (loss == Loss::kNone || loss == Loss::kDeadline) co_return payloads;
    ErrorKind kind = loss == Loss::kCancelled ? ErrorKind::kCancelled : ErrorKind::kUnavailable;
    co_return fail(kind, std::string(message_for(kind)));
  }

  Task<Status> ping(RequestContext context) override {
    CO_RETURN_IF_ERROR(co_await ask(context, {{"SELECT 1"}, {}}));
    co_return Status{};
  }

  void close() override { connection_->abort(); }

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace

Task<Result<std::unique_ptr<Listener>>> Listener::open(RequestContext context, PoolOptions options,
                                                       std::string channel) {
  auto shared = std::make_shared<const PoolOptions>(std::move(options));
  CO_ASSIGN_OR_RETURN(auto connection,
                      co_await Connection::open(std::move(shared), context.deadline));
  auto listener = std::make_unique<OneListener>(std::move(connection));
  CO_RETURN_IF_ERROR(co_await listener->ask(context, {{listen_statement(channel)}, {}}));
  co_return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace base::pg
