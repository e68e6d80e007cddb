/* Points of a sweep: rows with named columns. */
function scaling() {
  const points = data.scaling;
  if (points.length < 2) return;
  const block = section('scaling', 'Scaling', 'Throughput over devices; the ideal line starts at the smallest point. Below: the efficiency by itself, from nothing to all of it' + (data.published.length ? '; crosses are published sizes.' : '.'));
  const width = room, height = 320, left = narrow() ? 52 : 84;
  const chart = svg(block, width, height, 'Scaling curve');
  const x = d3.scaleLog(d3.extent(points, p => p.devices), [left, width - 70]).base(2);
  const ideal = p => points[0].throughput * p.devices / points[0].devices;
  const y = d3.scaleLog([points[0].throughput * 0.85, d3.max(points, p => Math.max(p.throughput, ideal(p)))], [height - 34, 14]).base(2);
  const line = value => d3.line().x(p => x(p.devices)).y(p => y(value(p)))(points);
  chart.append('path').attr('d', line(ideal)).attr('fill', 'none').style('stroke', 'var(--quiet)').attr('stroke-dasharray', '5 4');
  chart.append('path').attr('d', line(p => p.throughput)).attr('fill', 'none').style('stroke', 'var(--computing)').attr('stroke-width', 2);
  points.forEach(p => {
    hover(chart.append('circle').attr('class', 'scaling').attr('cx', x(p.devices)).attr('cy', y(p.throughput)).attr('r', 5).style('fill', 'var(--computing)'),
      () => `${p.devices} devices: ${p.throughput.toPrecision(4)} ${data.throughput}\n${percent(p.throughput / ideal(p))} of ideal`);
  });
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(x).tickValues(points.filter((_, i) => i % Math.ceil(points.length * 56 / (width - left - 70)) === 0).map(p => p.devices)).tickFormat(d3.format('d')));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(5, '.3~s'));
  chart.append('text').attr('x', left + 6).attr('y', 18).attr('class', 'quiet').text(data.throughput.replace('_per_', '/'));
  efficiency(block, points, p => p.throughput / ideal(p), x, left);
}

/* What a logarithmic curve hides: a tenth lost is a tenth of the height here. */
function efficiency(block, points, of, x, left) {
  const height = 190, chart = svg(block, room, height, 'Efficiency over devices');
  const y = d3.scaleLinear([0, Math.max(1, d3.max(points, of), d3.max(data.published, p => p.efficiency) || 0)], [height - 34, 22]);
  chart.append('line').attr('x1', left).attr('x2', room - 70).attr('y1', y(1)).attr('y2', y(1)).style('stroke', 'var(--quiet)').attr('stroke-dasharray', '5 4');
  chart.append('path').attr('d', d3.line().x(p => x(p.devices)).y(p => y(of(p)))(points)).attr('fill', 'none').style('stroke', 'var(--computing)').attr('stroke-width', 2);
  const every = Math.ceil(points.length * 56 / (room - left - 70));
  points.forEach((p, i) => {
    hover(chart.append('circle').attr('class', 'efficiency').attr('cx', x(p.devices)).attr('cy', y(of(p))).attr('r', 4).style('fill', 'var(--computing)'),
      () => `${p.devices} devices: ${percent(of(p))}`);
    // The first stands on the axis, whose line would cross its label.
    if (i % every === 0) chart.append('text').attr('x', x(p.devices) + (i ? 0 : 6)).attr('y', y(of(p)) + 18).attr('text-anchor', i ? 'middle' : 'start').text(percent(of(p)));
  });
  data.published.forEach(p => hover(chart.append('path').attr('class', 'published').attr('d', d3.symbol(d3.symbolCross, 60)()).attr('transform', `translate(${x(p.devices)},${y(p.efficiency)}) rotate(45)`).style('fill', 'var(--host)'),
    () => `${p.curve}, published\n${p.devices} devices: ${percent(p.efficiency)}`));
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(x).tickValues(points.filter((_, i) => i % every === 0).map(p => p.devices)).tickFormat(d3.format('d')));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(4).tickFormat(v => `${Math.round(100 * v)} %`));
}

function pareto() {
  const points = data.pareto;
  if (!points.length) return;
  const block = section('pareto', 'Time against memory', 'Each point of the sweep; filled ones are not beaten in both. Points right of the line do not fit.');
  const width = room, height = 320, left = 84;
  const chart = svg(block, width, height, 'Step time against memory');
  const capacity = d3.max(points, p => p.capacity);
  const size = d3.scaleLinear([0, 1.05 * Math.max(capacity, d3.max(points, p => p.memory)) / 2 ** 30], [left, width - 30]), x = bytes => size(bytes / 2 ** 30);
  const y = d3.scaleLinear([0, 1.08 * d3.max(points, p => p.time)], [height - 34, 10]);
  chart.append('line').attr('x1', x(capacity)).attr('x2', x(capacity)).attr('y1', 10).attr('y2', height - 34).style('stroke', 'var(--host)');
  const best = p => !points.some(q => q.time <= p.time && q.memory <= p.memory && (q.time < p.time || q.memory < p.memory));
  points.forEach(p => hover(chart.append('circle').attr('class', 'pareto').attr('cx', x(p.memory)).attr('cy', y(p.time)).attr('r', 5)
    .style('fill', best(p) ? 'var(--computing)' : 'var(--paper)').style('stroke', 'var(--computing)').attr('stroke-width', 1.5),
    () => `${p.name}\n${seconds(p.time)}, ${gib(p.memory)}`));
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(size).ticks(ticks()).tickFormat(n => `${n} GiB`));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(6).tickFormat(seconds));
}

/* By what the name of a column ends with; downloads have the numbers as they are. */
function cellText(column, value) {
  if (typeof value !== 'number') return value === null ? '' : value;
  if (/_per_s(_|$)/.test(column)) return d3.format(',.4~r')(value);
  if (/_s$/.test(column)) return seconds(value);
  if (/_bytes$/.test(column)) return gib(value);
  if (/^(mfu|hfu|bubble_ratio|scaling_efficiency.*)$/.test(column)) return percent(value);
  return Number.isInteger(value) ? value : value.toPrecision(5);
}

function points() {
  const block = section('points', 'All points', 'Click a head to sort. Filter: words that a row must contain, or a comparison such as step_time_s < 4.', true);
  const tools = block.append('div').attr('class', 'tools');
  tools.append('label').attr('for', 'filter').text('filter');
  const input = tools.append('input').attr('id', 'filter').attr('type', 'search');
  const count = tools.append('span').attr('class', 'quiet').attr('id', 'count').attr('role', 'status');
  const table = block.append('div').attr('class', 'scroll').append('table').attr('id', 'rows');
  const head = table.append('thead').append('tr'), body = table.append('tbody');
  const pager = block.append('div').attr('class', 'tools').attr('id', 'pager'), many = 50;
  let sorted = data.columns.findIndex(name => name === 'step_time_s' || name === 'simulated_s'), down = false, page = 0;
  const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
  function passes(row, text) {
    const rule = text.match(/^\s*(\S+)\s*(<=|>=|<|>|=)\s*(\S+)\s*$/), column = rule ? data.columns.indexOf(rule[1]) : -1;
    if (column < 0) return text.toLowerCase().split(/\s+/).every(word => row.join(' ').toLowerCase().includes(word));
    const order = compare(row[column], isNaN(rule[3]) ? rule[3] : Number(rule[3]));
    return { '<': order < 0, '>': order > 0, '=': order === 0, '<=': order <= 0, '>=': order >= 0 }[rule[2]];
  }
  /* A point without a value comes last, either way. */
  const lacks = value => value === null || value === '';
  function chosen() {
    const rows = data.rows.filter(row => passes(row, input.property('value')));
    if (sorted >= 0) rows.sort((a, b) => lacks(a[sorted]) - lacks(b[sorted]) || (down ? -1 : 1) * compare(a[sorted], b[sorted]));
    return rows;
  }
  whole.points = () => [data.columns, ...chosen()];
  function turn(to) {
    page = to;
    fill();
  }
  function fill() {
    const rows = chosen(), pages = Math.max(1, Math.ceil(rows.length / many));
    page = Math.min(page, pages - 1);
    count.text(`${rows.length} of ${data.rows.length} points`);
    pager.html('');
    if (pages > 1) {
      [['First', 0], ['Back', page - 1], ['Next', page + 1], ['Last', pages - 1]].forEach(([text, to]) =>
        pager.append('button').attr('class', 'plain').text(text).property('disabled', to === page || to < 0 || to >= pages).on('click', () => turn(to)));
      pager.append('span').attr('class', 'quiet').text(`${page * many + 1} to ${Math.min(rows.length, (page + 1) * many)} of ${rows.length}`);
    }
    const lines = body.html('').selectAll('tr').data(rows.slice(page * many, (page + 1) * many)).enter().append('tr');
    lines.selectAll('td').data(row => row).enter().append('td').classed('number', v => typeof v === 'number')
      .attr('data-value', v => typeof v === 'number' ? v : null).text((v, i) => cellText(data.columns[i], v));
  }
  data.columns.forEach((name, i) => {
    const cell = head.append('th').classed('number', typeof (data.rows[0] || [])[i] === 'number').attr('aria-sort', 'none');
    cell.append('button').text(name).on('click', () => {
      down = sorted === i ? !down : false;
      sorted = i;
      arrow();
      turn(0);
    });
  });
  const arrow = () => head.selectAll('th').attr('aria-sort', (_, k) => k !== sorted ? 'none' : down ? 'descending' : 'ascending');
  arrow();
  input.on('input', () => turn(0));
  fill();
}

if (data.kind === 'sweep') drawAll([scaling, pareto, points]);
