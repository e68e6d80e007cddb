/* What the page shows follows from the state: where the scenario is from, the keys that were set, A, and what else is pinned. */
const $ = id => document.getElementById(id);
const empty = () => ({ preset: null, text: null, set: {}, a: null, pins: [] });
let state = empty(), undone = [], redone = [];
const longestLink = 24000;

/* The token comes with the address once; it is kept for this tab and leaves the address. */
function takeToken() {
  const match = /^#token=([0-9a-f]{32})$/.exec(location.hash);
  if (!match) return;
  sessionStorage.setItem('stepcast-token', match[1]);
  history.replaceState(null, '', location.pathname);
}
function token() {
  return sessionStorage.getItem('stepcast-token') || '';
}
const tab = Math.random().toString(36).slice(2);

/* A newer question ends the older of its route and slot, and a forecast what else was asked about the one before, as the server
   does: the page leaves first, so that the console has no refusals. */
const asked = {}, slotOf = body => body.slot || 'b';
const ENDED = ['bands', 'choices', 'edit', 'explain', 'pipeline'];
function beginAsking(path, body) {
  const own = `${path}/${slotOf(body)}`;
  [own, ...path === 'forecast' ? ENDED.map(other => `${other}/${slotOf(body)}`) : []].forEach(name => { if (asked[name]) asked[name].abort(); });
  asked[own] = new AbortController();
  return asked[own].signal;
}
async function call(path, body) {
  const headers = { 'X-Stepcast-Token': token() };
  if (body) headers['Content-Type'] = 'application/json';
  const question = body ? { method: 'POST', headers, body: JSON.stringify(body), signal: beginAsking(path, body) } : { headers };
  try {
    const reply = await fetch('/api/' + path, question);
    return { status: reply.status, ...await reply.json() };
  } catch (error) {
    if (error.name === 'AbortError') return { status: 409, error: 'a newer question took its place' };
    throw error;
  }
}

const packed = object => {
  const bytes = new TextEncoder().encode(JSON.stringify(object));
  let text = '';
  bytes.forEach(byte => { text += String.fromCharCode(byte); });
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
};
const unpacked = text => {
  const raw = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(raw, c => c.charCodeAt(0))));
};
const isSide = side => side && typeof side === 'object' && (side.preset === null || typeof side.preset === 'string') &&
  (side.text === null || typeof side.text === 'string') && side.set && typeof side.set === 'object' &&
  Object.values(side.set).every(value => typeof value === 'string');

/* The state of the address; null where there is none, an error text where it cannot be read. */
function stateOfAddress() {
  const match = /^#v(\d+)\.(.*)$/.exec(location.hash);
  if (!match) return null;
  if (match[1] !== '1') return 'This link is of another version of the page.';
  try {
    const found = unpacked(match[2]);
    const pins = found.pins ?? [];  // links of before have none
    if (isSide(found) && (found.a === null || isSide(found.a)) && Array.isArray(pins) && pins.length < 16 && pins.every(isSide))
      return { ...found, pins };
  } catch (error) { /* said below */ }
  return 'This link is damaged: it holds no state.';
}
function writeAddress() {
  const link = '#v1.' + packed(state);
  if (link.length <= longestLink) history.replaceState(null, '', link);
}

const copy = object => JSON.parse(JSON.stringify(object));
const side = from => ({ preset: from.preset, text: from.text, set: { ...from.set } });

/* Every change goes through here, so that it can be undone. */
function change(edit) {
  undone.push(copy(state));
  if (undone.length > 200) undone.shift();
  redone = [];
  edit(state);
  changed();
}
function goBack(from, to) {
  if (!from.length) return;
  to.push(copy(state));
  state = from.pop();
  changed();
}
/* A text that came from a preset extends what that one extends. */
const scenarioOf = from => from.text === null ? { preset: from.preset } : from.preset ? { text: from.text, of: from.preset } : { text: from.text };
