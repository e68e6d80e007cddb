/* Asks and draws: the forecast at once, then choices and the pipeline, then what would help once the controls rest. */
let lastSeq = 0, shown = null, pinned = null, waiting = null, resting = null, lastStart = 0, askedAt = 0;
const between = 40, rest = 600;
/* What comes after the forecast stays dimmed until it is of the same question. */
const late = (id, is) => $(id).classList.toggle('late', is);

const shellWord = text => /^[\w.,=:/+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
function commandOf(from) {
  const set = Object.entries(from.set).map(([key, value]) => ` --set ${shellWord(`${key}=${value}`)}`).join('');
  return `stepcast run ${from.text === null ? shellWord(from.preset || '') : 'scenario.yaml'}${set} --json -`;
}

async function ask(slot, from, seq) {
  const reply = await call('forecast', { tab, slot, seq, scenario: scenarioOf(from), set: from.set });
  return reply.status === 200 ? { ...reply.answer, seq } : { ...reply, failed: true };
}

/* The first change goes at once, the last of a row a moment after it. */
function changed() {
  writeAddress();
  lastSeq += 1;
  askedAt = performance.now();
  $('answer').classList.add('old');
  ['drawing', 'worth', 'curve', 'sweep'].forEach(id => late(id, true));
  $('command').textContent = commandOf(state);
  $('preset').value = state.text === null ? state.preset : '';
  $('question').textContent = state.text === null ? (scenarios.find(s => s.name === state.preset) || {}).question || '' : '';
  $('undo').disabled = !undone.length;
  $('redo').disabled = !redone.length;
  $('swap').disabled = !state.a;
  $('pin').textContent = state.a ? 'Unpin A' : 'Pin as A';
  drawControls();
  clearTimeout(waiting);
  clearTimeout(resting);
  const wait = Math.max(0, lastStart + between - performance.now());
  waiting = setTimeout(answer, wait, lastSeq);
}

async function answer(seq) {
  lastStart = performance.now();
  try {
    const [b, a] = await Promise.all([ask('b', state, seq), state.a && !pinned ? ask('a', state.a, seq) : pinned]);
    if (seq !== lastSeq) return;
    if (b.failed) {
      if (b.status !== 409) drawErrors(b);
    } else {
      drawErrors(null);
      pinned = a && !a.failed ? a : null;
      shown = b;
      drawAnswer(b, pinned);
      $('answer').classList.remove('old');
      speak(b);
      requestAnimationFrame(() => requestAnimationFrame(() => Object.assign($('answer').dataset, { ms: performance.now() - askedAt, drawn: seq })));
    }
    showSource(seq).catch(lost);
    askChoices(seq).then(fillSweepKeys).catch(lost);
    if (!b.failed) askPipeline(seq).catch(lost);
    resting = setTimeout(askWorth, rest, seq);
  } catch (error) { lost(error); }
}
function lost() {
  drawErrors({ error: 'stepcast serve does not answer: is it still running? The last numbers are old.' });
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (document.visibilityState === 'visible') answer(lastSeq); }, 2000);
}

let spokenAt = 0;
function speak(b) {
  if (performance.now() - spokenAt < 1000) return;
  spokenAt = performance.now();
  const change = pinned ? `, ${signed(b.result.step_time_s / pinned.result.step_time_s - 1)} against A` : '';
  $('spoken').textContent = `${seconds(b.result.step_time_s)} per step${change}`;
}
async function askPipeline(seq) {
  const reply = await call('pipeline', { tab, seq, scenario: scenarioOf(state), set: state.set });
  if (reply.status !== 200 || seq !== lastSeq) return;
  const at = reply.answer.indexOf('\n\n', reply.answer.indexOf('\n'));
  late('drawing', false);
  $('drawing').textContent = reply.answer.slice(reply.answer.lastIndexOf('\n\n') + 2) || reply.answer.slice(at);
}
async function askWorth(seq) {
  const reply = await call('explain', { tab, seq, scenario: scenarioOf(state), set: state.set }).catch(() => ({}));
  if (reply.status !== 200 || seq !== lastSeq) return;
  late('worth', false);
  drawWorth(reply.answer);
}
function forget() { Object.keys(known).forEach(key => delete known[key]); }
function take(edit) {
  forget();
  clearTimeout(typing);
  typing = null;
  change(edit);
}

function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const csvWord = value => /[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value ?? '');
const saveTable = (name, heads, rows) =>
  save(name, new Blob([[heads, ...rows].map(r => r.map(csvWord).join(',')).join('\n') + '\n'], { type: 'text/csv' }));
function saveStages() {
  saveTable('stages.csv', ['stage', ...PARTS.map(p => p[0] + '_s'), 'peak_bytes'],
    shown.result.stages.map(s => [s.stage, ...PARTS.map(p => s[p[0] + '_s']), s.memory_bytes ? s.memory_bytes.peak : '']));
}
/* A chart as it stands, at twice its size on the colour of the page. */
function savePicture(place, name) {
  const chart = document.querySelector(place + ' svg');
  if (!chart) return;
  const svg = chart.cloneNode(true), style = getComputedStyle(document.documentElement);
  const colour = variable => style.getPropertyValue(variable).trim();
  Object.entries({ xmlns: NS, 'font-family': 'sans-serif', 'font-size': '12' }).forEach(([key, value]) => svg.setAttribute(key, value));
  svg.querySelectorAll('*').forEach(node => ['fill', 'stroke'].forEach(what => {
    const variable = /--\w+/.exec(node.style[what]);
    if (variable) node.style[what] = colour(variable[0]);
  }));
  svg.querySelectorAll('text').forEach(node => { node.style.fill = colour('--ink'); });
  svg.querySelectorAll('.grid').forEach(node => { node.style.stroke = colour('--line'); });
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
    canvas.width = 2 * image.width; canvas.height = 2 * image.height;
    pen.fillStyle = colour('--paper');
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save(name, blob));
  };
  image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(svg));
}

function pin() {
  change(s => { s.a = s.a ? null : side(s); pinned = null; });
}
function swap() {
  if (!state.a) return;
  pinned = null;
  take(s => { const a = s.a; s.a = side(s); Object.assign(s, side(a)); });
}
const undo = () => { pinned = null; goBack(undone, redone); };
const redo = () => { pinned = null; goBack(redone, undone); };

function listen() {
  $('preset').addEventListener('change', event => take(s => Object.assign(s, { preset: event.target.value, text: null, set: {} })));
  listenToSource();
  const buttons = { undo, redo, pin, swap, scale: askCurve, 'curve-stop': () => stopStudy('curve'), 'sweep-start': askSweep, 'sweep-stop': () => stopStudy('sweep'),
    'save-csv': saveStages, 'curve-csv': saveCurve, 'sweep-csv': saveSweep,
    'save-png': () => savePicture('#bars', 'breakdown.png'), 'memory-png': () => savePicture('#stages', 'memory.png'),
    'curve-png': () => savePicture('#curve', 'scaling.png'), 'sweep-png': () => savePicture('#sweep', 'sweep.png'),
    'save-json': () => save('result.json', new Blob([JSON.stringify(shown, null, 2)], { type: 'application/json' })),
    'save-yaml': () => save('scenario.yaml', new Blob([$('yaml').value], { type: 'text/plain' })) };
  Object.entries(buttons).forEach(([id, act]) => $(id).addEventListener('click', act));
  $('share').addEventListener('click', async () => {
    const link = location.origin + location.pathname + '#v1.' + packed(state);
    const fits = link.length <= longestLink;
    if (fits) await navigator.clipboard.writeText(link).catch(() => {});
    $('share').textContent = fits ? 'Copied' : 'Too long: save the scenario';
    setTimeout(() => { $('share').textContent = 'Copy link'; }, 2000);
  });
  $('sheet').addEventListener('click', () => {
    const open = document.querySelector('aside').classList.toggle('open');
    $('sheet').setAttribute('aria-expanded', String(open));
    if (open) $('strip').scrollIntoView();
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
    const act = { p: pin, s: swap, u: undo, r: redo }[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  addEventListener('hashchange', begin);
  addEventListener('resize', () => { if (shown) drawAnswer(shown, pinned); });
}

let scenarios = [];
function begin() {
  takeToken();
  const found = stateOfAddress();
  if (typeof found === 'string') { drawErrors({ error: found }); return; }
  const first = scenarios.find(s => s.name === 'telechat3-36b-2048.yaml') || scenarios[0];
  state = found || { ...empty(), preset: first ? first.name : null };
  forget();
  pinned = null;
  changed();
}
async function start() {
  takeToken();
  if (!token()) { drawErrors({ error: 'Open the address that stepcast serve printed: it holds the token of this page.' }); return; }
  const hello = await call('hello');
  if (hello.status !== 200) { drawErrors(hello); return; }
  scenarios = hello.presets;
  scenarios.forEach(s => element($('preset'), 'option', { value: s.name, title: s.question }, s.name.replace('.yaml', '')));
  hello.clusters.forEach(name => element($('clusters'), 'option', { value: name }));
  buildControls();
  listen();
  begin();
}
start().catch(lost);
