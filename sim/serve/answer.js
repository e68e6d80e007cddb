/* Draws one answer; numbers of two answers are never mixed. */
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
const originClause = of => of && of.note ? `, of ${of.class}: ${of.note}` : '';
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

function drawStrip(b, a) {
  const strip = $('strip'), before = a ? Object.fromEntries(cards(a.result).map(c => [c[0], c])) : {};
  strip.textContent = '';
  cards(b.result).forEach(([id, label, value, text, note, bad]) => {
    const card = element(strip, 'div', { class: 'card' + (bad ? ' bad' : '') });
    element(card, 'span', {}, label);
    element(card, 'b', { 'data-value': value, 'data-id': id }, text);
    if (note) element(card, 'span', {}, note);
    if (before[id]) element(card, 'span', { class: 'before', 'data-difference': id }, `A ${before[id][3]}, ${moved(id, value, before[id][2])}`);
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
/* A chart as wide as its place, so that its text keeps its size on a phone. */
function chart(parent, height, label) {
  const width = Math.max(260, parent.clientWidth);
  const svg = shape(parent, 'svg', { class: 'chart', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  return { svg, width };
}

function legend(parent) {
  const list = element(parent, 'div', { class: 'legend' });
  PARTS.forEach(([, text, shade]) => {
    const item = element(list, 'span');
    element(item, 'i').style.background = `var(--${shade})`;
    element(item, 'span', {}, text);
  });
}

function drawBars(b, a) {
  const block = $('bars');
  block.textContent = '';
  legend(block);
  const rows = a ? [['A', a.result], ['B', b.result]] : [['', b.result]];
  const { svg, width } = chart(block, 34 * rows.length, 'Breakdown of the step, mean of all ranks');
  const left = a ? 22 : 0, scale = (width - left) / Math.max(...rows.map(r => r[1].step_time_s));
  rows.forEach(([name, result], i) => {
    let x = left;
    if (name) shape(svg, 'text', { x: 0, y: 34 * i + 20 }, name);
    PARTS.forEach(([key, text, shade]) => {
      const value = result.breakdown_s[key], rect = shape(svg, 'rect', { class: 'part', x, y: 34 * i + 2, height: 26, width: Math.max(0, value * scale) });
      rect.style.fill = `var(--${shade})`;
      shape(rect, 'title', {}, `${text}: ${seconds(value)} (${percent(value / result.step_time_s)})`);
      x += value * scale;
    });
  });
  const table = element(element(block, 'div', { class: 'scroll' }), 'table');
  const head = element(table, 'tr');
  (a ? ['part', 'A', 'B', 'difference'] : ['part', 'time', 'of the step']).forEach((t, i) => element(head, 'th', i ? { class: 'number' } : {}, t));
  // What the last digits of sums differ by is no difference; kinds stay below what they are part of.
  const gap = (p, q) => Math.abs(p - q) < 1e-9 * b.result.step_time_s ? 0 : p - q;
  const lines = PARTS.map(([key, text]) => [text, b.result.breakdown_s[key], a && a.result.breakdown_s[key]]);
  if (a) lines.sort((p, q) => Math.abs(gap(q[1], q[2])) - Math.abs(gap(p[1], p[2])));
  const kinds = Object.entries(b.result.exposed_by_kind_s).map(([kind, value]) => [`of it ${kind}`, value, a && a.result.exposed_by_kind_s[kind], 'part-of'])
    .filter(([, value, other]) => value > 0 || other > 0);
  lines.splice(lines.findIndex(line => line[0] === PARTS[1][1]) + 1, 0, ...kinds);
  lines.forEach(([text, value, other, name]) => {
    const line = element(table, 'tr', name ? { class: name } : {});
    element(line, 'td', {}, text);
    if (a) element(line, 'td', { class: 'number' }, seconds(other));
    element(line, 'td', { class: 'number', 'data-value': value }, seconds(value));
    element(line, 'td', { class: 'number' }, a ? seconds(gap(value, other)) : percent(value / b.result.step_time_s));
  });
}

const KINDS = ['parameters', 'gradients', 'optimizer', 'activations', 'buffers'], SHADES = ['computing', 'backward', 'weight', 'exposed', 'idle'];
function drawStages(b) {
  const block = $('stages'), stages = b.result.stages.filter(s => s.memory_bytes);
  block.textContent = '';
  if (!stages.length) { element(block, 'p', { class: 'quiet' }, 'This workload has given times and no model.'); return; }
  const list = element(block, 'div', { class: 'legend' });
  KINDS.forEach((kind, i) => {
    const item = element(list, 'span');
    element(item, 'i').style.background = `var(--${SHADES[i]})`;
    element(item, 'span', {}, kind);
  });
  const { svg, width } = chart(block, 24 * stages.length + 4, 'Memory by stage');
  const left = 62, most = Math.max(...stages.map(s => Math.max(s.memory_bytes.peak, s.memory_bytes.capacity))), scale = (width - left - 4) / most;
  stages.forEach((stage, i) => {
    let x = left;
    shape(svg, 'text', { x: 0, y: 24 * i + 16 }, `stage ${stage.stage}`);
    KINDS.forEach((kind, k) => {
      const bytes = stage.memory_bytes[kind], rect = shape(svg, 'rect', { class: 'memory', x, y: 24 * i + 2, height: 18, width: bytes * scale });
      rect.style.fill = `var(--${SHADES[k]})`;
      shape(rect, 'title', {}, `${kind} ${gib(bytes)}`);
      x += bytes * scale;
    });
    const full = left + stage.memory_bytes.capacity * scale;
    shape(svg, 'line', { x1: full, x2: full, y1: 24 * i, y2: 24 * i + 22, 'stroke-width': 2 }).style.stroke = 'var(--host)';
  });
  element(block, 'p', { class: 'quiet' }, 'The line is the capacity of the device.');
}

function drawAnswer(b, a) {
  drawStrip(b, a);
  drawBars(b, a);
  drawStages(b);
  $('answer').dataset.seq = b.seq;
  $('answer').dataset.sha = b.scenario.sha256;
}

function drawErrors(reply) {
  const block = $('errors');
  block.textContent = '';
  document.querySelectorAll('.control.wrong').forEach(c => c.classList.remove('wrong'));
  if (!reply) return;
  (reply.errors || [{ path: '', text: reply.error }]).forEach(error => {
    element(block, 'p', {}, error.text);
    if (built[error.path]) built[error.path].box.classList.add('wrong');
  });
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
    element(line, 'td', {}, row.path);
    element(line, 'td', { class: 'number' }, `${row.elasticity >= 0 ? '+' : ''}${row.elasticity.toFixed(2)} %`);
  });
}
