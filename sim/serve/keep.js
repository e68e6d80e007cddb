/* What can be taken along, and the page itself as one file that needs no server: it holds style, scripts and what is shown
   as data, which it draws at any width. What is not of the question that is shown is left out of it. */
let version = '', sourceSeq = 0, worth = null, bands = null;

/* Says it on the button for a moment. */
function tell(id, text) {
  const before = $(id).dataset.label || $(id).textContent;
  $(id).dataset.label = before;
  $(id).textContent = text;
  setTimeout(() => { $(id).textContent = before; }, 2000);
}
function saveStages() {
  saveTable('stages.csv', [['stage', ...PARTS.map(p => p[0] + '_s'), 'peak_bytes'],
    ...shown.result.stages.map(s => [s.stage, ...PARTS.map(p => s[p[0] + '_s']), s.memory_bytes ? s.memory_bytes.peak : ''])]);
}
function savePicture(name, place) {
  const chart = document.querySelector(place + ' svg');
  if (chart) saveChart(name, chart);
}
const isLate = id => $(id).classList.contains('late');
const rowsKept = name => rowsOf(name).length && !isLate(name) ? rowsOf(name) : null;
const keptData = () => ({
  version, state, question: $('question').textContent, b: shown, a: pinned, command: $('command').textContent,
  yaml: $('yaml').value, onTop: $('on-top').textContent,
  drawing: isLate('drawing') ? '' : $('drawing').textContent, timeline: isLate('drawing') ? null : timeline, pins: state.pins.map(from => [from, answersOf.get(keyOf(from))]), operators: isLate('operators') ? [] : operators, bands: isLate('bands') ? null : bands, worth: isLate('worth') ? null : worth,
  curve: rowsKept('curve'), sweep: rowsKept('sweep') });

async function keptPage() {
  const data = JSON.stringify(keptData()).replace(/</g, '\\u003c');
  const [html, style, script] = await Promise.all(['/', '/live.css', '/live.js'].map(async path => (await fetch(path)).text()));
  const page = new DOMParser().parseFromString(html, 'text/html');
  page.querySelectorAll('[data-live], script, link[rel=stylesheet]').forEach(node => node.remove());
  const safety = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";
  element(page.head, 'meta', { 'http-equiv': 'Content-Security-Policy', content: safety });
  page.head.prepend(page.querySelector('meta[charset]'));
  page.body.classList.add('kept');
  // As text: this page's own policy would count elements with style and script as its own.
  const end = '</' + 'script>';
  return '<!doctype html>\n' + page.documentElement.outerHTML
    .replace('</head>', () => `<style>\n${style}</style>\n</head>`)
    .replace('</body>', () => `<script type="application/json" id="kept">${data}${end}\n<script>\n${script}${end}\n</body>`) + '\n';
}
async function savePage() {
  const page = await keptPage().catch(() => null);
  if (page) save('stepcast.html', new Blob([page], { type: 'text/html' }));
  else tell('save-page', 'stepcast serve does not answer');
}

const savings = {
  'save-page': savePage, 'operators-csv': () => saveOperators(), 'save-csv': saveStages, 'curve-csv': () => saveCurve(), 'sweep-csv': () => saveSweep(),
  'save-png': () => savePicture('breakdown.png', '#bars'), 'memory-png': () => savePicture('memory.png', '#stages'),
  'curve-png': () => savePicture('scaling.png', '#curve'), 'sweep-png': () => savePicture('sweep.png', '#sweep'),
  'save-json': () => save('result.json', new Blob([JSON.stringify(shown, null, 2)], { type: 'application/json' })),
  'save-yaml': () => save('scenario.yaml', new Blob([$('yaml').value], { type: 'text/plain' })) };
function listenToSavings() {
  Object.entries(savings).filter(([id]) => $(id)).forEach(([id, act]) => $(id).addEventListener('click', () => {
    if (live() && (shown === null || shown.seq !== lastSeq || (id === 'save-page' && sourceSeq !== lastSeq))) tell(id, 'Not before the answer is there');
    else act();
  }));
  if ($('stage')) $('stage').addEventListener('change', drawOperators);
}

/* The saved file: draws what it holds. */
function sideText(from) {
  const set = Object.entries(from.set).map(([key, value]) => `${key}=${value}`).join(', ');
  return (from.text === null ? from.preset : 'a scenario of its own') + (set ? ` with ${set}` : '');
}
function openKept(kept) {
  ({ state } = kept);
  shown = kept.b;
  pinned = kept.a;
  ['question', 'command', 'drawing'].forEach(id => { $(id).textContent = kept[id]; });
  $('yaml').value = kept.yaml;
  $('yaml').readOnly = true;
  $('on-top').textContent = kept.onTop;
  $('kept-of').textContent = `${pinned ? `A is ${sideText(state.a)}; shown is ` : ''}${sideText(state)}.`;
  document.querySelector('footer').textContent = `Saved from the page of Stepcast ${kept.version}; the file holds all that it shows and fetches nothing.`;
  const absent = { pipeline: !kept.drawing, operating: !kept.operators.length, explain: !kept.worth, scaling: !kept.curve, sweeping: !kept.sweep };
  Object.keys(absent).filter(id => absent[id]).forEach(id => $(id).remove());
  ({ operators, timeline } = kept);
  kept.pins.forEach(([from, answer]) => { if (answer) answersOf.set(keyOf(from), answer); });
  if (timeline) drawTimeline();
  if (operators.length) drawOperators();
  if (kept.bands) drawBands(kept.bands);
  if (kept.worth) drawWorth(kept.worth);
  Object.assign(studies, { curve: { rows: kept.curve || [] }, sweep: { rows: kept.sweep || [] } });
  const draw = () => {
    drawAnswer(shown, pinned);
    if (kept.curve) drawCurve(kept.curve);
    if (kept.sweep) drawSweep(kept.sweep);
  };
  addEventListener('resize', draw);
  listenToSavings();
  draw();
}
