#include "toolserver/federation/proof/forwarding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/jose/jwt.h"
#include "toolserver/federation/proof/fixture_test.h"

namespace tool::federation {
namespace {

using std::chrono::seconds;
using testing::call_of;
using testing::code_of;
using ::testing::ElementsAre;
using testing::Known;
using testing::kRequest;
using testing::kSession;
using testing::node;

// node-a asks node-b for sql.query, by key unless a test says otherwise.
struct ForwardingTest : ::testing::Test {
  Outcome<std::vector<std::string>> step(const NodeKeys& from, const Invocation& call,
                                         std::string_view to = "node-b",
                                         std::string_view tool = "sql.query") {
    return take_step(from, call, {to, tool, kSession, 4}, clock.now, random);
  }
  Outcome<Forwarded> take(const NodeKeys& at, std::vector<std::string> proofs,
                          std::string_view from = "node-a", std::string_view tool = "sql.query",
                          std::string_view session = kSession) {
    return accept(at, memory, {from, session, tool, &args, std::move(proofs)}, 4, clock.now);
  }
  // A proof of node-a with one claim changed, signed by its right key.
  std::vector<std::string> changed(const std::function<void(ForwardProof&)>& change) {
    auto proofs = step(*a, call_of(args)).value();
    auto proof = verify_proof(*b, proofs[0], "node-a", "node-b", clock.now).value();
    change(proof);
    return {sign_proof(*a, proof).value()};
  }
  // The call at node-b, as node-c is about to be asked.
  Invocation at_b() {
    auto accepted = take(*b, step(*a, call_of(args), "node-b", "node-c.sql_query").value(),
                         "node-a", "node-c.sql_query");
    EXPECT_EQ(code_of(accepted), "ok");
    return call_of(args, std::make_shared<const Forwarded>(std::move(*accepted)));
  }

  testing::FixedClock clock;
  testing::CountingRandom random;
  ProofMemory memory{random};
  base::json::Object args{{"sql", "SELECT 42"}};
  std::unique_ptr<NodeKeys> a = node("node-a", {"node-b", "node-c"});
  std::unique_ptr<NodeKeys> b = node("node-b", {"node-a", "node-c"});
  std::unique_ptr<NodeKeys> c = node("node-c", {"node-a", "node-b"});
};

TEST_F(ForwardingTest, a_proof_says_whose_call_it_is_and_how_it_came) {
  auto accepted = take(*b, step(*a, call_of(args)).value());
  ASSERT_EQ(code_of(accepted), "ok");
  EXPECT_EQ(accepted->subject, "alice");
  EXPECT_EQ(accepted->issuer, "https://idp.example");
  EXPECT_EQ(accepted->request, kRequest);
  EXPECT_THAT(accepted->way, ElementsAre("node-a"));
  EXPECT_EQ(accepted->max_hops, 4U);
}

// The call of alice whom `rules` narrow at node-a, each a set.
Invocation narrowed(Invocation call, std::string_view sets) {
  auto principal = std::make_shared<Principal>(*call.principal);
  principal->details = *Details::parse_sets(call.tool, *base::json::parse(sets));
  call.principal = std::move(principal);
  return call;
}

TEST_F(ForwardingTest, what_narrows_the_caller_goes_with_the_call) {
  const char* sets =
      R"([[{"sql":{"tables":["a"]}},{"sql":{"tables":["b"]}}],[{"sql":{"pattern":"S.*"}}]])";
  auto accepted = take(*b, step(*a, narrowed(call_of(args), sets)).value());
  ASSERT_EQ(code_of(accepted), "ok");
  EXPECT_EQ(base::json::Value(accepted->details), *base::json::parse(sets));
  accepted = take(*b, step(*a, call_of(args)).value());
  ASSERT_EQ(code_of(accepted), "ok");
  EXPECT_TRUE(accepted->details.empty());
}

TEST_F(ForwardingTest, details_that_nobody_understands_refuse_the_proof) {
  for (const char* sets : {"[[]]", "[7]", R"([[{"sql":{"inside":"a"}}]])"}) {
    EXPECT_EQ(code_of(take(*b, changed([&](ForwardProof& proof) {
                proof.details = base::json::parse(sets)->get_array();
              }))),
              "E_SIG")
        << sets;
  }
}

TEST_F(ForwardingTest, a_node_on_the_way_adds_to_what_narrows_the_caller_and_takes_nothing) {
  const char* own = R"([[{"sql":{"tables":["a"]}}]])";
  auto first = step(*a, narrowed(call_of(args), own), "node-b", "node-c.sql_query").value();
  auto accepted = take(*b, first, "node-a", "node-c.sql_query");
  ASSERT_EQ(code_of(accepted), "ok");
  auto at_node_b = [&](std::string_view sets) {
    auto call = call_of(args, std::make_shared<const Forwarded>(*accepted));
    return take(*c, step(*b, narrowed(std::move(call), sets), "node-c").value(), "node-b");
  };
  auto same = at_node_b(own);
  ASSERT_EQ(code_of(same), "ok");
  EXPECT_EQ(base::json::Value(same->details), *base::json::parse(own));
  auto more = at_node_b(R"([[{"sql":{"tables":["a"]}}],[{"sql":{"pattern":"S.*"}}]])");
  ASSERT_EQ(code_of(more), "ok");
  EXPECT_EQ(more->details.size(), 2U);
  for (const char* wider :
       {"[]", R"([[{"sql":{"tables":["b"]}}]])", R"([[{"sql":{"tables":["a","b"]}}]])",
        R"([[{"sql":{"tables":["a"]}},{"sql":{"tables":["b"]}}]])", "[[{}]]"}) {
    EXPECT_EQ(code_of(at_node_b(wider)), "E_SCOPE") << wider;
  }
}

TEST_F(ForwardingTest, the_shared_secret_stands_in_where_no_key_is_registered) {
  auto from = node("node-a", {"node-b"}, Known::kBySecret);
  auto to = node("node-b", {"node-a"}, Known::kBySecret);
  EXPECT_EQ(code_of(take(*to, step(*from, call_of(args)).value())), "ok");
}

TEST_F(ForwardingTest, a_mac_by_the_shared_secret_is_for_one_target_alone) {
  auto from = node("node-a", {"node-b", "node-c"}, Known::kBySecret);
  auto proofs = step(*from, call_of(args), "node-c").value();
  // The claims say node-b, the key is the one towards node-c.
  auto other = node("node-c", {"node-a"}, Known::kBySecret);
  auto proof = verify_proof(*other, proofs[0], "node-a", "node-c", clock.now).value();
  proof.audience = "node-b";
  base::json::Object claims{{"iss", "node-a"}, {"aud", "node-b"},        {"sub", "alice"},
                            {"jti", proof.id}, {"iat", proof.issued_at}, {"exp", proof.expires_at}};
  auto token = base::jose::sign(from->signer("node-c"), kProofType, claims).value();
  auto to = node("node-b", {"node-a"}, Known::kBySecret);
  EXPECT_EQ(code_of(take(*to, {token})), "E_SIG");
  EXPECT_EQ(code_of(take(*to, proofs)), "E_SIG");
}

TEST_F(ForwardingTest, the_shared_secret_proves_nothing_of_a_node_with_a_key) {
  auto forger = node("node-a", {"node-b"}, Known::kBySecret);
  EXPECT_EQ(code_of(take(*b, step(*forger, call_of(args)).value())), "E_SIG");
}

TEST_F(ForwardingTest, the_key_of_another_node_proves_nothing) {
  auto forger = NodeKeys::create({"node-a", testing::key_of("node-c"), {}, {}}).value();
  ASSERT_TRUE(forger->add("node-b", testing::key_of("node-b").verify_key()));
  EXPECT_EQ(code_of(take(*b, step(*forger, call_of(args)).value())), "E_SIG");
}

TEST_F(ForwardingTest, a_proof_is_for_one_node) {
  EXPECT_EQ(code_of(take(*b, step(*a, call_of(args), "node-c").value())), "E_REPLAY");
}

TEST_F(ForwardingTest, a_proof_is_good_in_the_session_of_its_issuer_alone) {
  auto proofs = step(*a, call_of(args)).value();
  EXPECT_EQ(code_of(take(*b, proofs, "node-c")), "E_SIG");
  EXPECT_EQ(code_of(take(*b, proofs, "node-a", "sql.query", kRequest)), "E_REPLAY");
  EXPECT_EQ(code_of(take(*b, proofs)), "ok");
}

TEST_F(ForwardingTest, a_proof_is_for_one_tool_and_its_arguments) {
  auto proofs = step(*a, call_of(args)).value();
  EXPECT_EQ(code_of(take(*b, proofs, "node-a", "sql.schema")), "E_SIG");
  args["sql"] = "SELECT 43";
  EXPECT_EQ(code_of(take(*b, proofs)), "E_SIG");
  args["sql"] = "SELECT 42";
  EXPECT_EQ(code_of(take(*b, proofs)), "ok");
}

TEST_F(ForwardingTest, a_dry_run_is_one_at_every_step) {
  for (bool is_said : {true, false}) {
    for (bool is_asked : {true, false}) {
      Invocation call = call_of(args);
      call.dry_run = is_said;
      Asked asked{"node-a", kSession, "sql.query", &args, step(*a, call).value(), is_asked};
      auto accepted = accept(*b, memory, std::move(asked), 4, clock.now);
      EXPECT_EQ(code_of(accepted), is_said == is_asked ? "ok" : "E_SIG") << is_said << is_asked;
    }
  }
  // A node on the way can make it no other call.
  Invocation onward = at_b();
  onward.dry_run = true;
  Asked asked{"node-b", kSession, "sql.query", &args, step(*b, onward, "node-c").value(), true};
  EXPECT_EQ(code_of(accept(*c, memory, std::move(asked), 4, clock.now)), "E_SIG");
}

TEST_F(ForwardingTest, a_proof_is_good_once) {
  auto proofs = step(*a, call_of(args)).value();
  EXPECT_EQ(code_of(take(*b, proofs)), "ok");
  EXPECT_EQ(code_of(take(*b, proofs)), "E_REPLAY");
}

TEST_F(ForwardingTest, a_proof_is_good_in_its_time) {
  auto proofs = step(*a, call_of(args)).value();
  auto made = clock.now;
  for (auto [at, code] :
       {std::pair{seconds(-6), "E_STALE"}, {seconds(36), "E_STALE"}, {seconds(-5), "ok"}}) {
    clock.now = made + at;
    EXPECT_EQ(code_of(take(*b, proofs)), code) << at;
  }
  auto long_lived = changed([](ForwardProof& proof) { proof.expires_at += 1; });
  EXPECT_EQ(code_of(take(*b, long_lived)), "E_STALE");
}

TEST_F(ForwardingTest, a_scope_is_that_of_the_tool_and_nothing_wider) {
  for (const char* scope : {"tool:invoke:sql.*", "tool:invoke:sql.query tool:invoke:files.read",
                            "admin:audit", "", "tool:invoke:sql.schema"}) {
    auto proofs = changed([&](ForwardProof& proof) { proof.scope = scope; });
    EXPECT_EQ(code_of(take(*b, proofs)), "E_SCOPE") << scope;
  }
}

TEST_F(ForwardingTest, claims_that_break_their_form_are_no_proof) {
  EXPECT_EQ(code_of(take(*b, changed([](ForwardProof& p) { p.hop = 2; }))), "E_SIG");
  EXPECT_EQ(code_of(take(*b, changed([](ForwardProof& p) { p.max_hops = 9; }))), "E_SIG");
  EXPECT_EQ(code_of(take(*b, changed([](ForwardProof& p) { p.request = "x"; }))), "E_SIG");
  EXPECT_EQ(code_of(take(*b, changed([](ForwardProof& p) { p.id = "x"; }))), "E_SIG");
  EXPECT_EQ(code_of(take(*b, {"x"})), "E_SIG");
  EXPECT_EQ(code_of(take(*b, {})), "E_SHAPE");
}

TEST_F(ForwardingTest, a_call_goes_on_to_a_third_node_with_its_whole_way) {
  auto proofs = step(*b, at_b(), "node-c").value();
  EXPECT_EQ(proofs.size(), 2U);
  auto accepted = take(*c, proofs, "node-b");
  ASSERT_EQ(code_of(accepted), "ok");
  EXPECT_EQ(accepted->subject, "alice");
  EXPECT_EQ(accepted->issuer, "https://idp.example");
  EXPECT_THAT(accepted->way, ElementsAre("node-a", "node-b"));
}

TEST_F(ForwardingTest, an_earlier_step_may_have_waited_longer_than_a_proof_lives) {
  auto call = at_b();
  clock.now += seconds(600);
  EXPECT_EQ(code_of(take(*c, step(*b, call, "node-c").value(), "node-b")), "ok");
  clock.now += kEarlierLife;
  EXPECT_EQ(code_of(take(*c, step(*b, call, "node-c").value(), "node-b")), "E_STALE");
}

TEST_F(ForwardingTest, a_step_that_was_left_out_or_put_in_is_found) {
  auto proofs = step(*b, at_b(), "node-c").value();
  EXPECT_EQ(code_of(take(*c, {proofs[1]}, "node-b")), "E_SIG");
  EXPECT_EQ(code_of(take(*c, {proofs[0], proofs[0], proofs[1]}, "node-b")), "E_SIG");
  // node-b says that the call came to it by node-a, and has no proof of that.
  auto alone = step(*b, call_of(args), "node-c").value();
  EXPECT_EQ(code_of(take(*c, {proofs[0], alone[0]}, "node-b")), "E_SIG");
}

TEST_F(ForwardingTest, a_node_on_the_way_cannot_change_the_call) {
  auto call = at_b();
  auto honest = step(*b, call, "node-c").value();
  auto last = verify_proof(*c, honest[1], "node-b", "node-c", clock.now).value();
  auto code = [&](const std::function<void(ForwardProof&)>& change,
                  const char* tool = "sql.query") {
    auto proof = last;
    change(proof);
    return code_of(take(*c, {honest[0], sign_proof(*b, proof).value()}, "node-b", tool));
  };
  EXPECT_EQ(code([](ForwardProof& p) { p.subject = "root"; }), "E_SIG");
  EXPECT_EQ(code([](ForwardProof& p) { p.subject_issuer = "node-c"; }), "E_SIG");
  EXPECT_EQ(code([](ForwardProof& p) { p.request = kSession; }), "E_SIG");
  EXPECT_EQ(code([](ForwardProof& p) { p.via = {"node-d"}; }), "E_AUTH");
  EXPECT_EQ(code([](ForwardProof& p) { p.via.clear(), p.previous.clear(), p.hop = 1; }), "E_SIG");
  EXPECT_EQ(code([](ForwardProof& p) { p.previous = std::string(43, 'A'); }), "E_SIG");
  EXPECT_EQ(code([](ForwardProof& p) { p.max_hops = 8; }), "E_LIMIT");
  auto widen = [](ForwardProof& p) { p.tool = "sql.load", p.scope = "tool:invoke:sql.load"; };
  EXPECT_EQ(code(widen, "sql.load"), "E_SCOPE");
  EXPECT_EQ(code([](ForwardProof&) {}), "ok");
  auto other = args;
  other["sql"] = "DROP TABLE t";
  auto changed_args = step(*b, call_of(other, call.forwarded), "node-c").value();
  args = other;
  EXPECT_EQ(code_of(take(*c, changed_args, "node-b")), "E_SIG");
}

TEST_F(ForwardingTest, a_step_by_a_node_that_is_not_registered_is_not_believed) {
  auto stranger = node("node-c", {"node-b"});
  EXPECT_EQ(code_of(take(*stranger, step(*b, at_b(), "node-c").value(), "node-b")), "E_AUTH");
}

TEST_F(ForwardingTest, a_loop_is_refused_at_both_ends) {
  auto call = at_b();
  EXPECT_EQ(code_of(step(*b, call, "node-a")), "E_POLICY");
  EXPECT_EQ(code_of(step(*b, call, "node-b")), "E_POLICY");
  // node-b sends it back all the same.
  auto honest = step(*b, call, "node-c").value();
  auto proof = verify_proof(*c, honest[1], "node-b", "node-c", clock.now).value();
  proof.audience = "node-a";
  EXPECT_EQ(code_of(take(*a, {honest[0], sign_proof(*b, proof).value()}, "node-b")), "E_POLICY");
}

TEST_F(ForwardingTest, hops_have_a_limit_at_both_ends) {
  Invocation call = call_of(args);
  EXPECT_EQ(code_of(take_step(*a, call, {"node-b", "sql.query", kSession, 0}, clock.now, random)),
            "E_LIMIT");
  auto forwarded = std::make_shared<Forwarded>(*at_b().forwarded);
  forwarded->max_hops = 1;
  EXPECT_EQ(code_of(step(*b, call_of(args, forwarded), "node-c")), "E_LIMIT");
  auto proofs = step(*b, at_b(), "node-c").value();
  auto take_with = [&](std::uint32_t most) {
    return code_of(
        accept(*c, memory, {"node-b", kSession, "sql.query", &args, proofs}, most, clock.now));
  };
  EXPECT_EQ(take_with(1), "E_LIMIT");
  EXPECT_EQ(take_with(2), "ok");
}

TEST_F(ForwardingTest, names_too_long_for_a_proof_are_refused) {
  auto call = call_of(args);
  Principal principal = *call.principal;
  principal.subject.assign(9'000, 'x');
  call.principal = std::make_shared<const Principal>(std::move(principal));
  EXPECT_EQ(code_of(step(*a, call)), "E_LIMIT");
}

struct ProofMemoryTest : ::testing::Test {
  // Fills the room of a node with proofs that end at `end`.
  void fill(const std::string& issuer, std::int64_t end, base::WallTime now) {
    for (std::size_t i = 0; i < kOfOneNode; ++i) {
      ASSERT_TRUE(memory.admit(issuer, std::to_string(i), end, now)) << issuer << ' ' << i;
    }
  }

  static constexpr std::size_t kOfOneNode = 1'000;
  testing::CountingRandom random;
  ProofMemory memory{random, {.of_one_node = kOfOneNode, .of_all = 4 * kOfOneNode}};
};

TEST_F(ProofMemoryTest, has_bounds_for_each_node) {
  base::WallTime now{seconds(1'000)};
  fill("node-a", 1'030, now);
  EXPECT_EQ(code_of(memory.admit("node-a", "x", 1'030, now)), "E_BUSY");
  EXPECT_EQ(code_of(memory.admit("node-a", "7", 1'030, now)), "E_REPLAY");
  EXPECT_EQ(code_of(memory.admit("node-b", "x", 1'030, now)), "ok");
  EXPECT_EQ(code_of(memory.admit("node-a", "x", 1'070, now + seconds(36))), "ok");
}

TEST_F(ProofMemoryTest, has_a_bound_for_all_and_nodes_that_are_gone_hold_none_of_it) {
  base::WallTime now{seconds(1'000)};
  for (const char* node : {"node-a", "node-b", "node-c", "node-d"}) fill(node, 1'030, now);
  EXPECT_EQ(code_of(memory.admit("node-e", "x", 1'030, now)), "E_BUSY");
  fill("node-e", 1'070, now + seconds(36));
}

TEST_F(ProofMemoryTest, an_id_is_taken_once_whatever_the_end_of_its_proof) {
  base::WallTime now{seconds(1'000)};
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'030, now)), "ok");
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'029, now)), "E_REPLAY");
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'031, now)), "E_REPLAY");
  EXPECT_EQ(code_of(memory.admit("node-b", "one", 1'030, now)), "ok");
  // Its last second, the leeway included, and the one after that.
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'030, now + seconds(35))), "E_REPLAY");
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'030, now + seconds(36))), "E_STALE");
}

TEST_F(ProofMemoryTest, a_clock_that_is_set_back_brings_nothing_back) {
  base::WallTime now{seconds(1'000)};
  ASSERT_TRUE(memory.admit("node-a", "one", 1'030, now));
  ASSERT_TRUE(memory.admit("node-a", "two", 1'070, now + seconds(40)));
  EXPECT_EQ(code_of(memory.admit("node-a", "one", 1'030, now)), "E_STALE");
  EXPECT_EQ(code_of(memory.admit("node-a", "two", 1'070, now)), "E_REPLAY");
}

TEST(FarId, is_the_other_nodes_name_in_its_namespace) {
  auto tool = ToolId::parse("sql.query").value();
  EXPECT_EQ(far_id("node-b", tool)->text(), "node-b.sql_query");
  EXPECT_EQ(far_id("node-a", far_id("node-b", tool).value())->text(), "node-a.node-b_sql_query");
  EXPECT_FALSE(far_id("Node.B", tool));
  EXPECT_FALSE(far_id("node-b", ToolId::parse("a." + std::string(63, 'b')).value()));
}

}  // namespace
}  // namespace tool::federation
