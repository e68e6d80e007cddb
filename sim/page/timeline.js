/* The pipeline as it ran, on a canvas: thousands of units and waits, drawn anew at every zoom. The page of a run and the page
   with controls have it; `say(event, text)` and `hush()` show what is pointed at, `seconds` is the page's own. */
const unitShades = ['forward', 'backward', 'backward', 'weight', 'beside'], unitLetters = ['F', 'B', 'b', 'w', ''];
const unitNames = ['forward', 'backward', 'input gradient', 'weight gradient'];
const waitShades = ['exposed', 'bubble', 'host', 'compile', 'idle'];
const waitNames = ['exposed communication', 'bubble', 'host stall', 'compile stall', 'other idle'];
const timelineHelp = 'One row per stage (a rank that stands for those alike). Drag to move, wheel to zoom; with the keyboard: arrows, + and -, 0 for all.';
const shortWaits = timeline => timeline.shortest_wait > 0 ? `Waits shorter than ${seconds(timeline.shortest_wait)} are not drawn.` : '';
/* Names of colours with their texts, of what is drawn. */
function timelineLegend(timeline) {
  const units = new Set(), waits = new Set();
  timeline.rows.forEach(row => {
    for (let i = 2; i < row.units.length; i += 5) units.add(unitShades[row.units[i]]);
    for (let i = 2; i < row.waits.length; i += 3) waits.add(row.waits[i]);
  });
  return [['forward', 'forward'], ['backward', 'backward'], ['weight', 'weight gradients'], ['beside', 'beside the pipeline']].filter(([shade]) => units.has(shade))
    .concat(waitNames.map((name, i) => [waitShades[i], name]).filter((item, i) => waits.has(i)));
}
/* The last of a sorted list that is not greater. */
function lastUntil(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}
/* Of each wait, whether it is exposed inside a unit. */
function insideUnits(row) {
  const spans = [], inside = [];
  for (let i = 0; i < row.units.length; i += 5) if (row.units[i + 2] < 4) spans.push([row.units[i], row.units[i + 1]]);
  spans.sort((a, b) => a[0] - b[0]);
  const starts = spans.map(span => span[0]);
  for (let i = 0; i < row.waits.length; i += 3) {
    const middle = (row.waits[i] + row.waits[i + 1]) / 2, at = lastUntil(starts, middle);
    inside.push(row.waits[i + 2] === 0 && at >= 0 && middle < spans[at][1]);
  }
  return inside;
}
/* Round times about as many as wanted. */
function roundTimes(from, to, count) {
  const rough = (to - from) / count, ten = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(n => n * ten >= rough) * ten;
  const times = [];
  for (let n = Math.ceil(from / step); n * step <= to; ++n) times.push(n * step);
  return times;
}

function timelineOn(node, say, hush) {
  const pen = node.getContext('2d'), left = 74, right = 10, top = 24, held = new Map();
  let rows = [], end = 1, tall = 30, from = 0, span = 1;
  const room = () => node.clientWidth - left - right, height = () => top + tall * rows.length + 8;
  const x = time => left + (time - from) / span * room(), timeAt = place => from + (place - left) / room() * span;
  const rowAt = y => rows[Math.floor((y - top) / tall)];

  // Thousands of waits that a pixel does not show must not add up to a row of their colour.
  function bars(list, size, y, paint, least = 0.4) {
    const wide = node.clientWidth;
    for (let i = 0; i < list.length; i += size) {
      if (list[i + 1] < from || list[i] > from + span) continue;
      const a = Math.max(left, x(list[i])), b = Math.min(wide, x(list[i + 1]));
      if (b > left) paint(i, a, Math.max(b - a, least), y, tall - 4);
    }
  }
  function drawRow(row, y, shades) {
    bars(row.units, 5, y, (i, a, w, at, high) => {
      pen.fillStyle = shades[unitShades[row.units[i + 2]]];
      pen.fillRect(a, at, w > 3 ? w - 0.6 : w, high);
    });
    bars(row.waits, 3, y, (i, a, w, at, high) => {
      const exposed = row.inside[i / 3];  // leaves the colour of the unit to be seen
      pen.fillStyle = shades[waitShades[row.waits[i + 2]]];
      pen.fillRect(a, exposed ? at + high * 0.55 : at, w, exposed ? high * 0.45 : high);
    }, 0);
    pen.fillStyle = shades.paper;
    if (tall > 18) bars(row.units, 5, y, (i, a, w, at, high) => {
      const kind = row.units[i + 2], text = unitLetters[kind] + (kind < 4 ? row.units[i + 3] : '');
      if (w >= 8 + 7 * text.length) pen.fillText(text, a + 4, at + high * 0.3);
    });
    pen.fillStyle = shades.ink;
    pen.fillText(row.name, 6, y + (tall - 4) / 2);
  }
  function redraw() {
    if (!node.clientWidth) return;
    const dense = devicePixelRatio || 1;
    node.style.height = `${height()}px`;
    node.width = node.clientWidth * dense;
    node.height = height() * dense;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    const shades = Object.fromEntries([...unitShades, ...waitShades, 'paper', 'ink', 'quiet'].map(name => [name, colour(name)]));
    rows.forEach((row, r) => drawRow(row, top + tall * r, shades));
    pen.fillStyle = shades.quiet;
    roundTimes(from, from + span, Math.max(3, room() / 150)).forEach(time => {
      const text = seconds(Number(time.toPrecision(9))), width = pen.measureText(text).width;
      pen.fillText(text, Math.min(x(time) + 3, node.clientWidth - width - 2), 10);
      pen.fillRect(x(time), 4, 1, top - 8);
    });
  }
  function look(start, length) {
    span = Math.min(end, Math.max(end / 20000, length));
    from = Math.min(end - span, Math.max(0, start));
    redraw();
  }
  const zoom = (factor, place) => { const at = timeAt(place); look(at - (at - from) / factor, span / factor); };
  const middle = () => left + room() / 2;

  node.addEventListener('wheel', event => {
    zoom(2 ** (-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), Math.max(left, event.offsetX));
    event.preventDefault();
  }, { passive: false });
  node.addEventListener('pointerdown', event => {
    held.set(event.pointerId, event.offsetX);
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener('pointermove', event => {
    if (!held.has(event.pointerId)) { point(event); return; }
    const before = held.get(event.pointerId), now = event.offsetX, others = [...held].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    held.set(event.pointerId, now);
    hush();
    if (others.length) zoom(Math.max(8, Math.abs(now - others[0])) / Math.max(8, Math.abs(before - others[0])), others[0]);
    else look(from - (now - before) / room() * span, span);
  });
  ['pointerup', 'pointercancel'].forEach(name => node.addEventListener(name, event => held.delete(event.pointerId)));
  node.addEventListener('pointerleave', hush);
  node.addEventListener('dblclick', event => zoom(2, event.offsetX));
  node.addEventListener('keydown', event => {
    const step = { ArrowLeft: -60, ArrowRight: 60 }[event.key], factor = { '+': 1.5, '=': 1.5, '-': 1 / 1.5 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) look(from + step / room() * span, span);
    else if (factor) zoom(factor, middle());
    else if (event.key === '0') look(0, end);
    else return;
    event.preventDefault();
  });
  function point(event) {
    const row = rowAt(event.offsetY), time = timeAt(event.offsetX);
    if (!row || event.offsetX < left) { hush(); return; }
    const find = (list, size) => { for (let i = 0; i < list.length; i += size) if (list[i] <= time && time < list[i + 1]) return i; return -1; };
    const u = find(row.units, 5), w = find(row.waits, 3);
    const unit = u < 0 ? '' : row.units[u + 2] > 3 ? 'beside the pipeline'
      : `${unitNames[row.units[u + 2]]}, micro-batch ${row.units[u + 3]}, chunk ${row.units[u + 4]}: ${seconds(row.units[u + 1] - row.units[u])}`;
    const wait = w < 0 ? '' : `${waitNames[row.waits[w + 2]]}: ${seconds(row.waits[w + 1] - row.waits[w])}`;
    say(event, [`${row.name} at ${seconds(time)}`, unit, wait].filter(Boolean).join('\n'));
  }
  addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', redraw);
  addEventListener('afterprint', redraw);
  return timeline => {
    rows = timeline.rows.map(row => ({ ...row, inside: insideUnits(row) }));
    tall = rows.length > 16 ? 16 : 30;
    end = timeline.end;
    look(0, end);
  };
}
