import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';

/** Elements that a reader has to scroll sideways for, and states and times of a list that are cut. Code and tabs may scroll. */
const outOfSight = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const isWider = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
    const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
    const all = (selector) => [...document.querySelectorAll(selector)];
    return [document.documentElement, ...all('body *').filter(scrolls), ...all('[role=cell]:has(time, svg)')]
      .filter((element) => isWider(element) && element.closest('pre, code, .cm-editor, nav') === null)
      .map((element) => location.href + ': ' + element.tagName + ' ' + (element.ariaLabel ?? '') + ' ' + element.innerText.slice(0, 60));
  })()`);

/** A list learns of a new width only after the page has it, so this waits until nothing is out of sight. */
export const expectAllInSight = (page: Page) => eventually(() => outOfSight(page), { length: 0 });
