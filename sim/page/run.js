/* The parts of a step, the exposed communication by kind: a colour of its own for each of the twelve. */
const kinds = ['tensor', 'expert', 'pipeline', 'data', 'context', 'offload'];
const colouredParts = [['computing', 'computing', s => s.parts.computing],
  ...kinds.map(kind => [kind, `exposed ${kind} communication`, s => s.exposed[kind] || 0]),
  ['bubble', 'bubble', s => s.parts.bubble], ['host', 'host stall', s => s.parts.host],
  ['compile', 'compile stall', s => s.parts.compile], ['idle', 'other idle', s => s.parts.idle],
  ['fleet', 'fleet', s => s.parts.fleet || 0]];
const compiles = () => data.stages.some(stage => stage.parts.compile > 0);

function headline() {
  const cards = d3.select('header').append('div').attr('class', 'cards');
  data.headline.forEach(item => {
    const card = cards.append('div').attr('class', 'card').classed('bad', item.bad);
    card.append('span').text(item.label);
    card.append('b').text(item.value);
    card.append('span').text(item.note);
  });
}

function breakdown() {
  const block = section('breakdown', 'Where the time goes',
    'Each bar is the step of a mean rank of the stage; its parts add up to the step time.');
  const shown = colouredParts.filter(([, , of]) => data.stages.some(stage => of(stage) > 0));
  legend(block, shown);
  const width = room, height = 24 * data.stages.length + 34, left = 74;
  const chart = svg(block, width, height, 'Breakdown of the step per stage');
  const x = d3.scaleLinear([0, data.step_time], [left, width - 20]);
  data.stages.forEach((stage, i) => {
    let from = 0;
    chart.append('text').attr('x', left - 8).attr('y', 24 * i + 16).attr('text-anchor', 'end').text(stage.name);
    shown.forEach(([shade, text, of]) => {
      const time = of(stage);
      hover(chart.append('rect').attr('class', 'part').attr('x', x(from)).attr('y', 24 * i + 2)
        .attr('width', Math.max(0, x(from + time) - x(from))).attr('height', 19).style('fill', `var(--${shade})`),
        () => `${stage.name}: ${text} ${seconds(time)} (${percent(time / data.step_time)})`);
      from += time;
    });
  });
  chart.append('g').attr('transform', `translate(0,${height - 28})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(seconds));
  const details = block.append('details');
  details.append('summary').text('the same as a table');
  const table = details.append('div').attr('class', 'scroll').append('table');
  const head = table.append('tr');
  ['stage', 'layers', ...shown.map(p => p[1]), 'bound by'].forEach((t, i) => head.append('th').classed('number', i > 1 && i < 2 + shown.length).text(t));
  data.stages.forEach(stage => {
    const line = table.append('tr');
    line.append('td').text(stage.name);
    line.append('td').text(stage.layers);
    shown.forEach(([, , of]) => line.append('td').attr('class', 'number').text(seconds(of(stage))));
    line.append('td').text(stage.bound_by);
  });
}

function pipeline() {
  const block = section('pipeline', 'The pipeline as it ran', timelineHelp);
  legend(block, timelineLegend(data.timeline));
  if (shortWaits(data.timeline)) block.append('p').attr('class', 'quiet').text(shortWaits(data.timeline));
  const canvas = block.append('canvas').attr('tabindex', 0).attr('role', 'img').attr('id', 'gantt')
    .attr('aria-label', 'Timeline of the pipeline, one row per stage');
  timelineOn(canvas.node(), showTip, hideTip)(data.timeline);
}

function memory() {
  if (!data.stages.some(s => s.memory)) return;
  const block = section('memory', 'Memory per device', 'The worst moment of each stage against what the device has, and over the step.');
  const sorts = ['parameters', 'gradients', 'optimizer', 'activations', 'buffers'];
  const list = block.append('div').attr('class', 'legend');
  sorts.forEach((k, i) => { const s = list.append('span'); s.append('i').style('background', `var(--${k})`); s.append('span').text(k); });
  const stages = data.stages.filter(s => s.memory), width = room, left = 74, height = 24 * stages.length + 34;
  const most = d3.max(stages, s => Math.max(s.memory.capacity, s.memory.peak)) * 1.03;
  const size = d3.scaleLinear([0, most / 2 ** 30], [left, width - 20]), x = bytes => size(bytes / 2 ** 30);
  const chart = svg(block, width, height, 'Memory per stage');
  stages.forEach((stage, i) => {
    let from = 0;
    chart.append('text').attr('x', left - 8).attr('y', 24 * i + 16).attr('text-anchor', 'end').text(stage.name);
    sorts.forEach((kind, k) => {
      const bytes = stage.memory[kind];
      hover(chart.append('rect').attr('class', 'memory').attr('x', x(from)).attr('y', 24 * i + 2).attr('height', 19)
        .attr('width', x(from + bytes) - x(from)).style('fill', `var(--${kind})`), () => `${stage.name}: ${kind} ${gib(bytes)}`);
      from += bytes;
    });
    chart.append('line').attr('x1', x(stage.memory.capacity)).attr('x2', x(stage.memory.capacity)).attr('y1', 24 * i).attr('y2', 24 * i + 23)
      .style('stroke', 'var(--host)').attr('stroke-width', 2);
  });
  chart.append('g').attr('transform', `translate(0,${height - 28})`).call(d3.axisBottom(size).ticks(ticks()).tickFormat(n => `${n} GiB`));
  const over = svg(block, width, 190, 'Memory over the step'), series = data.memory_over_time;
  const tx = d3.scaleLinear([0, data.timeline.end], [left, width - 90]);
  const ty = d3.scaleLinear([0, d3.max(series, s => d3.max(s.points, p => p[1])) / 2 ** 30], [164, 10]).nice();
  const line = d3.line().x(p => tx(p[0])).y(p => ty(p[1] / 2 ** 30)).curve(d3.curveStepAfter);
  const hue = i => `var(--${seriesShades[i % seriesShades.length]})`;
  series.forEach((s, i) => {
    over.append('path').attr('class', 'moment').attr('fill', 'none').style('stroke', hue(i)).attr('stroke-width', 1.5).attr('d', line(s.points));
    if (series.length <= 10) over.append('text').attr('x', width - 82).attr('y', 20 + 15 * i).text(s.name).style('fill', hue(i));
  });
  over.append('g').attr('transform', 'translate(0,164)').call(d3.axisBottom(tx).ticks(ticks()).tickFormat(seconds));
  over.append('g').attr('transform', `translate(${left},0)`).call(d3.axisLeft(ty).ticks(4).tickFormat(n => `${n} GiB`));
}

const stagesOf = link => `stage ${link.stages.join(' and ')}`;
function links() {
  if (!data.links.length) return;
  const block = section('links', 'Links and ports',
    'Share of its bandwidth that each class of links carries over the step; a collective loads its links evenly while it lasts. Rows go from the inside of a node outwards.');
  const bins = data.links[0].share.length, width = room, left = narrow() ? 8 : 190, right = narrow() ? 8 : 90, tall = narrow() ? 38 : 20, height = tall * data.links.length + 30, low = tall - 20;
  const chart = svg(block, width, height, 'Use of the links over the step');
  const x = d3.scaleLinear([0, data.timeline.end], [left, width - right]), cell = (width - right - left) / bins;
  const heat = d3.scaleLinear([0, 1], ['var(--heat-low)', 'var(--heat-high)']);
  data.links.forEach((link, i) => {
    chart.append('text').attr('x', narrow() ? left : left - 8).attr('y', tall * i + 15).attr('text-anchor', narrow() ? 'start' : 'end').text(`${link.stages.length ? stagesOf(link) : link.name}, ${link.kind} x ${link.count}`);
    link.share.forEach((share, b) => {
      hover(chart.append('rect').attr('class', 'heat').attr('x', left + b * cell).attr('y', tall * i + low + 2).attr('width', cell + 0.3).attr('height', 16)
        .style('fill', 'var(--heat-high)').style('fill-opacity', Math.min(1, share)),
        () => `${link.stages.length ? `${stagesOf(link)}: ` : ''}${link.kind} (${link.name} and ${link.count - 1} more)\n${percent(share)} of ${(link.bandwidth / 1e9).toFixed(1)} GB/s`);
    });
    chart.append('rect').attr('x', left).attr('y', tall * i + low + 2).attr('width', cell * bins).attr('height', 16).attr('fill', 'none').style('stroke', 'var(--line)');
    chart.append('text').attr('x', narrow() ? width - right : width - right + 8).attr('y', tall * i + 15).attr('text-anchor', narrow() ? 'end' : 'start').attr('class', 'quiet').text(`mean ${percent(link.mean)}`);
  });
  chart.append('g').attr('transform', `translate(0,${height - 24})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(seconds));
}

const pathShade = category => category === 'computing' ? 'computing' : category === 'host' ? 'host' : category === 'compiling' ? 'compile' : category === 'pauses' ? 'idle' : 'exposed';

function path() {
  const block = section('path', 'Critical path',
    'The longest chain of waiting through all that ran: making anything else faster changes nothing until this chain is shorter.');
  if (!data.path.spans) {
    block.append('p').text(`Not followed: it goes through all ${data.path.classes} rank classes, and only some are recorded. --trace-ranks ${data.path.classes} records them all.`);
    return;
  }
  legend(block, [['computing', 'computing'], ['exposed', 'communication'], ['host', 'host'],
                 ...compiles() ? [['compile', 'compiling']] : [], ['idle', 'pauses']]);
  const names = data.stages.filter(s => s.stage >= 0).map(s => s.name), width = room, left = 74, tall = names.length > 16 ? 8 : 16;
  const height = tall * names.length + 30, chart = svg(block, width, height, 'Critical path over the stages');
  const x = d3.scaleLinear([0, data.timeline.end], [left, width - 20]);
  names.forEach((name, i) => { if (tall > 10) chart.append('text').attr('x', left - 8).attr('y', tall * i + 13).attr('text-anchor', 'end').text(name); });
  chart.append('g').selectAll('rect').data(data.path.spans).enter().append('rect').attr('class', 'path')
    .attr('x', s => x(s[0])).attr('width', s => Math.max(0.3, x(s[1]) - x(s[0]))).attr('y', s => tall * s[2] + 2).attr('height', tall - 3)
    .style('fill', s => `var(--${pathShade(data.path.names[s[3]])})`)
    .call(hover, s => `${data.path.names[s[3]]}, stage ${s[2]}: ${seconds(s[1] - s[0])}`);
  chart.append('g').attr('transform', `translate(0,${height - 26})`).call(d3.axisBottom(x).ticks(ticks()).tickFormat(seconds));
  const columns = block.append('div').attr('class', 'columns');
  shareTable(columns.append('div'), 'by category', data.path.categories, data.path.total);
  shareTable(columns.append('div'), 'by operator and communication', data.path.operators, data.path.total);
  shareTable(columns.append('div'), 'its communication by link', data.path.links, data.path.total);
}

function operators() {
  if (!data.operators.length) return;
  const block = section('operators', 'Operators',
    'What the devices of a stage compute: its longest operators, per step on the mean rank. stepcast run --operators-csv has all of them.', true);
  const tools = block.append('div').attr('class', 'tools');
  tools.append('label').attr('for', 'operator-stage').text('stage');
  const select = tools.append('select').attr('id', 'operator-stage');
  select.selectAll('option').data([...new Set(data.operators.map(o => o[0]))]).enter().append('option').text(s => s);
  const table = block.append('div').attr('class', 'scroll').append('table').attr('id', 'operator-table');
  const share = v => v === null ? '' : `${(100 * v).toFixed(1)} %`, short = d3.format('.3s');
  function fill() {
    table.html('');
    const head = table.append('tr');
    const columns = [['operator'], ['time', 'number'], ['share', 'number'], ['class'], ['shape'], ['launches', 'number'], ['efficiency', 'number'], ['bound'],
      ['FLOPs each', 'number'], ['bytes each', 'number']];
    columns.forEach(([t, kind]) => head.append('th').attr('class', kind).text(t));
    data.operators.filter(o => String(o[0]) === select.property('value')).forEach(o => {
      const line = table.append('tr').attr('title', o[11] ? `of ${o[11]}` : null);
      [o[1], seconds(o[5]), share(o[6]), o[2], o[3], o[4], share(o[7]), o[8], short(o[9]), `${short(o[10])}B`]
        .forEach((t, i) => line.append('td').attr('class', columns[i][1]).text(t));
    });
  }
  select.on('change', fill);
  fill();
}

function assumptions() {
  const block = section('assumptions', 'Assumptions',
    'Every number of the scenario that states its source. Numbers that are assumed deserve a look first.', true);
  const tools = block.append('div').attr('class', 'tools');
  tools.append('label').attr('for', 'source').text('source');
  const select = tools.append('select').attr('id', 'source');
  const sources = ['all', ...new Set(data.assumptions.map(a => a.source))];
  select.selectAll('option').data(sources).enter().append('option').text(s => s);
  const table = block.append('div').attr('class', 'scroll').append('table').attr('id', 'numbers');
  function fill() {
    const wanted = select.property('value');
    table.html('');
    const head = table.append('tr'), columns = wanted === 'all' ? ['value', 'source', 'note'] : ['value', 'note'];
    ['number', ...columns].forEach(t => head.append('th').text(t));
    data.assumptions.filter(a => wanted === 'all' || a.source === wanted).forEach(a => {
      const line = table.append('tr');
      appendInParts(line.append('td').node(), a.path);
      columns.forEach(t => line.append('td').text(a[t]));
    });
  }
  select.on('change', fill);
  select.property('value', sources.includes('assumed') ? 'assumed' : 'all');
  fill();
}

function resolved() {
  const block = section('scenario', 'The scenario in full', 'Every key with its value, presets merged. It runs as it is.', true);
  const tools = block.append('div').attr('class', 'tools');
  const button = tools.append('button').attr('class', 'plain').attr('id', 'copy').text('Copy');
  const pre = block.append('pre').attr('tabindex', 0).text(data.resolved);
  button.on('click', () => {
    const range = document.createRange();
    range.selectNodeContents(pre.node());
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    const done = () => button.text('Copied');
    if (navigator.clipboard) navigator.clipboard.writeText(data.resolved).then(done, () => document.execCommand('copy') && done());
    else if (document.execCommand('copy')) done();
  });
}

if (data.kind === 'run') drawAll([headline, breakdown, pipeline, memory, links, path, operators, assumptions, resolved]);
