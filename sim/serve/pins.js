/* Several pinned answers as a table. The first is A, which all others and what is shown now are held against. */
const mostPins = 8, letterOf = i => String.fromCharCode(65 + i);
const answersOf = new Map();  // of pinned sides: text of the side -> {result}
const keyOf = from => JSON.stringify([from.preset, from.text, Object.entries(from.set).sort()]);
const pinnedSides = of => of.a ? [of.a, ...of.pins] : [];
const pinOf = from => pinnedSides(state).findIndex(p => keyOf(p) === keyOf(from));
function setPins(s, list) { s.a = list[0] || null; s.pins = list.slice(1); pinned = null; }

/* What is pinned already is taken off. */
function pin() {
  const at = pinOf(side(state)), list = pinnedSides(state);
  if (at < 0 && list.length === mostPins) { tell('pin', `At most ${mostPins}`); return; }
  if (at < 0 && shown && shown.seq === lastSeq) rememberAnswer(side(state), shown);
  change(s => setPins(s, at < 0 ? [...list, side(s)] : list.filter((p, i) => i !== at)));
}
function rememberAnswer(from, answer) {
  answersOf.set(keyOf(from), { result: answer.result });
  if (answersOf.size > 4 * mostPins) answersOf.delete(answersOf.keys().next().value);
}
/* Those that are not known yet, one after the other, behind all else. */
async function askPins(seq) {
  drawPins();
  for (const [i, from] of state.pins.entries()) {
    if (answersOf.has(keyOf(from))) continue;
    const reply = await call('forecast', { tab, slot: 'pin' + i, seq, scenario: scenarioOf(from), set: from.set, background: true });
    if (seq !== lastSeq) return;
    if (reply.status === 200) rememberAnswer(from, reply.answer);
    else answersOf.set(keyOf(from), { failed: reasonOf(reply) });
    drawPins();
  }
}

/* The cards of the strip, and the exposed communication; less is better but for rates. */
const GREATER = ['tokens_per_s_per_device', 'mfu'];
const verdictOf = (id, value, before) => {
  const text = moved(id, value, before);
  if (/^[+-]0\.0 /.test(text)) return '';
  return (value > before) === GREATER.includes(id) ? 'better' : 'worse';
};
const columnsOf = result => [...cards(result).map(([id, label, value, text]) => [id, label, value, text]),
  ['exposed', 'exposed communication', result.breakdown_s.communication_exposed, seconds(result.breakdown_s.communication_exposed)]];

const live = () => !$('kept');
function pinRows() {
  const rows = pinnedSides(state).map((from, i) => ({ name: letterOf(i), from, ...(i === 0 && pinned ? { result: pinned.result } : answersOf.get(keyOf(from))) }));
  return rows.length && shown ? [...rows, { name: 'now', from: side(state), result: shown.result }] : [];
}
function drawPins() {
  const rows = pinRows(), block = $('pins'), first = rows.find(row => row.result);
  $('pinned').hidden = !rows.length;
  block.textContent = '';
  if (!first) return;
  const table = element(element(block, 'div', { class: 'scroll' }), 'table'), head = element(table, 'tr'), base = rows[0].result;
  const all = rows.filter(row => row.result).map(row => Object.fromEntries(columnsOf(row.result).map(c => [c[0], c])));
  const columns = Object.keys(Object.assign({}, ...all));
  element(head, 'th', {}, '');
  columns.forEach(id => element(head, 'th', { class: 'number' }, all.find(of => of[id])[id][1]));
  rows.forEach((row, i) => drawPin(element(table, 'tr'), row, i, columns, i > 0 && base ? base : null));
}
function drawPin(line, row, i, columns, base) {
  const name = element(line, 'td', {});
  element(name, 'b', {}, row.name);
  elementInParts(name, 'span', { class: 'quiet' }, ' ' + sideText(row.from));
  const own = row.result ? Object.fromEntries(columnsOf(row.result).map(c => [c[0], c])) : {}, other = base ? Object.fromEntries(columnsOf(base).map(c => [c[0], c])) : {};
  if (!row.result) element(line, 'td', { colspan: columns.length }, row.failed || 'on its way ...');
  else columns.forEach(id => {
    const cell = element(line, 'td', { class: 'number' });
    if (!own[id]) return;
    element(cell, 'span', { 'data-value': own[id][2], 'data-id': `pin-${row.name}-${id}` }, own[id][3]);
    if (other[id]) element(cell, 'span', { class: 'change ' + verdictOf(id, own[id][2], other[id][2]) }, moved(id, own[id][2], other[id][2]));
  });
  if (!live() || row.name === 'now') return;
  const tools = element(name, 'div', { class: 'acts' });
  const act = (text, label, edit) => element(tools, 'button', { 'aria-label': label }, text).addEventListener('click', () => take(edit));
  act('Show', `show ${row.name}`, s => Object.assign(s, side(row.from)));
  if (i > 0) act('First', `make ${row.name} the first`, s => setPins(s, [row.from, ...pinnedSides(s).filter((p, k) => k !== i)]));
  act('Off', `take ${row.name} off`, s => setPins(s, pinnedSides(s).filter((p, k) => k !== i)));
}
