#pragma once

// Small pieces of the wire form that several actions need.

#include <map>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/http/message.h"
#include "base/json/json.h"
#include "lakeproxy/http/route.h"
#include "lakeproxy/model/identifier.h"
#include "lakeproxy/operation/namespaces.h"

namespace lake::http {

[[nodiscard]] base::http::Response json_response(unsigned status, base::http::Body body);
[[nodiscard]] base::http::Response json_response(unsigned status, const base::json::Value& value);
[[nodiscard]] base::http::Response no_content();

/// The body as JSON. Errors: kInvalid  not JSON, none, or nested too deep.
[[nodiscard]] base::Result<base::json::Value> body_of(const Call& call);
/// The same of one that may nest deeper than usual.
[[nodiscard]] base::Result<base::json::Value> body_of(const Call& call, std::size_t depth);
/// The body as the fields of a form. Errors: kInvalid  broken encoding, more than 32 fields, or one
/// that comes twice.
[[nodiscard]] base::Result<std::map<std::string, std::string, std::less<>>> form_of(
    const Call& call);
/// The path's namespace. Errors: kInvalid.
[[nodiscard]] base::Result<model::Namespace> namespace_of(const Call& call);
[[nodiscard]] base::Result<model::TableIdentifier> table_of(const Call& call);
/// pageToken and pageSize. Errors: kInvalid  a size that is not 1 to 10,000, or
/// a token that page_token() did not make.
[[nodiscard]] base::Result<operation::Paging> paging_of(const Call& call);
/// "next-page-token" for the page after `next`; null when there is none.
[[nodiscard]] base::json::Value page_token(const std::optional<std::string>& next);
/// true or false in any case; `absent` when not given. Errors: kInvalid.
[[nodiscard]] base::Result<bool> flag_of(const Call& call, std::string_view name, bool absent);
[[nodiscard]] base::json::Value to_json(const model::Namespace& name);
/// ListTablesResponse, of tables and of views.
[[nodiscard]] base::http::Response identifiers_response(const model::Namespace& name_space,
                                                        const ducklake::Page<std::string>& names);

/// RenameTableRequest, of tables and of views.
struct Renaming {
  model::TableIdentifier source;
  model::TableIdentifier destination;
};
/// Errors: kInvalid.
[[nodiscard]] base::Result<Renaming> renaming_of(const base::json::Value& body);

}  // namespace lake::http
