/* Points of a sweep: rows with named columns. */
function scaling() {
  const points = data.scaling;
  if (points.length < 2) return;
  const block = section('scaling', 'Scaling', 'Throughput over devices; the ideal line starts at the smallest point. Labels: efficiency.');
  const width = 1130, height = 320, left = 84;
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
    chart.append('text').attr('x', x(p.devices) + 8).attr('y', y(p.throughput) + 16).text(percent(p.throughput / ideal(p)));
  });
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(x).tickValues(points.map(p => p.devices)).tickFormat(d3.format('d')));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(5, '.3~s'));
  chart.append('text').attr('x', left + 6).attr('y', 18).attr('class', 'quiet').text(data.throughput);
}

function pareto() {
  const points = data.pareto;
  if (!points.length) return;
  const block = section('pareto', 'Time against memory', 'Each point of the sweep; filled ones are not beaten in both. Points right of the line do not fit.');
  const width = 1130, height = 320, left = 84;
  const chart = svg(block, width, height, 'Step time against memory');
  const capacity = d3.max(points, p => p.capacity);
  const x = d3.scaleLinear([0, 1.05 * Math.max(capacity, d3.max(points, p => p.memory))], [left, width - 30]);
  const y = d3.scaleLinear([0, 1.08 * d3.max(points, p => p.time)], [height - 34, 10]);
  chart.append('line').attr('x1', x(capacity)).attr('x2', x(capacity)).attr('y1', 10).attr('y2', height - 34).style('stroke', 'var(--host)');
  const best = p => !points.some(q => q.time <= p.time && q.memory <= p.memory && (q.time < p.time || q.memory < p.memory));
  points.forEach(p => hover(chart.append('circle').attr('class', 'pareto').attr('cx', x(p.memory)).attr('cy', y(p.time)).attr('r', 5)
    .style('fill', best(p) ? 'var(--computing)' : 'var(--paper)').style('stroke', 'var(--computing)').attr('stroke-width', 1.5),
    () => `${p.name}\n${seconds(p.time)}, ${gib(p.memory)}`));
  chart.append('g').attr('transform', `translate(0,${height - 30})`).call(d3.axisBottom(x).ticks(8).tickFormat(b => gib(b)));
  chart.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(y).ticks(6).tickFormat(seconds));
}

function points() {
  const block = section('points', 'All points', 'Click a head to sort. Filter: words that a row must contain, or a comparison such as step_time_s < 4.', true);
  const tools = block.append('div').attr('class', 'tools');
  tools.append('label').attr('for', 'filter').text('filter');
  const input = tools.append('input').attr('id', 'filter').attr('type', 'search');
  const count = tools.append('span').attr('class', 'quiet').attr('id', 'count').attr('role', 'status');
  const table = block.append('div').attr('class', 'scroll').append('table').attr('id', 'rows');
  const head = table.append('thead').append('tr'), body = table.append('tbody');
  let sorted = -1, down = false;
  const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
  function passes(row, text) {
    const rule = text.match(/^\s*(\S+)\s*(<=|>=|<|>|=)\s*(\S+)\s*$/), column = rule ? data.columns.indexOf(rule[1]) : -1;
    if (column < 0) return text.toLowerCase().split(/\s+/).every(word => row.join(' ').toLowerCase().includes(word));
    const order = compare(row[column], isNaN(rule[3]) ? rule[3] : Number(rule[3]));
    return { '<': order < 0, '>': order > 0, '=': order === 0, '<=': order <= 0, '>=': order >= 0 }[rule[2]];
  }
  function fill() {
    const rows = data.rows.filter(row => passes(row, input.property('value')));
    if (sorted >= 0) rows.sort((a, b) => (down ? -1 : 1) * compare(a[sorted], b[sorted]));
    count.text(`${rows.length} of ${data.rows.length} points`);
    const lines = body.html('').selectAll('tr').data(rows).enter().append('tr');
    lines.selectAll('td').data(row => row).enter().append('td').classed('number', v => typeof v === 'number')
      .text(v => typeof v === 'number' && !Number.isInteger(v) ? v.toPrecision(5) : v === null ? '' : v);
  }
  data.columns.forEach((name, i) => {
    const cell = head.append('th').classed('number', typeof (data.rows[0] || [])[i] === 'number').attr('aria-sort', 'none');
    cell.append('button').text(name).on('click', () => {
      down = sorted === i ? !down : false;
      sorted = i;
      head.selectAll('th').attr('aria-sort', (_, k) => k !== i ? 'none' : down ? 'descending' : 'ascending');
      fill();
    });
  });
  input.on('input', fill);
  fill();
}

if (data.kind === 'sweep') [scaling, pareto, points].forEach(part => part());
