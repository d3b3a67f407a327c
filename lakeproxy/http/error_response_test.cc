#include "lakeproxy/http/error_response.h"

#include <gtest/gtest.h>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/lake/reasons.h"

namespace lake::http {
namespace {

using base::Error;
using base::ErrorKind;

struct Case {
  const char* name;
  ErrorKind kind;
  std::string_view reason;
  Effect effect;
  unsigned status;
  const char* type;
};

std::string type_of(const base::http::Response& response) {
  auto json = base::json::parse(response.body.view());
  const auto& error = json->as_object().at("error").as_object();
  EXPECT_EQ(error.at("code").as_int64(), response.status);
  return std::string(error.at("type").as_string());
}

TEST(ErrorResponse, gives_each_kind_its_status) {
  const Case cases[] = {
      {"invalid", ErrorKind::kInvalid, {}, Effect::kRead, 400, "BadRequestException"},
      {"contradiction", ErrorKind::kInvalid, kUnprocessable, Effect::kChange, 422,
       "UnprocessableEntityException"},
      {"unauthenticated",
       ErrorKind::kUnauthenticated,
       {},
       Effect::kRead,
       401,
       "NotAuthorizedException"},
      {"forbidden", ErrorKind::kForbidden, {}, Effect::kRead, 403, "ForbiddenException"},
      {"namespace", ErrorKind::kNotFound, ducklake::kNoSuchNamespace, Effect::kRead, 404,
       "NoSuchNamespaceException"},
      {"table", ErrorKind::kNotFound, ducklake::kNoSuchTable, Effect::kCommit, 404,
       "NoSuchTableException"},
      {"taken", ErrorKind::kAlreadyExists, {}, Effect::kChange, 409, "AlreadyExistsException"},
      {"not_empty", ErrorKind::kConflict, ducklake::kNamespaceNotEmpty, Effect::kChange, 409,
       "NamespaceNotEmptyException"},
      {"conflict", ErrorKind::kConflict, {}, Effect::kCommit, 409, "CommitFailedException"},
      {"too_large", ErrorKind::kTooLarge, {}, Effect::kRead, 413, "PayloadTooLargeException"},
      {"unsupported",
       ErrorKind::kUnsupported,
       {},
       Effect::kCommit,
       501,
       "UnsupportedOperationException"},
      {"away", ErrorKind::kUnavailable, {}, Effect::kRead, 503, "ServiceUnavailableException"},
      {"away_in_a_change",
       ErrorKind::kUnavailable,
       {},
       Effect::kChange,
       503,
       "ServiceUnavailableException"},
      {"certainly_not_committed",
       ErrorKind::kUnavailable,
       {},
       Effect::kCommit,
       409,
       "CommitFailedException"},
      {"others_were_faster", ErrorKind::kConflict, ducklake::kBusy, Effect::kCommit, 409,
       "CommitFailedException"},
      {"perhaps_committed",
       ErrorKind::kOutcomeUnknown,
       {},
       Effect::kCommit,
       500,
       "CommitStateUnknownException"},
      {"defect", ErrorKind::kInternal, {}, Effect::kRead, 500, "InternalServerError"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto response = error_response(Error(c.kind, "message").with_reason(c.reason), c.effect, "id");
    EXPECT_EQ(response.status, c.status);
    EXPECT_EQ(type_of(response), c.type);
    EXPECT_EQ(response.headers.get("Retry-After").has_value(),
              c.status == 503 || c.kind == ErrorKind::kUnavailable || c.reason == ducklake::kBusy);
    EXPECT_EQ(response.headers.get("WWW-Authenticate").has_value(), c.status == 401);
  }
}

TEST(ErrorResponse, shows_a_request_id_and_nothing_of_a_defect) {
  Error error =
      Error(ErrorKind::kInternal, "relation secret_table is broken").with_detail("SQLSTATE XX000");
  auto response = error_response(error, Effect::kRead, "0123456789abcdef");
  EXPECT_EQ(response.body.view().find("secret_table"), std::string_view::npos);
  EXPECT_EQ(response.body.view().find("XX000"), std::string_view::npos);
  EXPECT_NE(response.body.view().find("0123456789abcdef"), std::string_view::npos);
}

TEST(ErrorResponse, never_shows_the_detail) {
  Error error = Error(ErrorKind::kUnavailable, "PostgreSQL is away").with_detail("host=10.0.0.1");
  auto response = error_response(error, Effect::kRead, "id");
  EXPECT_EQ(response.body.view().find("10.0.0.1"), std::string_view::npos);
}

TEST(ErrorResponse, escapes_what_a_stranger_sent) {
  auto response = error_response(Error(ErrorKind::kInvalid, "name \"\n<"), Effect::kRead, "id");
  EXPECT_TRUE(base::json::parse(response.body.view()).has_value());
}

TEST(ErrorResponse, repeats_little_of_a_long_text) {
  const std::string head = "add-snapshot: not under the table's location: ";
  for (const std::string& text :
       {std::string(250'000'000, 'a'), std::string(250, 'b'), std::string(400, '\n'), [] {
          std::string words;
          for (int i = 0; i < 100; ++i) words += "word ";
          return words;
        }()}) {
    auto response =
        error_response(Error(ErrorKind::kInvalid, head + text + ": no"), Effect::kCommit, "id");
    auto json = base::json::parse(response.body.view());
    ASSERT_TRUE(json);
    const std::string message(json->at("error").at("message").as_string());
    EXPECT_LT(message.size(), text.size() + head.size());
    EXPECT_LT(message.size(), 250U);
    EXPECT_TRUE(message.starts_with(head)) << message;
    EXPECT_TRUE(message.ends_with(": no")) << message;
  }
}

TEST(ErrorResponse, repeats_a_usual_path_whole) {
  const std::string message = "add-snapshot: s3://" + std::string(170, 'p') + ": is missing, " +
                              std::string(30, 'x') + " " + std::string(80, 'y');
  EXPECT_EQ(shown_message(message), message);
  const std::string umlauts = shown_message([] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "\u00fc";
    return text;
  }());
  EXPECT_TRUE(base::is_utf8(umlauts));
}

}  // namespace
}  // namespace lake::http
