#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/governance/governance_store.h"
#include "lakeproxy/governance/resolver.h"

namespace lake::governance {
namespace {

using base::ErrorKind;
using policy::ReadKind;

class Governance : public ducklake::LakeFixture {
 protected:
  void SetUp() override {
    open();
    exec(R"sql(
      INSERT INTO ducklake_table (table_id, table_uuid, begin_snapshot, schema_id, table_name, path, path_is_relative)
      VALUES (1, gen_random_uuid(), 0, 0, 't', 't/', true);
      INSERT INTO ducklake_column (column_id, begin_snapshot, table_id, column_order, column_name, column_type, nulls_allowed)
      VALUES (1, 0, 1, 1, 'id', 'int64', true), (2, 0, 1, 2, 'ssn', 'varchar', true);)sql");
    store_.emplace(*pool_, options_.metadata_schema, trials_, clock_);
    resolver_.emplace(*pool_, options_.metadata_schema);
  }

  base::Result<Changed> put(Collection collection, std::string_view body) {
    return run(store_->put(
        soon(), object_from_json(collection, base::json::parse(body).value()).value(), kAdmin));
  }
  base::Result<Changed> remove(Collection collection, std::string_view body) {
    return run(store_->remove(
        soon(), object_from_json(collection, base::json::parse(body).value()).value(), kAdmin));
  }
  void attach_mask() {
    ASSERT_TRUE(put(Collection::kMaskingPolicies, kMask));
    auto attached = put(Collection::kPolicyAttachments, kAttachment);
    ASSERT_TRUE(attached) << attached.error().message() << attached.error().detail();
  }
  policy::ReadPlan plan(std::optional<policy::PolicyVersion> version, std::string subject = "ana",
                        std::string actor = {}) {
    const TableState state{.table = model::TableId(1),
                           .columns = {{1, "id", "BIGINT"}, {2, "ssn", "VARCHAR"}}};
    auto made =
        run(planned(&*resolver_, soon(), {.subject = std::move(subject), .actor = std::move(actor)},
                    state, version));
    EXPECT_TRUE(made) << made.error().message() << made.error().detail();
    return **made;
  }
  // run() needs a result that can be empty.
  static base::Task<base::Result<std::shared_ptr<const policy::ReadPlan>>> planned(
      Resolver* resolver, base::RequestContext context, auth::Principal principal, TableState state,
      std::optional<policy::PolicyVersion> version) {
    CO_ASSIGN_OR_RETURN(auto plan, co_await resolver->plan(context, std::move(principal),
                                                           std::move(state), version));
    co_return std::make_shared<const policy::ReadPlan>(std::move(plan));
  }

  static constexpr auto kMask =
      R"j({"name":"m","signature":"(v VARCHAR)","body":"left(v, 1)","unmasked-roles":["auditor"]})j";
  static constexpr auto kAttachment =
      R"j({"policy-kind":"masking","policy-name":"m","target-kind":"column","schema":"main","object":"t","column":"ssn"})j";
  const auth::Principal kAdmin{.subject = "root", .superuser = true, .issuer = "lakeproxy"};
  base::BlockingPool trials_{1};
  base::SystemClock clock_;
  std::optional<GovernanceStore> store_;
  std::optional<Resolver> resolver_;
};

TEST_F(Governance, is_kept_while_its_version_stays_and_read_anew_when_it_moves) {
  attach_mask();
  const policy::ReadPlan first = plan(std::nullopt);
  ASSERT_EQ(first.kind(), ReadKind::kCooperative);
  EXPECT_EQ(first.mask()->masks[0].expression, R"("left"("ssn", 1))");
  // Rows that go past the triggers: what is kept is told as long as the version is the same.
  exec(
      "ALTER TABLE lakeproxy_policy_attachment DISABLE TRIGGER USER; DELETE FROM "
      "lakeproxy_policy_attachment;"
      "ALTER TABLE lakeproxy_policy_attachment ENABLE TRIGGER USER");
  EXPECT_EQ(plan(first.version()).kind(), ReadKind::kCooperative);
  EXPECT_EQ(plan(first.version(), "bob").kind(), ReadKind::kRaw) << "nothing is kept of this one";
  EXPECT_EQ(plan(std::nullopt).kind(), ReadKind::kRaw);
  ASSERT_TRUE(put(Collection::kPolicyAttachments, kAttachment));
  const policy::ReadPlan second = plan(policy::PolicyVersion(first.version().value + 1));
  EXPECT_EQ(second.kind(), ReadKind::kCooperative);
  EXPECT_GT(second.version(), first.version());
}

TEST_F(Governance, holds_a_plan_for_the_same_principal_roles_state_and_version_alone) {
  attach_mask();
  auto principal = [](std::string subject, std::vector<std::string> roles = {},
                      std::string actor = {}) {
    auth::Grants grants;
    grants.roles = std::move(roles);
    return auth::Principal{.subject = std::move(subject),
                           .grants = std::make_shared<const auth::Grants>(std::move(grants)),
                           .actor = std::move(actor)};
  };
  const TableState state{
      .table = model::TableId(1), .columns = {{2, "ssn", "VARCHAR"}}, .key = "a state"};
  const auto made =
      run(planned(&*resolver_, soon(), principal("ana"), state, std::nullopt)).value();
  auto held = [&](const auth::Principal& who, std::string_view key, policy::PolicyVersion version,
                  std::int64_t table = 1) {
    auto plan = resolver_->held(who, model::TableId(table), {}, key, version);
    return plan ? to_string(plan->kind()) : "nothing";
  };
  EXPECT_EQ(resolver_->held(principal("ana"), state.table, {}, "a state", made->version())->mask(),
            made->mask());
  EXPECT_EQ(held(principal("ana"), "another", made->version()), "nothing");
  EXPECT_EQ(held(principal("ana"), "", made->version()), "nothing");
  EXPECT_EQ(held(principal("ana"), "a state", policy::PolicyVersion(made->version().value + 1)),
            "nothing");
  EXPECT_EQ(held(principal("ana"), "a state", made->version(), 2), "nothing");
  EXPECT_EQ(held(principal("bob"), "a state", made->version()), "nothing");
  EXPECT_EQ(held(principal("ana", {}, "bot"), "a state", made->version()), "nothing");
  EXPECT_EQ(held(principal("ana", {"auditor"}), "a state", made->version()), "nothing")
      << "another token of the same principal";
  // The other token's plan takes the place of the first one's, and neither is told to the other.
  const auto raw =
      run(planned(&*resolver_, soon(), principal("ana", {"auditor"}), state, made->version()))
          .value();
  EXPECT_EQ(raw->kind(), ReadKind::kRaw);
  EXPECT_EQ(held(principal("ana", {"auditor"}), "a state", made->version()), "raw");
  EXPECT_EQ(held(principal("ana"), "a state", made->version()), "nothing");
  // A state that has no key is resolved anew each time.
  resolver_.emplace(*pool_, options_.metadata_schema);
  EXPECT_EQ(plan(std::nullopt).kind(), ReadKind::kCooperative);
  EXPECT_EQ(held(principal("ana"), "", made->version()), "nothing");
}

// A move raises no version, and what is kept was read for the tags of another namespace.
TEST_F(Governance, keeps_no_plan_of_a_table_that_moved_to_another_namespace) {
  exec(R"sql(
    INSERT INTO ducklake_schema (schema_id, schema_uuid, begin_snapshot, schema_name, path, path_is_relative)
    VALUES (7, gen_random_uuid(), 0, 'private', 'private/', true))sql");
  ASSERT_TRUE(put(Collection::kTags, R"j({"namespace":"pii","name":"all"})j"));
  ASSERT_TRUE(put(Collection::kMaskingPolicies, kMask));
  ASSERT_TRUE(put(
      Collection::kObjectTags,
      R"j({"object-kind":"schema","schema":"private","tag-namespace":"pii","tag-name":"all"})j"));
  ASSERT_TRUE(put(
      Collection::kPolicyAttachments,
      R"j({"policy-kind":"masking","policy-name":"m","target-kind":"tag","tag-namespace":"pii","tag-name":"all"})j"));
  const TableState here{
      .table = model::TableId(1), .columns = {{2, "ssn", "VARCHAR"}}, .key = "a state"};
  TableState there = here;
  there.name_space = model::NamespaceId(7);
  const auth::Principal ana{.subject = "ana"};
  const auto before = run(planned(&*resolver_, soon(), ana, here, std::nullopt)).value();
  const auto kind_of = [&](const TableState& state) {
    auto plan = run(planned(&*resolver_, soon(), ana, state, before->version()));
    return plan ? (*plan)->kind() : ReadKind::kRefused;
  };
  const auto is_held = [&](const TableState& state) {
    return resolver_->held(ana, state.table, state.name_space, state.key, before->version())
        .has_value();
  };
  ASSERT_EQ(before->kind(), ReadKind::kRaw);
  EXPECT_TRUE(is_held(here));
  exec("UPDATE ducklake_table SET schema_id = 7");
  EXPECT_FALSE(is_held(there));
  EXPECT_EQ(kind_of(there), ReadKind::kCooperative);
  EXPECT_TRUE(is_held(there));
  exec("UPDATE ducklake_table SET schema_id = 0");
  EXPECT_FALSE(is_held(here));
  EXPECT_EQ(kind_of(here), ReadKind::kRaw);
  // A load that began before the move gets what holds now, and leaves nothing behind that is wrong.
  exec("UPDATE ducklake_table SET schema_id = 7");
  EXPECT_EQ(kind_of(there), ReadKind::kCooperative);
  EXPECT_EQ(kind_of(here), ReadKind::kCooperative);
  exec("UPDATE ducklake_table SET schema_id = 0");
  EXPECT_EQ(kind_of(here), ReadKind::kRaw);
}

TEST_F(Governance, unites_granted_roles_and_lets_them_off) {
  attach_mask();
  const auto before = plan(std::nullopt).version();
  ASSERT_TRUE(put(Collection::kRoleGrants, R"j({"role":"auditor","principal":"ana"})j"));
  EXPECT_EQ(plan(std::nullopt).kind(), ReadKind::kRaw);
  EXPECT_EQ(plan(std::nullopt, "bob").kind(), ReadKind::kCooperative);
  EXPECT_GT(plan(std::nullopt).version(), before);
  ASSERT_TRUE(remove(Collection::kRoleGrants, R"j({"role":"auditor","principal":"ana"})j"));
  EXPECT_EQ(plan(std::nullopt).kind(), ReadKind::kCooperative);
}

TEST_F(Governance, lets_off_who_is_acted_for_by_roles_of_all_and_masks_in_files) {
  attach_mask();
  ASSERT_TRUE(put(Collection::kRoleGrants, R"j({"role":"auditor","principal":"ana"})j"));
  const auto version = plan(std::nullopt).version();
  EXPECT_EQ(plan(version).kind(), ReadKind::kRaw);
  EXPECT_EQ(plan(version, "ana", "bot").kind(), ReadKind::kFileMask)
      << "the policy says cooperative";
  EXPECT_EQ(plan(version).kind(), ReadKind::kRaw) << "kept apart";
  ASSERT_TRUE(put(Collection::kRoleGrants, R"j({"role":"auditor","principal":"bot"})j"));
  EXPECT_EQ(plan(std::nullopt, "ana", "bot").kind(), ReadKind::kRaw);
  EXPECT_EQ(plan(std::nullopt, "bob", "bot").kind(), ReadKind::kFileMask) << "not of the subject";
  EXPECT_EQ(plan(std::nullopt, "ana", "bot, other").kind(), ReadKind::kFileMask);
  resolver_.emplace(*pool_, options_.metadata_schema, ActorMasks::kAsForAll);
  EXPECT_EQ(plan(std::nullopt, "bob", "bot").kind(), ReadKind::kCooperative);
}

TEST_F(Governance, raises_the_version_with_every_table_of_it) {
  const auto version = [&] {
    return std::stoll(ask("SELECT version FROM @lakeproxy_policy_version"));
  };
  auto last = version();
  const std::pair<Collection, const char*> changes[] = {
      {Collection::kTags, R"j({"namespace":"pii","name":"ssn"})j"},
      {Collection::kMaskingPolicies, kMask},
      {Collection::kRowAccessPolicies,
       R"j({"name":"f","signature":"(id BIGINT)","body":"id > 1"})j"},
      {Collection::kPolicyAttachments, kAttachment},
      {Collection::kObjectTags,
       R"j({"object-kind":"table","schema":"main","object":"t","tag-namespace":"pii","tag-name":"ssn"})j"},
      {Collection::kRoles, R"j({"name":"r"})j"},
      {Collection::kRoleGrants, R"j({"role":"r","principal":"p"})j"},
      {Collection::kObjectGrants,
       R"j({"object-kind":"table","schema":"main","object":"t","privilege":"select","role":"r"})j"},
  };
  for (const auto& [collection, body] : changes) {
    auto made = put(collection, body);
    ASSERT_TRUE(made) << to_string(collection) << made.error().message() << made.error().detail();
    EXPECT_GT(version(), last) << to_string(collection);
    last = version();
  }
}

TEST_F(Governance, leaves_nothing_of_a_change_that_is_refused) {
  attach_mask();
  const auto version = ask("SELECT version FROM @lakeproxy_policy_version");
  const auto lines = ask("SELECT count(*) FROM @lakeproxy_audit");
  auto second = put(Collection::kMaskingPolicies,
                    R"j({"name":"n","signature":"(v VARCHAR)","body":"(SELECT 1)"})j");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kInvalid);
  ASSERT_TRUE(put(Collection::kMaskingPolicies,
                  R"j({"name":"n","signature":"(v VARCHAR)","body":"'x'"})j"));
  auto refused = put(
      Collection::kPolicyAttachments,
      R"j({"policy-kind":"masking","policy-name":"n","target-kind":"column","schema":"main","object":"t","column":"ssn"})j");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict);
  auto used = remove(Collection::kMaskingPolicies, kMask);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_policy_attachment"), "1");
  EXPECT_EQ(std::stoll(ask("SELECT count(*) FROM @lakeproxy_audit")), std::stoll(lines) + 1);
  EXPECT_NE(ask("SELECT version FROM @lakeproxy_policy_version"), version);
}

TEST_F(Governance, two_masks_that_meet_already_hold_no_other_change_up) {
  attach_mask();
  ASSERT_TRUE(put(Collection::kMaskingPolicies,
                  R"j({"name":"n","signature":"(v VARCHAR)","body":"'x'"})j"));
  exec(
      "INSERT INTO lakeproxy_policy_attachment (policy_kind, policy_name, target_kind, table_id, "
      "column_id) VALUES ('masking', 'n', 'column', 1, 2)");
  ASSERT_EQ(plan(std::nullopt).kind(), ReadKind::kRefused);
  EXPECT_TRUE(put(Collection::kRoles, R"j({"name":"r"})j"));
  EXPECT_TRUE(put(
      Collection::kPolicyAttachments,
      R"j({"policy-kind":"masking","policy-name":"m","target-kind":"column","schema":"main","object":"t","column":"id"})j"));
  auto another = put(
      Collection::kPolicyAttachments,
      R"j({"policy-kind":"masking","policy-name":"n","target-kind":"column","schema":"main","object":"t","column":"id"})j");
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().kind(), ErrorKind::kConflict);
}

TEST_F(Governance, moves_what_the_lake_did_into_the_trail) {
  attach_mask();
  exec("UPDATE ducklake_table SET end_snapshot = 1 WHERE table_id = 1");
  EXPECT_EQ(ask("SELECT operation FROM @lakeproxy_governance_event"), "purge_table_governance");
  ASSERT_TRUE(run(store_->audit_events(soon())));
  ASSERT_TRUE(run(store_->audit_events(soon())));
  EXPECT_EQ(ask("SELECT count(*) FROM @lakeproxy_governance_event"), "0");
  EXPECT_EQ(ask("SELECT string_agg(operation, ' ' ORDER BY id) FROM @lakeproxy_audit"),
            "create_masking_policy attach_policy purge_table_governance");
  EXPECT_EQ(ask("SELECT principal FROM @lakeproxy_audit WHERE operation LIKE 'purge%'"),
            "lake:" + ask("SELECT session_user"));
  const audit::AuditLog log(*pool_, options_.metadata_schema);
  EXPECT_FALSE(run(log.verify(soon(), std::nullopt))->broken);
}

}  // namespace
}  // namespace lake::governance
