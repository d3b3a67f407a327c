#include "toolserver/connectors/sql/sql_call.h"

namespace tool::connectors {

void SqlCall::stop() {
  std::lock_guard lock(mutex_);
  if (connection_ != nullptr) connection_->interrupt();
}

std::optional<Fault> SqlCall::ended() const {
  if (cancelled_) return refuse(Code::kCancelled, "sql: the call was cancelled");
  if (expired()) return refuse(Code::kTimeout, "sql: the statement did not finish in time");
  return std::nullopt;
}

std::optional<double> SqlCall::progress() {
  std::lock_guard lock(mutex_);
  if (connection_ == nullptr) return std::nullopt;
  return connection_->progress();
}

SqlCall::Using::Using(SqlCall& call, base::duckdb::Connection& connection) : call_(call) {
  std::lock_guard lock(call_.mutex_);
  call_.connection_ = &connection;
}

SqlCall::Using::~Using() {
  std::lock_guard lock(call_.mutex_);
  call_.connection_ = nullptr;
}

}  // namespace tool::connectors
