// Tests the contents of a topology file, error messages, and the paths of messages.
#include "topology.hpp"

#include "expect.hpp"
#include "network.hpp"

namespace {

using namespace scope;

const std::string head_text = "format = 1\norigin = \"simulated\"\n";
const std::string wan_text =
    "[[group]]\nname = \"wan\"\nlevel = \"wan\"\nlatency_s = 0.01\nbandwidth_bytes_per_s = 2e6\n";
const std::string one_text =
    "[[group]]\nname = \"one\"  # a comment, # and another\nparent = \"wan\"\nhosts = [\"a\", \"b\", \"c\"]\n"
    "latency_s = 4e-5\nbandwidth_bytes_per_s = 12_000_000\nuplink_bytes_per_s = 3e6\n";
const std::string two_text =
    "[[group]]\nname = \"two\"\nparent = \"wan\"\nhosts = [\"d\", \"e\"]\nmedium = \"shared\"\n"
    "latency_s = 1e-4\nbandwidth_bytes_per_s = 1e6\nuplink_bytes_per_s = 1e6\nuplink_duplex = \"half\"\n"
    "confidence = 0.99\n";
const std::string exception_text = "[[exception]]\nhost = \"c\"\nbandwidth_bytes_per_s = 5e6\nlatency_s = 5e-5\n";

void refused(const std::string& text, const std::string& words) {
  try {
    parse_topology(text, "t.toml");
    expect(false, "not refused: " + words);
  } catch (const TopologyError& error) {
    const std::string said = error.what();
    expect(said.find(words) != std::string::npos, "said \"" + said + "\" and not \"" + words + "\"");
    expect(said.starts_with("t.toml"), "no file: " + said);
    expect(said.find('\n') == std::string::npos, "more than a line: " + said);
  }
}

void refusals() {
  refused("", "format is missing");
  refused("format = 2\n", "format: must be 1");
  refused(head_text, "no [[group]]");
  refused(head_text + "[group]\n", "must be [host], [[group]] or [[exception]]");
  refused(head_text + wan_text + one_text + "color = \"red\"\n", "color: no such key here");
  refused(head_text + "speed = 3\n" + wan_text, "speed: no such key here");
  refused(head_text + wan_text + one_text + one_text, "name = \"one\" is given twice");
  refused(head_text + wan_text, "must have either hosts or child groups");
  refused(head_text + one_text, "expected 1, the root; found 0");
  refused(head_text + wan_text +
              "[[group]]\nname = \"x\"\nhosts = [\"z\"]\nlatency_s = 0\nbandwidth_bytes_per_s = 1\n",
          "expected 1, the root; found 2");
  refused(head_text + wan_text + one_text +
              "[[group]]\nname = \"x\"\nparent = \"nowhere\"\nhosts = [\"z\"]\nlatency_s = 0\n"
              "bandwidth_bytes_per_s = 1\n",
          "parent = \"nowhere\": no such group");
  refused(head_text + wan_text + one_text +
              "[[group]]\nname = \"x\"\nparent = \"y\"\nlatency_s = 0\nbandwidth_bytes_per_s = 1\n"
              "[[group]]\nname = \"y\"\nparent = \"x\"\nlatency_s = 0\nbandwidth_bytes_per_s = 1\n",
          "cycle");
  refused(head_text + wan_text + one_text +
              "[[group]]\nname = \"x\"\nparent = \"wan\"\nhosts = [\"b\"]\nlatency_s = 0\n"
              "bandwidth_bytes_per_s = 1\n",
          "host \"b\" is in group \"one\" and in group \"x\": must be in one group");
  refused(head_text + wan_text + one_text + "[[exception]]\nhost = \"q\"\n", "host = \"q\": it is in no group");
  const std::string group = head_text + "[[group]]\nname = \"g\"\nhosts = [\"a\"]\n";
  refused(group + "latency_s = -1\nbandwidth_bytes_per_s = 1\n", "latency_s = -1: must be 0 or more");
  refused(group + "latency_s = 1\nbandwidth_bytes_per_s = 0\n", "bandwidth_bytes_per_s = 0: must be above 0");
  refused(group + "latency_s = 1\nbandwidth_bytes_per_s = inf\n", "must be above 0");
  refused(group + "latency_s = fast\n", "must be a number, a string or a list of strings");
  refused(group + "latency_s = \"fast\"\n", "latency_s: must be a number");
  refused(group + "latency_s = 1\n", "bandwidth_bytes_per_s is missing");
  refused(group + "level = \"moon\"\nlatency_s = 1\nbandwidth_bytes_per_s = 1\n", "allowed: cluster, lan, wan");
  refused(group + "latency_s = 1\nlatency_s = 1\n", "line 7: latency_s is given twice");
  refused(head_text + "[[group]]\nname = \"g\"\nhosts = [\"a\",\n",
          "the list must end on the line on which it begins");
  refused(head_text + "nonsense\n", "line 3: nonsense: must be written `key = value`");
  refused(head_text + "[host]\nlatency_s = 1\nbandwidth_bytes_per_s = 1\n[host]\n", "twice");
}

double rate(const Network& network, const std::string& name) {
  for (const Resource& each : network.resources())
    if (each.name == name) return each.bytes_per_s;
  return -1;
}

std::string passes(const Network& network, int from, int to) {
  std::string names;
  for (const int each : network.route(from, to).resources) names += network.resources()[each].name + ", ";
  return names;
}

void ways() {
  const Topology topology = parse_topology(head_text + wan_text + one_text + two_text + exception_text, "t.toml");
  // Ranks 0 and 5 share a host; d is found without its domain.
  const Network network(topology, {"a", "b", "c", "d.cluster.example", "e", "a"});
  expect(passes(network, 0, 1) == "a out, b in, ", "inside a switch: " + passes(network, 0, 1));
  expect(passes(network, 0, 5).empty() && network.route(0, 5).local, "inside a host");
  expect(passes(network, 3, 4) == "d out, e in, two medium, ", "on a bus: " + passes(network, 3, 4));
  expect(passes(network, 0, 3) == "a out, d in, one out, two medium, two uplink, ",
         "across: " + passes(network, 0, 3));
  expect(network.route(0, 1).latency_s == 4e-5 && network.route(0, 3).latency_s == 0.01, "latency");
  expect(std::abs(network.route(0, 2).latency_s - 5e-5) < 1e-12, "latency of an exception");
  expect(rate(network, "c out") == 5e6 && rate(network, "a out") == 12e6, "rate of an exception");
  expect(network.bytes_per_s(0, 2) == 5e6 && network.bytes_per_s(0, 3) == 1e6, "rate of a way");
  const Branch& tree = network.tree();
  expect(tree.parts.size() == 2 && tree.ranks == std::vector<int>({0, 5, 1, 2, 3, 4}), "tree");
  expect(tree.parts[0].cluster && tree.parts[0].parts[0].host, "levels");
  for (const std::vector<std::string>& foreign : {std::vector<std::string>{"a", "elsewhere"}, {"a.x", "a.y"}})
    try {
      Network(topology, foreign);
      expect(false, "hosts that the file does not tell apart were accepted");
    } catch (const TopologyError& error) {
      expect(std::string(error.what()).find("the file is for other hosts") != std::string::npos, error.what());
    }
}

}  // namespace

int main() {
  refusals();
  ways();
  return failures ? 1 : 0;
}
