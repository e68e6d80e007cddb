/* Pages of compare (of a profile too), explain and check: what each writes as JSON, drawn. */
const answer = data.answer;
const breakdownParts = ['computing', ...kinds, 'bubble', 'host_stall', 'compile_stall', 'other_idle', 'fleet'];
const partShade = { host_stall: 'host', compile_stall: 'compile', other_idle: 'idle', fleet: 'fleet' };
const partText = part => kinds.includes(part) ? `exposed ${part} communication` : part.replace('_', ' ');
const signedSeconds = value => `${value > 0 ? '+' : value < 0 ? '-' : ''}${seconds(Math.abs(value))}`;
const signedPercent = value => `${value >= 0 ? '+' : '-'}${percent(Math.abs(value))}`;

/* Of a long table the first rows; the others on demand, and in the download. */
function table(block, heads, rows, identity, most = 60) {
  const place = block.append('div').attr('class', 'scroll').append('table');
  if (identity) place.attr('id', identity);
  const head = place.append('tr');
  const numbers = heads.map((_, i) => i > 0 && rows.some(row => /\d/.test(row[i])));
  heads.forEach((text, i) => head.append('th').classed('number', numbers[i]).text(text));
  const show = list => list.forEach(cells => {
    const line = place.append('tr');
    cells.forEach((text, i) => line.append('td').classed('number', numbers[i]).text(text));
  });
  show(rows.slice(0, most));
  if (rows.length <= most) return;
  whole[block.attr('id')] = () => [heads, ...rows];
  const more = block.append('p').attr('class', 'tools').append('button').attr('class', 'plain more').text(`Show all ${rows.length} rows`);
  more.on('click', () => { show(rows.slice(most)); more.remove(); });
}
/* Bars from a middle line; the name stands above its bar where the page is narrow. */
function signedBars(block, label, rows, text) {
  const above = narrow(), tall = above ? 42 : 24, low = tall - 24, left = above ? 26 : 330, height = tall * rows.length + 34;
  const chart = svg(block, room, height, label);
  const x = d3.scaleLinear([Math.min(0, d3.min(rows, r => r[1])), Math.max(0, d3.max(rows, r => r[1]))], [left, room - 84]).nice();
  rows.forEach(([name, value], i) => {
    const y = tall * i + low, from = Math.min(x(0), x(value)), to = Math.max(x(0), x(value));
    chart.append('text').attr('x', above ? left : left - 10).attr('y', tall * i + 15).attr('text-anchor', above ? 'start' : 'end').text(name);
    chart.append('rect').attr('class', 'signed').attr('x', from).attr('y', y + 2).attr('width', Math.max(0.5, to - from)).attr('height', 18)
      .style('fill', `var(--${value < 0 ? 'computing' : 'host'})`);
    chart.append('text').attr('x', to + 6).attr('y', y + 15).text(text(value));
  });
  chart.append('g').attr('transform', `translate(0,${height - 28})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(text));
}

function costs(cost) {
  if (!cost) return ['', ''];
  return [significant(cost.step, cost.currency), cost.token === null ? '' : significant(1e6 * cost.token, cost.currency)];
}

function sides() {
  const list = answer.sides, letter = i => String.fromCharCode(65 + i);
  const block = section('sides', 'Side by side', 'The first is A; every bar is a step, from all devices of the job.');
  const shown = breakdownParts.filter(part => list.some(side => side.parts_s[part] > 0));
  legend(block, shown.map(part => [partShade[part] || part, partText(part)]));
  const width = room, height = 34 * list.length + 34, left = 34, chart = svg(block, width, height, 'Breakdown of each side');
  const x = d3.scaleLinear([0, d3.max(list, side => side.step_time_s)], [left, width - 20]);
  list.forEach((side, i) => {
    let from = 0;
    chart.append('text').attr('x', 4).attr('y', 34 * i + 20).text(letter(i));
    shown.forEach(part => {
      const time = side.parts_s[part] || 0;
      hover(chart.append('rect').attr('class', 'part').attr('x', x(from)).attr('y', 34 * i + 2).attr('height', 26)
        .attr('width', Math.max(0, x(from + time) - x(from))).style('fill', `var(--${partShade[part] || part})`),
        () => `${letter(i)} ${side.label}\n${partText(part)} ${seconds(time)} (${percent(time / side.step_time_s)})`);
      from += time;
    });
  });
  chart.append('g').attr('transform', `translate(0,${height - 28})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(seconds));
  const priced = list.some(side => side.cost);
  table(block, ['', 'step time', 'against A', 'MFU', 'memory', ...priced ? ['cost of a step', 'of a million tokens'] : []], list.map((side, i) => [`${letter(i)} ${side.label}`, seconds(side.step_time_s),
    i ? signedPercent(side.step_time_change_s / list[0].step_time_s) : '', side.mfu === null ? '' : percent(side.mfu), side.peak_memory_bytes === null ? '' : gib(side.peak_memory_bytes),
    ...priced ? costs(side.cost) : []]), 'side-table');
  list.slice(1).forEach((side, i) => {
    const rows = breakdownParts.map(part => [partText(part), side.change_s[part]]).filter(r => Math.abs(r[1]) > 1e-4 * list[0].step_time_s)
      .sort((p, q) => Math.abs(q[1]) - Math.abs(p[1]));
    if (!rows.length) return;
    block.append('h3').text(`${letter(i + 1)} minus A: ${side.label}`);
    signedBars(block, `What changes from A to ${letter(i + 1)}`, rows, signedSeconds);
  });
}
function inputs() {
  const rows = answer.inputs_shown || answer.inputs || [];
  if (!rows.length) return;
  const block = section('inputs', 'Inputs that differ', 'Those that somebody wrote; stepcast compare --inputs lists what presets and defaults bring, too.');
  table(block, ['key', ...answer.sides.map((_, i) => String.fromCharCode(65 + i))], rows.map(row => [row.path, ...row.values.map(v => v ?? '')]));
}

/* Profilers write microseconds with three to six digits. */
const profiledChange = value => Math.abs(value) < 1e-9 ? '0' : signedSeconds(value);
function profiled() {
  const a = answer.forecast, b = answer.profile;
  const block = section('sides', 'Forecast and profile', `${answer.scenario}, rank ${answer.rank} of stage ${answer.stage}, beside ${answer.profile_file}.`);
  const parts = [['computing', 'computing_s'], ['exposed communication', 'exposed_s'], ['gaps below 50 us', 'gaps_s'], ['idle', 'idle_s'], ['step', 'step_s']];
  table(block, ['', 'forecast', 'profile', 'change'], parts.map(([name, key]) => [name, seconds(a[key]), seconds(b[key]), profiledChange(b[key] - a[key])]), 'side-table');
}
function causes() {
  // As the table of the terminal: what is below a ten-thousandth of the step, most of it rounding of the profiler, is one line.
  const small = 1e-4 * answer.forecast.step_s, rows = answer.causes.map(cause => [cause.text, cause.change_s]).filter(r => Math.abs(r[1]) >= small);
  const rest = answer.causes.filter(cause => Math.abs(cause.change_s) < small).reduce((sum, cause) => sum + cause.change_s, 0);
  if (Math.abs(rest) >= small) rows.push(['everything else', rest]);
  const block = section('causes', 'Causes', rows.length ? 'They add up to the change of the step, but for what is smaller than a ten-thousandth of it.' : 'No cause: the two are alike.');
  if (!rows.length) return;
  signedBars(block, 'Change of the step by cause', rows.map(([text, value]) => [text.split(/;| than the forecast|, as far/)[0], value]), signedSeconds);
  table(block, ['cause', 'change'], rows.map(([text, value]) => [text, signedSeconds(value)]), 'causes-table');
}
function classes() {
  table(section('classes', 'By operator class', 'Times are sums over the launches of one step.'), ['class', 'launches, forecast', 'profile', 'time, forecast', 'profile', 'change', 'ratio'],
    answer.classes.map(c => [c.class, String(c.launches.forecast), String(c.launches.profile), seconds(c.time_s.forecast), seconds(c.time_s.profile),
      profiledChange(c.time_s.profile - c.time_s.forecast), c.ratio === null ? '' : c.ratio.toFixed(3)]), 'classes-table');
}

function worth() {
  const block = section('worth', 'What would help', 'By how much one per cent more of each number changes the step.');
  signedBars(block, 'Change of the step for one per cent more', answer.elasticities.slice(0, 20).map(row => [row.path, row.elasticity / 100]), v => `${(100 * v).toFixed(2)} %`);
  const more = block.append('details');
  more.append('summary').text('all numbers');
  table(more, ['number', 'value', 'one per cent more changes the step by'], answer.elasticities.map(row => [row.path, String(Number(row.value.toPrecision(6))), `${row.elasticity.toFixed(3)} %`]), 'elasticities', Infinity);
}
function chain() {
  const path = answer.critical_path, block = section('path', 'Critical path', 'The longest chain of waiting through all that ran.');
  const columns = block.append('div').attr('class', 'columns');
  [['by category', path.categories], ['by operator and communication', path.operators], ['its communication by link', path.links]].forEach(([title, rows]) =>
    shareTable(columns.append('div'), title, rows || [], path.total_s));
}
function ideals() {
  const block = section('bounds', 'If something were free', 'The step with one cost left out: nothing that is bought gains more than this.');
  signedBars(block, 'Step without one of its costs', answer.bounds.map(b => [b.name, b.step_time_s / answer.step_time_s - 1]), signedPercent);
  table(block, ['without', 'step time', 'gain'], answer.bounds.map(b => [b.name, seconds(b.step_time_s), percent(1 - b.step_time_s / answer.step_time_s)]));
}

function checks() {
  const off = v => v.found === null ? null : v.relative ? (v.found - v.expected) / v.expected / (v.tolerance || Number.MIN_VALUE) : (v.found - v.expected) / (v.tolerance || Number.MIN_VALUE);
  const bad = answer.checks.filter(c => !c.passed), good = answer.checks.filter(c => c.passed);
  const rows = list => list.flatMap(c => c.values.length ? c.values.map(v => [c.name, v.key, v.found_text, v.expected_text, v.tolerance_text, v.difference, v.holds ? 'holds' : 'off'])
    : [[c.name, '', '', '', '', '', 'error']]);
  const heads = ['scenario', 'value', 'found', 'expected', 'within', 'change', ''];
  if (bad.length) {
    const block = section('failed', 'Failed');
    bad.forEach(c => { block.append('h3').text(c.name); block.append('p').text(c.why).style('white-space', 'pre-line'); });
    table(block, heads, rows(bad), 'failed-values');
  }
  const all = answer.checks.flatMap(c => c.values.map(v => [`${c.name}: ${v.key}`, off(v)])).filter(r => r[1] !== null && Number.isFinite(r[1]) && r[1] !== 0)
    .sort((p, q) => Math.abs(q[1]) - Math.abs(p[1])).slice(0, 20);
  if (all.length) signedBars(section('room', 'How much of the tolerance is used', 'The twenty that use most; beyond 1 either way a value is off.'), 'Share of the tolerance', all, v => v.toPrecision(2));
  if (good.length) table(section('passed', 'What holds', null, true), heads, rows(good), 'passed-values');
}

if (data.kind === 'compare') drawAll([sides, inputs]);
if (data.kind === 'profile') drawAll([profiled, causes, classes]);
if (data.kind === 'explain') drawAll([worth, ideals, chain]);
if (data.kind === 'check') drawAll([checks]);
