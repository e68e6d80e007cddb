/* The scaling curve and small sweeps: each point is a question of its own in the background, two at a time, drawn as it comes. */
const atATime = 2, mostPoints = 36;
const studies = { curve: null, sweep: null };  // name -> {rows, done, stopped, seq}

/* Asks every point; `ask(point, index)` gives a row. A newer study of the name, or a stop, ends this one. */
async function runStudy(name, points, ask, draw) {
  const study = { rows: points.map(() => null), done: 0, stopped: false, seq: lastSeq };
  studies[name] = study;
  let next = 0;
  const progress = $(name + '-progress'), stop = $(name + '-stop');
  progress.hidden = stop.hidden = false;
  const show = () => {
    progress.max = points.length;
    progress.value = study.done;
    $(name + '-state').textContent = `${study.done} of ${points.length}${study.stopped ? ', stopped' : ''}`;
    late(name, study.seq !== lastSeq);
    draw(study.rows.filter(Boolean));
  };
  show();
  const work = async () => {
    while (next < points.length && !study.stopped && studies[name] === study) {
      const at = next++;
      study.rows[at] = await ask(points[at], at).catch(() => ({ name: String(points[at]), failed: 'no answer', values: {} }));
      study.done += 1;
      if (studies[name] === study) show();
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  if (studies[name] === study) progress.hidden = stop.hidden = true;
}
function stopStudy(name) {
  if (studies[name]) studies[name].stopped = true;
}
const rowsOf = name => studies[name] ? studies[name].rows.filter(Boolean) : [];
const reasonOf = reply => reply.errors ? reply.errors[0].text : reply.error || 'no answer';

const round3 = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
/* Lines over named places, as wide as there is room; text stays readable on a phone. */
function plot(parent, label, rows, lines) {
  const height = 220, { svg, width } = chart(parent, height, label), left = 64, right = 30, low = height - 34, top = 20;
  const most = Math.max(...rows.flatMap(r => lines.map(l => l.of(r) ?? 0)), Number.MIN_VALUE);
  const x = i => left + (rows.length === 1 ? 0.5 : i / (rows.length - 1)) * (width - left - right), y = v => low - (v / most) * (low - top);
  [0, 0.5, 1].forEach(part => {
    shape(svg, 'line', { x1: left, x2: width - right, y1: y(part * most), y2: y(part * most), class: 'grid' });
    shape(svg, 'text', { x: left - 6, y: y(part * most) + 4, 'text-anchor': 'end' }, round3.format(part * most));
  });
  const every = Math.ceil(rows.length * 64 / (width - left - right));
  lines.forEach(line => {
    const points = rows.map((r, i) => [x(i), y(line.of(r))]);
    const path = shape(svg, 'polyline', { points: points.map(p => p.join(',')).join(' '), fill: 'none', 'stroke-width': 2 });
    path.style.stroke = `var(--${line.shade})`;
    if (line.dashed) { path.setAttribute('stroke-dasharray', '5 4'); return; }
    points.forEach(([a, b], i) => {
      shape(svg, 'circle', { cx: a, cy: b, r: 4 }).style.fill = `var(--${line.shade})`;
      if (line.note && i % every === 0) shape(svg, 'text', { x: a, y: b - 9, 'text-anchor': i ? 'end' : 'start' }, line.note(rows[i]));
    });
  });
  rows.forEach((r, i) => { if (i % every === 0) shape(svg, 'text', { x: x(i), y: low + 22, 'text-anchor': 'middle' }, r.name); });
}
/* Places on a scale of ratios: 1, 2 and 5 of each decade between two numbers, fewer where they would be many. */
function roundNumbers(low, high) {
  const all = [];
  for (let ten = 10 ** Math.floor(Math.log10(low)); ten <= high; ten *= 10) all.push(...[1, 2, 5].map(n => n * ten).filter(n => n >= low && n <= high));
  const tens = all.filter(n => /^1/.test(n.toPrecision(3)));
  return all.length > 7 && tens.length > 1 ? tens : all;
}
/* The rate of the job over its devices: perfect scaling is a straight line, drawn from the smallest that runs. */
function logPlot(parent, label, rows) {
  const height = 260, { svg, width } = chart(parent, height, label), left = 64, right = 30, low = height - 34, top = 22;
  const perfect = r => rate(rows[0]) * r.devices, own = r => rate(r) * r.devices, all = rows.flatMap(r => [perfect(r), own(r)]);
  const scale = (values, from, to) => {
    const a = Math.log(Math.min(...values) / 1.1), b = Math.log(Math.max(...values) * 1.1);
    return value => from + (Math.log(value) - a) / (b - a) * (to - from);
  };
  const x = scale(rows.map(r => r.devices), left, width - right), y = scale(all, low - 16, top);  // room for the lowest number
  roundNumbers(Math.min(...all) / 1.1, Math.max(...all) * 1.1).forEach(value => {
    shape(svg, 'line', { x1: left, x2: width - right, y1: y(value), y2: y(value), class: 'grid' });
    shape(svg, 'text', { x: left - 6, y: y(value) + 4, 'text-anchor': 'end' }, round3.format(value));
  });
  rows.forEach(r => {
    shape(svg, 'line', { x1: x(r.devices), x2: x(r.devices), y1: low, y2: low + 5, class: 'grid' });
    shape(svg, 'text', { x: x(r.devices), y: low + 20, 'text-anchor': 'middle' }, r.name);
  });
  const line = (of, attributes, shade) => {
    const path = shape(svg, 'polyline', { points: rows.map(r => `${x(r.devices)},${y(of(r))}`).join(' '), fill: 'none', 'stroke-width': 2, ...attributes });
    path.style.stroke = `var(--${shade})`;
  };
  line(perfect, { 'stroke-dasharray': '5 4', class: 'perfect' }, 'quiet');
  line(own, {}, 'accent');
  rows.forEach(r => {
    shape(svg, 'circle', { cx: x(r.devices), cy: y(own(r)), r: 4 }).style.fill = 'var(--accent)';
    shape(svg, 'text', { x: x(r.devices) + 4, y: y(own(r)) + 18, 'text-anchor': r === rows[0] ? 'start' : 'middle' }, percent(r.efficiency));
  });
}
function tableOf(parent, heads, rows, kind = 'number') {
  const table = element(element(parent, 'div', { class: 'scroll' }), 'table', { class: kind + '-table' }), head = element(table, 'tr');
  heads.forEach((text, i) => element(head, 'th', i ? { class: kind } : {}, text));
  rows.forEach(cells => {
    const line = element(table, 'tr');
    cells.forEach((text, i) => element(line, 'td', i ? { class: kind } : {}, text));
  });
}

/* The tokens per device stay; efficiency is the rate per device against that of the smallest that runs. */
function askCurve() {
  const devices = shown && shown.scenario.devices;
  if (!devices) return;
  const set = { ...state.set, 'parallel.dp': 'auto' }, scenario = scenarioOf(state), seq = lastSeq;
  const points = [0.25, 0.5, 1, 2, 4].map(k => devices * k).filter(Number.isInteger);
  runStudy('curve', points, async (count, at) => {
    const reply = await call('scale', { tab, slot: 'curve' + at, seq, scenario, set, devices: String(count) });
    if (reply.status !== 200) return { name: String(count), failed: reasonOf(reply) };
    const point = reply.answer.points[0];
    return point.status === 'ok' ? { name: String(count), ...point } : { name: String(count), failed: point.reason || point.status };
  }, drawCurve);
}
/* A column for the cost of a million tokens where some point has prices; `of` gives that of a token. */
function priced(rows, of) {
  const some = rows.some(row => !row.failed && Number.isFinite(of(row)));
  return { head: some ? ['cost of a million tokens'] : [], cell: row => some ? [row.failed || !Number.isFinite(of(row)) ? '' : significant(1e6 * of(row), '')] : [] };
}
const rate = point => point.tokens_per_s_per_device ?? point.samples_per_s / point.devices;
function drawCurve(rows) {
  const block = $('curve'), good = rows.filter(r => !r.failed);
  block.textContent = '';
  good.forEach(r => { r.efficiency = rate(r) / rate(good[0]); });
  if (good.length) {
    logPlot(block, 'Rate of the whole job over devices, both by doublings, with perfect scaling', good);
    element(block, 'p', { class: 'quiet' }, `${good[0].tokens_per_s_per_device ? 'Tokens' : 'Samples'} per second of the job over devices, both axes logarithmic. Dashed: perfect scaling from ${good[0].name} devices; the number at each point is the efficiency.`);
  }
  const cost = priced(rows, r => r.cost_per_token);
  tableOf(block, ['devices', 'step time', 'tokens/s per device', 'efficiency', ...cost.head], rows.map(r => r.failed
    ? [r.name, r.failed, '', '', ...cost.cell(r)]
    : [r.name, seconds(r.step_time_s), r.tokens_per_s_per_device ? significant(r.tokens_per_s_per_device, '') : '', percent(r.efficiency), ...cost.cell(r)]));
}
function saveCurve() {
  saveTable('scaling.csv', [['devices', 'step_time_s', 'tokens_per_s_per_device', 'efficiency', 'cost_per_token', 'reason'],
    ...rowsOf('curve').map(r => [r.name, r.step_time_s, r.tokens_per_s_per_device, r.efficiency, r.cost_per_token, r.failed])]);
}

/* One control, or two, through the values that may run. */
function runnable(key) {
  const values = (known[key] || {}).values || {};
  return Object.keys(values).filter(value => !values[value]);
}
function fillSweepKeys() {
  ['sweep-a', 'sweep-b'].forEach(id => {
    const list = $(id), now = list.value;
    list.textContent = '';
    if (id === 'sweep-b') element(list, 'option', { value: '' }, 'nothing else');
    Object.keys(built).filter(key => runnable(key).length > 1).forEach(key => element(list, 'option', { value: key }, key));
    if ([...list.options].some(o => o.value === now)) list.value = now;
  });
}
function askSweep() {
  const a = $('sweep-a').value, b = $('sweep-b').value, scenario = scenarioOf(state), seq = lastSeq;
  if (!a) return;
  const second = b && b !== a ? runnable(b) : [null];
  const points = runnable(a).flatMap(v => second.map(w => w === null ? { [a]: v } : { [a]: v, [b]: w })).slice(0, mostPoints);
  runStudy('sweep', points, async (values, at) => {
    const set = { ...state.set, ...values }, name = Object.values(values).join(' / ');
    if (Object.keys(values).some(degrees)) set['parallel.dp'] = 'auto';
    const reply = await call('forecast', { tab, slot: 'sweep' + at, seq, scenario, set, background: true });
    if (reply.status !== 200) return { name, values, failed: reasonOf(reply) };
    const result = reply.answer.result, memory = fullest(result);
    return { name, values, step_time_s: result.step_time_s, tokens: result.tokens_per_s_per_device, mfu: result.mfu, cost: result.cost && result.cost.token,
      peak: memory && memory.peak, full: Boolean(memory && memory.peak > memory.capacity) };
  }, drawSweep);
}
function drawSweep(rows) {
  const block = $('sweep'), good = rows.filter(r => !r.failed), fastest = good.filter(r => !r.full).sort((p, q) => p.step_time_s - q.step_time_s)[0];
  block.textContent = '';
  if (good.length) plot(block, 'Step time of each point in seconds', good, [{ of: r => r.step_time_s, shade: 'accent' }]);
  if (fastest) element(block, 'p', {}, `Step time in seconds. The fastest that fits: ${fastest.name}, ${seconds(fastest.step_time_s)}.`);
  if (!rows.length) return;
  const cost = priced(rows, r => r.cost);
  tableOf(block, [Object.keys(rows[0].values).join(' / '), 'step time', 'tokens/s per device', 'MFU', 'memory', ...cost.head],
    rows.map(r => r.failed ? [r.name, r.failed, '', '', '', ...cost.cell(r)] : [r.name, seconds(r.step_time_s), r.tokens ? significant(r.tokens, '') : '',
      r.mfu === null ? '' : percent(r.mfu), r.peak ? gib(r.peak) + (r.full ? ' too much' : '') : '', ...cost.cell(r)]));
}
function saveSweep() {
  const rows = rowsOf('sweep'), keys = rows.length ? Object.keys(rows[0].values) : [];
  saveTable('sweep.csv', [[...keys, 'step_time_s', 'tokens_per_s_per_device', 'mfu', 'peak_bytes', 'cost_per_token', 'reason'],
    ...rows.map(r => [...keys.map(k => r.values[k]), r.step_time_s, r.tokens, r.mfu, r.peak, r.cost, r.failed])]);
}
