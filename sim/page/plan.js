/* A plan: what was found, against what is known, and what else there is. */

/* The axes are time and memory whatever the frontier compares. */
function frontierWords() {
  const compared = data.measures.join(' and ');
  const none = compared === 'time and memory and devices' ? 'the frontier: none is faster with as little memory on as few devices' :
    `the frontier of ${compared}: none is as good in both and better in one`;
  return `The plan looks for ${data.wanted}. Filled points are on ${none}. `;
}

function frontierChart() {
  const points = data.points, shown = points.filter(p => p.time <= data.slowest_shown);
  const left_out = points.length - shown.length;
  const block = section('frontier', 'Step time against memory',
    frontierWords() + 'Large ones are simulated, small ones timed without contention. Hollow ones are beaten; ' +
    'point at one, or move to it with the Tab key, to see by what.' + (left_out ? ` ${left_out} slower points are in the table only.` : ''));
  const sizes = [...new Set(points.map(p => p.devices))].sort((a, b) => a - b);
  const shade = p => `var(--${seriesShades[sizes.indexOf(p.devices) % seriesShades.length]})`;
  if (sizes.length > 1) legend(block, sizes.map((n, i) => [seriesShades[i % seriesShades.length], `${n} devices`]));
  const width = room, height = 420, left = 84;
  const chart = svg(block, width, height, 'Step time against memory, with the frontier').attr('role', 'group');
  const size = d3.scaleLinear([0, 1.04 * Math.max(data.capacity, d3.max(shown, p => p.memory)) / 2 ** 30], [left, width - 30]);
  const x = bytes => size(bytes / 2 ** 30);
  const [least, most] = d3.extent(shown, p => p.time), gap = 0.06 * (most - least || most);
  const y = d3.scaleLinear([Math.max(0, least - gap), most + gap], [height - 44, 14]);
  chart.append('line').attr('x1', x(data.capacity)).attr('x2', x(data.capacity)).attr('y1', 10).attr('y2', height - 44).style('stroke', 'var(--host)');
  chart.append('text').attr('class', 'quiet').attr('x', x(data.capacity) - 6).attr('y', 22).attr('text-anchor', 'end').text('capacity');
  const steps = ['time', 'memory'].every(measure => data.measures.includes(measure));  // else the frontier is no staircase of these axes
  sizes.forEach(devices => {
    if (!steps) return;
    const edge = shown.filter(p => p.devices === devices && p.beaten_by < 0).sort((a, b) => a.memory - b.memory);
    if (edge.length < 2) return;
    chart.append('path').attr('class', 'frontier').attr('fill', 'none').style('stroke', shade(edge[0])).attr('stroke-width', 1.5)
      .attr('d', d3.line().curve(d3.curveStepAfter).x(p => x(p.memory)).y(p => y(p.time))(edge));
  });
  const link = chart.append('line').attr('id', 'dominator').style('stroke', 'var(--ink)').attr('stroke-dasharray', '3 3').style('opacity', 0);
  const said = block.append('p').attr('id', 'said').attr('role', 'status').text('\u00a0');
  const words = p => `${p.name}: ${seconds(p.time)}${p.simulated ? '' : ' without contention'}, ${gib(p.memory)}` +
    (p.beaten_by < 0 ? ', on the frontier' : `\nloses to ${points[p.beaten_by].name}: ${p.because}`);
  function point(p) {
    said.text(words(p));
    if (p.beaten_by < 0) return link.style('opacity', 0);
    const other = points[p.beaten_by];
    return link.attr('x1', x(p.memory)).attr('y1', y(p.time)).attr('x2', x(other.memory)).attr('y2', y(other.time)).style('opacity', 1);
  }
  const order = shown.slice().sort((a, b) => (a.beaten_by < 0) - (b.beaten_by < 0));  // the frontier on top
  chart.selectAll('circle').data(order).enter().append('circle').attr('class', p => p.beaten_by < 0 ? 'best' : 'beaten')
    .attr('tabindex', 0).attr('role', 'img').attr('aria-label', words)
    .attr('cx', p => x(p.memory)).attr('cy', p => y(p.time)).attr('r', p => p.simulated ? 5.5 : 4)
    .style('fill', p => p.beaten_by < 0 ? shade(p) : 'var(--paper)').style('stroke', shade).attr('stroke-width', 1.5)
    .on('focus', point).on('mousemove', p => { point(p); showTip(d3.event, words(p)); }).on('mouseleave', hideTip);
  chart.append('g').attr('transform', `translate(0,${height - 40})`).call(d3.axisBottom(size).ticks(ticks()).tickFormat(n => `${n} GiB`));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(7).tickFormat(seconds));
  chart.append('text').attr('class', 'quiet').attr('x', width - 30).attr('y', height - 4).attr('text-anchor', 'end')
    .text('memory of the fullest device');
}

function comparison() {
  const c = data.comparison;
  if (!c) return;
  const block = section('comparison', 'Against the baseline',
    `Parts of the step of the winner minus those of ${c.file}, per token and device, in percent of the baseline's step time.`);
  const rows = Object.entries(c.parts).filter(e => Math.abs(e[1]) >= 5e-4).sort((a, b) => a[1] - b[1]);
  const width = room, height = 24 * (rows.length + 1) + 34, left = 160;
  const chart = svg(block, width, height, 'Where the winner saves and loses time');
  const all = [...rows, ['all', c.difference]];
  const x = d3.scaleLinear([Math.min(0, d3.min(all, e => e[1])), Math.max(0, d3.max(all, e => e[1]))], [left, width - 90]).nice();
  all.forEach(([name, value], i) => {
    const y = 24 * i + 4, from = Math.min(x(0), x(value)), to = Math.max(x(0), x(value));
    chart.append('text').attr('x', left - 10).attr('y', y + 14).attr('text-anchor', 'end').text(c.exposed.includes(name) ? `exposed ${name}` : name.replace('_', ' '));
    chart.append('rect').attr('class', 'difference').attr('x', from).attr('y', y).attr('width', to - from).attr('height', 18)
      .style('fill', value < 0 ? 'var(--computing)' : 'var(--host)');
    chart.append('text').attr('x', to + 6).attr('y', y + 14).text(`${value > 0 ? '+' : ''}${percent(value)}`);
  });
  chart.append('g').attr('transform', `translate(0,${height - 28})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(v => percent(v)));
  const table = block.append('div').attr('class', 'scroll').append('table');
  [['baseline', c.baseline], ['winner', c.winner]].forEach(([name, run]) => {
    const line = table.append('tr');
    [name, seconds(run.step_time_s), gib(run.peak_memory_bytes), `${run.devices} devices`, run.strategy].forEach(t => line.append('td').text(t));
  });
}

/* Bars from the 10 % to the 90 % quantile of the seeds; names stand above them, so that they may be long. */
function finalists() {
  const f = data.finalists;
  if (!f) return;
  const others = f.points.length - 1, block = section('finalists', 'The finalists under stalls',
    `${f.seeds} seeds of what is drawn. Bars reach from the 10 % to the 90 % quantile of the steps, the stroke is their median, the dot the step that ${percent(f.quantile)} of them keep, which decides; ` +
    `the ring is the step without stalls. ${f.within} of the other ${others} have a median within the interval of the first (the band): between these the model does not decide.`);
  const width = room, tall = 46, height = tall * f.points.length + 34, left = 8;
  const chart = svg(block, width, height, 'Steps of the finalists under stalls');
  const all = f.points.flatMap(p => [p.calm, p.p10, p.p90, p.decides]).concat(f.interval);
  const x = d3.scaleLinear(d3.extent(all), [left + 10, width - 30]).nice();
  chart.append('rect').attr('class', 'interval').attr('x', x(f.interval[0])).attr('width', x(f.interval[1]) - x(f.interval[0])).attr('y', 0).attr('height', height - 34)
    .style('fill', 'var(--line)').style('fill-opacity', 0.5);
  f.points.forEach((p, i) => {
    const y = tall * i, words = `${p.name}\n${percent(f.quantile)} within ${seconds(p.decides)}, median ${seconds(p.p50)}, without stalls ${seconds(p.calm)}, ${gib(p.free)} free`;
    chart.append('text').attr('x', left).attr('y', y + 15).text(p.name);
    hover(chart.append('rect').attr('class', 'finalist').attr('x', x(p.p10)).attr('y', y + 22).attr('height', 14).attr('width', Math.max(1, x(p.p90) - x(p.p10))).style('fill', 'var(--computing)'), () => words);
    chart.append('line').attr('x1', x(p.p50)).attr('x2', x(p.p50)).attr('y1', y + 19).attr('y2', y + 39).style('stroke', 'var(--ink)').attr('stroke-width', 2);
    chart.append('circle').attr('cx', x(p.decides)).attr('cy', y + 29).attr('r', 5).style('fill', 'var(--host)');
    chart.append('circle').attr('cx', x(p.calm)).attr('cy', y + 29).attr('r', 5).style('fill', 'none').style('stroke', 'var(--ink)').attr('stroke-width', 1.5);
  });
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(seconds));
  const table = block.append('div').attr('class', 'scroll').append('table').attr('id', 'finalist-table'), head = table.append('tr');
  ['strategy', 'devices', `${percent(f.quantile)} within`, 'median', '10 %', '90 %', 'without stalls', 'memory free'].forEach((t, i) => head.append('th').classed('number', i > 0).text(t));
  f.points.forEach(p => {
    const line = table.append('tr');
    [p.name, String(p.devices), ...[p.decides, p.p50, p.p10, p.p90, p.calm].map(seconds), gib(p.free)].forEach((t, i) => line.append('td').classed('number', i > 0).text(t));
  });
}

function counts() {
  const block = section('counts', 'The space', data.proof);
  const table = block.append('table').attr('id', 'reasons');
  data.counts.forEach(([what, points]) => {
    const line = table.append('tr');
    line.append('td').text(what);
    line.append('td').attr('class', 'number').text(d3.format(',')(points));
  });
}

if (data.kind === 'plan') drawAll([headline, frontierChart, finalists, comparison, points, counts]);
