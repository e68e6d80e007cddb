/* The only place that names keys. Values are candidates; which of them run, and why others do not, the program says. */
const around = factors => now => factors.map(f => Number(now) * f).filter(n => Number.isInteger(n) && n > 0).map(String);
const GROUPS = [
  ['Cluster', [
    ['cluster.devices', 'devices', around([0.25, 0.5, 1, 2, 4])],
  ]],
  ['Parallel', [
    ['parallel.tp', 'tensor (tp)', ['1', '2', '4', '8', '16', '32']],
    ['parallel.pp', 'pipeline (pp)', ['1', '2', '4', '8', '16', '32']],
    ['parallel.vpp', 'chunks per stage (vpp)', ['1', '2', '3', '4', '5', '6']],
    ['parallel.cp', 'context (cp)', ['1', '2', '4', '8', '16']],
    ['parallel.zero', 'ZeRO', ['0', '1', '2', '3']],
    ['parallel.sequence_parallel', 'sequence parallel', ['true', 'false']],
  ]],
  ['Schedule', [
    ['schedule.pipeline', 'schedule', ['gpipe', '1f1b', 'interleaved_1f1b', 'seqpipe', 'zb_h1', 'zb_h2', 'zb_v', 'v_half', 'v_min', 'dualpipe', 'dualpipe_v']],
    ['schedule.p2p', 'transfers', ['overlapped', 'blocking']],
  ]],
  ['Training', [
    ['training.micro_batch', 'micro-batch', ['1', '2', '4', '8']],
    ['training.global_batch', 'global batch', around([0.25, 0.5, 1, 2, 4])],
    ['training.sequence', 'sequence', around([0.5, 1, 2, 4])],
    ['training.recompute', 'recompute', ['none', 'selective', 'full']],
    ['training.precision', 'precision', ['bf16', 'fp16', 'fp8_mixed']],
    ['training.attention', 'attention', ['fused', 'flash_2', 'flash_3', 'cudnn', 'unfused']],
  ]],
  ['Experts', [
    ['parallel.ep', 'expert (ep)', ['1', '2', '4', '8', '16', '32', '64', '128']],
    ['parallel.etp', 'expert tensor (etp)', ['1', '2', '4', '8']],
    ['moe.dispatch', 'dispatch', ['flat', 'two_hop', 'two_hop_dedup', 'hierarchical_allgather', 'allgather']],
    ['moe.overlap', 'overlap', ['none', 'shared_expert', 'fb_pair']],
    ['moe.routing.distribution', 'routing', ['uniform', 'zipf', 'random']],
    ['moe.wire_precision', 'wire precision', ['bf16', 'fp8']],
  ]],
  ['Network', [
    ['cluster.network.nic.bandwidth', 'NIC', ['100Gbps', '200Gbps', '400Gbps', '800Gbps']],
    ['cluster.network.topology.oversubscription', 'oversubscription', ['1', '2', '4']],
    ['communication.algorithm.all_reduce', 'all-reduce', ['auto', 'ring', 'mesh', 'nhr', 'nb', 'hd', 'tree', 'hierarchical']],
    ['communication.gradient.overlap', 'gradient overlap', ['true', 'false']],
    ['communication.gradient.precision', 'gradient precision', ['fp32', 'bf16']],
  ]],
  ['Runtime and stalls', [
    ['runtime.dispatch', 'dispatch', ['eager', 'task_queue', 'graph_sink']],
    ['runtime.fusion', 'fusion', ['none', 'pattern', 'dvm']],
    ['runtime.host_speed', 'host speed', ['0.5', '1', '2']],
    ['stalls.spread.device.sigma', 'spread of devices', ['0', '0.01', '0.02']],
    ['stalls.compute_jitter.sigma', 'jitter', ['0', '0.01', '0.02', '0.05']],
  ]],
];
/* With these the number of replicas follows: who turns them wants dp to give way. */
const degrees = key => key === 'cluster.devices' || (key.startsWith('parallel.') && /\.(tp|pp|cp|dp)$/.test(key));
/* Where no rank is like another a forecast takes seconds: what makes them unlike, its value without it, its name, and when. */
const UNLIKE = [['stalls.compute_jitter.sigma', '0', 'jitter', value => Number(value) > 0],
  ['moe.routing.distribution', 'uniform', 'uneven routing', value => ['zipf', 'random', 'file'].includes(value)]];
/* The same question with ranks that are alike, null where they are. */
function alike() {
  const some = UNLIKE.filter(([key, , , unlike]) => unlike(valueNow(key)));
  return some.length ? { set: { ...state.set, ...Object.fromEntries(some) }, without: some.map(of => of[2]).join(' and ') } : null;
}
/* Chunks need a schedule that has them, so that one change alone may not run where two do: the key, its other, and what that becomes. */
const PAIRS = [['schedule.pipeline', 'parallel.vpp', now => Number(now) > 1 ? '1' : '2'],
  ['parallel.vpp', 'schedule.pipeline', now => now === '1f1b' ? 'interleaved_1f1b' : '1f1b']];
const known = {};  // key -> {now, values: {value: reason}, beside: {value: what is set with it}}
let knownSeq = 0;  // of the question that `known` answers
const built = {};  // key -> its elements

/* Why a value is not offered, '' where it is. Values around another one are new ones after a change: they wait for an answer. */
const notAsked = 'not looked at yet';
const reasonAgainst = (key, value) => ((known[key] || {}).values || {})[value] ?? notAsked;
/* The program writes out bandwidths in bytes per second. */
const same = (value, now) => value === String(now) || (/Gbps$/.test(value) && /^[0-9.e+]+B\/s$/.test(now) && parseFloat(value) * 1e9 / 8 === parseFloat(now));
const valueNow = key => state.set[key] ?? (known[key] || {}).now;

function candidates(key, values) {
  const now = valueNow(key);
  const list = typeof values === 'function' ? (now ? values(now) : []) : values;
  return now && !list.includes(now) && /^[\w.-]+$/.test(now) ? [now, ...list] : list;
}
function choose(key, value) {
  const reason = reasonAgainst(key, value);
  if (reason) { built[key].why.textContent = `${value}: ${reason}`; return; }
  if (same(value, (known[key] || {}).now) && state.set[key] === undefined) return;
  setValue(key, value);
}
const besideOf = (key, value) => ((known[key] || {}).beside || {})[value] || {};
function setValue(key, value) {
  change(s => {
    Object.assign(s.set, besideOf(key, value), { [key]: value });
    if (degrees(key)) s.set['parallel.dp'] = 'auto';
  });
}
function reset(key) {
  change(s => {
    delete s.set[key];
    if (!Object.keys(s.set).some(k => k !== 'parallel.dp' && degrees(k))) delete s.set['parallel.dp'];
  });
}

function element(parent, name, attributes = {}, text) {
  const node = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function elementInParts(parent, name, attributes, text) {
  const node = element(parent, name, attributes);
  appendInParts(node, text);
  return node;
}

/* Any other number than those offered; bandwidths are in Gbit/s. */
const isNumber = values => typeof values === 'function' || values.every(value => /^[0-9.]+(Gbps)?$/.test(value));
const unitOf = values => Array.isArray(values) && values[0].endsWith('Gbps') ? 'Gbps' : '';
function numberField(parent, key, label, values) {
  const unit = unitOf(values), field = element(parent, 'input', { class: 'number', inputmode: 'decimal', size: 7, autocomplete: 'off',
    'aria-label': `${label}, a number${unit && ' in ' + unit}`, title: unit ? `a number in ${unit}` : 'any number' });
  field.addEventListener('change', () => {
    const text = field.value.trim().replace(/,/g, '');
    if (text === '') { drawControls(); return; }
    const value = unit && /^[0-9.]+$/.test(text) ? text + unit : text;
    if (!same(value, valueNow(key))) setValue(key, value);
  });
  field.addEventListener('keydown', event => { if (event.key === 'Escape') { field.value = numberNow(key, unit); field.blur(); } });
  return field;
}
const numberNow = (key, unit) => {
  const now = String(valueNow(key) ?? '');
  return /B\/s$/.test(now) ? String(parseFloat(now) * 8 / 1e9) : unit ? now.replace(unit, '') : now;
};

function buildControls() {
  const root = $('controls');
  GROUPS.forEach(([title, keys]) => {
    const group = element(root, 'fieldset');
    element(group, 'legend', {}, title);
    keys.forEach(([key, label, values]) => {
      const box = element(group, 'div', { class: 'control', 'data-key': key });
      const name = element(box, 'div', { class: 'name' });
      element(name, 'span', { id: 'name-' + key, title: key }, label);
      const field = isNumber(values) ? numberField(name, key, label, values) : null;
      const back = element(name, 'button', { class: 'reset', hidden: '', 'aria-label': 'reset ' + label }, 'reset');
      back.addEventListener('click', () => reset(key));
      const list = element(box, 'div', { class: 'values', role: 'radiogroup', 'aria-labelledby': 'name-' + key });
      const why = element(box, 'p', { class: 'why', id: 'why-' + key }), fault = element(box, 'p', { class: 'fault', role: 'alert' });
      list.addEventListener('keydown', event => moveFocus(event, list));
      built[key] = { box, back, list, why, fault, field, values, buttons: {} };
    });
  });
}
function moveFocus(event, list) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const all = [...list.children], at = all.indexOf(document.activeElement);
  all[(at + step + all.length) % all.length].focus();
  event.preventDefault();
}

/* Where the scenario itself does not run, values of many controls fail by the same key, whose error stands at its place already. */
const isTold = reason => told.some(({ path, text }) => text.includes(reason) || (path && reason.startsWith(path + ': ')));
function drawControls() {
  drawSwaps();
  Object.entries(built).forEach(([key, control]) => {
    const info = known[key] || {}, now = valueNow(key), list = candidates(key, control.values);
    control.box.classList.toggle('changed', state.set[key] !== undefined);
    control.back.hidden = state.set[key] === undefined;
    if (control.field && document.activeElement !== control.field) control.field.value = numberNow(key, unitOf(control.values));
    Object.keys(control.buttons).filter(v => !list.includes(v)).forEach(v => { control.buttons[v].remove(); delete control.buttons[v]; });
    list.forEach(value => {
      let button = control.buttons[value];
      if (!button) {
        button = element(control.list, 'button', { role: 'radio', type: 'button', 'data-value': value }, value);
        button.addEventListener('click', () => choose(key, value));
        button.addEventListener('focus', () => tellWhy(key, value));
        button.addEventListener('mouseenter', () => tellWhy(key, value));
        control.buttons[value] = button;
      }
      const reason = reasonAgainst(key, value), chosen = same(value, now);
      button.setAttribute('aria-checked', String(chosen));
      button.setAttribute('aria-disabled', String(Boolean(reason) && !chosen));
      button.tabIndex = chosen || (!list.some(other => same(other, now)) && value === list[0]) ? 0 : -1;
      button.classList.toggle('waits', reason === notAsked);
      button.title = reason;
    });
    const values = Object.values(info.values || {});
    const none = values.length > 0 && values.every(Boolean) && state.set[key] === undefined;
    if (none && !isTold(values[0]) && !control.fault.textContent) control.why.textContent = values[0];
    else if (!control.box.matches(':hover, :focus-within')) control.why.textContent = '';
  });
}
function tellWhy(key, value) {
  const beside = Object.entries(besideOf(key, value)).map(([other, to]) => `with ${other}=${to}`);
  const text = reasonAgainst(key, value) || beside.join(', ');
  built[key].why.textContent = text && `${value}: ${text}`;
}

/* The candidates that nothing is known about; all of them where `again`. */
function toAsk(again) {
  const keys = {};
  Object.entries(built).forEach(([key, control]) => {
    const list = candidates(key, control.values), asked = (known[key] || {}).values || {};
    if (again && !list.length) keys[key] = ['1'];  // its value now is what is asked for
    else if (again || list.some(value => !(value in asked))) keys[key] = list;
  });
  return keys;
}
/* With dp free for what turns the replicas too; the others are tried as they would be set. */
async function choicesOf(seq, keys) {
  const set = { ...state.set }, given = 'parallel.dp' in set;
  const question = { tab, seq, scenario: scenarioOf(state), set: given ? set : { ...set, 'parallel.dp': 'auto' }, keys };
  const reply = await call('choices', question);
  // Where all is well a dp that is written out is the one that auto finds.
  const others = Object.fromEntries(Object.entries(keys).filter(([key]) => !degrees(key)));
  if (given || reply.status !== 200 || (shown && shown.seq === seq) || !Object.keys(others).length) return reply;
  const strict = await call('choices', { ...question, slot: 'strict', set, keys: others });
  if (strict.status === 200) reply.answer.keys = [...reply.answer.keys.filter(key => degrees(key.path)), ...strict.answer.keys];
  return strict.status === 200 ? reply : strict;
}
/* What is refused alone is tried together with the other key of its pair. */
async function askPairs(seq) {
  for (const [key, other, turned] of PAIRS) {
    const info = known[key] || {}, refused = Object.keys(info.values || {}).filter(value => info.values[value]);
    if (!refused.length) continue;
    const beside = { [other]: turned(valueNow(other)) };
    const reply = await call('choices', { tab, seq, slot: 'pairs', scenario: scenarioOf(state), set: { ...state.set, ...beside }, keys: { [key]: refused } });
    if (seq !== lastSeq || reply.status !== 200) return;
    info.beside = {};
    reply.answer.keys[0].values.filter(v => !v.reason).forEach(v => { info.values[v.value] = ''; info.beside[v.value] = beside; });
  }
}
/* Of one question once, unless that failed. */
let choosing = {};
function choicesOnce(seq) {
  if (choosing.seq !== seq) choosing = { seq, done: askChoices(seq).catch(error => { choosing = {}; throw error; }) };
  return choosing.done;
}
/* Asks which values run. Values around the present one are known only when that one is: they are asked for then. */
async function askChoices(seq, again = true) {
  const reply = await choicesOf(seq, toAsk(again));
  if (seq !== lastSeq || reply.status === 409) return;
  if (reply.status === 200) reply.answer.keys.forEach(key => {
    known[key.path] = { now: key.now, values: Object.fromEntries(key.values.map(v => [v.value, v.reason])) };
  });
  else Object.values(known).forEach(key => { key.values = {}; });  // the errors of the forecast say why
  if (reply.status === 503) setTimeout(() => { if (seq === lastSeq) askChoices(seq).then(fillSweepKeys).catch(lost); }, 1000);
  if (reply.status === 200 && again && Object.keys(toAsk(false)).length) { await askChoices(seq, false); return; }
  if (reply.status === 200) await askPairs(seq);
  drawControls();
  knownSeq = seq;
}
