/*
 * The script of the API reference at /docs, which src/api/reference makes: theme, search, copying and the menu of a phone.
 * The pages are whole without it.
 */
import { applyTheme, storedTheme } from '../ui/page/theme.ts';
import { addCopyButtons } from './copy-buttons.ts';
import { makeSearch } from './search-field.ts';

applyTheme(storedTheme());

const status = document.querySelector('[role=status]');
const say = (text: string): void => {
  if (status !== null) status.textContent = text;
};

const form = document.querySelector<HTMLFormElement>('form[role=search]');
if (form !== null) makeSearch(form, say);
addCopyButtons(say);

const menu = document.querySelector<HTMLElement>('#menu');
menu?.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('a') !== null && menu.matches(':popover-open'))
    menu.hidePopover();
});

// Earlier versions had one page: its links end in the id of an operation or a tag.
function followOldLink(): void {
  if (location.pathname.replace(/\/$/, '') !== '/docs' || location.hash === '') return;
  const link = document.querySelector<HTMLAnchorElement>(`#${CSS.escape(location.hash.slice(1))} > a`);
  if (link !== null) location.replace(link.href);
}
followOldLink();
addEventListener('hashchange', followOldLink);
