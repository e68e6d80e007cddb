/* The YAML and the controls are one thing: a change of a control is written into the text, and what is typed moves the
   controls. `onTop` are the keys that cannot be written into the text (docs/serve.md); they stay beside it. */
let onTop = {}, typing = null, written = null;
const presetTexts = {};

async function textOf(from) {
  if (from.text !== null) return from.text;
  if (!presetTexts[from.preset]) {
    const reply = await call('preset?name=' + encodeURIComponent(from.preset));
    if (reply.status !== 200) { drawErrors(reply); return ''; }
    presetTexts[from.preset] = reply.text;
  }
  return presetTexts[from.preset];
}

/* The text with what was set, and the keys that it does not take. */
async function editedText(seq) {
  const set = { ...state.set }, left = {};
  while (Object.keys(set).length) {
    const reply = await call('edit', { tab, seq, scenario: scenarioOf(state), set });
    if (reply.status === 200) return { text: reply.answer, left };
    const wrong = (reply.errors || []).map(error => error.path).filter(path => path in set);
    if (!wrong.length) return null;  // the text itself does not read: the forecast says why
    wrong.forEach(path => { left[path] = set[path]; delete set[path]; });
  }
  return { text: await textOf(state), left };
}
async function showSource(seq) {
  const found = await editedText(seq);
  if (!found || seq !== lastSeq || typing) return;
  onTop = found.left;
  written = found.text;
  sourceSeq = seq;
  if ($('yaml').value !== found.text) $('yaml').value = found.text;
  const names = Object.entries(onTop).map(([key, value]) => `${key}=${value}`);
  $('on-top').textContent = names.length ? `Set beside this text, which has no place for it: ${names.join(', ')}` : '';
}
/* 300 ms after the last key. */
function typed() {
  clearTimeout(typing);
  typing = setTimeout(() => {
    typing = null;
    if ($('yaml').value === written) return;
    forget();
    change(s => { s.text = $('yaml').value; s.set = { ...onTop }; });
  }, 300);
}

/* A launch script of a training framework becomes the text. */
async function openFile(file) {
  if (!file) return;
  const text = await file.text();
  $('file').value = '';
  if (/\.ya?ml$/.test(file.name)) { take(s => Object.assign(s, { preset: null, text, set: {} })); return; }
  showRecipe();
  $('launch').value = text;
}
function showRecipe() {
  $('recipe').open = true;
  $('launch').scrollIntoView({ block: 'center' });
  $('launch').focus();
}
/* `a=1; b=2` as pairs. */
const assignments = text => text.split(';').map(part => part.trim()).filter(Boolean)
  .map(part => [part.split('=')[0].trim(), part.slice(part.split('=')[0].length + 1).trim()]);
async function importLaunch() {
  const said = $('import-said'), body = { tab, slot: 'import', seq: Date.now(), scenario: { text: $('launch').value } };
  ['from', 'devices', 'cluster'].forEach(name => {
    const value = $('launch-' + name).value.trim();
    if (value) body[name] = value;
  });
  const env = assignments($('launch-env').value), framework = $('launch-framework').value;
  if (env.length) body.env = env.map(pair => pair.join('='));
  body.set = { ...Object.fromEntries(assignments($('launch-set').value)), ...framework && { framework } };
  said.textContent = 'reading ...';
  const reply = await call('import', body).catch(() => ({ error: 'no answer' }));
  said.textContent = '';
  const lines = reply.status === 200 ? (reply.warnings || []).map(spoken) : errorsOf(reply).map(error => error.text);
  lines.forEach(line => element(said, 'p', {}, line.replace(/^-:(\d+):\d+: /, 'line $1: ').replace(/^-: /, '')));
  if (reply.status !== 200) return;
  element(said, 'p', {}, 'Taken: the scenario above is what the launch says, and the controls turn it.');
  take(s => Object.assign(s, { preset: null, text: reply.answer, set: {} }));
}
function listenToSource() {
  $('yaml').addEventListener('input', typed);
  $('open').addEventListener('click', () => $('file').click());
  $('file').addEventListener('change', event => openFile(event.target.files[0]));
  $('paste').addEventListener('click', showRecipe);
  $('import').addEventListener('click', importLaunch);
}
