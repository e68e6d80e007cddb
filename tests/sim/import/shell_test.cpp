#include <gtest/gtest.h>

#include <algorithm>

#include "sim/import/launch.hpp"
#include "sim/import/megatron.hpp"
#include "subjects.hpp"

// What a shell makes of a script, and what it must not do.
namespace stepcast {
namespace {

using launch::Launch;
using launch::Setting;

/// Flags as one line, values joined by `=` and commas.
std::string flags(const std::string& script) {
  std::string line;
  for (const Setting& setting : launch::read_shell("run.sh", script).settings) {
    line += (line.empty() ? "" : " ") + setting.name;
    for (std::size_t i = 0; i < setting.words.size(); ++i)
      line += (i == 0 ? "=" : ",") + setting.words[i];
  }
  return line;
}

std::string complaint(const std::string& script) {
  try {
    (void)launch::read_shell("run.sh", script);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Shell, SplitsWhatIsNotQuoted) {
  EXPECT_EQ(flags("A=(\n \"--fp8-format hybrid\"\n --lr 1\n)\npython t.py ${A[@]}"),
            "--fp8-format=hybrid --lr=1");
  EXPECT_EQ(flags("A=(\"--fp8-format hybrid\" --lr 1)\npython t.py \"${A[@]}\""),
            "--fp8-format hybrid --lr=1");
  EXPECT_EQ(flags("A=(--x 1); A+=(--y 2); A=(\"${A[@]}\" --z); python t.py ${A[@]}"),
            "--x=1 --y=2 --z");
  EXPECT_EQ(flags("A=\"\n  --x 1 \\\n  --y \\\n\"\npython t.py $A --z"), "--x=1 --y --z");
}

TEST(Shell, KnowsDefaultsAndArithmetic) {
  EXPECT_EQ(
      flags("N=${NODES:-4}; G=8; python t.py --x $(($N*G/2)) --y ${1:-\"d\"} --z ${U-u} ${V:+--v}"),
      "--x=16 --y=d --z=u");
  EXPECT_EQ(flags("A=2; B=$((A**3 % 5 + (7-1)/4)); python t.py --x $B"), "--x=4");
  EXPECT_EQ(flags("F=a/b/c.json; python t.py --x ${F##*/} --y ${F%.json} --n ${#F}"),
            "--x=c.json --y=a/b/c --n=10");
  EXPECT_EQ(flags("N=4; python t.py --x $(expr 17 / $N + 1) --y `expr 3 \\* 5 % 4`"),
            "--x=5 --y=3");
  for (const char* words : {"expr 010 + 1", "expr $(id) + 1", "expr 2 '*' 3 | cat", "expr 1 +",
                            "expr length abc", "expr 3 + x"})
    EXPECT_NE(flags("python t.py --x $(" + std::string(words) + ")"), "--x=11") << words;
}

TEST(Shell, DecidesConditions) {
  const std::string script =
      "P=fp8\nif [[ \"$P\" == \"fp8\" && -n $P ]]; then A=--a; elif [ 1 -gt 2 ]; then A=--b; else "
      "A=--c; fi\npython t.py $A --x";
  EXPECT_EQ(flags(script), "--a --x");
  EXPECT_EQ(flags("[ -z \"$U\" ] && A=--a || A=--b\npython t.py $A"), "--a");
  EXPECT_EQ(flags("case ab in a*) A=--a;; *) A=--b;; esac\npython t.py $A"), "--a");
  EXPECT_EQ(flags("for i in 1 2; do A+=\" --x$i\"; done\npython t.py $A"), "--x1 --x2");
  EXPECT_EQ(flags("f() { A=\"--x $1\"; }\nf 3\npython t.py $A"), "--x=3");
  EXPECT_EQ(flags("while [[ $# -gt 0 ]]; do shift; done\npython t.py --x"), "--x");
}

TEST(Shell, CountsInLoops) {
  const std::string behind = "; do A+=\" --x$i\"; done\npython t.py $A --y $i";
  EXPECT_EQ(flags("for ((i=1; i<3; i++))" + behind), "--x1 --x2 --y=3");
  EXPECT_EQ(flags("set -e\nN=2\nfor (( i = 0; i <= N-1; i++ ))" + behind), "--x0 --x1 --y=2");
  EXPECT_EQ(flags("i=3\nfor ((; i > 1; i--)); do [ $i = 2 ] && continue; A+=\" --x$i\"; done\n"
                  "python t.py $A"),
            "--x3");
  EXPECT_EQ(flags("for ((i=0; ; i++)); do ((i == 2)) && break; done\npython t.py --y $i"), "--y=2");
  // What no round changes is followed whatever the number of rounds.
  EXPECT_EQ(flags("N=$(wc -l < hosts)\nfor ((i=0; i<N; i++)); do ssh $i true; done\n"
                  "until test -f x; do sleep 1; done\npython t.py --x"),
            "--x");
  EXPECT_NE(
      complaint("while read l; do A+=\" --x\"; done\npython t.py $A").find("cannot be decided"),
      std::string::npos);
  EXPECT_NE(complaint("for ((i=0; i<2)); do true; done").find("for (( begin; condition; step ))"),
            std::string::npos);
}

TEST(Shell, StopsAtPipesAndComments) {
  EXPECT_EQ(flags("python t.py --x 1 | tee --log"), "--x=1");
  EXPECT_EQ(flags("A=(\n  --x 1 # --y\n  # --z\n)\npython t.py ${A[@]} 2>&1 > log &"), "--x=1");
  EXPECT_EQ(flags("python t.py --x 1 \\\r\n  --y 2\r\n"), "--x=1 --y=2");
}

TEST(Shell, ReadsCommandsInTextsAndDocuments) {
  EXPECT_EQ(flags("C=\"python t.py --x 1\"\neval $C"), "--x=1");
  EXPECT_EQ(flags("C=\"python t.py --x 1\"\nsbatch <<EOF\nsrun sh -c \"$C\"\nEOF\n"), "--x=1");
  EXPECT_EQ(flags("C='python t.py --x 1'\n$C --y"), "--x=1 --y");
}

TEST(Shell, AHereDocumentIsReadIntoAVariable) {
  EXPECT_EQ(flags("N=3\nread -r -d '' A <<EOF\n  --x $N \\\n  --y 2\nEOF\npython t.py $A\n"),
            "--x=3 --y=2");
  EXPECT_EQ(flags("read -rd '' A <<'EOF' || true\n--x 1\nEOF\npython t.py $A\n"), "--x=1");
}

TEST(Shell, NeverRunsACommand) {
  const std::string file = ::testing::TempDir() + "stepcast_import_ran";
  std::filesystem::remove(file);
  EXPECT_EQ(flags("A=$(touch " + file + "; echo 3)\nB=`touch " + file + "`\ntouch " + file +
                  "\npython t.py --x 1"),
            "--x=1");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Shell, SaysWhereSomethingIsUndecidable) {
  EXPECT_NE(complaint("if [ -f x ]; then A=1; else A=2; fi\npython t.py --x $A").find("run.sh:1:1"),
            std::string::npos);
  // What bash counts as one character may be several bytes.
  for (const char* value : {"${#F}", "${F#?}", "${F%[b]}", "${F##*a*b*c*d*e}"})
    EXPECT_NE(complaint("F=\xc3\xa4"
                        "ab; if [ " +
                        std::string(value) + " = 3 ]; then A=1; else A=2; fi\npython t.py --x $A")
                  .find("run.sh:1:"),
              std::string::npos)
        << value;
  EXPECT_EQ(flags("F=\xc3\xa4-8; python t.py --x ${F#*-}"), "--x=8");
  EXPECT_EQ(complaint("if [ -d x ]; then echo there; fi\npython t.py --x 1"), "");
  EXPECT_EQ(complaint("if [ ! -f t.py ]; then exit 1; fi\npython t.py --x 1"), "");
}

TEST(Shell, LeavesLoopsWhereTheyAreLeft) {
  EXPECT_EQ(
      flags("for G in 8 16 32; do if [ $G -eq 16 ]; then break; fi; done\npython t.py --g $G"),
      "--g=16");
  EXPECT_EQ(flags("for i in 1 2 3; do [ $i = 2 ] && continue; A+=\" --x$i\"; done\npython t.py $A"),
            "--x1 --x3");
  EXPECT_EQ(
      flags("for i in 1 2; do for j in 1 2; do A=$i$j; break 2; done; done\npython t.py --a $A"),
      "--a=11");
  EXPECT_EQ(complaint("break\npython t.py --x 1"),
            "run.sh:1:1: has break outside of a loop of its shell");
}

TEST(Shell, FunctionsHaveNamesOfTheirOwn) {
  EXPECT_EQ(flags("N=32\nf() { local N=4; }\nf\npython t.py --n $N"), "--n=32");
  EXPECT_EQ(flags("N=32\nf() { declare N=4; g; }\ng() { M=$N; }\nf\npython t.py --n $N --m $M"),
            "--n=32 --m=4");
  EXPECT_EQ(flags("f() { A=$N; }\nN=3 f\npython t.py --a $A --n ${N:-none}"), "--a=3 --n=none");
  EXPECT_EQ(flags("f() { return 1; }\nif f; then A=1; else A=2; fi\npython t.py --a $A"), "--a=2");
  EXPECT_NE(complaint("local N=3\npython t.py --n $N"), "");
}

TEST(Shell, SetsWhatCommandsOfTheShellSet) {
  EXPECT_EQ(flags("let A=8*2\npython t.py --a $((A * 4 + 8))"), "--a=72");
  EXPECT_EQ(flags("A=(1 2); A[1]=3; A[2]=4\npython t.py --a \"${A[*]}\""), "--a=1 3 4");
  EXPECT_EQ(flags("B=5; export \"A=$B\"\npython t.py --a $A"), "--a=5");
  EXPECT_EQ(flags("time A=4\npython t.py --a $A"), "--a=4");
  EXPECT_EQ(flags("set -- 1 2 3; shift 2\npython t.py --a $1 --n $#"), "--a=3 --n=1");
  EXPECT_EQ(flags("A=1\n{ A=2; } | cat\n(A=3)\nA=4 &\npython t.py --a $A"), "--a=1");
  EXPECT_EQ(flags("case ab in a*) A=1;;& *b) A+=2;& x) A+=3;; *) A=9;; esac\npython t.py --a $A"),
            "--a=123");
  EXPECT_TRUE(launch::is_unknown(
      launch::read_shell("s", "printf -v A %d 16\npython t.py --a $A").settings[0].words[0]));
}

TEST(Shell, NumbersAreThoseOfTheShell) {
  EXPECT_EQ(flags("A=010\npython t.py --a $((A)) --b $((0x10)) --c $((2**3**2))"),
            "--a=8 --b=16 --c=512");
  EXPECT_NE(complaint("python t.py --a $((08))").find("base 8"), std::string::npos);
  EXPECT_EQ(complaint("python t.py --a $((L * 4))"),
            "run.sh:1:17: the arithmetic names L, which is not set; set it in the script");
}

TEST(Shell, QuotedSignsOfPatternsAreCharacters) {
  EXPECT_EQ(flags("M=prod\nif [[ $M == \"p*\" ]]; then G=8; else G=64; fi\npython t.py --g $G"),
            "--g=64");
  EXPECT_EQ(flags("case prod in 'p*') G=8;; p*) G=4;; esac\npython t.py --g $G"), "--g=4");
}

TEST(Shell, RefusesByNameWhatItDoesNotFollow) {
  for (const char* line :
       {"declare -i N=010", "declare -A M=([a]=1)", "declare -n A=B", "alias x=y",
        "readonly Z=1; Z=2", "IFS=,", "shopt -s extglob", "A=({1..3})",
        "select i in 1; do A=1; done", "A=([2]=x)", "A=(1); A[5]=2", "return 1", "unset 'A[0]'",
        "f() { unset A; }; A=1 f", "coproc true", "set -k"})
    EXPECT_NE(complaint(std::string(line) + "\npython t.py --x 1").find("run.sh:1:"),
              std::string::npos)
        << line << ": " << complaint(std::string(line) + "\npython t.py --x 1");
}

TEST(Shell, EndsWithSetUAtWhatNothingCanSet) {
  for (const char* value : {"${R[1]}", "\"${R[1]}\"", "$R", "${#R}", "${R[1]%x}", "$1", "${#1}"}) {
    const std::string line = "R=()\nset -u; A=" + std::string(value) + "\npython t.py --x 1";
    EXPECT_NE(complaint(line).find("is not set, and the script ends without it"), std::string::npos)
        << value << ": " << complaint(line);
  }
  EXPECT_EQ(flags("R=(); set -u; python t.py --x ${R[1]:-3}${#R[1]}${R[@]}"), "--x=30");
}

TEST(Shell, TakesUnderSetUWhatCountsWithoutAVariable) {
  EXPECT_EQ(flags("set -euo pipefail; T=${T:-4}; if [[ -n \"${W:-}\" ]]; then X=1; else X=2; fi\n"
                  ": ${Y:=5}; python t.py --x $T$X$Y${Z+9}${V-6}${Q[0]:-7}"),
            "--x=42567");
}

TEST(Shell, ReadsManyWords) {  // a reader that copies per word would need minutes
  std::string script = "python t.py";
  for (int i = 0; i < 200000; ++i) script += " --a";
  EXPECT_EQ(launch::read_shell("run.sh", script).settings.size(), 200000U);
  EXPECT_NE(complaint("A=('' '')\nwhile true; do A=(\"${A[@]}\" \"${A[@]}\"); done").find("1 MiB"),
            std::string::npos);
}

TEST(Shell, IsBounded) {
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "( ";
  EXPECT_NE(complaint("A=aaaaaaaaaa\nwhile true; do A=$A$A; done\n").find("1 MiB"),
            std::string::npos);
  EXPECT_NE(complaint("while true; do true; done\n").find("1000 times"), std::string::npos);
  EXPECT_NE(complaint("f() { f; }\nf\n").find("32 calls"), std::string::npos);
  EXPECT_NE(complaint(nested).find("nested"), std::string::npos);
  EXPECT_NE(complaint("A=B; B=A; C=$((A))").find("name each other"), std::string::npos);
}

TEST(Shell, FindsTheLaunchersSizes) {
  const Launch launch =
      launch::read_shell("run.sh", "torchrun --nproc_per_node 8 --nnodes=4 t.py --x 1");
  ASSERT_TRUE(launch.nodes && launch.devices_per_node);
  EXPECT_EQ(launch.nodes->words.front(), "4");
  EXPECT_EQ(launch.devices_per_node->words.front(), "8");
}

TEST(Shell, SourcesBesideTheScriptAlone) {
  const std::string script =
      "source /elsewhere/env_config.sh\nsource missing.sh\npython t.py --x $TASK_QUEUE_ENABLE";
  const Launch launch = launch::read_shell(import_tests::data_path("run.sh"), script);
  EXPECT_EQ(launch.settings.front().words.front(), "2");
  ASSERT_EQ(launch.notes.size(), 1U);
  EXPECT_NE(launch.notes.front().message.find("missing.sh"), std::string::npos);
}

TEST(Patterns, OfLayersAndLayouts) {
  using launch::layer_pattern, launch::pipeline_layout;
  EXPECT_EQ(layer_pattern("([0]*3+[1]*2)"), (std::vector<bool>{false, false, false, true, true}));
  EXPECT_EQ(layer_pattern("[0,1]*2"), (std::vector<bool>{false, true, false, true}));
  EXPECT_FALSE(layer_pattern("[0]*999999999"));
  EXPECT_FALSE(layer_pattern("__import__('os')"));
  EXPECT_EQ(pipeline_layout("Et*2|(tt|)*5t|tmL")->layers,
            (std::vector<std::int64_t>{2, 2, 2, 2, 2, 2, 1, 1}));
  EXPECT_EQ(pipeline_layout("Et|(tt|)*2,mL")->layers, (std::vector<std::int64_t>{1, 2, 2, 0}));
  EXPECT_FALSE(pipeline_layout("Exyz"));
}

}  // namespace
}  // namespace stepcast
