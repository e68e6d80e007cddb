#!/usr/bin/env bash
# A forecast written as a profile is compared with itself and with changes of known size, by command. Usage: BINARY
set -euo pipefail
stepcast=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scenario=scenarios/telechat3-36b-2048.yaml
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "profile_test: $*"; exit 1; }

mkdir "$folder/same" "$folder/slow"
"$stepcast" run "$scenario" --kernel-details "$folder/same/kernel_details.csv" >/dev/null
"$stepcast" compare "$scenario" "$folder/same" >"$folder/same.txt"
grep -q "no cause: the two are alike" "$folder/same.txt" || fail "the same is not alike"

# The last kernels of the step 1.3 times as long, and 5 ms before them.
awk -F, -v OFS=, '$4 == "ApplyAdamW" {$6 += 5000; $7 *= 1.3} {print}' "$folder/same/kernel_details.csv" \
  >"$folder/slow/kernel_details.csv"
"$stepcast" compare "$scenario" "$folder/slow" --json "$folder/slow.json" --report "$folder/slow.html" --markdown - >"$folder/slow.md"
grep -q "optimizer: 2 launches take 1.300 times as long" "$folder/slow.md" || fail "the slower class is not named"
grep -q '"kind":"profile"' "$folder/slow.html" || fail "the page lacks its answer"
grep -q '"causes"' "$folder/slow.json" || fail "the JSON lacks causes"

# The same with the 33 columns of the profiler's own files, as msprof-analyze's tests have them: steps, a tab behind absolute start times, quoted shapes.
mkdir "$folder/columns"
awk -F, -v OFS=, '
  NR == 1 {print "Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim," \
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,aicore_time(us),aic_total_cycles," \
    "aic_mac_ratio,aic_mac_int8_ratio,aic_cube_fops,aic_vector_fops,aiv_time(us),aiv_total_cycles,aiv_vec_fp32_ratio,aiv_vec_fp16_ratio," \
    "aiv_vec_int32_ratio,aiv_vec_misc_ratio,aiv_cube_fops,aiv_vector_fops"; next}
  {printf "1,4294967295,%d,%s,%s,%s,%s,%.3f\t,%s,0,24,0,\"\"\"4,1025\"\"\",INT64,FORMAT_ND,\"\"\"4,1025\"\"\",INT32,FORMAT_ND,N/A", NR, $2, $3, $4, $5, 1699529623106750 + $6, $7
   for (i = 0; i < 14; ++i) printf ",%s", $5 == "AI_CPU" ? "N/A" : 0
   print ""}' "$folder/same/kernel_details.csv" >"$folder/columns/kernel_details.csv"
"$stepcast" compare "$scenario" "$folder/columns" >"$folder/columns.txt"
grep -q "matmul .* 1.000$" "$folder/columns.txt" || fail "the columns of the profiler are not read: $(cat "$folder/columns.txt")"

# refused WORDS COMMAND...: exit 2 with these words.
refused() {
  local words=$1 status=0
  shift
  "$@" >/dev/null 2>"$folder/said" || status=$?
  [ "$status" = 2 ] || fail "$* ended with $status"
  grep -q -e "$words" "$folder/said" || fail "$* said $(cat "$folder/said")"
}
head -c 3000 "$folder/same/kernel_details.csv" >"$folder/cut.csv"
: >"$folder/empty.csv"
mkdir "$folder/none"
refused 'cut.csv:[0-9]*:1: ' "$stepcast" compare "$scenario" "$folder/cut.csv"
refused 'empty.csv:1:1: is empty' "$stepcast" compare "$scenario" "$folder/empty.csv"
refused 'holds no profile' "$stepcast" compare "$scenario" "$folder/none"
refused '--rank: is given without a profile' "$stepcast" compare "$scenario" "$scenario" --rank 1
refused '--kernel-rank: is given without' "$stepcast" run "$scenario" --kernel-rank 1
echo "profile_test: ok"
