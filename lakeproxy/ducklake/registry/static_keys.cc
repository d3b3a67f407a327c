#include "lakeproxy/ducklake/registry/static_keys.h"

#include <algorithm>

#include "base/json/fields.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;

constexpr std::size_t kMostAccessKey = 128;
constexpr std::size_t kMostText = 1024;

constexpr auto kColumns =
    "access_key_id, principal, secret_access_key, note, confined, applied_scope";

base::Error broken(std::string_view member, std::string_view rule) {
  return base::fail(ErrorKind::kInvalid, std::string(member) + ": " + std::string(rule));
}

StaticKey read_key(const base::pg::Rows& rows, std::size_t i) {
  return {.access_key = std::string(rows.text(i, 0)),
          .principal = std::string(rows.text(i, 1)),
          .secret = base::Secret(rows.opt_text(i, 2).value_or("")),
          .note = std::string(rows.text(i, 3)),
          .confined = rows.boolean(i, 4),
          .applied_scope = rows.opt_text(i, 5)};
}

// It stands in bucket policies and in signatures.
bool is_access_key(std::string_view text) {
  return !text.empty() && text.size() <= kMostAccessKey && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

bool is_short(std::string_view text) { return text.size() <= kMostText && !text.contains('\0'); }

}  // namespace

base::Result<StaticKey> static_key_from_json(const base::json::Value& body) {
  ASSIGN_OR_RETURN(auto fields, base::json::Fields::of(body, ""));
  StaticKey key;
  ASSIGN_OR_RETURN(key.access_key, fields.string("access-key-id"));
  if (!is_access_key(key.access_key)) {
    return broken("access-key-id", "must be 1 to 128 letters, digits, '_', '-' or '.'");
  }
  ASSIGN_OR_RETURN(key.principal, fields.string("principal"));
  if (key.principal.empty() || !is_short(key.principal)) {
    return broken("principal", "must be 1 to 1024 bytes");
  }
  ASSIGN_OR_RETURN(auto secret, fields.opt_string("secret-access-key"));
  if (secret && (secret->empty() || !is_short(*secret))) {
    return broken("secret-access-key", "must be 1 to 1024 bytes");
  }
  key.secret = base::Secret(secret.value_or(""));
  ASSIGN_OR_RETURN(auto note, fields.opt_string("note"));
  key.note = note.value_or("");
  if (!is_short(key.note)) return broken("note", "must be at most 1024 bytes");
  ASSIGN_OR_RETURN(auto confined, fields.opt_boolean("confined"));
  key.confined = confined.value_or(false);
  return key;
}

base::json::Object to_json(const StaticKey& key) {
  base::json::Object object{{"access-key-id", key.access_key},
                            {"principal", key.principal},
                            {"has-secret", !key.secret.empty()},
                            {"note", key.note},
                            {"confined", key.confined}};
  if (key.applied_scope) object["applied-scope"] = *key.applied_scope;
  return object;
}

base::Task<base::Status> StaticKeys::put(base::RequestContext context, StaticKey key) {
  std::optional<std::string> secret;
  if (!key.secret.empty()) secret = key.secret.reveal();
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context,
      {sql_("INSERT INTO @lakeproxy_static_key (access_key_id, principal, secret_access_key, note, "
            "confined) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (access_key_id) DO UPDATE SET "
            "principal = EXCLUDED.principal, secret_access_key = EXCLUDED.secret_access_key, note "
            "= EXCLUDED.note, confined = EXCLUDED.confined, applied_scope = NULL, created_at = "
            "clock_timestamp()"),
       {param(key.access_key), param(key.principal), secret, param(key.note),
        param(key.confined)}}));
  co_return base::Status{};
}

base::Task<base::Result<std::vector<StaticKey>>> StaticKeys::list(base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await pool_->query(context, {sql_(std::string("SELECT ") + kColumns +
                                           " FROM @lakeproxy_static_key ORDER BY access_key_id"),
                                      {}}));
  std::vector<StaticKey> keys;
  for (std::size_t i = 0; i < rows->size(); ++i) keys.push_back(read_key(*rows, i));
  co_return keys;
}

base::Task<base::Result<std::optional<StaticKey>>> StaticKeys::of(base::RequestContext context,
                                                                  std::string principal) {
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await pool_->query(
          context, {sql_(std::string("SELECT ") + kColumns +
                         " FROM @lakeproxy_static_key WHERE principal = $1 AND secret_access_key "
                         "IS NOT NULL ORDER BY created_at DESC LIMIT 1"),
                    {param(std::move(principal))}}));
  if (rows->empty()) co_return std::nullopt;
  co_return read_key(*rows, 0);
}

base::Task<base::Status> StaticKeys::remove(base::RequestContext context, std::string access_key) {
  CO_ASSIGN_OR_RETURN(
      auto rows, co_await pool_->query(
                     context, {sql_("DELETE FROM @lakeproxy_static_key WHERE access_key_id = $1 "
                                    "RETURNING access_key_id"),
                               {param(std::move(access_key))}}));
  if (!rows->empty()) co_return base::Status{};
  co_return base::fail(ErrorKind::kNotFound, "No such key").with_reason(kNoSuchKey);
}

base::Task<base::Status> StaticKeys::note_applied(base::RequestContext context,
                                                  std::string access_key,
                                                  std::optional<std::string> scope) {
  CO_RETURN_IF_ERROR(co_await pool_->query(
      context,
      {sql_("UPDATE @lakeproxy_static_key SET applied_scope = $2 WHERE access_key_id = $1"),
       {param(std::move(access_key)), std::move(scope)}}));
  co_return base::Status{};
}

base::Task<base::Result<std::vector<NamespaceFolder>>> StaticKeys::table_folders(
    base::RequestContext context) {
  CO_ASSIGN_OR_RETURN(
      auto rows,
      co_await pool_->query(
          context,
          {sql_("SELECT DISTINCT s.flat_name, f.folder FROM @lakeproxy_folders() f JOIN "
                "@ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL JOIN "
                "@lakeproxy_schemas() s ON s.schema_id = t.schema_id WHERE NOT EXISTS (SELECT 1 "
                "FROM @lakeproxy_folders() m WHERE m.table_id IN (SELECT "
                "@lakeproxy_file_masked('', '{}')) AND (starts_with(f.folder, m.folder) OR "
                "starts_with(m.folder, f.folder))) ORDER BY 2, 1"),
           {}}));
  std::vector<NamespaceFolder> folders;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    folders.push_back({std::string(rows->text(i, 0)), std::string(rows->text(i, 1))});
  }
  co_return folders;
}

}  // namespace lake::ducklake
