/*
 * The search at the top of each page: a combobox with a list of links.
 *
 *   focus       -> the items are loaded, once
 *   typing      -> the list shows the hits, and the first is chosen
 *   up, down    -> another is chosen; focus stays in the field
 *   Enter       -> opens the chosen one
 *   Escape      -> closes the list, and the next one leaves the field
 */
import { isAlone, isCommand } from '../ui/controls/keys.ts';
import { find, type Item } from './find.ts';

export function makeSearch(form: HTMLFormElement, say: (text: string) => void): void {
  const input = form.querySelector('input');
  const panel = form.querySelector<HTMLElement>('.found');
  const list = form.querySelector('ul');
  const none = form.querySelector('p');
  if (input === null || panel === null || list === null || none === null) return;
  let items: Promise<Item[]> | undefined;
  let hits: Item[] = [];
  let chosen = 0;

  const choose = (index: number) => {
    chosen = (index + hits.length) % Math.max(hits.length, 1);
    for (const [i, option] of [...list.children].entries()) option.ariaSelected = String(i === chosen);
    const option = list.children[chosen];
    input.setAttribute('aria-activedescendant', option?.id ?? '');
    option?.scrollIntoView({ block: 'nearest' });
  };
  const close = () => {
    panel.hidden = true;
    input.ariaExpanded = 'false';
    input.removeAttribute('aria-activedescendant');
  };
  const open = (hit: Item | undefined) => {
    if (hit === undefined) return;
    close();
    input.blur();
    location.assign(hit.href);
  };
  const show = async () => {
    const text = input.value.trim();
    items ??= load();
    const found = find(await items, text);
    // Later letters have their own call.
    if (text !== input.value.trim()) return;
    if (text === '') return close();
    hits = found;
    list.replaceChildren(...hits.map(optionOf));
    none.hidden = hits.length > 0;
    panel.hidden = false;
    input.ariaExpanded = 'true';
    choose(0);
    say(hits.length === 0 ? 'No results' : `${hits.length} results`);
  };

  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // Enter can come before the items have.
    void show().then(() => open(hits[chosen]));
  });
  input.addEventListener('focus', () => void (items ??= load()));
  input.addEventListener('input', () => void show());
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && panel.hidden) input.blur();
    if (event.key === 'Escape') close();
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    if (panel.hidden) void show();
    else choose(chosen + (event.key === 'ArrowDown' ? 1 : -1));
  });
  // The field keeps the focus, so that the list is still there when the click arrives.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('click', ({ target }) => {
    const option = target instanceof Element ? target.closest('[role=option]') : null;
    if (option !== null) open(hits[[...list.children].indexOf(option)]);
  });
  addEventListener('keydown', (event) => {
    if (!isCommand(event, 'k') && !(event.key === '/' && isAlone(event))) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

async function load(): Promise<Item[]> {
  return (await fetch('/docs/search.json')).json() as Promise<Item[]>;
}

function optionOf({ title, kind, detail }: Item, index: number): HTMLElement {
  const option = document.createElement('li');
  option.id = `result-${index}`;
  option.role = 'option';
  // Most paths begin so, and a phone has no room for it.
  const short = detail.replace('/api/v1/projects/{projectID}', '…');
  option.append(element('b', kind, `method ${kind.toLowerCase()}`), element('span', title));
  if (short !== '') option.append(element('small', short));
  return option;
}

function element(name: string, text: string, className = ''): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}
