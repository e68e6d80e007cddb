'use strict';
/* What the pages of reports and the page with controls share. */
const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const gib = bytes => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
/* Of lines and points that stand for no part of a step. */
const seriesShades = ['computing', 'tensor', 'expert', 'pipeline', 'data', 'context', 'offload', 'bubble', 'host', 'idle'];
const percent = share => `${(100 * share).toFixed(1)} %`;

/* Each chart and table can be taken along: pictures as PNG at twice their size, tables as CSV. */
function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const csvWord = value => /[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value ?? '');
const saveTable = (name, rows) => save(name, new Blob([rows.map(row => row.map(csvWord).join(',')).join('\n') + '\n'], { type: 'text/csv' }));
function pictureOf(name, width, height, draw) {
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  canvas.width = width; canvas.height = height;
  pen.fillStyle = colour('paper');
  pen.fillRect(0, 0, width, height);
  draw(pen);
  canvas.toBlob(blob => save(name, blob));
}
/* The copy has its styles in itself: a picture knows no style sheet. */
function saveChart(name, chart) {
  const copy = chart.cloneNode(true), from = [chart, ...chart.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    ['fill', 'fill-opacity', 'stroke', 'stroke-dasharray', 'opacity', 'font-size', 'font-family', 'text-anchor'].forEach(what => to[i].style.setProperty(what, style.getPropertyValue(what)));
  });
  const [, , width, height] = chart.getAttribute('viewBox').split(' ').map(Number);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  const image = new Image();
  image.onload = () => pictureOf(name, 2 * width, 2 * height, pen => pen.drawImage(image, 0, 0, 2 * width, 2 * height));
  image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(copy));
}

/* Keys and names of files break behind their dots, dashes and signs, not in a word. */
function appendInParts(node, text) {
  text.split(/(?<=[._=-])/).forEach((part, i) => node.append(...(i ? [document.createElement('wbr'), part] : [part])));
}
