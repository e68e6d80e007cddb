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

async function ask(slot, from, seq, set = from.set) {
  const reply = await call('forecast', { tab, slot, seq, scenario: scenarioOf(from), set });
  return reply.status === 200 ? { ...reply.answer, seq } : { ...reply, failed: true };
}

/* After the next frame is drawn: what else is asked must not take its processor. */
const nextFrame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));

/* An answer that takes longer than it seems to says so; SimGrid asks about every message of every rank. */
const silence = 1500;
let slow = null;
function sayWaiting() {
  const engine = state.set['simulate.engine'] ?? startOf('simulate.engine');
  $('waiting').textContent = `${engine === 'simgrid' ? 'SimGrid replays every message of every rank' : 'The forecast is still under way'}; the numbers are those of before.`;
}
function waits(does) {
  clearTimeout(slow);
  $('waiting').textContent = '';
  slow = does ? setTimeout(sayWaiting, silence) : null;
}

/* Where ranks are unlike: until the answer is there, the step in which they are alike, named as that wherever it stands. One that
   would be seen for a moment only is not drawn. */
const glimpse = 150;
let first = null;  // what stands for the answer that is not there: {b, without}
async function answerAlike(seq) {
  const other = alike();
  if (!other) return;
  const b = await ask('alike', state, seq, other.set);
  await new Promise(done => setTimeout(done, askedAt + glimpse - performance.now()));
  if (b.failed || seq !== lastSeq || Number($('answer').dataset.seq) === seq) return;
  waits(false);
  drawErrors(null);
  drawFirst({ b, without: other.without });
  sayFirst('is still under way');
  await nextFrame();
  Object.assign($('answer').dataset, { firstMs: performance.now() - askedAt, first: seq });
  if (seq === lastSeq && first) choicesOnce(seq).catch(lost);  // further changes need not wait
}
function sayFirst(how) {
  $('waiting').textContent = `These numbers are without ${first.without}; the forecast with it ${how}.`;
}
function redraw() {
  if (first) drawFirst(first);
  else if (shown) drawAnswer(shown, pinned);
}

/* The first change goes at once, before anything is drawn; the last of a row a moment after it. */
function changed() {
  lastSeq += 1;
  askedAt = performance.now();
  clearTimeout(waiting);
  clearTimeout(resting);
  waits(true);
  const wait = Math.max(0, lastStart + between - askedAt);
  if (wait > 0) waiting = setTimeout(answer, wait, lastSeq);
  else answer(lastSeq);
  drawChange();
}
/* What a change shows before there is an answer to it. */
function drawChange() {
  writeAddress();
  $('answer').classList.add('old');
  ['drawing', 'gantt', 'operators', 'bands', 'worth', 'curve', 'sweep', 'pins'].forEach(id => late(id, true));
  $('command').textContent = commandOf(state);
  $('preset').value = state.text === null ? state.preset : '';
  // What was asked of the preset is not what is asked now.
  const question = state.text === null ? (scenarios.find(s => s.name === state.preset) || {}).question || '' : '';
  $('question').textContent = question && Object.keys(state.set).length ? `Started from: ${question}` : question;
  $('undo').disabled = !undone.length;
  $('redo').disabled = !redone.length;
  $('swap').disabled = !state.a;
  const at = pinOf(side(state));
  $('pin').textContent = at < 0 ? `Pin as ${letterOf(pinnedSides(state).length)}` : `Unpin ${letterOf(at)}`;
  drawControls();
}

async function answer(seq) {
  lastStart = performance.now();
  answerAlike(seq).catch(() => {});  // the answer itself says what is wrong
  try {
    const [b, a] = await Promise.all([ask('b', state, seq), state.a && !pinned ? ask('a', state.a, seq) : pinned]);
    if (seq !== lastSeq) return;
    waits(false);
    if (b.failed) {
      if (b.status !== 409) drawErrors(b);
      if (first && first.b.seq === seq) sayFirst('did not come');
    } else {
      drawErrors(null);
      pinned = a && !a.failed ? a : null;
      shown = b;
      late('pins', false);
      drawAnswer(b, pinned);
      speak(b);
      await nextFrame();
      Object.assign($('answer').dataset, { ms: performance.now() - askedAt, drawn: seq });
      if (seq !== lastSeq) return;
    }
    showSource(seq).catch(lost);
    choicesOnce(seq).then(fillSweepKeys).catch(lost);
    if (b.failed) return;
    askPipeline(seq).catch(lost);
    askPins(seq).catch(lost);
    resting = setTimeout(() => { askWorth(seq).then(() => askBands(seq)).catch(lost); }, rest);
  } catch (error) { lost(error); }
}
function lost() {
  waits(false);
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
  late('drawing', false);
  late('gantt', false);
  late('operators', false);
  $('drawing').textContent = reply.answer.pipeline.replace(/^\s*the pipeline as it ran\n/, '');  // the heading says that
  ({ operators, timeline } = reply.answer);
  drawTimeline();
  drawOperators();
}
/* The same timeline as that of the report page. */
let timeline = null, showTimeline = null;
function sayTip(event, text) {
  const tip = $('tip'), box = (tip.textContent = text, tip.style.opacity = 1, tip.getBoundingClientRect());
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - box.height - 8)}px`;
}
function drawTimeline() {
  showTimeline = showTimeline || timelineOn($('gantt'), sayTip, () => { $('tip').style.opacity = 0; });
  $('gantt-of').textContent = `${timelineHelp} ${shortWaits(timeline)}`.trim();
  $('gantt-legend').textContent = '';
  legend($('gantt-legend'), timelineLegend(timeline));
  showTimeline(timeline);
}
async function askWorth(seq) {
  const reply = await call('explain', { tab, seq, scenario: scenarioOf(state), set: state.set }).catch(() => ({}));
  if (seq !== lastSeq || (reply.status !== 200 && reply.status !== 503)) return;
  late('worth', false);
  worth = reply.status === 200 ? reply.answer : null;
  worth ? drawWorth(worth) : sayWorth(reply.error);
}
/* Only a step in which something is drawn has them. */
const drawn = /^stalls\.(spread|compute_jitter|gc_pauses|allocator_pauses|collisions)\./;
async function askBands(seq) {
  if (seq !== lastSeq || shown.seq !== seq) return;
  const some = Object.entries(shown.scenario.inputs).some(([key, value]) => drawn.test(key) && value !== 'none');
  const reply = some ? await call('bands', { tab, seq, scenario: scenarioOf(state), set: state.set }).catch(() => ({})) : {};
  if (seq !== lastSeq) return;
  late('bands', false);
  bands = reply.status === 200 ? reply.answer.result : null;
  drawBands(bands);
}
function forget() { Object.keys(known).forEach(key => delete known[key]); }
function take(edit) {
  forget();
  clearTimeout(typing);
  typing = null;
  change(edit);
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
  listenToFind();
  const buttons = { undo, redo, pin, swap, scale: askCurve, 'curve-stop': () => stopStudy('curve'), 'sweep-start': askSweep, 'sweep-stop': () => stopStudy('sweep') };
  Object.entries(buttons).forEach(([id, act]) => $(id).addEventListener('click', act));
  listenToSavings();
  $('share').addEventListener('click', async () => {
    const link = location.origin + location.pathname + '#v1.' + packed(state);
    const fits = link.length <= longestLink;
    if (fits) await navigator.clipboard.writeText(link).catch(() => {});
    tell('share', fits ? 'Copied' : 'Too long: save the scenario');
  });
  $('sheet').addEventListener('click', () => {
    const open = document.querySelector('aside').classList.toggle('open');
    $('sheet').setAttribute('aria-expanded', String(open));
    if (open) $('strip').scrollIntoView();
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
    const act = { p: pin, s: swap, u: undo, r: redo, '/': () => $('find').focus() }[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  addEventListener('hashchange', begin);
  addEventListener('resize', redraw);
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
  if (state.preset === null && state.text === null) {
    drawErrors({ error: 'No scenario is at hand: open a file, paste a recipe, or start stepcast serve with --folder.' });
    return;
  }
  changed();
}
async function start() {
  takeToken();
  if (!token()) { drawErrors({ error: 'Open the address that stepcast serve printed: it holds the token of this page.' }); return; }
  const hello = await call('hello');
  if (hello.status !== 200) { drawErrors(hello); return; }
  scenarios = hello.presets;
  ({ version } = hello.stepcast);
  scenarios.forEach(s => element($('preset'), 'option', { value: s.name, title: s.question }, s.name.replace('.yaml', '')));
  hello.launch_kinds.forEach(name => element($('launch-from'), 'option', {}, name));
  ['none', ...hello.frameworks].forEach(name => element($('launch-framework'), 'option', {}, name));
  hello.clusters.forEach(name => element($('clusters'), 'option', { value: name }));
  buildSwaps($('controls'), hello);
  buildControls();
  listen();
  begin();
}
if ($('kept')) openKept(JSON.parse($('kept').textContent));
else start().catch(lost);
