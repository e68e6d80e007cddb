/* Search over scenarios, and what a scenario starts from: its cluster, its model, its framework and the engine can be another one. */
const SWAPS = [['cluster.extends', 'cluster', 'clusters'], ['model.extends', 'model', 'models'], ['framework', 'framework', 'frameworks'],
  ['simulate.engine', 'engine', 'engines']];
const swapped = key => SWAPS.some(([path]) => path === key);
const bare = name => name.replace(/^(clusters|models)\//, '').replace(/\.yaml$/, '');

/* What the shown answer started from; '' where its file writes it out itself. */
function startOf(key) {
  if (!shown) return '';
  if (key === 'framework') return shown.scenario.framework ? shown.scenario.framework.name : 'none';
  if (key === 'simulate.engine') return shown.engine.solver === 'simgrid_reference' ? 'simgrid' : 'fast';
  const path = (shown.scenario.presets || {})[key.split('.')[0]] || '';
  return [...$('swap-' + key).options].map(o => o.value).find(name => name && `/${path}`.endsWith('/' + name)) || '';
}
function buildSwaps(root, hello) {
  const group = element(root, 'fieldset');
  element(group, 'legend', {}, 'Starts from');
  SWAPS.forEach(([key, label, list]) => {
    const box = element(group, 'div', { class: 'control', 'data-key': key }), name = element(box, 'div', { class: 'name' });
    element(element(name, 'span', { title: key }), 'label', { for: 'swap-' + key }, label);
    const back = element(name, 'button', { class: 'reset', hidden: '', 'aria-label': 'reset ' + label }, 'reset');
    back.addEventListener('click', () => change(s => { delete s.set[key]; }));
    const select = element(box, 'select', { id: 'swap-' + key });
    element(select, 'option', { value: '' }, 'of its own');
    (key === 'framework' ? ['none', ...hello[list]] : hello[list]).forEach(value => element(select, 'option', { value }, bare(value)));
    select.addEventListener('change', () => change(s => {
      if (select.value) s.set[key] = select.value; else delete s.set[key];
    }));
    const fault = element(box, 'p', { class: 'fault', role: 'alert' });
    swaps[key] = { box, back, select, fault };
  });
}
const swaps = {};
function drawSwaps() {
  Object.entries(swaps).forEach(([key, { box, back, select }]) => {
    const set = state.set[key];
    box.classList.toggle('changed', set !== undefined);
    back.hidden = set === undefined;
    select.value = set ?? startOf(key);
  });
}

/* Every word has to be somewhere in name, hardware, model, framework or question; names count before questions. */
const mostFound = 12;
function findScenarios(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = s => `${s.name} ${s.about} ${s.question}`.toLowerCase(), near = s => `${s.name} ${s.about}`.toLowerCase();
  const found = scenarios.filter(s => words.every(word => all(s).includes(word)));
  return [...found.filter(s => words.every(word => near(s).includes(word))), ...found.filter(s => !words.every(word => near(s).includes(word)))];
}
let pointed = -1;
function drawFound() {
  const list = $('found'), text = $('find').value.trim(), found = text ? findScenarios(text) : [];
  list.textContent = '';
  pointed = found.length ? 0 : -1;
  found.slice(0, mostFound).forEach((s, i) => {
    const row = element(list, 'div', { role: 'option', id: 'found-' + i, 'data-name': s.name, 'aria-selected': String(i === 0) });
    element(row, 'b', {}, bare(s.name));
    element(row, 'span', {}, s.question);
    row.addEventListener('mousedown', event => { event.preventDefault(); takeFound(s.name); });
  });
  if (text && !found.length) element(list, 'p', { class: 'quiet' }, 'No scenario has all of these words.');
  if (found.length > mostFound) element(list, 'p', { class: 'quiet' }, `${found.length - mostFound} more: add a word.`);
  showFound(Boolean(text));
}
function showFound(open) {
  $('found').hidden = !open;
  $('find').setAttribute('aria-expanded', String(open));
  $('find').setAttribute('aria-activedescendant', open && pointed >= 0 ? 'found-' + pointed : '');
}
function takeFound(name) {
  $('find').value = '';
  showFound(false);
  take(s => Object.assign(s, { preset: name, text: null, set: {} }));
}
function moveFound(event) {
  const rows = [...$('found').querySelectorAll('[role=option]')], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') { $('find').value = ''; showFound(false); }
  else if (event.key === 'Enter' && rows[pointed]) takeFound(rows[pointed].dataset.name);
  else if (step && rows.length) {
    pointed = (pointed + step + rows.length) % rows.length;
    rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === pointed)));
    rows[pointed].scrollIntoView({ block: 'nearest' });
    showFound(true);
  } else return;
  event.preventDefault();
}
function listenToFind() {
  $('find').addEventListener('input', drawFound);
  $('find').addEventListener('focus', drawFound);
  $('find').addEventListener('blur', () => showFound(false));
  $('find').addEventListener('keydown', moveFound);
}
