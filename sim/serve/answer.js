/* Draws one answer; numbers of two answers are never mixed. */
const EXPOSED = ['tensor', 'expert', 'pipeline', 'data', 'context', 'offload'];
const PARTS = [['computing', 'computing', 'computing'], ['communication_exposed', 'exposed communication', 'exposed'],
  ['bubble', 'bubble', 'bubble'], ['host_stall', 'host stall', 'host'],
  ['compile_stall', 'compile stall', 'compile'], ['other_idle', 'other idle', 'idle'],
  ['fleet', 'fleet', 'fleet']];
const significant = (value, unit) => `${Number(value.toPrecision(4))} ${unit}`.trim();
const seconds = value => {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size >= 1) return significant(value, 's');
  return size >= 1e-3 ? significant(value * 1e3, 'ms') : significant(value * 1e6, 'us');
};
const signed = share => `${share >= 0 ? '+' : '-'}${(100 * Math.abs(share)).toFixed(1)} %`;
/* A percentage moves by points. */
const SHARES = ['mfu', 'bubble_ratio'];
const moved = (id, value, before) => SHARES.includes(id)
  ? `${value >= before ? '+' : '-'}${(100 * Math.abs(value - before)).toFixed(1)} points` : signed(value / before - 1);
const originClause = of => of && of.note ? `, taken from ${of.class}, ${of.note}` : '';
const between80 = (low, high, text, of) => low === null || low === undefined ? undefined : `80 %: ${text(low)} to ${text(high)}${originClause(of)}`;
const fullest = result => result.stages.reduce((most, s) => s.memory_bytes && (!most || s.memory_bytes.peak > most.peak) ? s.memory_bytes : most, null);
/* The host that keeps most, where something is offloaded and the size of hosts is known. */
const fullestHost = result => result.stages.map(s => s.memory_bytes).filter(m => m && m.host > 0 && m.host_capacity > 0)
  .reduce((most, m) => !most || m.host > most.host ? m : most, null);

function cards(result) {
  const memory = fullest(result), list = [['step_time_s', 'step time', result.step_time_s, seconds(result.step_time_s),
    between80(result.step_time_s_low, result.step_time_s_high, seconds, result.step_time_interval_of)]];
  if (result.tokens_per_s_per_device !== null)
    list.push(['tokens_per_s_per_device', 'tokens/s per device', result.tokens_per_s_per_device, significant(result.tokens_per_s_per_device, '')],
      ['mfu', 'MFU', result.mfu, percent(result.mfu)]);
  list.push(['bubble_ratio', 'bubble', result.bubble_ratio, percent(result.bubble_ratio)]);
  if (memory) list.push(['peak', 'memory', memory.peak, gib(memory.peak), memoryNote(result, memory), memory.peak > memory.capacity]);
  const host = fullestHost(result);
  if (host) list.push(['host', 'host memory', host.host, gib(host.host), `of ${gib(host.host_capacity)} per host${host.host > host.host_capacity ? ': does not fit' : ''}`, host.host > host.host_capacity]);
  if (result.cost) list.push(costCard(result.cost));
  return list;
}
/* As `run` says it: tight where measured peaks of such forecasts lie on both sides of the capacity. */
function memoryNote(result, memory) {
  const fit = memory.peak > memory.capacity ? ': does not fit' : '';
  if (result.memory_fit !== 'tight') return `of ${gib(memory.capacity)}${fit}`;
  return `of ${gib(memory.capacity)}${fit}, tight; ${between80(result.memory_peak_bytes_low, result.memory_peak_bytes_high, gib, result.memory_interval_of)}`;
}
function costCard(cost) {
  const token = cost.token === null ? undefined : `${significant(1e6 * cost.token, cost.currency)} per million tokens`;
  return ['cost', 'cost of a step', cost.step, significant(cost.step, cost.currency), token];
}

/* The parts that are drawn: exposed communication by kind, in the colours of the report page. */
const shareOf = (result, key) => EXPOSED.includes(key) ? result.exposed_by_kind_s[key] : result.breakdown_s[key];
const drawnParts = results => PARTS.flatMap(([key, text, shade]) => key === 'communication_exposed'
  ? EXPOSED.map(kind => [kind, `exposed ${kind} communication`, kind]) : [[key, text, shade]])
  .filter(([key]) => results.some(result => shareOf(result, key) > 0));

/* Name, hardware, model and framework, what bounds the step, and how much is assumed. */
function drawHead(b) {
  const { scenario, result } = b, inputs = scenario.inputs, framework = scenario.framework;
  $('name').textContent = scenario.name;
  document.title = `${scenario.name} - Stepcast`;
  const parts = [`${scenario.devices} devices`, inputs['cluster.device.name'], `cluster ${inputs['cluster.name']}`,
    result.mfu === null ? 'given times, no model' : inputs['model.name'] ? `model ${inputs['model.name']}` : 'a model without a name',
    framework ? `framework ${framework.label}${framework.assumed ? ' (assumed)' : ''}` : 'no framework',
    `${scenario.schedule}, ${scenario.micro_batches} micro-batches`];
  $('machine').textContent = parts.filter(Boolean).join(' · ');
  $('bound').textContent = result.headline;
  drawAssumed(b.assumptions, Object.values(scenario.sources));
}
const ORIGINS = [['measured', 'measured'], ['fitted', 'fitted'], ['datasheet', 'from data sheets'], ['derived', 'derived']];
function drawAssumed(list, sources) {
  const known = ORIGINS.map(([word, text]) => [sources.filter(source => source.endsWith(' ' + word)).length, text]).filter(([count]) => count);
  $('assumed').hidden = !list.length && !known.length;
  $('assumed-count').textContent = [`${list.length} numbers are assumed`, known.map(([count, text]) => `${count} ${text}`).join(', ')].filter(Boolean).join('; ');
  const block = $('assumed-list');
  block.textContent = '';
  if (list.length) tableOf(block, ['number', 'value', 'why'], list.map(a => [a.path, a.value, a.note]), 'texts');
}

function drawStrip(b, a, without = '') {
  const strip = $('strip'), before = a ? Object.fromEntries(cards(a.result).map(c => [c[0], c])) : {};
  strip.textContent = '';
  cards(b.result).forEach(([id, label, value, text, note, bad]) => {
    const card = element(strip, 'div', { class: 'card' + (bad ? ' bad' : '') });
    element(card, 'span', {}, label + without);
    element(card, 'b', { 'data-value': value, 'data-id': id }, text);
    if (note) element(card, 'span', {}, note);
    if (before[id]) element(card, 'span', { class: 'before', 'data-difference': id }, `A ${before[id][3]}, `).append(changeOf(id, value, before[id][2]));
  });
}

const NS = 'http://www.w3.org/2000/svg';
function shape(parent, name, attributes, text) {
  const node = document.createElementNS(NS, name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
/* A difference in its colour. */
function changeOf(id, value, before) {
  const node = document.createElement('span');
  node.className = 'change ' + verdictOf(id, value, before);
  node.textContent = moved(id, value, before);
  return node;
}
/* A chart as wide as its place, so that its text keeps its size on a phone. */
function chart(parent, height, label) {
  const width = Math.max(260, parent.clientWidth);
  const svg = shape(parent, 'svg', { class: 'chart', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  return { svg, width };
}

function legend(parent, items) {
  const list = element(parent, 'div', { class: 'legend' });
  items.forEach(([shade, text]) => {
    const item = element(list, 'span');
    element(item, 'i').style.background = `var(--${shade})`;
    element(item, 'span', {}, text);
  });
}

function drawBars(b, a) {
  const block = $('bars');
  block.textContent = '';
  const rows = a ? [['A', a.result], ['now', b.result]] : [['', b.result]], parts = drawnParts(rows.map(r => r[1]));
  legend(block, parts.map(([, text, shade]) => [shade, text]));
  const { svg, width } = chart(block, 34 * rows.length, 'Breakdown of the step, mean of all ranks');
  const left = a ? 34 : 0, scale = (width - left) / Math.max(...rows.map(r => r[1].step_time_s));
  rows.forEach(([name, result], i) => {
    let x = left;
    if (name) shape(svg, 'text', { x: 0, y: 34 * i + 20 }, name);
    parts.forEach(([key, text, shade]) => {
      const value = shareOf(result, key), rect = shape(svg, 'rect', { class: 'part', x, y: 34 * i + 2, height: 26, width: Math.max(0, value * scale) });
      rect.style.fill = `var(--${shade})`;
      shape(rect, 'title', {}, `${text}: ${seconds(value)} (${percent(value / result.step_time_s)})`);
      x += value * scale;
    });
  });
  const table = element(element(block, 'div', { class: 'scroll' }), 'table');
  const head = element(table, 'tr');
  (a ? ['part', 'A', 'now', 'difference'] : ['part', 'time', 'of the step']).forEach((t, i) => element(head, 'th', i ? { class: 'number' } : {}, t));
  // What the last digits of sums differ by is no difference; kinds stay below what they are part of.
  const gap = (p, q) => Math.abs(p - q) < 1e-9 * b.result.step_time_s ? 0 : p - q;
  const lines = PARTS.map(([key, text]) => [text, b.result.breakdown_s[key], a && a.result.breakdown_s[key]])
    .filter(([, value, other]) => value > 0 || other > 0);
  if (a) lines.sort((p, q) => Math.abs(gap(q[1], q[2])) - Math.abs(gap(p[1], p[2])));
  const kinds = Object.entries(b.result.exposed_by_kind_s).map(([kind, value]) => [`of which ${kind}`, value, a && a.result.exposed_by_kind_s[kind], 'part-of'])
    .filter(([, value, other]) => value > 0 || other > 0);
  if (kinds.length) lines.splice(lines.findIndex(line => line[0] === PARTS[1][1]) + 1, 0, ...kinds);
  lines.forEach(([text, value, other, name]) => {
    const line = element(table, 'tr', name ? { class: name } : {});
    element(line, 'td', {}, text);
    if (a) element(line, 'td', { class: 'number' }, seconds(other));
    element(line, 'td', { class: 'number', 'data-value': value }, seconds(value));
    const difference = a ? gap(value, other) : 0, verdict = Math.abs(difference) < 5e-4 * b.result.step_time_s ? '' : difference > 0 ? ' worse' : ' better';
    element(line, 'td', { class: 'number' + verdict }, a ? (difference > 0 ? '+' : '') + seconds(difference) : percent(value / b.result.step_time_s));
  });
}

const KINDS = ['parameters', 'gradients', 'optimizer', 'activations', 'buffers'];
function drawStages(b) {
  const block = $('stages'), stages = b.result.stages.filter(s => s.memory_bytes);
  block.textContent = '';
  if (!stages.length) { element(block, 'p', { class: 'quiet' }, 'This workload has given times and no model.'); return; }
  legend(block, KINDS.map(kind => [kind, kind]));
  const { svg, width } = chart(block, 24 * stages.length + 4, 'Memory by stage');
  const left = 62, most = Math.max(...stages.map(s => Math.max(s.memory_bytes.peak, s.memory_bytes.capacity))), scale = (width - left - 4) / most;
  stages.forEach((stage, i) => {
    let x = left;
    shape(svg, 'text', { x: 0, y: 24 * i + 16 }, `stage ${stage.stage}`);
    KINDS.forEach(kind => {
      const bytes = stage.memory_bytes[kind], rect = shape(svg, 'rect', { class: 'memory', x, y: 24 * i + 2, height: 18, width: bytes * scale });
      rect.style.fill = `var(--${kind})`;
      shape(rect, 'title', {}, `${kind} ${gib(bytes)}`);
      x += bytes * scale;
    });
    const full = left + stage.memory_bytes.capacity * scale;
    shape(svg, 'line', { x1: full, x2: full, y1: 24 * i, y2: 24 * i + 22, 'stroke-width': 2 }).style.stroke = 'var(--host)';
  });
  element(block, 'p', { class: 'quiet' }, 'The line is the capacity of the device.');
}

/* Numbers of another question than what is asked, so that each place says which. */
function drawFirst(of) {
  const without = ` without ${of.without}`;
  first = of;
  drawHead(of.b);
  $('bound').textContent = `Without ${of.without}: ${of.b.result.headline}`;
  drawStrip(of.b, null, without);
  drawBars(of.b, null);
  drawStages(of.b);
  $('answer').style.setProperty('--without', `"${without}"`);
  $('answer').classList.add('first');
  $('answer').classList.remove('old');
}
function drawAnswer(b, a) {
  first = null;
  $('answer').classList.remove('first', 'old');
  drawHead(b);
  drawStrip(b, a);
  drawPins();
  drawBars(b, a);
  drawStages(b);
  $('answer').dataset.seq = b.seq;
  $('answer').dataset.sha = b.scenario.sha256;
}

/* Each error once, at its place: at the control that set it, at the text that has it, or above the answer. */
const controlOf = path => state.text === null || state.set[path] !== undefined ? built[path] || swaps[path] : undefined;
/* Options of the command line are keys and fields of the page; flags of a launch file stay as they are. */
const spoken = text => text.replace(/(^|[\s(])--(?:set (?=\w)|(?=(?:cluster|devices|env|framework|from|model|set)(?![\w-])))/g, '$1');
const errorsOf = reply => (reply.errors || [{ path: '', text: reply.error }]).map(error => ({
  ...error, text: spoken((error.file || '').startsWith('--set ') ? `${error.path}: ${error.message}` : error.text) }));
let told = [];  // the errors that stand somewhere now: {path, text}
function drawErrors(reply) {
  const block = $('errors'), below = $('text-errors');
  block.textContent = below.textContent = '';
  document.querySelectorAll('.control.wrong').forEach(c => c.classList.remove('wrong'));
  Object.values({ ...built, ...swaps }).forEach(control => { control.fault.textContent = ''; });
  const errors = !reply ? [] : errorsOf(reply);
  told = errors;
  const at = { control: [], text: [] };
  errors.forEach(error => {
    const control = controlOf(error.path), place = /^-:(\d+):(\d+): /.exec(error.text);
    if (control) {
      control.box.classList.add('wrong');
      control.fault.textContent = error.text;
      at.control.push(error);
    } else if (state.text !== null && place) {
      sayInText(below, error.text.slice(place[0].length), Number(place[1]), Number(place[2]));
      at.text.push(error);
    } else element(block, 'p', {}, error.text);
  });
  if (at.text.length) pointTo(block, at.text.length, 'the text below', () => { below.scrollIntoView({ block: 'center' }); });
  if (at.control.length) pointTo(block, at.control.length, 'the controls', () => showFault());
  $('sheet').textContent = at.control.length ? `Controls: ${at.control.length} wrong` : 'Controls';
}
const counted = count => count === 1 ? 'One thing' : `${count} things`;
function pointTo(block, count, where, act) {
  const line = element(block, 'p', { class: 'pointer' }, `${counted(count)} in ${where} cannot be run; the numbers are those of before. `);
  element(line, 'button', { class: 'plain' }, 'Show').addEventListener('click', act);
}
function showFault() {
  if (getComputedStyle($('sheet')).display !== 'none' && !document.querySelector('aside').classList.contains('open')) $('sheet').click();
  document.querySelector('.control.wrong').scrollIntoView({ block: 'center' });
}
function sayInText(block, text, row, column) {
  const line = element(block, 'p');
  element(line, 'button', { class: 'plain', 'aria-label': `go to line ${row}` }, `line ${row}`).addEventListener('click', () => {
    const rows = $('yaml').value.split('\n'), start = rows.slice(0, row - 1).reduce((sum, r) => sum + r.length + 1, 0);
    $('yaml').focus();
    $('yaml').setSelectionRange(start + column - 1, start + (rows[row - 1] || '').length);
    $('yaml').scrollTop = Math.max(0, (row - 4) * parseFloat(getComputedStyle($('yaml')).lineHeight));
  });
  element(line, 'span', {}, ' ' + text);
}

/* Of what is drawn: the forecast's own error and that of the seeds, apart and together. */
function drawBands(result) {
  const block = $('bands'), all = result && result.interval;
  block.textContent = '';
  if (!all) return;
  const range = part => `${seconds(part.low_s)} to ${seconds(part.high_s)}`;
  const parts = [`${result.seeds.count} seeds of what is drawn: ${range(all.spread)} between 10 and 90 % of them`];
  if (all.model) parts.push(`the model's own error around their median: ${range(all.model)}`, `both: ${range(all)}`);
  element(block, 'span', { 'data-value': all.spread.high_s, 'data-id': 'spread_high_s' }, parts.join('; ') + '.');
}

function sayWorth(text) {
  const block = $('worth');
  block.textContent = '';
  element(block, 'p', { class: 'quiet' }, `${text[0].toUpperCase()}${text.slice(1)}.`);
}
function drawWorth(explanation) {
  const block = $('worth');
  block.textContent = '';
  element(block, 'p', {}, explanation.summary);
  const table = element(element(block, 'div', { class: 'scroll' }), 'table'), head = element(table, 'tr');
  ['one per cent more of', 'changes the step by'].forEach((t, i) => element(head, 'th', i ? { class: 'number' } : {}, t));
  explanation.elasticities.slice(0, 10).forEach(row => {
    const line = element(table, 'tr');
    elementInParts(line, 'td', {}, row.path);
    element(line, 'td', { class: 'number' }, `${row.elasticity >= 0 ? '+' : ''}${row.elasticity.toFixed(2)} %`);
  });
}
