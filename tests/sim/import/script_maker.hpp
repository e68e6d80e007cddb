#pragma once
#include <iterator>
#include <random>
#include <string>
#include <utility>

/// Random scripts of what launch scripts do, and of what the reader of scripts refuses.
namespace stepcast::import_tests {

/// A script of random statements that ends; a launch stands behind them.
class ScriptMaker {
 public:
  explicit ScriptMaker(unsigned seed) : draw_{seed} {}

  std::string script() {
    loops_ = depth_ = 0;
    in_function_ = false;
    text_ = "#!/bin/bash\n";
    for (const char* name : {"A", "B", "C", "N"})
      if (chance(85)) line(std::string(name) + "=" + value());
    if (chance(80)) line("R=(" + words() + ")");
    const int count = 2 + below(7);
    for (int i = 0; i < count; ++i) statement();
    const std::string launch =
        "torchrun t.py --a $A --b \"$B\" --c \"${C}\" --n ${N:-none} --r \"${R[@]}\" --q ${R[@]} "
        "--count $# --all \"$*\"";
    if (chance(15)) {
      line("go() {");
      line("  " + launch + " --p \"$1\"");
      line("}");
      line("go " + value());
    } else {
      line(launch);
    }
    return text_;
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(draw_); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  std::string pick(const List& list) {
    return std::string(*(std::begin(list) + below(static_cast<int>(std::size(list)))));
  }
  void line(const std::string& more) {
    text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + more + "\n";
  }

  std::string name() {
    static constexpr const char* all[] = {"A", "B", "C", "N"};
    return pick(all);
  }
  std::string number() {
    static constexpr const char* all[] = {"0",   "1",   "2",  "3",  "8",
                                          "010", "007", "16", "-4", "0x10"};
    return pick(all);
  }
  std::string value() {
    static constexpr const char* plain[] = {"x",        "prod",        "a-b",           "4",
                                            "8",        "12",          "010",           "\"p q\"",
                                            "'p*'",     "\"a  b\"",    "p\\ q",         "\"\"",
                                            "''",       "'a\"b'",      "\"it's\"",      "x.y.z",
                                            "\"$A\"",   "$B",          "${C}",          "\"$A-$B\"",
                                            "$A$N",     "${N:-7}",     "\"${B:-d e}\"", "${A:+y}",
                                            "${C#*.}",  "${C##*.}",    "${B%.*}",       "${#A}",
                                            "${R[0]}",  "\"${R[1]}\"", "${#R[@]}",      "$#",
                                            "\"$*\"",   "\"${R[*]}\"", "${A%%\"*\"}",   "\\$A",
                                            "\"\\$A\"", "a\\\\b"};
    if (chance(20)) return "$((" + sum() + "))";
    if (chance(25)) return number();
    return pick(plain);
  }
  std::string words() {
    std::string all;
    const int count = below(4);
    for (int i = 0; i < count; ++i) all += (i > 0 ? " " : "") + value();
    return all;
  }
  std::string sum() {
    static constexpr const char* operators[] = {"+",  "-", "*",  "/",  "%",
                                                "**", "<", "==", "&&", "||"};
    const std::string first = chance(50) ? number() : chance(50) ? "N" : "$N";
    if (chance(30)) return first;
    const std::string second = chance(60) ? number() : "$" + name();
    if (chance(25))
      return "(" + first + " " + pick(operators) + " " + second + ") " + pick(operators) + " 2";
    return first + " " + pick(operators) + " " + second;
  }
  std::string shape() {
    static constexpr const char* all[] = {"p*",     "\"p*\"", "'p*'", "prod", "*",      "\"*\"",
                                          "[a-p]*", "?",      "\\*",  "$A",   "\"$A\"", "p\"*\"",
                                          "x|y",    "4",      "*.z",  "[!x]*"};
    return pick(all);
  }
  std::string condition() {
    static constexpr const char* compares[] = {"-eq", "-ne", "-gt", "-ge", "-lt", "-le"};
    switch (below(9)) {
      case 0:
        return "[ \"$" + name() + "\" = " + value() + " ]";
      case 1:
        return "[ $N " + pick(compares) + " " + number() + " ]";
      case 2: {
        std::string pattern = shape();
        if (pattern == "x|y") pattern = "x";
        return "[[ $" + name() + (chance(30) ? " != " : " == ") + pattern + " ]]";
      }
      case 3:
        return "[[ $N " + pick(compares) + " " + number() + " ]]";
      case 4:
        return "(( " + sum() + " ))";
      case 5:
        return std::string("[ ") + (chance(50) ? "-z" : "-n") + " \"$" + name() + "\" ]";
      case 6:
        return "[[ -n $" + name() + (chance(50) ? " && " : " || ") + "$" + name() +
               " == " + value() + " ]]";
      case 7:
        return chance(50) ? "true" : "false";
      default:
        return "! [ -n \"$" + name() + "\" ]";
    }
  }
  void block(int statements) {
    ++depth_;
    for (int i = 0; i < statements; ++i) statement();
    --depth_;
  }
  void statement() {
    if (depth_ > 3) return line(name() + "=" + value());
    switch (below(34)) {
      case 0:
      case 1:
        return line(name() + "=" + value());
      case 2:
        return line(name() + "+=" + value());
      case 3:
        return line("let " + name() + "=" + number() + "*2");
      case 4: {
        static constexpr const char* forms[] = {"((N++))", "((N+=2))", "(( N = 5 ))", "((--N))",
                                                "((N*=2)) || true"};
        return line(pick(forms));
      }
      case 5: {
        static constexpr const char* forms[] = {
            "R[0]=z",  "R[1]=w", "R[${#R[@]}]=v",     "R+=(u)",  "R+=x",
            "R[0]+=t", "R[7]=s", "R=(\"${R[@]}\" e)", "unset R", "R=([1]=x)"};
        return line(pick(forms));
      }
      case 6:
      case 7: {
        line("if " + condition() + "; then");
        block(1 + below(2));
        if (chance(40)) {
          line("elif " + condition() + "; then");
          block(1);
        }
        if (chance(50)) {
          line("else");
          block(1);
        }
        return line("fi");
      }
      case 8:
      case 9: {
        line("case $" + name() + " in");
        const int arms = 1 + below(3);
        for (int i = 0; i < arms; ++i) {
          std::string pattern = shape();
          line("  " + pattern + ")");
          block(1);
          static constexpr const char* ends[] = {";;", ";;", ";;", ";;&", ";&"};
          line("  " + pick(ends));
        }
        return line("esac");
      }
      case 10:
      case 11:
      case 12: {
        const std::string variable = chance(60) ? "i" : name();
        line("for " + variable + " in 1 2 " + words() + "; do");
        ++loops_;
        block(1 + below(2));
        --loops_;
        return line("done");
      }
      case 13: {
        const std::string counter = "k" + std::to_string(counters_++);
        if (chance(40)) {
          line("for ((" + counter + " = 0; " + counter + " < 3; " + counter + "++)); do");
          ++loops_;
          block(1 + below(2));
          --loops_;
          return line("done");
        }
        line(counter + "=0");
        line((chance(70) ? "while [ $" + counter + " -lt 3 ]"
                         : "until [[ $" + counter + " -ge 2 ]]") +
             std::string("; do"));
        line("  " + counter + "=$((" + counter + " + 1))");
        ++loops_;
        block(1 + below(2));
        --loops_;
        return line("done");
      }
      case 14:
      case 15:
        if (loops_ == 0 && !chance(3)) return line(name() + "=" + value());
        {
          static constexpr const char* forms[] = {"break", "continue", "break 2", "continue 2",
                                                  "break 1"};
          const std::string jump = pick(forms);
          return line(chance(50) ? condition() + " && " + jump
                                 : "if " + condition() + "; then " + jump + "; fi");
        }
      case 16:
      case 17:
        return function();
      case 18: {
        line("(");
        const int loops = std::exchange(loops_, 0);
        block(2);
        loops_ = loops;
        return line(")");
      }
      case 19: {
        const int loops = std::exchange(loops_, 0);
        line("{");
        block(1);
        line(chance(50) ? "} | true" : "} &");
        loops_ = loops;
        return;
      }
      case 20:
        return line(chance(50) ? "export \"" + name() + "=$B\"" : "export " + name() + "=$B");
      case 21:
        return line("export " + name() + "=" + value());
      case 22:
        return line(condition() + " && " + name() + "=" + value() +
                    (chance(50) ? " || " + name() + "=" + value() : ""));
      case 23:
        return line("unset " + name());
      case 24:
        return line("set -- " + words());
      case 25:
        return line(chance(60) ? "shift" : "shift 2");
      case 26:
        return line("eval \"" + name() + "=" + number() + "\"");
      case 27:
        return line(": ${" + name() + ":=" + number() + "}");
      case 28:
        return line("time " + name() + "=" + value());
      case 29: {
        static constexpr const char* forms[] = {"declare -i N=010",
                                                "declare -A M=([a]=1)",
                                                "declare -n A=B",
                                                "printf -v N %d 16",
                                                "alias x=y",
                                                "readonly Z=1; Z=2",
                                                "IFS=,",
                                                "shopt -s extglob",
                                                "set -u",
                                                "set -e",
                                                "declare -l A=XY",
                                                "readonly Q=4",
                                                "typeset N=3",
                                                "declare R",
                                                "read N <<< 5",
                                                "A={1..3}",
                                                "for j in {1..3}; do N=$j; done",
                                                "C=$'a\\tb'",
                                                "C=$'ab'",
                                                "C=$\"ab\"",
                                                "set -o pipefail",
                                                "command true",
                                                "mapfile -t R <<< x",
                                                "getopts ab: N",
                                                "local N=3",
                                                "A=(1 2)",
                                                "N=\"$(echo 4)\"",
                                                "declare -x N=6",
                                                "export -n N",
                                                "select i in 1; do break; done",
                                                "for ((i=0;i<3;i++)); do N=$i; done",
                                                "exit 0",
                                                "return 1",
                                                "A=1 B=$A",
                                                "A=1 B=$A true",
                                                "trap 'echo --x' EXIT",
                                                "builtin let N=4",
                                                "declare -a R"};
        return line(pick(forms));
      }
      case 30:
        return line("A=$(( " + sum() + " ))");
      case 31:
        return line(chance(50) ? "C=\"${R[@]}\"" : "C=${R[*]}");
      case 32:
        return line("for v; do C=$v; done");
      default:
        return line(name() + "=" + value() + " " + name() + "=" + value());
    }
  }
  void function() {
    if (in_function_) return line(name() + "=" + value());
    const std::string called = "f" + std::to_string(counters_++);
    in_function_ = true;
    const int loops = std::exchange(loops_, 0);
    line(called + "() {");
    ++depth_;
    static constexpr const char* firsts[] = {"local A=4",          "local N",     "local B=$1 C=$B",
                                             "declare A=7",        "local R=(9)", "declare -g N=5",
                                             "typeset C=\"$1 z\"", ":",           "local \"A=$B\"",
                                             "readonly W=2"};
    line(pick(firsts));
    --depth_;
    block(1 + below(3));
    if (chance(30)) line("  return " + number());
    line("}");
    in_function_ = false;
    loops_ = loops;
    const std::string call = called + " " + words();
    const int form = below(6);
    if (form == 0) return line("if " + call + "; then A=yes; else A=no; fi");
    if (form == 1) return line("A=5 " + call);
    if (form == 2) return line(call + " | true");
    line(call);
  }

  std::mt19937 draw_;
  std::string text_;
  int loops_ = 0, counters_ = 0;
  int depth_ = 0;
  bool in_function_ = false;
};

}  // namespace stepcast::import_tests
