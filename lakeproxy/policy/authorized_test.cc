#include "lakeproxy/policy/authorized.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace lake::policy {
namespace {

const auth::Principal kNobody{.subject = "nobody"};
const auth::Principal kOperator = auth::unauthenticated();

struct Move {
  model::TableIdentifier from, to;
};
Targets targets(const Move& move) { return {Target::table(move.from), Target::table(move.to)}; }

struct Read {
  model::TableIdentifier identifier;
};
Targets targets(const Read& read) { return {Target::table(read.identifier)}; }

struct Nothing {};
Targets targets(const Nothing&) { return {}; }

struct Silent {};

static_assert(NamesTargets<Move> && NamesTargets<Nothing>);
static_assert(!NamesTargets<Silent>, "a request that does not say what it is about");
static_assert(!std::constructible_from<Authorized<Read>, Read>, "made beside policy");
static_assert(!std::default_initializable<Authorized<Read>>, "made beside policy");

const model::TableIdentifier kFrom{{{"a", "b"}}, "t"};
const model::TableIdentifier kTo{{{"c"}}, "u"};

template <class T>
base::Task<void> keep(base::Task<base::Result<T>> task, std::optional<base::Result<T>>* kept) {
  kept->emplace(co_await std::move(task));
}

template <class T>
base::Result<Authorized<T>> ask(const auth::Principal& principal, Permission permission, T request,
                                std::optional<model::IdempotencyKey> key = {}) {
  boost::asio::io_context loop;
  std::optional<base::Result<Authorized<T>>> allowed;
  boost::asio::co_spawn(
      loop, keep(authorize({}, {&principal, permission}, std::move(request), key), &allowed),
      boost::asio::detached);
  loop.run();
  return std::move(*allowed);
}

constexpr Permission kGuarded[] = {Permission::kListNamespaces, Permission::kReadNamespace,
                                   Permission::kWriteNamespace, Permission::kManageNamespaces,
                                   Permission::kManageCatalogs};

auth::Principal bearer(std::string_view scopes) {
  auth::Principal principal{.subject = "etl"};
  auto parsed = auth::Scopes::parse(scopes, auth::OtherWords::kRefused);
  EXPECT_TRUE(parsed) << scopes;
  principal.grants = std::make_shared<const auth::Grants>(auth::Grants{.scopes = *parsed});
  return principal;
}

TEST(Authorize, says_why_it_allowed_a_request) {
  for (Permission permission : kGuarded) {
    auto allowed = ask(kOperator, permission, Move{kFrom, kTo});
    ASSERT_TRUE(allowed);
    EXPECT_EQ(allowed->decision().ground, Ground::kSuperuser);
    EXPECT_EQ(allowed->principal().subject, "anonymous");
    EXPECT_EQ((*allowed)->to, kTo);
  }
  auto open = ask(kNobody, Permission::kPublic, Move{kFrom, kTo});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->decision().ground, Ground::kPublic);
}

TEST(Authorize, refuses_whoever_has_no_right_and_logs_what_was_asked_for) {
  for (Permission permission : kGuarded) {
    auto refused = ask(kNobody, permission, Move{kFrom, kTo});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kForbidden);
    EXPECT_EQ(refused.error().detail(), "table a.b.t, table c.u");
    EXPECT_EQ(refused.error().message().find("a.b"), std::string::npos) << "told to a stranger";
  }
}

TEST(Authorize, takes_a_scope_for_each_target_and_says_so) {
  auto allowed = ask(bearer("ns:a.b:w ns:c:w"), Permission::kWriteNamespace, Move{kFrom, kTo});
  ASSERT_TRUE(allowed);
  EXPECT_EQ(allowed->decision().ground, Ground::kScope);
  EXPECT_FALSE(ask(bearer("ns:a.b:w"), Permission::kWriteNamespace, Move{kFrom, kTo}));
  EXPECT_FALSE(ask(bearer("ns:a.b:w ns:c:r"), Permission::kWriteNamespace, Move{kFrom, kTo}));
  EXPECT_FALSE(ask(bearer("ns:*:*"), Permission::kManageCatalogs, Move{kFrom, kTo}));
  EXPECT_FALSE(ask(bearer("ns:*:*"), Permission::kReadNamespace, Nothing{}));
}

TEST(Authorize, shows_in_lists_what_is_read_and_the_way_to_it) {
  const auth::Principal reader = bearer("ns:a.b:r ns:c:w");
  EXPECT_TRUE(may_see(reader, {{"a"}}));
  EXPECT_TRUE(may_see(reader, {{"a", "b"}}));
  EXPECT_FALSE(may_see(reader, {{"a", "b", "d"}}));
  EXPECT_FALSE(may_see(reader, {{"c"}}));
  EXPECT_FALSE(may_see(kNobody, {{"a"}}));
  EXPECT_TRUE(may_see(kOperator, {{"c"}}));
}

TEST(Authorize, asks_again_for_a_namespace_that_was_found_on_the_way) {
  EXPECT_TRUE(may_read(bearer("ns:a:r"), {{"a"}}));
  EXPECT_FALSE(may_read(bearer("ns:a:r"), {{"b"}}));
  EXPECT_FALSE(may_read(bearer("ns:a:w"), {{"a"}})) << "writing is not reading";
  EXPECT_TRUE(may_read(kOperator, {{"a"}}));
  EXPECT_TRUE(may_write(bearer("ns:a:w"), {{{"a"}}}));
  EXPECT_FALSE(may_write(bearer("ns:a:w"), {{{"b"}}}));
  EXPECT_FALSE(may_write(bearer("ns:a:w"), std::nullopt)) << "nobody knows which one";
  EXPECT_FALSE(may_write(bearer("ns:*:r"), std::nullopt));
  EXPECT_TRUE(may_write(bearer("ns:*:w"), std::nullopt));
  EXPECT_TRUE(may_write(kOperator, std::nullopt));
  EXPECT_FALSE(may_write(kNobody, {{{"a"}}}));
}

TEST(Authorize, refuses_a_request_about_nothing) {
  for (Permission permission : kGuarded) {
    auto refused = ask(kOperator, permission, Nothing{});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kForbidden);
  }
}

TEST(Authorize, keeps_the_decision_for_a_part_of_the_request) {
  auto allowed =
      ask(kOperator, Permission::kWriteNamespace, Move{kFrom, kTo}, model::IdempotencyKey{});
  ASSERT_TRUE(allowed);
  EXPECT_TRUE(allowed->key()) << "what the client named is this change";
  Authorized<Read> part = allowed->part(Read{kTo});
  EXPECT_FALSE(part.key()) << "and not what comes of it";
  EXPECT_EQ(part->identifier, kTo);
  EXPECT_EQ(part.decision().ground, Ground::kSuperuser);
}

TEST(AuthorizeDeathTest, gives_the_decision_to_no_other_table) {
  auto allowed = ask(kOperator, Permission::kReadNamespace, Read{kFrom});
  ASSERT_TRUE(allowed);
  EXPECT_DEATH((void)allowed->part(Read{kTo}), "");
  EXPECT_DEATH((void)allowed->part(Move{kFrom, kTo}), "") << "one of two is not enough";
}

TEST(Target, is_the_same_by_kind_and_name) {
  const model::TableIdentifier same = kFrom;
  EXPECT_EQ(Target::table(kFrom), Target::table(same));
  EXPECT_FALSE(Target::table(kFrom) == Target::table(kTo));
  EXPECT_FALSE(Target::table(kFrom) == Target::view(kFrom));
  EXPECT_FALSE(Target::table(kFrom) == Target::of(kFrom.name_space));
  EXPECT_FALSE(Target::catalog() == Target::server());
}

TEST(Target, has_a_name_for_logs) {
  const Targets all = {Target::server(), Target::catalog(), Target::of(kFrom.name_space),
                       Target::view(kFrom)};
  EXPECT_EQ(display(all), "server, catalog, namespace a.b, view a.b.t");
}

}  // namespace
}  // namespace lake::policy
