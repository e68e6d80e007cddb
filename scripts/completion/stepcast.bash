# bash completion for stepcast:  source <(stepcast completion bash)

# Words of `$1` that begin with the word being completed.
_stepcast_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}")
}

# Files whose name ends in one of the given suffixes, and folders on the way to them.
_stepcast_files() {
  local word=${COMP_WORDS[COMP_CWORD]} file suffix
  COMPREPLY=()
  while IFS= read -r file; do
    if [[ -d $file ]]; then
      COMPREPLY+=("$file/")
      continue
    fi
    for suffix in "$@"; do
      if [[ $file == *"$suffix" ]]; then COMPREPLY+=("$file"); fi
    done
  done < <(compgen -f -- "$word")
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
  compopt -o filenames 2>/dev/null
}

# The options of a command; --verbose and --quiet go with all of them.
_stepcast_options() {
  case $1 in
    import) echo "--arguments --from --devices --cluster --deepspeed --env --ignore-unknown --flags --set --model --framework --output --presets --help" ;;
    export) echo "--arguments --to --from --devices --cluster --deepspeed --env --ignore-unknown --set --model --framework --output --presets --help" ;;
    edit) echo "--set --output --presets --help" ;;
    run) echo "--arguments --from --devices --cluster --deepspeed --env --ignore-unknown --set --engine --paje --model --framework --json --timing --trace --trace-ranks --report --step-trace --kernel-details --kernel-rank --operators --operators-csv --pipeline --keys --graph --graph-ranks --seeds --load-steps --fail-on-oom --presets --jobs --help" ;;
    explain) echo "--arguments --from --deepspeed --env --ignore-unknown --report --set --cluster --model --framework --json --svg --devices --seeds --strong --top --jobs --presets --help" ;;
    judge) echo "--arguments --from --deepspeed --env --ignore-unknown --devices --tolerance --platform --set --cluster --model --framework --json --presets --help" ;;
    validate) echo "--arguments --from --deepspeed --env --ignore-unknown --devices --set --cluster --model --framework --presets --help" ;;
    topology) echo "--devices --dot --platform --json --presets --help" ;;
    collective) echo "--cluster --ranks --stride --size --devices --algorithm --network --json --presets --help" ;;
    operator) echo "--cluster --ranks --m --k --n --groups --heads --head-size --sequence --batch --causal --top-k --generation --type --bytes --table --csv --json --set --presets --help" ;;
    keys) echo "--arguments --from --deepspeed --env --ignore-unknown --devices --cluster --in --presets --help" ;;
    new) echo "--model --cluster --devices --framework --sequence --global-batch --output --presets --help" ;;
    list) echo "--json --presets --help" ;;
    model) echo "--sequence --as --json --presets --help" ;;
    schedule) echo "--pp --micro-batches --vpp --slices --group --warmup --costs --pair --put-off --latency --orders --width --svg --json --help" ;;
    sweep) echo "--sort --best --pareto --report --jobs --store --accept-builds --csv --json --filter --engine --limit --shard --dry-run --presets --help" ;;
    results) echo "--sort --best --pareto --where --csv --json --help" ;;
    campaign) echo "--arguments --from --deepspeed --env --ignore-unknown --devices --steps --tokens --within --seeds --set --cluster --model --framework --json --presets --jobs --help" ;;
    scale) echo "--arguments --from --deepspeed --env --ignore-unknown --report --devices --weak --strong --set --engine --cluster --model --framework --jobs --store --accept-builds --seeds --svg --csv --json --presets --help" ;;
    check) echo "--report --jobs --update --filter --engine --tolerance --markdown --annotations --junit --presets --help" ;;
    diff) echo "--launch --set --cluster --model --framework --inputs --json --presets --jobs --help" ;;
    compare) echo "--launch --report --set --engine --cluster --model --framework --inputs --rank --markdown --json --presets --jobs --help" ;;
    plan) echo "--devices --top --jobs --store --output --report --csv --set --cluster --model --framework --json --presets --help" ;;
    accuracy) echo "--components --left-out --by-script --plain --intervals --json --write --check --jobs --presets --help" ;;
    calibrate) echo "--cluster --start --from-results --device --numbers --output --jobs --presets --help" ;;
    worker) echo "--jobs --memory --seconds --no-files --confined --folder --help" ;;
    choices) echo "--arguments --from --deepspeed --env --ignore-unknown --devices --set --cluster --model --framework --json --presets --help" ;;
    serve) echo "--port --host --allow-host --folder --jobs --open --help" ;;
    schema | completion) echo "--help" ;;
    *) echo "--version --help" ;;
  esac
}

_stepcast() {
  local commands="run import export edit explain judge campaign validate schema sweep results scale check diff compare topology collective operator model keys new list schedule plan accuracy calibrate serve choices worker completion"
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done

  case $previous in
    --cluster | --model | --framework | --in) _stepcast_files .yaml .yml; return ;;
    --json) _stepcast_files .json; return ;;
    --trace) _stepcast_files .json .gz; return ;;
    --report) _stepcast_files .html; return ;;
    --step-trace|--kernel-details) _stepcast_files .csv; return ;;
    --dot) _stepcast_files .dot .gv; return ;;
    --svg) _stepcast_files .svg; return ;;
    --csv | --table) _stepcast_files .csv; return ;;
    --store) _stepcast_files .sqlite; return ;;
    --junit) _stepcast_files .xml; return ;;
    --memory | --seconds | --port | --host | --allow-host | --jobs | -j | --filter | --tolerance | --limit | --shard | --where) return ;;
    --to) _stepcast_words "megatron mindspeed mindformers"; return ;;
    --warmup) _stepcast_words "standard extra( less_memory"; return ;;
    --presets | --folder) mapfile -t COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames 2>/dev/null; return ;;
    --algorithm) _stepcast_words "auto ring mesh one_shot nhr nb hd pairwise one_sided pipeline parallel hierarchical dimensions tree"; return ;;
    --type) _stepcast_words "bf16 fp16 fp8 bytes"; return ;;
    --causal) _stepcast_words "yes no"; return ;;
    --generation) _stepcast_words "flash_1 flash_2 flash_3 flash_4 cudnn flash_triton cudnn_mxfp8 library hand_tuned"; return ;;
    --network) _stepcast_words "ports pairwise"; return ;;
    --set | --ranks | --stride | --size | --devices | --sequence | --trace-ranks | --top | --workers) return ;;   # a value of the user's own
    --m | --k | --n | --groups | --heads | --head-size | --batch | --bytes) return ;;
    --pp | --micro-batches | --vpp | --slices | --group | --costs | --pair | --latency | --width) return ;;
  esac
  if [[ $word == -* ]]; then
    _stepcast_words "$(_stepcast_options "$command") --verbose --quiet"
    return
  fi
  case $command in
    "") _stepcast_words "$commands" ;;
    run | export | edit | explain | campaign | choices | plan | topology | sweep | scale | check) _stepcast_files .yaml .yml ;;
    diff | validate) _stepcast_files .yaml .yml .json ;;
    results) _stepcast_files .sqlite ;;
    model) _stepcast_files .yaml .yml .json ;;
    collective) _stepcast_words "all_reduce reduce_scatter all_gather all_to_all broadcast" ;;
    operator)
      _stepcast_words "matmul grouped_matmul attention_forward attention_backward attention_forward_backward rms_norm rms_norm_backward layer_norm layer_norm_backward silu_and_mul silu_and_mul_backward gelu gelu_backward residual_add permute optimizer all_reduce reduce_scatter all_gather all_to_all broadcast send_recv" ;;
    schedule)
      if [[ $word == *[/.]* ]]; then _stepcast_files .yaml .yml; return; fi
      _stepcast_words "gpipe 1f1b interleaved_1f1b terapipe seqpipe seqvpp seqsmartvpp zb_h1 zb_h2 zb_v v_half v_min dualpipe dualpipe_v" ;;
    schema) _stepcast_words "scenario check cluster model framework sweep plan orders ratios gallery labels measurements residuals" ;;
    completion) _stepcast_words "bash zsh fish" ;;
  esac
}

complete -F _stepcast stepcast
