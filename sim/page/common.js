const data = JSON.parse(document.getElementById('data').textContent);
const main = d3.select('main');
const tip = d3.select('body').append('div').attr('id', 'tip').attr('role', 'status');

const significant = (value, unit) => `${Number(value.toPrecision(3))} ${unit}`;

function seconds(value) {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size >= 1) return significant(value, 's');
  if (size >= 1e-3) return significant(value * 1e3, 'ms');
  return size >= 1e-6 ? significant(value * 1e6, 'us') : significant(value * 1e9, 'ns');
}

function showTip(event, text) {
  tip.style('opacity', 1).text(text);
  const box = tip.node().getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const y = Math.min(event.clientY + 14, innerHeight - box.height - 8);
  tip.style('left', `${x}px`).style('top', `${y}px`);
}
const hideTip = () => tip.style('opacity', 0);

/* d3 5 hands the datum first and keeps the event apart. */
function hover(selection, text) {
  return selection.on('mousemove', d => showTip(d3.event, text(d))).on('mouseleave', hideTip);
}

/* Charts are as wide as the page gives them, so that their text keeps its size on a phone. */
let room = 1130;
const measure = () => Math.round(Math.max(300, Math.min(1130, main.node().clientWidth - 2 * parseFloat(getComputedStyle(main.node()).paddingLeft))));
const narrow = () => room < 620;
const ticks = () => Math.max(2, Math.round(room / 150));

function section(id, title, note, long) {
  const block = main.append('section').attr('id', id).classed('long', Boolean(long));
  block.append('h2').text(title);
  if (note) block.append('p').attr('class', 'quiet').text(note);
  d3.select('nav').append('a').attr('href', `#${id}`).text(title);
  return block;
}

function legend(block, items) {
  const list = block.append('div').attr('class', 'legend');
  items.forEach(([name, text]) => {
    const item = list.append('span');
    item.append('i').style('background', `var(--${name})`);
    item.append('span').text(text);
  });
}

function svg(block, width, height, label) {
  return block.append('svg').attr('class', 'chart').attr('viewBox', `0 0 ${width} ${height}`)
    .attr('role', 'img').attr('aria-label', label);
}

const cellsOf = table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent));
/* Buttons below each section; `whole` has the rows of a table of which only a part is shown. */
const whole = {};
function offerDownloads() {
  document.querySelectorAll('main > section').forEach(block => {
    const list = [], id = block.id;
    const numbered = (all, i) => all.length > 1 ? `${id}-${i + 1}` : id;
    [...block.querySelectorAll('svg.chart')].forEach((chart, i, all) => list.push([`${numbered(all, i)}.png`, () => saveChart(`${numbered(all, i)}.png`, chart)]));
    block.querySelectorAll('canvas').forEach(canvas => list.push([`${id}.png`, () => pictureOf(`${id}.png`, canvas.width, canvas.height, pen => pen.drawImage(canvas, 0, 0))]));
    [...block.querySelectorAll('table')].forEach((table, i, all) => list.push([`${numbered(all, i)}.csv`, () => saveTable(`${numbered(all, i)}.csv`, whole[id] ? whole[id]() : cellsOf(table))]));
    if (!list.length) return;
    const tools = d3.select(block).append('p').attr('class', 'tools downloads');
    tools.append('span').attr('class', 'quiet').text('download');
    list.forEach(([name, act]) => tools.append('button').attr('class', 'plain').text(name).on('click', act));
  });
}
/* Draws the page, and again when its width is another one. */
function drawAll(sections) {
  const draw = () => {
    room = measure();
    main.html('');
    d3.select('nav').html('');
    d3.selectAll('header .cards').remove();
    sections.forEach(part => part());
    offerDownloads();
  };
  addEventListener('resize', () => { if (measure() !== room) draw(); });
  draw();
}

function shareTable(block, title, rows, total) {
  if (!rows.length) return;
  block.append('h3').text(title);
  const table = block.append('div').attr('class', 'scroll').append('table');
  rows.filter(row => row.seconds >= 5e-4 * total).slice(0, 12).forEach(row => {
    const line = table.append('tr');
    line.append('td').text(row.name);
    line.append('td').attr('class', 'number').text(seconds(row.seconds));
    line.append('td').attr('class', 'number').text(percent(row.seconds / total));
    line.append('td').style('width', '26%').append('span').attr('class', 'bar')
      .style('width', `${Math.max(0.5, 100 * row.seconds / total)}%`);
  });
}
