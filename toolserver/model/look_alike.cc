#include "toolserver/model/look_alike.h"

namespace tool {
namespace {

char folded(char c) {
  switch (c) {
    case '0': return 'o';
    case '1':
    case 'i': return 'l';
    case '-': return '_';
    default: return c;
  }
}

}  // namespace

std::string look_of(std::string_view name) {
  std::string look;
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::string_view pair = name.substr(i, 2);
    if (pair == "rn" || pair == "vv") {
      look += pair == "rn" ? 'm' : 'w';
      ++i;
    } else {
      look += folded(name[i]);
    }
  }
  return look;
}

}  // namespace tool
