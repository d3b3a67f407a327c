#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <set>
#include <sstream>

#include "base/config/sources.h"
#include "base/config/tree_entries.h"
#include "base/core/text.h"

namespace base::config {
namespace {

constexpr std::size_t kMaxDocumentBytes = 1 << 20;

// Thrown through the library's parser and caught in from_yaml alone.
struct Refused {
  YAML::Mark mark;
  std::string_view rule;
};

// The library takes a quote that is never closed, and with it all that follows
// for one value: settings would be lost without a word.
bool quote_is_closed(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  char quote = text[at];
  if (quote == '|' || quote == '>') return true;  // A block needs no end.
  if (quote != '\'' && quote != '"') return false;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return true;
      ++i;
    }
  }
  return false;
}

// Takes the events one by one: no tree is built that an alias could blow up,
// and the nesting is refused before the parser goes down into it.
class Reader final : public YAML::EventHandler {
 public:
  Reader(std::string_view text, std::string_view prefix, std::string_view file)
      : out_(prefix, file), text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refused{mark, "must be one document"};
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { no_anchor(mark, 1); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { no_anchor(mark, 1); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    no_anchor(mark, anchor);
    if (frames_.empty()) return;  // A file of comments.
    if (wants_key()) throw Refused{mark, "a key must be a text"};
    if (frames_.back().items) throw Refused{mark, "a list must not have an empty item"};
    out_.add_empty(path_);
    value_done();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    no_anchor(mark, anchor);
    no_tag(mark, tag);
    if (tag == "!" && !quote_is_closed(text_, static_cast<std::size_t>(mark.pos))) {
      throw Refused{mark, "a quote must be closed"};
    }
    if (frames_.empty()) throw Refused{mark, "must be a map of settings"};
    Frame& frame = frames_.back();
    if (frame.items) {
      frame.items->push_back(value);
    } else if (wants_key()) {
      if (!frame.keys.insert(value).second) throw Refused{mark, "a key must not be there twice"};
      path_.push_back(value);
    } else {
      out_.add_text(path_, value);
      value_done();
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    no_anchor(mark, anchor);
    no_tag(mark, tag);
    if (frames_.empty()) throw Refused{mark, "must be a map of settings"};
    if (wants_key()) throw Refused{mark, "a key must be a text"};
    if (frames_.back().items) throw Refused{mark, "a list must have texts alone"};
    frames_.push_back({.keys = {}, .items = std::vector<std::string>(), .depth = path_.size()});
  }

  void OnSequenceEnd() override {
    out_.add_list(path_, *frames_.back().items);
    frames_.pop_back();
    value_done();
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    no_anchor(mark, anchor);
    no_tag(mark, tag);
    if (!frames_.empty() && wants_key()) throw Refused{mark, "a key must be a text"};
    if (!frames_.empty() && frames_.back().items) {
      throw Refused{mark, "a list must have texts alone"};
    }
    if (frames_.size() > kMaxNesting) throw Refused{mark, "is nested too deeply"};
    frames_.push_back({.keys = {}, .items = std::nullopt, .depth = path_.size()});
  }

  void OnMapEnd() override {
    frames_.pop_back();
    if (!frames_.empty()) value_done();
  }

  Entries done() && { return std::move(out_).done(); }

 private:
  struct Frame {
    std::set<std::string> keys;                     // Of a map.
    std::optional<std::vector<std::string>> items;  // Of a list.
    std::size_t depth;  // Of path_ when it began: one more while a key waits for its value.
  };

  [[nodiscard]] bool wants_key() const {
    return !frames_.back().items && path_.size() == frames_.back().depth;
  }
  void value_done() { path_.pop_back(); }

  static void no_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw Refused{mark, "anchors and aliases are not taken"};
  }
  // The library says "?" for a plain value and "!" for a quoted one.
  static void no_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{mark, "tags are not taken"};
  }

  TreeEntries out_;
  std::string_view text_;  // Of UTF-8 without a byte order mark: a mark's pos is a byte of it.
  std::vector<Frame> frames_;
  std::vector<std::string> path_;
  int documents_ = 0;
};

Entries refused(std::string_view file, const YAML::Mark& mark, std::string_view rule) {
  return {{}, {fmt::format("{}:{}:{}: {}", file, mark.line + 1, mark.column + 1, rule)}, true};
}

}  // namespace

Entries from_yaml(std::string_view text, std::string_view prefix, std::string_view file) {
  if (text.size() > kMaxDocumentBytes) {
    return {{}, {fmt::format("{}: must have at most 1 MiB", file)}, true};
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // The library would guess at UTF-16 and UTF-32.
  if (!is_utf8(text) || text.contains('\0')) {
    return {{}, {fmt::format("{}: must be UTF-8", file)}, true};
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Reader reader(text, prefix, file);
    while (parser.HandleNextDocument(reader)) {
    }
    return std::move(reader).done();
  } catch (const Refused& refusal) {
    return refused(file, refusal.mark, refusal.rule);
  } catch (const YAML::Exception& error) {
    // The library's own words may quote the line, and with it a secret.
    return refused(file, error.mark, "is not YAML");
  } catch (const std::exception&) {
    return {{}, {fmt::format("{}: is not YAML", file)}, true};
  }
}

}  // namespace base::config
