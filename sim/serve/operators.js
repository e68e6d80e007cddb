/* The operators of the run by pipeline stage, the longest first; the whole table is in the CSV. */
let operators = [];
const operatorsShown = 12;

function drawOperators() {
  const stages = [...new Set(operators.map(row => row.stage))], list = $('stage'), before = list.value;
  list.textContent = '';
  stages.forEach(stage => element(list, 'option', { value: stage }, String(stage)));
  if (stages.map(String).includes(before)) list.value = before;
  const rows = operators.filter(row => String(row.stage) === list.value), others = rows.slice(operatorsShown), block = $('operators');
  block.textContent = '';
  const sum = key => others.reduce((all, row) => all + row[key], 0);
  const lines = rows.slice(0, operatorsShown).map(row => [row.name, row.shape, significant(row.launches, ''), seconds(row.time_s), percent(row.share),
    row.efficiency === null ? '' : percent(row.efficiency), row.bound || '']);
  if (others.length) lines.push([`${others.length} others`, '', significant(sum('launches'), ''), seconds(sum('time_s')), percent(sum('share')), '', '']);
  tableOf(block, ['operator', 'shape', 'launches', 'time', 'of the computing', 'of the data sheet', 'bound by'], lines);
}
function saveOperators() {
  const keys = Object.keys(operators[0] || {});
  saveTable('operators.csv', [keys, ...operators.map(row => keys.map(key => row[key]))]);
}
