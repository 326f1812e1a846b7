#include "topology.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <variant>

namespace scope {

namespace {

using Value = std::variant<std::string, double, std::vector<std::string>>;

// One table of the file: its keys, and which of them have not been requested yet.
struct Table {
  std::string name;  // [host], [[group]] …; empty before the first
  int line = 0;
  std::map<std::string, Value> values;
};

struct Place {
  const std::string& file;
  int line;
  [[noreturn]] void refuse(const std::string& what) const {
    throw TopologyError(file + ", line " + std::to_string(line) + ": " + what);
  }
};

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

// The part before a comment; a # inside a string does not start a comment.
std::string without_comment(const std::string& line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

std::string text_of(std::string_view word, const Place& place, const std::string& key) {
  if (word.size() < 2 || word.front() != '"' || word.back() != '"' ||
      word.substr(1, word.size() - 2).find_first_of("\"\\") != std::string_view::npos)
    place.refuse(key + " = " + std::string(word) + ": must be a string in double quotes, without escapes");
  return std::string(word.substr(1, word.size() - 2));
}

Value value_of(const std::string& word, const Place& place, const std::string& key) {
  if (word.empty()) place.refuse(key + " has no value");
  if (word.front() == '"') return text_of(word, place, key);
  if (word.front() == '[') {
    if (word.back() != ']') place.refuse(key + ": the list must end on the line on which it begins");
    std::vector<std::string> list;
    std::istringstream items(word.substr(1, word.size() - 2));
    for (std::string item; std::getline(items, item, ',');)
      if (const std::string bare = trimmed(item); !bare.empty()) list.push_back(text_of(bare, place, key));
    return list;
  }
  std::string digits = word;
  std::erase(digits, '_');
  double number = 0;
  const char* begin = digits.data() + (digits.front() == '+');
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stopped != end)
    place.refuse(key + " = " + word + ": must be a number, a string or a list of strings");
  return number;
}

std::vector<Table> tables_of(const std::string& text, const std::string& file) {
  std::vector<Table> tables(1);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const Place place{file, ++number};
    const std::string content = trimmed(without_comment(line));
    if (content.empty()) continue;
    if (content.front() == '[' && content.find('=') == std::string::npos) {
      if (content != "[host]" && content != "[[group]]" && content != "[[exception]]")
        place.refuse(content + ": must be [host], [[group]] or [[exception]]");
      if (content == "[host]" &&
          std::any_of(tables.begin(), tables.end(), [](const Table& table) { return table.name == "[host]"; }))
        place.refuse("[host] occurs twice");
      tables.push_back({content, number, {}});
      continue;
    }
    const auto equals = content.find('=');
    if (equals == std::string::npos) place.refuse(content + ": must be written `key = value`");
    const std::string key = trimmed(content.substr(0, equals));
    if (!tables.back().values.emplace(key, value_of(trimmed(content.substr(equals + 1)), place, key)).second)
      place.refuse(key + " is given twice");
  }
  return tables;
}

// Reads the keys of one table by type; keys left over at the end are unknown.
class Reader {
 public:
  Reader(Table table, const std::string& file) : table_(std::move(table)), file_(file) {}

  std::string name(const std::string& key) {
    const auto value = take<std::string>(key, "a string");
    if (!value || value->empty()) refuse(key + " is missing: a name is needed");
    return *value;
  }

  std::string choice(const std::string& key, std::initializer_list<const char*> allowed,
                     const std::string& usual) {
    const std::string value = take<std::string>(key, "a string").value_or(usual);
    std::string names;
    for (const char* name : allowed) {
      if (value == name) return value;
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    refuse(key + " = \"" + value + "\": allowed: " + names);
  }

  std::optional<std::string> text(const std::string& key) { return take<std::string>(key, "a string"); }

  std::vector<std::string> list(const std::string& key) {
    return take<std::vector<std::string>>(key, "a list of strings").value_or(std::vector<std::string>());
  }

  std::optional<double> number(const std::string& key, bool zero_allowed) {
    const auto value = take<double>(key, "a number");
    if (value && !(std::isfinite(*value) && (*value > 0 || (zero_allowed && *value == 0)))) {
      std::ostringstream words;
      words << key << " = " << *value << ": must be " << (zero_allowed ? "0 or more" : "above 0");
      refuse(words.str());
    }
    return value;
  }

  double needed(const std::string& key, bool zero_allowed) {
    const auto value = number(key, zero_allowed);
    if (!value) refuse(key + " is missing");
    return *value;
  }

  void finish() const {
    if (!table_.values.empty()) refuse(table_.values.begin()->first + ": no such key here");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    const std::string where =
        table_.name.empty() ? "" : table_.name + " of line " + std::to_string(table_.line) + ": ";
    throw TopologyError(file_ + ": " + where + what);
  }

 private:
  template <class Type>
  std::optional<Type> take(const std::string& key, const char* allowed) {
    const auto found = table_.values.find(key);
    if (found == table_.values.end()) return std::nullopt;
    if (!std::holds_alternative<Type>(found->second)) refuse(key + ": must be " + allowed);
    Type value = std::get<Type>(std::move(found->second));
    table_.values.erase(found);
    return value;
  }

  Table table_;
  const std::string& file_;
};

Group read_group(Reader& reader) {
  Group group;
  group.name = reader.name("name");
  group.level = reader.choice("level", {"cluster", "lan", "wan"}, "cluster");
  group.parent = reader.text("parent").value_or("");
  group.hosts = reader.list("hosts");
  group.shared = reader.choice("medium", {"switched", "shared"}, "switched") == "shared";
  group.latency_s = reader.needed("latency_s", true);
  group.bandwidth_bytes_per_s = reader.needed("bandwidth_bytes_per_s", false);
  group.uplink_bytes_per_s = reader.number("uplink_bytes_per_s", false);
  group.half_duplex = reader.choice("uplink_duplex", {"full", "half"}, "full") == "half";
  reader.number("confidence", true);
  return group;
}

// Checks that the groups form one tree that contains every host once.
void check(const Topology& topology, const std::string& file) {
  const auto refuse = [&](const std::string& what) { throw TopologyError(file + ": " + what); };
  if (topology.groups.empty()) refuse("no [[group]]: at least one is needed");
  std::set<std::string> names;
  std::map<std::string, std::string> place_of;
  std::set<std::string> parents;
  int roots = 0;
  for (const Group& group : topology.groups) {
    if (!names.insert(group.name).second) refuse("group name = \"" + group.name + "\" is given twice");
    roots += group.parent.empty();
    parents.insert(group.parent);
    for (const std::string& host : group.hosts)
      if (const auto [at, fresh] = place_of.emplace(host, group.name); !fresh)
        refuse("host \"" + host + "\" is in group \"" + at->second + "\" and in group \"" + group.name +
               "\": must be in one group");
  }
  if (roots != 1) refuse("groups without a parent: expected 1, the root; found " + std::to_string(roots));
  for (const Group& group : topology.groups) {
    if (!group.parent.empty() && !names.contains(group.parent))
      refuse("group \"" + group.name + "\": parent = \"" + group.parent + "\": no such group");
    if (group.hosts.empty() != parents.contains(group.name))
      refuse("group \"" + group.name + "\": must have either hosts or child groups, not both");
    const Group* above = &group;
    for (std::size_t steps = 0; !above->parent.empty(); ++steps) {
      if (steps > topology.groups.size()) refuse("group \"" + group.name + "\": its parents form a cycle");
      const int next = topology.group_of(above->parent);
      if (next < 0) break;  // reported for the other group
      above = &topology.groups[next];
    }
  }
  std::set<std::string> excepted;
  for (const Exception& exception : topology.exceptions) {
    if (!place_of.contains(exception.host))
      refuse("[[exception]]: host = \"" + exception.host + "\": it is in no group");
    if (!excepted.insert(exception.host).second)
      refuse("[[exception]]: host = \"" + exception.host + "\" is given twice");
  }
}

}  // namespace

int Topology::group_of(const std::string& name) const {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == name) return static_cast<int>(i);
  return -1;
}

int Topology::group_of_host(const std::string& host) const {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (std::find(groups[i].hosts.begin(), groups[i].hosts.end(), host) != groups[i].hosts.end())
      return static_cast<int>(i);
  return -1;
}

Topology parse_topology(const std::string& text, const std::string& file) {
  Topology topology;
  for (Table& table : tables_of(text, file)) {
    const std::string name = table.name;
    Reader reader(std::move(table), file);
    if (name.empty()) {
      if (const auto format = reader.number("format", false); !format || *format != 1)
        reader.refuse(format ? "format: must be 1" : "format is missing: format = 1 is needed");
      reader.choice("origin", {"measured", "emulated", "simulated"}, "measured");
    } else if (name == "[host]") {
      topology.host = HostFigures{reader.needed("latency_s", true), reader.needed("bandwidth_bytes_per_s", false)};
    } else if (name == "[[group]]") {
      topology.groups.push_back(read_group(reader));
    } else {
      Exception exception{reader.name("host"), reader.number("bandwidth_bytes_per_s", false),
                          reader.number("latency_s", true)};
      topology.exceptions.push_back(std::move(exception));
    }
    reader.finish();
  }
  check(topology, file);
  return topology;
}

}  // namespace scope
