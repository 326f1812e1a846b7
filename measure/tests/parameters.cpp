#include "check.hpp"
#include "options.hpp"
#include "registry.hpp"

using namespace scope;
using scope::testing::thrown;

namespace {

Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), "scope-measure");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

}  // namespace

int main() {
  const Declaration declaration{
      .name = "test.it",
      .title = "",
      .summary = "",
      .parameters = {size("message_bytes", "B", 8, 0, 100, ""), call("mode", "standard,ready", "")},
      .definition = Definition::local,
      .metrics = {},
      .sweeps = {},
      .make = nullptr};
  const Parameters defaults = parse_parameters(declaration, {});
  CHECK(defaults.integer("message_bytes") == 8);
  CHECK(defaults.choice("mode") == "standard");
  CHECK(parse_parameters(declaration, {{"mode", "ready"}}).choice("mode") == "ready");
  for (const char* bad : {"-1", "101", "ten", "8x", "", "1e2", "99999999999999999999"}) {
    const auto message = thrown([&] { parse_parameters(declaration, {{"message_bytes", bad}}); });
    CHECK(says(message, std::string("message_bytes=") + bad + ": must be an integer from 0 to 100"));
  }
  CHECK(says(thrown([&] { parse_parameters(declaration, {{"mode", "fast"}}); }),
             "mode=fast: must be one of standard, ready"));
  CHECK(says(thrown([&] { parse_parameters(declaration, {{"size", "1"}}); }), "unknown parameter size=1"));

  CHECK(says(thrown([] { find_benchmark("mpi.telepathy"); }), "unknown benchmark mpi.telepathy"));

  CHECK(parse({"--action=list"}).action == Action::list);
  CHECK(parse({"--plan=p", "--launch=3"}).launch == 3);
  CHECK(says(thrown([] { parse({"--plan=p", "--launch=0"}); }), "--launch=0: must be an integer from 1"));
  CHECK(
      says(thrown([] { parse({"--action=dance"}); }), "--action=dance: must be run, test, list, probe or alone"));
  CHECK(says(thrown([] { parse({"--action=run"}); }), "--plan: must name a file"));
  CHECK(says(thrown([] { parse({"plan"}); }), "must be written --name=value"));
  CHECK(says(thrown([] { parse({"--origin=guessed", "--plan=p"}); }), "must be measured, emulated or simulated"));
  return scope::testing::failures;
}
