// Names that lead out of the root, or try to. Each is given to every tool, on
// both mechanisms; each must be refused, and the canary must not notice.

#include <string>
#include <vector>

#include "toolserver/connectors/files/fixture_test.h"

namespace tool::files {
namespace {

using base::json::Object;

struct Case {
  std::string name;
  std::string path;
};

std::string deep(std::string_view part, int count, std::string_view end) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out + std::string(end);
}

std::vector<Case> dots_and_slashes() {
  return {
      {"parent", "../outside/canary.txt"},
      {"parent_alone", ".."},
      {"parent_slash", "../"},
      {"grandparent", "../../outside/canary.txt"},
      {"through_folder", "folder/../../outside/canary.txt"},
      {"through_deep_folder", "folder/deep/../../../outside/canary.txt"},
      {"through_missing_folder", "missing/../../outside/canary.txt"},
      {"back_inside", "folder/../a.txt"},
      {"many_parents", deep("../", 30, "etc/hosts.txt")},
      {"too_many_parents", deep("../", 200, "etc/hosts.txt")},
      {"parent_at_end", "folder/.."},
      {"parent_dot", ".././outside/canary.txt"},
      {"dot_parent", "./../outside/canary.txt"},
      {"dot_alone", "."},
      {"dot_first", "./a.txt"},
      {"dot_within", "folder/./b.txt"},
      {"dot_at_end", "folder/."},
      {"double_slash", "..//outside/canary.txt"},
      {"double_slash_within", "folder//b.txt"},
      {"slash_at_end", "a.txt/"},
      {"empty", ""},
      {"slash_alone", "/"},
      {"absolute", "/etc/hosts.txt"},
      {"absolute_doubled", "//etc/hosts.txt"},
      {"absolute_tripled", "///etc/hosts.txt"},
      {"absolute_proc", "/proc/self/root/etc/hosts.txt"},
      {"three_dots", ".../outside/canary.txt"},
      {"four_dots", "..../outside/canary.txt"},
      {"four_dots_two_slashes", "....//....//outside/canary.txt"},
      {"dots_semicolon", "..;/outside/canary.txt"},
      {"dots_space", ".. /outside/canary.txt"},
      {"space_dots_dot", "a /../../outside/canary.txt"},
      {"dots_name", "..outside/canary.txt"},
      {"dots_file", "..canary.txt"},
      {"folder_dot", "folder./b.txt"},
      {"folder_space", "folder /b.txt"},
      {"url", "file:///etc/hosts.txt"},
      {"url_parent", "file://../outside/canary.txt"},
      {"query", "../outside/canary.txt?a.txt"},
      {"fragment", "../outside/canary.txt#a.txt"},
      {"tilde_parent", "~/../outside/canary.txt"},
      {"glob_parent", "*/../../outside/canary.txt"},
      {"brace_parent", "{a,../outside}/../canary.txt"},
      {"drive", "C:\\windows\\win.txt"},
      {"share", "\\\\host\\share\\canary.txt"},
      {"device_path", "\\\\?\\C:\\canary.txt"},
  };
}

std::vector<Case> backslashes_and_controls() {
  using namespace std::string_literals;
  return {
      {"backslash_parent", "..\\outside\\canary.txt"},
      {"backslash_within", "folder\\b.txt"},
      {"backslash_mixed", "..\\/outside/canary.txt"},
      {"backslash_after_folder", "folder\\..\\..\\outside\\canary.txt"},
      {"nul_at_end", "a.txt\0"s},
      {"nul_before_extension", "../outside/canary.txt\0.txt"s},
      {"nul_within", "folder/b.txt\0.csv"s},
      {"nul_alone", "\0"s},
      {"nul_first", "\0a.txt"s},
      {"newline_at_end", "a.txt\n"},
      {"newline_within", "a\n.txt"},
      {"return", "a.txt\r"},
      {"tab_at_end", "a.txt\t"},
      {"escape", "\x1b[2Ja.txt"},
      {"backspace", "..\b./outside/canary.txt"},
      {"delete", "a\x7f.txt"},
      {"next_line", "a\u0085.txt"},
      {"trailing_dot", "a.txt."},
      {"trailing_dots", "a.txt..."},
      {"trailing_space", "a.txt "},
      {"trailing_dot_space", "a.txt. "},
  };
}

std::vector<Case> escapes() {
  return {
      {"percent_dots", "%2e%2e/outside/canary.txt"},
      {"percent_dots_upper", "%2E%2E/outside/canary.txt"},
      {"percent_half", ".%2e/outside/canary.txt"},
      {"percent_slash", "..%2foutside%2fcanary.txt"},
      {"percent_all", "%2e%2e%2foutside%2fcanary.txt"},
      {"percent_backslash", "%2e%2e%5coutside%5ccanary.txt"},
      {"percent_twice", "%252e%252e%252foutside%252fcanary.txt"},
      {"percent_nul", "a.txt%00.csv"},
      {"percent_overlong", "%c0%ae%c0%ae%c0%afcanary.txt"},
      {"percent_newline", "a%0a.txt"},
      {"percent_absolute", "%2fetc%2fhosts.txt"},
      {"percent_fullwidth", "%ef%bc%8e%ef%bc%8e/canary.txt"},
  };
}

std::vector<Case> bad_utf8() {
  return {
      {"overlong_dot", "\xc0\xae\xc0\xae/outside/canary.txt"},
      {"overlong_dot_three", "\xe0\x80\xae\xe0\x80\xae/outside/canary.txt"},
      {"overlong_dot_four", "\xf0\x80\x80\xae/outside/canary.txt"},
      {"overlong_slash",
       "..\xc0\xafoutside\xc0\xaf"
       "canary.txt"},
      {"overlong_nul", "a.txt\xc0\x80.txt"},
      {"lone_tail", "\x80/canary.txt"},
      {"cut_sequence", "folder\xe2\x82/b.txt"},
      {"surrogate", "a\xed\xa0\x80.txt"},
      {"above_unicode", "a\xf4\x90\x80\x80.txt"},
      {"latin1", "caf\xe9.txt"},
      {"byte_ff",
       "\xff\xfe"
       "a.txt"},
  };
}

std::vector<Case> look_alikes() {
  return {
      {"fullwidth_dots", "\uff0e\uff0e/outside/canary.txt"},
      {"fullwidth_slash", "..\uff0foutside\uff0fcanary.txt"},
      {"fullwidth_slash_alone", "folder\uff0fb.txt"},
      {"fullwidth_backslash", "folder\uff3cb.txt"},
      {"fullwidth_percent", "\uff052e\uff052e/canary.txt"},
      {"fullwidth_colon", "C\uff1a/canary.txt"},
      {"division_slash", "folder\u2215b.txt"},
      {"fraction_slash", "folder\u2044b.txt"},
      {"big_solidus", "folder\u29f8b.txt"},
      {"big_reverse_solidus", "folder\u29f9b.txt"},
      {"set_minus", "folder\u2216b.txt"},
      {"box_diagonal", "folder\u2571b.txt"},
      {"one_dot_leader", "\u2024\u2024/outside/canary.txt"},
      {"two_dot_leader", "\u2025/outside/canary.txt"},
      {"ellipsis", "\u2026/outside/canary.txt"},
      {"small_full_stop", "\ufe52\ufe52/outside/canary.txt"},
      {"small_reverse_solidus", "folder\ufe68b.txt"},
      {"vertical_two_dots", "\ufe30/outside/canary.txt"},
      {"ideographic_stop", "a\u3002txt"},
      {"halfwidth_stop", "a\uff61txt"},
      {"dot_leader_extension", "canary\u2024txt"},
      {"account_of", "a\u2100b.txt"},
      {"care_of", "a\u2105b.txt"},
      {"digit_full_stop", "a\u2488txt"},
      {"solidus_overlay", "a\u0338b.txt"},
      {"zero_width_space", ".\u200b./outside/canary.txt"},
      {"zero_width_joiner", ".\u200d./outside/canary.txt"},
      {"zero_width_non_joiner", "a.\u200ctxt"},
      {"byte_order_mark", "\ufeff../outside/canary.txt"},
      {"word_joiner", ".\u2060./outside/canary.txt"},
      {"soft_hyphen", "a\u00ad.txt"},
      {"right_to_left_override", "a\u202etxt.exe.txt"},
      {"left_to_right_mark", "a\u200e.txt"},
      {"isolate", "a\u2066b\u2069.txt"},
      {"arabic_letter_mark", "a\u061c.txt"},
      {"no_break_space", "a.txt\u00a0"},
      {"ideographic_space", "a.txt\u3000"},
      {"line_separator", "a\u2028.txt"},
      {"tag_characters", "a\U000e0041.txt"},
      {"variation_selector", "a\ufe0f.txt"},
      {"hangul_filler", "a\u3164.txt"},
      {"noncharacter", "a\uffff.txt"},
  };
}

std::vector<Case> names_and_sizes() {
  return {
      {"other_extension", "a.exe"},
      {"no_extension", "folderless"},
      {"upper_extension", "a.TXT"},
      {"second_extension", "a.txt.exe"},
      {"extension_only", ".txt"},
      {"hidden_file", ".secret.txt"},
      {"hidden_folder", ".git/config.txt"},
      {"hidden_below", "folder/.b.txt"},
      {"reserved", ".tool-files-00112233445566778899aabbccddeeff.part"},
      {"reserved_like", ".tool-files-a.txt"},
      {"long_segment", std::string(252, 'a') + ".txt"},
      {"long_path", deep("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/", 90, "a.txt")},
      {"deep_path", deep("a/", 32, "a.txt")},
      {"huge_path", std::string(1 << 20, 'a') + ".txt"},
  };
}

// Places that exist in the root and lead out of it, or to something that is
// not a plain file; see plant().
std::vector<Case> links() {
  return {
      {"link_relative", "link.txt"},
      {"link_absolute", "absolute.txt"},
      {"link_dangling_outside", "dangling.txt"},
      {"link_to_inside", "inner.txt"},
      {"link_loop", "loop.txt"},
      {"link_to_link", "chain.txt"},
      {"link_to_proc", "proc.txt"},
      {"link_depth_2", "folder/link.txt"},
      {"link_depth_3", "folder/deep/link.txt"},
      {"folder_link", "out/canary.txt"},
      {"folder_link_missing_file", "out/new.txt"},
      {"folder_link_below", "out/folder/b.txt"},
      {"folder_link_absolute", "absolute_out/canary.txt"},
      {"folder_link_depth_2", "folder/out/canary.txt"},
      {"folder_link_depth_3", "folder/deep/out/canary.txt"},
      {"folder_link_to_inside", "same/b.txt"},
      {"folder_link_to_root", "self/a.txt"},
      {"folder_link_twice", "self/out/canary.txt"},
      {"folder_link_to_slash", "slash/etc/hosts.txt"},
      {"folder_link_to_proc_root", "procroot/etc/hosts.txt"},
      {"folder_link_to_proc_cwd", "proccwd/canary.txt"},
      {"hard_link_outside", "hard.txt"},
      {"hard_link_depth_2", "folder/hard.txt"},
      {"hard_link_inside", "twin.txt"},
      {"pipe", "pipe.txt"},
      {"socket", "socket.txt"},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const auto& part : {dots_and_slashes(), backslashes_and_controls(), escapes(), bad_utf8(),
                           look_alikes(), names_and_sizes(), links()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

class TraversalTest : public testing::TestWithParam<MechanismChoice>, public FilesFixture {
 protected:
  void SetUp() override { plant(); }
  void plant();
  void plant_folder_links();
  void expect_refused(std::string_view tool, Object args, const Case& tried);

  std::unique_ptr<FilesConnector> connector_ = connector(options(GetParam()));
};

void TraversalTest::plant_folder_links() {
  make_link("../outside", root("out"));
  make_link(outside(), root("absolute_out"));
  make_link("../../outside", root("folder/out"));
  make_link("../../../outside", root("folder/deep/out"));
  make_link("folder", root("same"));
  make_link(".", root("self"));
  make_link("/", root("slash"));
  make_link("/proc/self/root", root("procroot"));
  make_link("/proc/self/cwd", root("proccwd"));
}

void TraversalTest::plant() {
  plant_folder_links();
  make_link("../outside/canary.txt", root("link.txt"));
  make_link(outside("canary.txt"), root("absolute.txt"));
  make_link("../outside/none.txt", root("dangling.txt"));
  make_link("a.txt", root("inner.txt"));
  make_link("loop.txt", root("loop.txt"));
  make_link("link.txt", root("chain.txt"));
  make_link("/proc/self/status", root("proc.txt"));
  make_link("../../outside/canary.txt", root("folder/link.txt"));
  make_link("../../../outside/canary.txt", root("folder/deep/link.txt"));
  plant_other_kinds(*this);
}

// A fault E_POLICY; a listing may also say that there is no such folder. In no
// case does the answer hold a byte of the canary or a path of the host.
void TraversalTest::expect_refused(std::string_view tool, Object args, const Case& tried) {
  SCOPED_TRACE(std::string(tool) + " of " + tried.name);
  auto outcome = call(*connector_, tool, std::move(args));
  std::string told;
  if (!outcome) {
    EXPECT_EQ(outcome.error().code, Code::kPolicy) << outcome.error().message;
    told = outcome.error().message;
  } else {
    EXPECT_EQ(tool, "files.list");
    EXPECT_TRUE(outcome->is_error);
    for (const auto& part : outcome->content) told += part.data;
    EXPECT_FALSE(outcome->structured);
  }
  EXPECT_EQ(told.find(kCanary), std::string::npos);
  EXPECT_EQ(told.find(top()), std::string::npos);
  EXPECT_EQ(told.find("outside"), std::string::npos);
}

TEST_P(TraversalTest, every_tool_refuses_every_case_and_the_canary_stays) {
  auto cases = all_cases();
  ASSERT_GE(cases.size(), 100U);
  for (const auto& tried : cases) {
    expect_refused("files.read", {{"path", tried.path}}, tried);
    expect_refused("files.read", {{"path", tried.path}, {"encoding", "base64"}}, tried);
    expect_refused("files.stat", {{"path", tried.path}}, tried);
    expect_refused("files.list", {{"path", tried.path}}, tried);
    expect_refused("files.list", {{"path", tried.path}, {"recursive", true}}, tried);
    expect_refused("files.write", {{"path", tried.path}, {"content", "x"}, {"mode", "create"}},
                   tried);
    expect_refused("files.write", {{"path", tried.path}, {"content", "x"}, {"mode", "replace"}},
                   tried);
    expect_refused("files.delete", {{"path", tried.path}}, tried);
    expect_canary_untouched();
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, TraversalTest, testing::ValuesIn(mechanisms()),
                         mechanism_name);

}  // namespace
}  // namespace tool::files
