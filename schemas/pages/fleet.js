for (const head of document.querySelectorAll('th')) head.onclick = () => {
  const at = head.cellIndex, body = head.closest('table').tBodies[0];
  const sign = head.dataset.sign = -(head.dataset.sign || -1);
  const key = row => row.cells[at].dataset.key ?? row.cells[at].textContent;
  const compare = new Intl.Collator('en', {numeric: true}).compare;
  body.append(...[...body.rows].sort((a, b) => sign * compare(key(a), key(b))));
};
const filters = [...document.querySelectorAll('[data-filter]')];
const agrees = (row, filter) => !filter.value || row.dataset[filter.dataset.filter] === undefined ||
  (filter.tagName === 'SELECT' ? row.dataset[filter.dataset.filter] === filter.value
    : row.textContent.includes(filter.value));
for (const filter of filters) filter.oninput = () => {
  for (const row of document.querySelectorAll('tbody tr')) row.hidden = !filters.every(each => agrees(row, each));
};
