#include "base/postgres/migrations.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/core/text.h"

namespace base::pg {
namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;

Digest digest_of(std::string_view text) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string checksum(const Migration& migration) {
  const bool is_same = migration.recorded_as.empty();
  return to_hex(digest_of(is_same ? migration.sql : migration.recorded_as));
}

// One lock per version table.
std::int64_t lock_key(std::string_view table) {
  Digest digest = digest_of(table);
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) key = key << 8 | digest[i];
  return static_cast<std::int64_t>(key);
}

bool is_identifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && letter(text.front()) &&
         std::ranges::all_of(text, inner);
}

// The name goes into the statements as it stands, so it is held to a form
// that needs no quotes.
Result<std::string> schema_of(std::string_view table) {
  auto dot = table.find('.');
  if (dot == std::string_view::npos || !is_identifier(table.substr(0, dot)) ||
      !is_identifier(table.substr(dot + 1))) {
    return fail(ErrorKind::kInvalid, "version table: must be schema.table in lower case");
  }
  return std::string(table.substr(0, dot));
}

Status check_order(const std::vector<Migration>& migrations) {
  int last = 0;
  for (const auto& migration : migrations) {
    if (migration.version <= last) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("migration {}: versions must rise from 1", migration.version));
    }
    last = migration.version;
  }
  return {};
}

// The first migration to apply, given what was applied in rising order.
Result<std::size_t> first_pending(const Rows& applied, const std::vector<Migration>& migrations) {
  std::int64_t newest = migrations.empty() ? 0 : migrations.back().version;
  for (std::size_t i = 0; i < applied.size(); ++i) {
    std::int64_t version = applied.int64(i, 0);
    if (version > newest) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("the database schema has version {}, this program knows up to {}",
                              version, newest));
    }
    if (i >= migrations.size() || migrations[i].version != version) {
      return fail(ErrorKind::kCorrupt,
                  fmt::format("migration {} was applied out of order", version));
    }
    if (applied.text(i, 1) != checksum(migrations[i])) {
      return fail(ErrorKind::kCorrupt,
                  fmt::format("migration {} has changed since it was applied", version));
    }
  }
  return applied.size();
}

Task<Result<RowsPtr>> run_one(Transaction& transaction, Query query) {
  std::vector<Query> queries;
  queries.push_back(std::move(query));
  CO_ASSIGN_OR_RETURN(auto rows, co_await transaction.run(std::move(queries)));
  co_return std::move(rows.front());
}

constexpr std::chrono::milliseconds kLook{200};

struct Run {
  Pool* pool;
  RequestContext context;
  std::string table;
  std::string schema;
  std::vector<Migration> migrations;
  MigrationWatch watch;

  void tell(std::string_view step) const {
    if (watch) watch(step);
  }
};

// Holds the lock. A statement that waited for it in the server would outlive a
// client that gave up, so this one asks again and again.
Task<Result<std::unique_ptr<Transaction>>> take_lock(const Run* run) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  for (bool told = false;; told = true) {
    std::vector<Query> first;
    first.push_back({{"SET LOCAL statement_timeout = 0"}, {}});
    // It says nothing while indexes are built.
    first.push_back({{"SET LOCAL idle_in_transaction_session_timeout = 0"}, {}});
    first.push_back({{"SELECT pg_try_advisory_xact_lock($1)"}, {param(lock_key(run->table))}});
    CO_ASSIGN_OR_RETURN(auto begun, co_await run->pool->begin(run->context, std::move(first)));
    if (begun.rows[2]->boolean(0, 0)) co_return std::move(begun.transaction);
    co_await begun.transaction->rollback();
    if (!told) run->tell("waits for another process");
    timer.expires_after(kLook);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

// Opens a transaction that holds the lock and in which the table exists.
Task<Result<std::unique_ptr<Transaction>>> lock(const Run* run) {
  CO_ASSIGN_OR_RETURN(auto transaction, co_await take_lock(run));
  // IF NOT EXISTS asks for the right to create even when there is nothing to do.
  Query known{{"SELECT to_regclass($1) IS NOT NULL"}, {param(run->table)}};
  CO_ASSIGN_OR_RETURN(auto exists, co_await run_one(*transaction, std::move(known)));
  if (!exists->boolean(0, 0)) {
    std::string sql = fmt::format(
        "CREATE SCHEMA IF NOT EXISTS {}; CREATE TABLE {} (version bigint PRIMARY KEY, "
        "checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
        run->schema, run->table);
    CO_RETURN_IF_ERROR(co_await transaction->script(std::move(sql)));
  }
  co_return std::move(transaction);
}

// Large, there and whole, there and broken: a build that was cut off leaves an
// index that nothing uses and every write pays for.
Query look_at(const MigrationIndex& index) {
  return {{"WITH t AS (SELECT to_regclass(format('%I.%I', $1::text, $2::text)) AS oid), "
           "i AS (SELECT indisvalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid, t "
           "WHERE indrelid = t.oid AND relname = $3) "
           "SELECT coalesce(pg_relation_size(oid), 0) > $4, EXISTS (SELECT 1 FROM i WHERE "
           "indisvalid), EXISTS (SELECT 1 FROM i WHERE NOT indisvalid) FROM t"},
          {param(index.schema), param(index.table), param(index.name), param(kLargeTable)}};
}

// Beside `transaction`, which keeps the lock.
Task<Status> build(const Run* run, Transaction* transaction, const MigrationIndex* index) {
  std::vector<Query> look;
  look.push_back(look_at(*index));
  // The last query's portal keeps its snapshot, and a build waits for every older
  // one. A statement that needs none takes its place.
  look.push_back({{"SET LOCAL statement_timeout = 0"}, {}});
  CO_ASSIGN_OR_RETURN(auto rows, co_await transaction->run(std::move(look)));
  const RowsPtr& seen = rows.front();
  const bool broken = seen->boolean(0, 2);
  if (broken) {
    CO_RETURN_IF_ERROR(co_await run->pool->script(
        run->context,
        fmt::format(R"(DROP INDEX CONCURRENTLY "{}"."{}")", index->schema, index->name)));
  }
  if (seen->boolean(0, 1) || !seen->boolean(0, 0)) co_return Status();
  run->tell("index " + index->name);
  if (!index->needs.empty()) {
    CO_RETURN_IF_ERROR(co_await run->pool->script(run->context, index->needs));
  }
  CO_RETURN_IF_ERROR(co_await run->pool->script(
      run->context, fmt::format(R"(CREATE INDEX CONCURRENTLY "{}" ON "{}"."{}" {})", index->name,
                                index->schema, index->table, index->rest)));
  co_return Status();
}

// Applies one migration; false when none was left.
Task<Result<bool>> apply_next(const Run* run) {
  CO_ASSIGN_OR_RETURN(auto transaction, co_await lock(run));
  Query list{{fmt::format("SELECT version, checksum FROM {} ORDER BY version", run->table)}, {}};
  CO_ASSIGN_OR_RETURN(auto applied, co_await run_one(*transaction, std::move(list)));
  CO_ASSIGN_OR_RETURN(std::size_t next, first_pending(*applied, run->migrations));
  std::vector<Query> last;
  if (next < run->migrations.size()) {
    const Migration& migration = run->migrations[next];
    for (const MigrationIndex& index : migration.indexes) {
      CO_RETURN_IF_ERROR(co_await build(run, transaction.get(), &index));
    }
    run->tell(fmt::format("migration {}", migration.version));
    CO_RETURN_IF_ERROR(co_await transaction->script(migration.sql));
    last.push_back({{fmt::format("INSERT INTO {} (version, checksum) VALUES ($1, $2)", run->table)},
                    {param(std::int64_t{migration.version}), param(checksum(migration))}});
  }
  CO_RETURN_IF_ERROR(co_await transaction->run_and_commit(std::move(last)));
  co_return next < run->migrations.size();
}

}  // namespace

Task<Result<void>> migrate(Pool& pool, RequestContext context, std::string version_table,
                           std::vector<Migration> migrations, MigrationWatch watch) {
  CO_ASSIGN_OR_RETURN(std::string schema, schema_of(version_table));
  CO_RETURN_IF_ERROR(check_order(migrations));
  const Run run{&pool, context, version_table, schema, std::move(migrations), std::move(watch)};
  for (;;) {
    CO_ASSIGN_OR_RETURN(bool applied, co_await apply_next(&run));
    if (!applied) co_return Status();
  }
}

}  // namespace base::pg
